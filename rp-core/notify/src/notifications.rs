//! What pages and the API show of notifications, and tests that people request. It reads the store, so that it is the same
//! in every process.

use std::collections::HashSet;
use std::sync::Arc;

use rp_base::{SharedClock, SharedRandom, Timestamp};
use rp_database::{SharedStore, StoreError};
use rp_documents::Notification;

use crate::events;
use crate::options::Destination;
use crate::outbox::{self, Outbox};

/// Counting of what waits ends here.
const COUNTED: usize = 10_000;

/// The destinations of the settings and what was sent to them. A cheap clone.
#[derive(Debug, Clone)]
pub struct Notifications {
    outbox: Outbox,
    destinations: Arc<[Arc<Destination>]>,
    clock: SharedClock,
    random: SharedRandom,
}

/// A destination, and how it is.
#[derive(Debug, Clone)]
pub struct DestinationView {
    pub name: &'static str,
    /// `webhook`, `slack`, `teams`, `pagerduty`.
    pub kind: &'static str,
    /// Scheme, host and port.
    pub origin: String,
    /// Groups of events that it is told, as the settings name them.
    pub topics: Vec<&'static str>,
    /// Azure regions; empty: all.
    pub regions: Vec<String>,
    /// How many wait; counting ends at 10,000.
    pub waiting: usize,
    /// When the one that waits longest was recorded.
    pub oldest: Option<Timestamp>,
    /// Why the last attempt of what waits failed; empty: none failed.
    pub error: String,
    pub last_delivered: Option<Timestamp>,
    /// What waits, the oldest first, then what is over, the newest first.
    pub last: Vec<Notification>,
}

/// Why there is no test.
#[derive(Debug, thiserror::Error)]
pub enum UnknownDestination {
    #[error("no destination has this name")]
    Name,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Notifications {
    /// Over the store. `keep`: how long what is over is shown.
    pub fn new(
        (store, clock, random): (&SharedStore, &SharedClock, &SharedRandom),
        destinations: Vec<Arc<Destination>>,
        keep: std::time::Duration,
    ) -> Self {
        Self {
            outbox: Outbox::new(store, keep),
            destinations: destinations.into(),
            clock: Arc::clone(clock),
            random: Arc::clone(random),
        }
    }

    /// Every destination in the order of the settings, each with its last notifications, at most `most` of either state.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self, most: u32) -> Result<Vec<DestinationView>, StoreError> {
        let mut all = Vec::with_capacity(self.destinations.len());
        for destination in &*self.destinations {
            all.push(self.view(destination, most).await?);
        }
        Ok(all)
    }

    async fn view(&self, destination: &Destination, most: u32) -> Result<DestinationView, StoreError> {
        let name = destination.name;
        let mut first = self.outbox.waiting(name).await?;
        let over = self.outbox.over(name, most).await?;
        // One that ended between the two reads is in both.
        let ended: HashSet<&str> = over.iter().map(|one| one.id.as_str()).collect();
        first.items.retain(|one| !ended.contains(one.value.id.as_str()));
        let waiting = &first.items;
        let tried =
            waiting.iter().filter(|one| one.value.attempts > 0).max_by_key(|one| one.value.last_attempt);
        let delivered = over.iter().find(|one| one.error.is_empty());
        let shown = waiting.iter().take(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(DestinationView {
            name,
            kind: destination.shape.name(),
            origin: destination.endpoint.origin().to_owned(),
            topics: destination.topics().collect(),
            regions: destination.regions().to_vec(),
            waiting: self.outbox.count_waiting(name, &first, COUNTED).await?,
            oldest: waiting.first().map(|one| one.value.created),
            error: tried.map(|one| one.value.error.clone()).unwrap_or_default(),
            last_delivered: delivered.and_then(|one| one.ended),
            last: shown.map(|one| one.value.clone()).chain(over).collect(),
        })
    }

    /// Whether a destination has the name.
    pub fn has(&self, name: &str) -> bool {
        self.destinations.iter().any(|destination| destination.name == name)
    }

    /// Records a test for a destination; the sender sends it. Gives the id of the notification.
    ///
    /// # Errors
    /// No destination has the name, or the store's.
    pub async fn test(&self, name: &str, by: &str) -> Result<String, UnknownDestination> {
        let found = self.destinations.iter().find(|destination| destination.name == name);
        let destination = found.ok_or(UnknownDestination::Name)?;
        let id = rp_base::Id::random(&*self.random);
        let event = events::test(id.as_str(), by, self.clock.now());
        let made = outbox::id(destination.name, &event.id);
        self.outbox.record(destination.name, event, false).await?;
        Ok(made)
    }
}
