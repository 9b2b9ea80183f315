//! State of one cluster in this process: its snapshot, watches and viewers.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::Timestamp;
use rp_documents::ResourceId;
use rp_kube::KubeClient;
use rp_kube::connect::{ClientOptions, Identity, client};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::kinds::Kind;
use crate::observer::ObserverParts;
use crate::snapshot::ClusterSnapshot;
use crate::watch_error::WatchError;

/// Concurrent lists of one cluster.
const LISTS: usize = 4;
/// Largest page, bytes.
const PAGE_BYTES: usize = 24 * 1024 * 1024;

/// One cluster.
pub(crate) struct Cluster {
    pub(crate) id: ResourceId,
    state: Mutex<State>,
    /// Counts notifications of viewers.
    told: watch::Sender<u64>,
    dirty: Notify,
    client: tokio::sync::Mutex<Option<(u64, KubeClient)>>,
    pub(crate) lists: Semaphore,
}

#[derive(Debug)]
struct State {
    snapshot: Arc<ClusterSnapshot>,
    slots: HashMap<Kind, Slot>,
    /// When the last viewer left.
    left: Option<Instant>,
    /// Stops the task that notifies viewers; it runs while there are watches.
    teller: Option<CancellationToken>,
}

/// Viewers and watch of a kind.
#[derive(Debug, Default)]
struct Slot {
    viewers: usize,
    /// When the last viewer left.
    left: Option<Instant>,
    stop: Option<CancellationToken>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Cluster {
    pub(crate) fn new(id: ResourceId, at: Timestamp) -> Self {
        let state = State {
            snapshot: Arc::new(ClusterSnapshot::empty(at)),
            slots: HashMap::new(),
            left: None,
            teller: None,
        };
        Self {
            id,
            state: Mutex::new(state),
            told: watch::Sender::new(0),
            dirty: Notify::new(),
            client: tokio::sync::Mutex::default(),
            lists: Semaphore::new(LISTS),
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<ClusterSnapshot> {
        Arc::clone(&self.state.lock().snapshot)
    }

    pub(crate) fn changed(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// Changes the snapshot and notifies viewers soon.
    pub(crate) fn update(&self, at: Timestamp, change: impl FnOnce(&mut ClusterSnapshot)) {
        {
            let mut state = self.state.lock();
            let snapshot = Arc::make_mut(&mut state.snapshot);
            snapshot.at = at;
            change(snapshot);
        }
        self.dirty.notify_one();
    }

    /// Changes the snapshot without a notification, for a sign of life of the watch.
    pub(crate) fn touch(&self, change: impl FnOnce(&mut ClusterSnapshot)) {
        change(Arc::make_mut(&mut self.state.lock().snapshot));
    }

    /// Adds a viewer; returns the kinds that are not watched yet, each with the token that will stop its watch.
    pub(crate) fn enter(&self, kinds: &[Kind]) -> Vec<(Kind, CancellationToken)> {
        let mut state = self.state.lock();
        if state.slots.values().all(|slot| slot.viewers == 0) {
            // A request without a watch counts as a viewer that has already left.
            state.left = kinds.is_empty().then(Instant::now);
        }
        let mut fresh = Vec::new();
        for kind in kinds {
            let slot = state.slots.entry(*kind).or_default();
            slot.viewers += 1;
            slot.left = None;
            if slot.stop.is_none() {
                let stop = CancellationToken::new();
                slot.stop = Some(stop.clone());
                fresh.push((*kind, stop));
            }
        }
        fresh
    }

    /// Starts the task that notifies viewers, unless it runs.
    pub(crate) fn start_notifier(self: &Arc<Self>, every: Duration) {
        let stop = {
            let mut state = self.state.lock();
            if state.teller.is_some() {
                return;
            }
            state.teller.insert(CancellationToken::new()).clone()
        };
        let this = Arc::clone(self);
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            loop {
                this.dirty.notified().await;
                this.told.send_modify(|count| *count += 1);
                // Limits the rate of notifications.
                tokio::time::sleep(every).await;
            }
        }));
    }

    /// Removes a viewer.
    pub(crate) fn leave(&self, kinds: &[Kind]) {
        let mut state = self.state.lock();
        let now = Instant::now();
        for kind in kinds {
            let Some(slot) = state.slots.get_mut(kind) else { continue };
            slot.viewers = slot.viewers.saturating_sub(1);
            if slot.viewers == 0 {
                slot.left = Some(now);
            }
        }
        if state.slots.values().all(|slot| slot.viewers == 0) {
            state.left = Some(now);
        }
    }

    /// Ends watches that had no viewer for `linger`; returns their kinds.
    pub(crate) fn sweep(&self, linger: Duration) -> Vec<Kind> {
        let mut state = self.state.lock();
        let mut ended = Vec::new();
        for (kind, slot) in &mut state.slots {
            if slot.viewers == 0
                && slot.left.is_some_and(|left| left.elapsed() >= linger)
                && let Some(stop) = slot.stop.take()
            {
                stop.cancel();
                ended.push(*kind);
            }
        }
        if state.slots.values().all(|slot| slot.stop.is_none())
            && let Some(teller) = state.teller.take()
        {
            teller.cancel();
        }
        ended
    }

    /// When the last viewer left; `None`: there are viewers, or a watch still runs.
    pub(crate) fn unseen_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        state.left.filter(|_| state.slots.values().all(|slot| slot.stop.is_none()))
    }

    /// The watch of a kind was not started: the next viewer may start it.
    pub(crate) fn forget(&self, kind: Kind) {
        if let Some(slot) = self.state.lock().slots.get_mut(&kind) {
            slot.stop = None;
        }
    }

    /// Ends all watches, whether or not there are viewers.
    pub(crate) fn sweep_all(&self) {
        let mut state = self.state.lock();
        let slots = state.slots.values_mut().filter_map(|slot| slot.stop.take()).collect::<Vec<_>>();
        for stop in slots.into_iter().chain(state.teller.take()) {
            stop.cancel();
        }
    }

    /// Number of watched kinds, summed over all viewers.
    pub(crate) fn viewers(&self) -> usize {
        self.state.lock().slots.values().map(|slot| slot.viewers).sum()
    }

    /// Closes the connections of a cluster without viewers.
    pub(crate) fn disconnect(&self) {
        if let Ok(mut client) = self.client.try_lock() {
            *client = None;
        }
    }

    /// A client for the cluster as it is stored now.
    pub(crate) async fn client(&self, parts: &ObserverParts) -> Result<KubeClient, WatchError> {
        let target = parts.directory.find(&self.id).await?;
        let mut held = self.client.lock().await;
        if let Some((_, client)) = held.as_ref().filter(|(print, _)| *print == target.fingerprint) {
            return Ok(client.clone());
        }
        let options = ClientOptions {
            dial: parts.limits.dial,
            head: parts.limits.head,
            silence: parts.limits.head,
            // The reader of a watch applies the timeout for silence.
            stream_silence: Duration::from_secs(900),
            answer_bytes: PAGE_BYTES,
            idle_connections: 4,
            user_agent: "aro (pages)".to_owned(),
            ..ClientOptions::default()
        };
        let fingerprint = target.fingerprint;
        let client = client(parts.dialer.clone(), target, Identity::Read, &options)?;
        *held = Some((fingerprint, client.clone()));
        Ok(client)
    }
}
