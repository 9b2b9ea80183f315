//! The two credentials that a customer may have (`contract/frontend.md` §7).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use rp_api::CloudError;
use rp_documents::cluster::ClusterSecret;
use rp_documents::cluster::provisioning::Refusal;
use rp_documents::{ClusterDocument, SubscriptionState};
use serde::Serialize;
use serde_json::json;

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::Fault;
use crate::path::{ClusterPath, KIND, PROVIDER, no_such_type};
use crate::response::{HttpResponse, json_response};
use crate::{secrets, subscriptions};

/// The body of an answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdminCredentials {
    #[serde(skip_serializing_if = "Option::is_none")]
    kubeadmin_password: Option<String>,
    kubeadmin_username: &'static str,
}

/// The password of `kubeadmin`.
pub(crate) async fn password(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    let version = call.version(KIND)?;
    let offered = version.name != "admin";
    let found = find(parts, call, path, offered).await?;
    let secret = secrets::show(&parts.keyring, &found, ClusterSecret::KubeadminPassword)?;
    let text = String::from_utf8(secret).map_err(|_| Fault::Stored("a password is no text"))?;
    let body = AdminCredentials {
        kubeadmin_password: Some(text).filter(|text| !text.is_empty()),
        kubeadmin_username: "kubeadmin",
    };
    Ok(json_response(StatusCode::OK, &body))
}

/// The customer's admin kubeconfig.
pub(crate) async fn kubeconfig(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    let version = call.version(KIND)?;
    let found = find(parts, call, path, version.admin_kubeconfig).await?;
    let secret = secrets::show(&parts.keyring, &found, ClusterSecret::UserAdminKubeconfig)?;
    Ok(json_response(StatusCode::OK, &json!({"kubeconfig": STANDARD.encode(secret)})))
}

async fn find(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    offered: bool,
) -> Result<ClusterDocument, Fault> {
    if !offered {
        return Err(no_such_type(KIND, PROVIDER, &call.api_version).into());
    }
    if !call.body.is_empty() && serde_json::from_slice::<serde::de::IgnoredAny>(&call.body).is_err() {
        let message = "The request content was invalid and could not be deserialized.";
        return Err(CloudError::bad("InvalidRequestContent", "", message).into());
    }
    subscriptions::allow(parts, &path.subscription, &[SubscriptionState::Registered]).await?;
    let found = document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?.value;
    let properties = &found.cluster.properties;
    if properties.is_passing() {
        return Err(Refusal::State(properties.provisioning_state.word().to_owned()).into());
    }
    Ok(found)
}
