//! What schedules of maintenance choose clusters by (`contract/mimo.md` §6).

use rp_api::CloudError;
use rp_database::Typed;
use rp_documents::SubscriptionDocument;
use serde_json::json;

use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::Fault;
use crate::path::ClusterPath;
use crate::response::{HttpResponse, compact_json};

pub(super) async fn get(parts: &FrontendParts, path: &ClusterPath) -> Result<HttpResponse, Fault> {
    let found = document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let subscriptions = Typed::<SubscriptionDocument>::new(parts.store.clone());
    let subscription = subscriptions.get(&path.subscription).await?.ok_or_else(|| {
        let message = format!("The subscription ID '{}' was not found.", path.subscription);
        CloudError::new(404, "ResourceNotFound", "", message)
    })?;
    let properties = &found.value.cluster.properties;
    let workload = properties.platform_workload_identity_profile.get().is_some();
    let number = |number: i64| number.max(0).to_string();
    Ok(compact_json(&json!({
        "resourceID": path.key(),
        "bucketID": number(*found.value.bucket),
        "subscriptionID": path.subscription,
        "subscriptionState": subscription.value.subscription.state.name(),
        "authenticationType": if workload { "WorkloadIdentity" } else { "ServicePrincipal" },
        "architectureVersion": number(*properties.architecture_version),
        "provisioningState": properties.provisioning_state.word(),
        "outboundType": &*properties.network_profile.outbound_type,
        "APIServerVisibility": &*properties.apiserver_profile.visibility,
        "isManagedDomain": is_managed(&properties.cluster_profile.domain, &parts.domain).to_string(),
    })))
}

/// A domain without a dot, or one below ours, is ours to manage.
fn is_managed(domain: &str, ours: &str) -> bool {
    !domain.contains('.') || domain.strip_suffix(ours).is_some_and(|rest| rest.ends_with('.'))
}
