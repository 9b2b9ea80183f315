//! Certificate signing requests of a cluster (`contract/frontend.md` §11.1).

use std::time::Duration;

use http::{Method, StatusCode};
use rp_api::CloudError;
use serde_json::{Value, json};

use super::cluster_api::AdminApi;
use super::context::{ActionContext, within};
use super::kubernetes::Resource;
use super::rules::{self, Use};
use crate::fault::Fault;
use crate::response::{Change, HttpResponse, empty};

/// Time limit for all requests to the cluster.
const WITHIN: Duration = Duration::from_secs(60);
/// Most requests that are approved at once; a cluster has a handful for each node.
const MOST: usize = 500;
const PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Approves one, or all that are neither approved nor denied.
pub(super) async fn approve(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let name = of.text("csrName");
    let resource = Resource {
        group: "certificates.k8s.io".to_owned(),
        version: "v1".to_owned(),
        name: "certificatesigningrequests".to_owned(),
        kind: "CertificateSigningRequest".to_owned(),
    };
    let how = if name.is_empty() { Use::Read { unrestricted: false } } else { Use::Write };
    rules::object(&resource, "", name, how)?;
    within(WITHIN, async {
        let _signal = of.signal();
        let api = of.admin_api().await?;
        let approved = if name.is_empty() {
            approve_all(&of, &api).await?
        } else {
            approve_one(&of, &api, name).await?
        };
        let mut answer = empty(StatusCode::OK);
        answer.extensions_mut().insert(Change::new("pending", &format!("{approved} approved")));
        Ok(answer)
    })
    .await
}

async fn approve_all(of: &ActionContext<'_>, api: &AdminApi) -> Result<usize, CloudError> {
    let list = api.call(Method::GET, &format!("{PATH}?limit={MOST}"), None).await?;
    let mut approved = 0;
    for csr in list["items"].as_array().into_iter().flatten() {
        if !has(csr, "Approved") && !has(csr, "Denied") {
            put_approval(of, api, csr.clone()).await?;
            approved += 1;
        }
    }
    Ok(approved)
}

async fn approve_one(of: &ActionContext<'_>, api: &AdminApi, name: &str) -> Result<usize, CloudError> {
    let csr = api.call(Method::GET, &format!("{PATH}/{name}"), None).await.map_err(|error| {
        if error.status != 404 {
            return error;
        }
        let message = format!("certificate signing request '{name}' was not found.");
        CloudError::bad("ResourceNotFound", "", message)
    })?;
    if has(&csr, "Denied") {
        let message = format!("certificate signing request {name:?} is already Denied");
        return Err(CloudError::bad("PropertyChangeNotAllowed", "", message));
    }
    if has(&csr, "Approved") {
        return Ok(0);
    }
    put_approval(of, api, csr).await?;
    Ok(1)
}

fn has(csr: &Value, kind: &str) -> bool {
    let conditions = csr["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == kind)
}

/// Adds the condition. A request that somebody else changed since it was read is refused by its version.
async fn put_approval(of: &ActionContext<'_>, api: &AdminApi, mut csr: Value) -> Result<(), CloudError> {
    // Of such a list an API server leaves these out of the items.
    csr["apiVersion"] = json!("certificates.k8s.io/v1");
    csr["kind"] = json!("CertificateSigningRequest");
    let name = csr["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let kept = csr["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let new = json!({"type": "Approved", "status": "True", "reason": "AROSupportApprove",
        "message": "This CSR was approved by ARO support personnel.", "lastUpdateTime": of.parts.clock.now()});
    csr["status"]["conditions"] = kept.into_iter().chain([new]).collect();
    // The names of requests that kubelets make may have any form, so the one of a list is checked like a caller's.
    if !rules::is_name(&name) {
        return Ok(());
    }
    api.call(Method::PUT, &format!("{PATH}/{name}/approval"), Some(&csr)).await.map(drop)
}
