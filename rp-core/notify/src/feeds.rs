//! The change feeds of what happens: elevations, operation logs, manifests, schedules. A position moves on only after its events are
//! recorded, so a process that is killed in between records them again, and they are there already.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rp_base::Timestamp;
use rp_database::{StoreError, Typed};
use rp_documents::{
    ClusterDocument, Collection, Document, Elevation, ImportedCluster, ManifestDocument, NotificationCursor,
    NotificationEvent, OperationLog, ResourceId, ScheduleDocument,
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
        while self.read(hold, &ELEVATIONS).await? {}
        while self.read(hold, &OPERATIONS).await? {}
        while self.read(hold, &MANIFESTS).await? {}
        while self.read(hold, &SCHEDULES).await? {}
        Ok(())
    }

    /// Reads some documents of a feed; `true`: there are more.
    async fn read<T: Document>(&self, hold: &mut Hold, feed: &Feed<T>) -> Result<bool, StoreError> {
        let from = *(feed.position)(hold.cursor_mut());
        let changes = self.feed::<T>().changes(from, CHANGES).await?;
        let changed = changes.items.into_iter().filter_map(|change| change.document);
        for document in changed.map(|document| document.value).filter(feed.tells) {
            let place = match (feed.cluster)(&document) {
                Some(key) => Some(self.place(key).await?),
                None => None,
            };
            self.record_new((feed.events)(&document, place.as_ref()), hold.cursor().begun).await?;
        }
        *(feed.position)(hold.cursor_mut()) = changes.cursor;
        if from != changes.cursor {
            hold.save().await?;
        }
        Ok(changes.more)
    }

    fn feed<T: Document>(&self) -> Typed<T> {
        Typed::new(Arc::clone(self.outbox.store()))
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

/// How documents of a kind are read.
struct Feed<T> {
    /// How far it was read.
    position: fn(&mut NotificationCursor) -> &mut i64,
    /// Whether there is anything to tell; the cluster of others is not looked up.
    tells: fn(&T) -> bool,
    /// The resource id of its cluster; `None`: it is for every cluster.
    cluster: fn(&T) -> Option<&str>,
    events: fn(&T, Option<&ClusterPlace>) -> Vec<NotificationEvent>,
}

const ELEVATIONS: Feed<Elevation> = Feed {
    position: |cursor| &mut cursor.elevations,
    tells: events::is_elevation_told,
    cluster: |elevation| elevation.target.as_ref().map(ResourceId::key),
    events: events::elevation,
};

const OPERATIONS: Feed<OperationLog> = Feed {
    position: |cursor| &mut cursor.operations,
    tells: events::is_operation_told,
    cluster: |log| Some(&log.key),
    events: |log, place| place.and_then(|place| events::operation(log, place)).into_iter().collect(),
};

const MANIFESTS: Feed<ManifestDocument> = Feed {
    position: |cursor| &mut cursor.manifests,
    tells: events::is_manifest_told,
    cluster: |manifest| Some(&manifest.cluster_resource_id),
    events: |manifest, place| place.and_then(|place| events::manifest(manifest, place)).into_iter().collect(),
};

const SCHEDULES: Feed<ScheduleDocument> = Feed {
    position: |cursor| &mut cursor.schedules,
    tells: events::is_schedule_told,
    cluster: |_| None,
    events: |schedule, _| events::schedule(schedule).into_iter().collect(),
};

/// The feeds that wake the sender.
pub(crate) const WAKES: [Collection; 5] = [
    Collection::Elevations,
    Collection::OperationLogs,
    Collection::MaintenanceManifests,
    Collection::MaintenanceSchedules,
    Collection::ClusterHealth,
];
