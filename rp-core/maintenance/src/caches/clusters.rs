//! The clusters: bucket, and what selectors see.

use std::collections::HashMap;
use std::sync::Arc;

use rp_base::sha256;
use rp_database::TypedChange;
use rp_documents::maintenance::{ClusterFacts, Selector, SelectorError};
use rp_documents::{ClusterDocument, ProvisioningState, SubscriptionState};

/// One cluster.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) bucket: u8,
    /// The state of the subscription is left out: it is looked up when it is asked for (`contract/mimo.md` "Do better"
    /// 8).
    pub(crate) facts: Arc<ClusterFacts>,
    /// Its creation or deletion runs or failed: no manifests are made for it (`contract/mimo.md` §6).
    pub(crate) dropped: bool,
}

impl Cluster {
    /// Whether the selectors choose it, with the states of subscriptions as they are now.
    ///
    /// # Errors
    /// It cannot be said.
    pub(crate) fn is_chosen(
        &self,
        selectors: &[Selector],
        subscriptions: &HashMap<String, SubscriptionState>,
    ) -> Result<bool, SelectorError> {
        if self.dropped {
            return Ok(false);
        }
        let mut facts = (*self.facts).clone();
        if let Some(state) = subscriptions.get(&facts.subscription_id) {
            state.name().clone_into(&mut facts.subscription_state);
        }
        facts.matches(selectors)
    }
}

/// By lower-cased resource id.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    by_key: HashMap<String, Cluster>,
    keys: HashMap<String, String>,
}

impl Clusters {
    pub(super) fn apply(&mut self, change: TypedChange<ClusterDocument>, domain: &str) {
        let Some(found) = change.document else {
            if let Some(key) = self.keys.remove(&change.id) {
                self.by_key.remove(&key);
            }
            return;
        };
        let document = found.value;
        let cluster = Cluster {
            bucket: u8::try_from(*document.bucket).unwrap_or_default(),
            facts: Arc::new(ClusterFacts::of(&document, None, domain)),
            dropped: is_dropped(&document),
        };
        self.by_key.insert(document.key.clone(), cluster);
        self.keys.insert(change.id, document.key);
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Cluster> {
        self.by_key.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Cluster)> {
        self.by_key.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The bucket of a cluster; one that is not there has one by its name, so that somebody ends its manifests.
    pub(crate) fn bucket(&self, key: &str) -> u8 {
        self.get(key).map_or_else(|| bucket_of(key), |cluster| cluster.bucket)
    }
}

/// The bucket of a name.
fn bucket_of(key: &str) -> u8 {
    sha256(key.as_bytes()).0[0]
}

fn is_dropped(document: &ClusterDocument) -> bool {
    let properties = &document.cluster.properties;
    let unfinished = |state: Option<&ProvisioningState>| {
        matches!(state, Some(ProvisioningState::Creating | ProvisioningState::Deleting))
    };
    let state = properties.provisioning_state.get();
    unfinished(state)
        || state == Some(&ProvisioningState::Failed) && unfinished(properties.failed_provisioning_state.get())
}
