//! What schedules of maintenance choose clusters by (`contract/mimo.md` §6).

use rp_api::CloudError;
use rp_database::Typed;
use rp_documents::SubscriptionDocument;
use serde_json::{Value, json};

use crate::dependencies::FrontendParts;
use crate::document::Document;
use crate::fault::Fault;
use crate::path::ClusterPath;
use crate::response::{HttpResponse, compact_json};

pub(super) async fn get(parts: &FrontendParts, path: &ClusterPath) -> Result<HttpResponse, Fault> {
    let found = Document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let subscriptions = Typed::<SubscriptionDocument>::new(parts.store.clone());
    let subscription = subscriptions.get(&path.subscription).await?.ok_or_else(|| {
        let message = format!("The subscription ID '{}' was not found.", path.subscription);
        CloudError::new(404, "ResourceNotFound", "", message)
    })?;
    let properties = &found.cluster()["properties"];
    let text = |pointer: &str| properties.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let workload = properties["platformWorkloadIdentityProfile"].is_object();
    let number = |value: &Value| value.as_u64().unwrap_or_default().to_string();
    Ok(compact_json(&json!({
        "resourceID": path.key(),
        "bucketID": number(&found.body["bucket"]),
        "subscriptionID": path.subscription,
        "subscriptionState": subscription.value.subscription.state.name(),
        "authenticationType": if workload { "WorkloadIdentity" } else { "ServicePrincipal" },
        "architectureVersion": number(&properties["architectureVersion"]),
        "provisioningState": text("/provisioningState"),
        "outboundType": text("/networkProfile/outboundType"),
        "APIServerVisibility": text("/apiserverProfile/visibility"),
        "isManagedDomain": is_managed(text("/clusterProfile/domain"), &parts.domain).to_string(),
    })))
}

/// A domain without a dot, or one below ours, is ours to manage.
fn is_managed(domain: &str, ours: &str) -> bool {
    !domain.contains('.') || domain.strip_suffix(ours).is_some_and(|rest| rest.ends_with('.'))
}
