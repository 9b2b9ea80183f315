//! Subscriptions whose clusters are monitored, with their tenants (`contract/monitor.md` §4.2).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use rp_documents::{SubscriptionDocument, SubscriptionState};

/// The cache. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Subscriptions(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    tenants: RwLock<HashMap<Box<str>, Arc<str>>>,
    primed: AtomicBool,
}

impl Subscriptions {
    /// The lower-case tenant of a subscription in force (`Registered` or `Unregistered`), by its lower-case id.
    pub fn tenant(&self, id: &str) -> Option<Arc<str>> {
        self.0.tenants.read().get(id).cloned()
    }

    /// How many are in force.
    pub fn len(&self) -> usize {
        self.0.tenants.read().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.tenants.read().is_empty()
    }

    /// Whether the feed was read to its end once: before that, a missing subscription means nothing.
    pub fn is_primed(&self) -> bool {
        self.0.primed.load(Ordering::Acquire)
    }

    pub(crate) fn prime(&self) {
        self.0.primed.store(true, Ordering::Release);
    }

    /// Applies a change of the feed; `None`: gone, or not readable.
    pub(crate) fn apply(&self, id: &str, document: Option<&SubscriptionDocument>) {
        let id = id.to_ascii_lowercase();
        let in_force = document.filter(|document| {
            matches!(
                document.subscription.state,
                SubscriptionState::Registered | SubscriptionState::Unregistered
            )
        });
        let mut tenants = self.0.tenants.write();
        match in_force {
            Some(document) => {
                let properties = document.subscription.properties.as_ref();
                let tenant = properties.map_or("", |properties| properties.tenant_id.as_str());
                tenants.insert(id.into(), tenant.to_ascii_lowercase().into());
            }
            None => {
                tenants.remove(id.as_str());
            }
        }
    }

    pub(crate) fn retain(&self, living: &HashSet<Box<str>>) {
        self.0.tenants.write().retain(|id, _| living.contains(id));
    }
}
