//! The change feeds of what happens: elevations, operation logs, manifests. A position moves on only after its events are
//! recorded, so a process that is killed in between records them again, and they are there already.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rp_base::Timestamp;
use rp_database::{StoreError, Typed};
use rp_documents::{
    ClusterDocument, Collection, Document, Elevation, ImportedCluster, ManifestDocument, NotificationEvent,
    OperationLog,
};

use crate::events::{self, ClusterPlace};
use crate::lease::Hold;
use crate::metrics::{EndLabels, NotifyMetrics};
use crate::options::Destination;
use crate::outbox::Outbox;

/// Changes that are read at once.
const CHANGES: u32 = 200;

/// A destination, and how many wait for it as far as this process knows.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) destination: Arc<Destination>,
    pub(crate) waiting: Arc<AtomicUsize>,
}

/// Records what happened for every destination that wants it.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) outbox: Outbox,
    pub(crate) queues: Vec<Queue>,
    /// Most that may wait for one destination.
    pub(crate) most: usize,
    /// What is older is not told.
    pub(crate) age: Duration,
    pub(crate) metrics: NotifyMetrics,
}

impl Recorder {
    /// Records an event, once for each destination.
    pub(crate) async fn record(&self, event: &NotificationEvent) -> Result<(), StoreError> {
        for Queue { destination, waiting } in
            self.queues.iter().filter(|queue| queue.destination.wants(event))
        {
            let full = waiting.load(Ordering::Relaxed) >= self.most;
            if !self.outbox.record(destination.name, event.clone(), full).await? {
                continue;
            }
            if full {
                let labels = EndLabels { destination: destination.name, result: "dropped" };
                self.metrics.ended.with(&labels).inc();
                tracing::error!(
                    destination = destination.name,
                    event = event.kind.name(),
                    "a notification was dropped: too many wait"
                );
            } else {
                waiting.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Records events of the feeds that are neither older than the first sender nor too old to matter.
    async fn record_new(&self, events: Vec<NotificationEvent>, begun: Timestamp) -> Result<(), StoreError> {
        let now = self.outbox.store().now().await?;
        for event in events {
            if event.at >= begun && now.since(event.at) < self.age {
                self.record(&event).await?;
            }
        }
        Ok(())
    }

    /// Reads every feed to its end.
    pub(crate) async fn read_all(&self, hold: &mut Hold) -> Result<(), StoreError> {
        while self.elevations(hold).await? {}
        while self.operations(hold).await? {}
        while self.manifests(hold).await? {}
        Ok(())
    }

    /// Reads some elevations; `true`: there are more.
    async fn elevations(&self, hold: &mut Hold) -> Result<bool, StoreError> {
        let from = hold.cursor().elevations;
        let changes = self.feed::<Elevation>().changes(from, CHANGES).await?;
        for document in changes.items.into_iter().filter_map(|change| change.document) {
            let target = document.value.target.as_ref();
            let place = match target {
                Some(id) => Some(self.place(id.key()).await?),
                None => None,
            };
            let events = events::elevation(&document.value, place.as_ref());
            self.record_new(events, hold.cursor().begun).await?;
        }
        hold.cursor_mut().elevations = changes.cursor;
        self.moved(hold, from != changes.cursor).await?;
        Ok(changes.more)
    }

    /// Reads some operation logs; `true`: there are more.
    async fn operations(&self, hold: &mut Hold) -> Result<bool, StoreError> {
        let from = hold.cursor().operations;
        let changes = self.feed::<OperationLog>().changes(from, CHANGES).await?;
        for document in changes.items.into_iter().filter_map(|change| change.document) {
            let place = ClusterPlace { key: document.value.key.clone(), region: String::new() };
            if events::operation(&document.value, &place).is_some() {
                let place = self.place(&document.value.key).await?;
                let told = events::operation(&document.value, &place);
                self.record_new(told.into_iter().collect(), hold.cursor().begun).await?;
            }
        }
        hold.cursor_mut().operations = changes.cursor;
        self.moved(hold, from != changes.cursor).await?;
        Ok(changes.more)
    }

    /// Reads some manifests; `true`: there are more.
    async fn manifests(&self, hold: &mut Hold) -> Result<bool, StoreError> {
        let from = hold.cursor().manifests;
        let changes = self.feed::<ManifestDocument>().changes(from, CHANGES).await?;
        for document in changes.items.into_iter().filter_map(|change| change.document) {
            if document.value.maintenance_manifest.state.is_terminal() {
                let place = self.place(&document.value.cluster_resource_id).await?;
                let told = events::manifest(&document.value, &place);
                self.record_new(told.into_iter().collect(), hold.cursor().begun).await?;
            }
        }
        hold.cursor_mut().manifests = changes.cursor;
        self.moved(hold, from != changes.cursor).await?;
        Ok(changes.more)
    }

    fn feed<T: Document>(&self) -> Typed<T> {
        Typed::new(Arc::clone(self.outbox.store()))
    }

    async fn moved(&self, hold: &mut Hold, moved: bool) -> Result<(), StoreError> {
        if moved { hold.save().await } else { Ok(()) }
    }

    /// What is known of a cluster by its resource id.
    async fn place(&self, key: &str) -> Result<ClusterPlace, StoreError> {
        let found = self.feed::<ClusterDocument>().get_by_key(key).await;
        let region = match found {
            Ok(found) => found.map(|found| found.value.cluster.location.to_string()).unwrap_or_default(),
            // A document that cannot be read has a region that is not known.
            Err(StoreError::Malformed { .. }) => String::new(),
            Err(error) => return Err(error),
        };
        Ok(ClusterPlace { key: key.to_owned(), region })
    }

    /// What is known of a cluster by the id of its document; `None`: it is gone, or being created or deleted.
    pub(crate) async fn place_of(&self, id: &str) -> Result<Option<ClusterPlace>, StoreError> {
        let found = match self.feed::<ClusterDocument>().get(id).await {
            Err(StoreError::Malformed { .. }) => return Ok(None),
            found => found?,
        };
        if let Some(found) = found {
            let cluster = &found.value.cluster;
            let passing = cluster.properties.provisioning_state.get().is_some_and(|state| state.is_passing());
            let region = cluster.location.to_string();
            return Ok((!passing).then(|| ClusterPlace { key: found.value.key.clone(), region }));
        }
        let imported = match self.feed::<ImportedCluster>().get(id).await {
            Err(StoreError::Malformed { .. }) => return Ok(None),
            found => found?,
        };
        Ok(imported.map(|found| ClusterPlace {
            key: found.value.resource_id.key().to_owned(),
            region: String::new(),
        }))
    }
}

/// The feeds that wake the sender.
pub(crate) const WAKES: [Collection; 4] = [
    Collection::Elevations,
    Collection::OperationLogs,
    Collection::MaintenanceManifests,
    Collection::ClusterHealth,
];
