//! Lists of objects as plain types.

use kube::api::ListParams;
use kube::client::Client;
use kube::core::Request;
use rp_openshift::List;
use serde::de::DeserializeOwned;

/// One page of the list at `path`.
pub(crate) async fn page<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    asked: &ListParams,
) -> Result<List<T>, kube::Error> {
    let request = Request::new(path).list(asked).map_err(kube::Error::BuildRequest)?;
    client.request(request).await
}
