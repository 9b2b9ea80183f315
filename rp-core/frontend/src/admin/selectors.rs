//! What schedules of maintenance choose clusters by (`contract/mimo.md` §6).

use rp_api::CloudError;
use rp_database::Typed;
use rp_documents::SubscriptionDocument;
use rp_documents::maintenance::ClusterFacts;

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
    let state = subscription.value.subscription.state;
    Ok(compact_json(&ClusterFacts::of(&found.value, Some(state), &parts.domain)))
}
