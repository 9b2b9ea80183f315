//! The two credentials that a customer may have (`contract/frontend.md` §7).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use rp_api::CloudError;
use rp_api::state::is_passing;
use rp_documents::SubscriptionState;
use serde_json::{Value, json};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::Document;
use crate::fault::Fault;
use crate::path::{ClusterPath, KIND, PROVIDER, no_such_type};
use crate::response::{HttpResponse, json_response};
use crate::{secrets, subscriptions};

/// The password of `kubeadmin`.
pub(crate) async fn password(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    let version = call.version(KIND)?;
    let offered = version.name != "admin";
    let found = find(parts, call, path, offered).await?;
    let secret = secrets::show(&parts.keyring, &found.id, found.cluster(), "/properties/kubeadminPassword")?;
    let mut body = json!({"kubeadminUsername": "kubeadmin"});
    if !secret.is_empty() {
        let text = String::from_utf8(secret).map_err(|_| Fault::Stored("a password is no text"))?;
        body["kubeadminPassword"] = Value::from(text);
    }
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
    let secret =
        secrets::show(&parts.keyring, &found.id, found.cluster(), "/properties/userAdminKubeconfig")?;
    Ok(json_response(StatusCode::OK, &json!({"kubeconfig": STANDARD.encode(secret)})))
}

async fn find(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    offered: bool,
) -> Result<Document, Fault> {
    if !offered {
        return Err(no_such_type(KIND, PROVIDER, &call.api_version).into());
    }
    if !call.body.is_empty() && serde_json::from_slice::<serde::de::IgnoredAny>(&call.body).is_err() {
        let message = "The request content was invalid and could not be deserialized.";
        return Err(CloudError::bad("InvalidRequestContent", "", message).into());
    }
    subscriptions::allow(parts, &path.subscription, &[SubscriptionState::Registered]).await?;
    let found = Document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    if is_passing(found.cluster()) {
        let now = found.cluster()["properties"]["provisioningState"].as_str().unwrap_or_default();
        let message = format!("Request is not allowed in provisioningState '{now}'.");
        return Err(CloudError::bad("RequestNotAllowed", "", message).into());
    }
    Ok(found)
}
