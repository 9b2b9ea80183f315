//! What is worked on: clusters and subscriptions, told apart by what their queue reads of a document.

use std::sync::Arc;
use std::time::Duration;

use rp_base::Timestamp;
use rp_database::Stored;
use rp_documents::{Collection, ProvisioningState};
use serde::Deserialize;
use tokio::time::Instant;

use crate::claim_cache::CachedClaim;
use crate::queue::Observation;

/// A collection with work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Cluster,
    Subscription,
}

/// The work of a document, and the lease on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkState {
    pub(crate) deleting: bool,
    pub(crate) owner: String,
    pub(crate) expires: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    lease_owner: Option<String>,
    lease_expires: Option<i64>,
    /// Of a cluster that a task of maintenance keeps from operations.
    maintenance_hold_until: Option<i64>,
    /// Of a cluster.
    open_shift_cluster: Option<Cluster>,
    /// Of a subscription.
    deleting: Option<bool>,
}

#[derive(Deserialize)]
struct Cluster {
    properties: Option<Properties>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Properties {
    provisioning_state: Option<String>,
}

impl Kind {
    pub(crate) const fn collection(self) -> Collection {
        match self {
            Self::Cluster => Collection::OpenShiftClusters,
            Self::Subscription => Collection::Subscriptions,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Subscription => "subscription",
        }
    }

    /// Whether the document has work, and who does it; `None`: it has none.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn work_state(self, body: &str) -> Result<Option<WorkState>, serde_json::Error> {
        let envelope: Envelope = serde_json::from_str(body)?;
        let deleting = match self {
            Self::Subscription => envelope.deleting.unwrap_or_default().then_some(true),
            Self::Cluster => {
                let properties = envelope.open_shift_cluster.and_then(|cluster| cluster.properties);
                let word = properties.and_then(|properties| properties.provisioning_state);
                let state = word.and_then(|word| ProvisioningState::named(&word));
                state.filter(|state| state.is_queued()).map(|state| state == ProvisioningState::Deleting)
            }
        };
        Ok(deleting.map(|deleting| WorkState {
            deleting,
            owner: envelope.lease_owner.unwrap_or_default(),
            expires: envelope.lease_expires.max(envelope.maintenance_hold_until).unwrap_or_default(),
        }))
    }
}

impl WorkState {
    /// How long until anybody may take it, at that time of the store: a lease is free from the second after its end.
    /// No longer than `most`, whatever a clock that jumped wrote.
    pub(crate) fn wait(&self, store: Timestamp, most: Duration) -> Duration {
        if self.expires == 0 {
            return Duration::ZERO;
        }
        Timestamp::from_seconds(self.expires.saturating_add(1)).since(store).min(most)
    }

    /// The same for the queue.
    pub(crate) fn observation(
        &self,
        stored: &Stored,
        due: Instant,
        cached: Option<Arc<CachedClaim>>,
    ) -> Observation {
        Observation {
            version: stored.version,
            subscription: Arc::from(stored.partition.as_str()),
            deleting: self.deleting,
            owned: !self.owner.is_empty(),
            due,
            cached,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_that_maintenance_holds_is_free_after_the_hold() {
        let state = |hold: i64, lease: i64| {
            let body = json!({"id": "c", "leaseExpires": lease, "maintenanceHoldUntil": hold,
                "openShiftCluster": {"properties": {"provisioningState": "Updating"}}});
            Kind::Cluster.work_state(&body.to_string()).unwrap().unwrap()
        };
        let wait =
            |state: WorkState| state.wait(Timestamp::from_seconds(100), Duration::from_secs(60)).as_secs();
        assert_eq!(wait(state(0, 0)), 0);
        assert_eq!(wait(state(0, 109)), 10);
        assert_eq!((wait(state(119, 0)), wait(state(119, 109))), (20, 20));
        assert_eq!(wait(state(99, 0)), 0);
        assert_eq!(wait(state(32_000, 0)), 60, "it is looked at again");
    }
}
