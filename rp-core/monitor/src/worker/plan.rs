//! Schedules the looks: no I/O, every instant is passed in. One heap of instants for all clusters, so that
//! ten thousand of them cost one timer and a few hundred bytes each.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use rp_base::SharedRandom;
use rp_documents::ResourceId;
use rp_net::Source;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Round;
use super::pace::Pace;
use crate::feed::{ClusterEntry, ClusterIndex, DocumentKey, Event};
use crate::pool::Buckets;
use crate::view::ClusterView;

/// Delay of a round while the subscriptions are not known.
const PUT_OFF: Duration = Duration::from_millis(500);

/// Concurrent looks in a process that serves users: a base, plus one per number of clusters, because looks that
/// hang hold their slots.
const SHARED: (usize, usize) = (16, 40);

/// Between two warnings that a cluster's subscription is invalid.
pub(crate) const SKIP_WARNING: Duration = Duration::from_mins(30);

/// Whether a cluster may be looked at, by its subscription.
#[derive(Debug, Clone)]
pub(crate) enum Tenancy {
    /// Imported clusters have none.
    NotNeeded,
    Of(Arc<str>),
    /// Unknown, deleted, suspended or warned.
    Invalid,
    /// Subscriptions were not read yet.
    NotReady,
}

/// An action that the caller has to perform.
#[derive(Debug)]
pub(crate) enum Action {
    /// A look is to begin. [`Plan::done`] ends it.
    Look(Box<LookStart>),
    /// A round that was skipped; `warn`: it is time to log this again.
    Skipped { id: ResourceId, warn: bool },
    /// The worker ended: drop the state of the cluster.
    Forget(ResourceId),
    /// The document is gone and its bucket is ours: remove its mirrored documents.
    Remove { document: Box<str>, bucket: u8 },
}

/// A look that is to begin.
#[derive(Debug)]
pub(crate) struct LookStart {
    pub(crate) key: Arc<str>,
    pub(crate) view: Arc<ClusterView>,
    pub(crate) round: Round,
    pub(crate) cancel: CancellationToken,
    /// Delay after the scheduled instant.
    pub(crate) late: Duration,
}

/// One cluster.
#[derive(Debug)]
struct Cluster {
    /// `None`: not monitored, because of its state or because it is gone.
    view: Option<Arc<ClusterView>>,
    state: State,
    /// The serial of its valid heap entry.
    serial: u64,
}

#[derive(Debug)]
enum State {
    /// Not owned by this process.
    Rest,
    Waiting(Box<Worker>),
    Looking {
        worker: Box<Worker>,
        id: ResourceId,
        cancel: CancellationToken,
        removed: Option<(Box<str>, u8)>,
    },
}

/// State of a worker between rounds.
#[derive(Debug)]
struct Worker {
    /// When its present round was or is due.
    slot: Instant,
    number: u64,
    /// Of the wall clock, in hours since the epoch.
    hour: Option<i64>,
    nsg: Option<Instant>,
    warned: Option<Instant>,
}

type HeapEntry = Reverse<(Instant, u64, Arc<str>)>;

/// All clusters, and when they are due.
#[derive(Debug)]
pub(crate) struct Plan {
    settings: rp_config::Monitor,
    /// The process also serves users: fewer concurrent looks, so that pages respond while many clusters are due.
    shared: bool,
    random: SharedRandom,
    known: ClusterIndex,
    clusters: HashMap<Arc<str>, Cluster>,
    owned: Buckets,
    heap: BinaryHeap<HeapEntry>,
    serial: u64,
    pace: Pace,
    /// No look may begin before this instant.
    held: Option<Instant>,
    workers: usize,
    running: usize,
    watched: usize,
    missed: u64,
}

impl Plan {
    pub(crate) fn new(
        settings: rp_config::Monitor,
        shared: bool,
        random: SharedRandom,
        known: ClusterIndex,
        now: Instant,
    ) -> Self {
        Self {
            settings,
            shared,
            random,
            known,
            clusters: HashMap::new(),
            owned: Buckets::none(),
            heap: BinaryHeap::new(),
            serial: 0,
            pace: Pace::new(now),
            held: None,
            workers: 0,
            running: 0,
            watched: 0,
            missed: 0,
        }
    }

    /// Clusters in the cache.
    pub(crate) const fn watched(&self) -> usize {
        self.watched
    }

    /// Clusters with a worker.
    pub(crate) const fn workers(&self) -> usize {
        self.workers
    }

    /// Looks that run.
    pub(crate) const fn running(&self) -> usize {
        self.running
    }

    /// Number of ticks dropped since the last call.
    pub(crate) const fn take_missed(&mut self) -> u64 {
        std::mem::replace(&mut self.missed, 0)
    }

    /// Applies an event of a feed.
    pub(crate) fn apply(&mut self, event: Event, now: Instant, actions: &mut Vec<Action>) {
        match event {
            Event::Seen(view) => self.upsert_cluster(view, now, actions),
            Event::Unreadable(key) => {
                if let Some(place) = self.known.get(&key) {
                    self.drop_view(&place.key, &key.id, now, actions);
                }
            }
            Event::Gone(key) => self.remove_document(&key, now, actions),
            Event::Living { imported, ids } => {
                for key in self.known.missing(imported, |id| ids.contains(id)) {
                    self.remove_document(&key, now, actions);
                }
            }
        }
    }

    /// Applies the current assignment.
    pub(crate) fn set_owned(&mut self, owned: Buckets, now: Instant, actions: &mut Vec<Action>) {
        if owned == self.owned {
            return;
        }
        self.owned = owned;
        let keys: Vec<Arc<str>> = self.clusters.keys().cloned().collect();
        for key in keys {
            self.reconcile(&key, now, actions);
        }
    }

    fn upsert_cluster(&mut self, mut view: Arc<ClusterView>, now: Instant, actions: &mut Vec<Action>) {
        let imported = view.source == Source::Imported;
        let document = DocumentKey::new(imported, &view.document);
        let key: Arc<str> = match self.clusters.get_key_value(view.id.key()) {
            Some((key, _)) => Arc::clone(key),
            None => view.id.key().into(),
        };
        if let Some(place) = self.known.get(&document).filter(|place| place.bucket != view.bucket) {
            tracing::error!(
                document = view.document,
                was = place.bucket,
                is = view.bucket,
                "the bucket of a cluster never changes: the first one stays"
            );
            Arc::make_mut(&mut view).bucket = place.bucket;
        }
        self.known.insert(document, ClusterEntry { key: Arc::clone(&key), bucket: view.bucket });
        if !view.is_watched() || imported && !self.settings.imported {
            return self.drop_view(&key, &view.document, now, actions);
        }
        let fresh = || Cluster { view: None, state: State::Rest, serial: 0 };
        let cluster = self.clusters.entry(Arc::clone(&key)).or_insert_with(fresh);
        self.watched += usize::from(cluster.view.is_none());
        // The tenant is kept when nothing else changed, so that most rounds need no copy.
        if cluster.view.as_ref().is_none_or(|held| !same(held, &view)) {
            cluster.view = Some(view);
        }
        self.reconcile(&key, now, actions);
    }

    /// Stops monitoring the cluster, if it belongs to that document.
    fn drop_view(&mut self, key: &Arc<str>, document: &str, now: Instant, actions: &mut Vec<Action>) {
        let Some(cluster) = self.clusters.get_mut(key) else { return };
        if cluster.view.as_ref().is_none_or(|view| view.document != document) {
            return;
        }
        cluster.view = None;
        self.watched -= 1;
        if let State::Looking { cancel, .. } = &cluster.state {
            cancel.cancel();
        }
        self.reconcile(key, now, actions);
    }

    fn remove_document(&mut self, document: &DocumentKey, now: Instant, actions: &mut Vec<Action>) {
        let Some(place) = self.known.remove(document) else { return };
        let ours = self.owned.contains(place.bucket);
        if ours
            && let Some(cluster) = self.clusters.get_mut(&place.key)
            && let State::Looking { removed, .. } = &mut cluster.state
            && cluster.view.as_ref().is_none_or(|view| *view.document == *document.id)
        {
            // A running look could write it again, so removal waits for its end.
            *removed = Some((document.id.clone(), place.bucket));
        } else if ours {
            actions.push(Action::Remove { document: document.id.clone(), bucket: place.bucket });
        }
        self.drop_view(&place.key, &document.id, now, actions);
    }

    /// Starts or ends the worker of a cluster. A running look continues; its worker is reconciled when it ends.
    fn reconcile(&mut self, key: &Arc<str>, now: Instant, actions: &mut Vec<Action>) {
        let Some(cluster) = self.clusters.get_mut(key) else { return };
        let wanted = cluster.view.as_ref().is_some_and(|view| self.owned.contains(view.bucket));
        match (&cluster.state, wanted) {
            (State::Rest, true) => {
                let slot = now + self.settings.start_delay.mul_f64(self.random.unit());
                let worker = Worker { slot, number: 0, hour: None, nsg: None, warned: None };
                cluster.state = State::Waiting(Box::new(worker));
                self.workers += 1;
                self.queue(key, slot);
            }
            (State::Waiting(_), false) => {
                cluster.state = State::Rest;
                cluster.serial = 0;
                self.workers -= 1;
                if let Ok(id) = ResourceId::parse(key) {
                    actions.push(Action::Forget(id));
                }
                self.remove_if_unused(key);
            }
            (State::Rest, false) => self.remove_if_unused(key),
            (State::Waiting(_), true) | (State::Looking { .. }, _) => {}
        }
    }

    /// Removes a cluster that is neither running a look nor existing.
    fn remove_if_unused(&mut self, key: &Arc<str>) {
        let idle = |cluster: &Cluster| cluster.view.is_none() && matches!(cluster.state, State::Rest);
        if self.clusters.get(key).is_some_and(idle) {
            self.clusters.remove(key);
        }
    }

    fn queue(&mut self, key: &Arc<str>, at: Instant) {
        self.serial += 1;
        if let Some(cluster) = self.clusters.get_mut(key) {
            cluster.serial = self.serial;
        }
        self.heap.push(Reverse((at, self.serial, Arc::clone(key))));
    }

    /// The next cluster of the heap and its instant; stale entries are removed.
    fn head(&mut self) -> Option<(Instant, Arc<str>)> {
        while let Some(Reverse((at, serial, key))) = self.heap.peek() {
            if self.clusters.get(key).is_some_and(|cluster| cluster.serial == *serial) {
                return Some((*at, Arc::clone(key)));
            }
            self.heap.pop();
        }
        None
    }

    /// Whether no further look may begin before one ends.
    fn is_full(&self) -> bool {
        let (least, share) = SHARED;
        let most = if self.shared { least + self.workers / share } else { usize::MAX };
        self.running >= most.min(self.settings.looks)
    }

    /// When [`Plan::start`] has work next; `None`: not before another event.
    pub(crate) fn wake(&mut self) -> Option<Instant> {
        if self.is_full() {
            return None;
        }
        let (at, _) = self.head()?;
        Some(self.held.map_or(at, |held| held.max(at)))
    }

    /// Starts or skips one round that is due; `false`: nothing is due, or nothing may begin yet.
    pub(crate) fn start(
        &mut self,
        now: Instant,
        hour: i64,
        tenancy: impl Fn(&ClusterView) -> Tenancy,
        actions: &mut Vec<Action>,
    ) -> bool {
        if self.is_full() {
            return false;
        }
        let Some((_, key)) = self.head().filter(|(at, _)| *at <= now) else { return false };
        let Some(view) = self.clusters.get(&key).and_then(|cluster| cluster.view.clone()) else {
            self.heap.pop();
            return true;
        };
        let tenant = match tenancy(&view) {
            Tenancy::NotNeeded => None,
            Tenancy::Of(tenant) => Some(tenant),
            Tenancy::NotReady => {
                self.queue(&key, now + PUT_OFF);
                return true;
            }
            Tenancy::Invalid => {
                self.skip(&key, &view, now, actions);
                return true;
            }
        };
        match self.pace.take(now, self.workers, self.settings.interval) {
            Ok(()) => self.held = None,
            Err(at) => {
                self.held = Some(at);
                return false;
            }
        }
        self.heap.pop();
        self.begin(&key, tenant, now, hour, actions);
        true
    }

    fn skip(&mut self, key: &Arc<str>, view: &ClusterView, now: Instant, actions: &mut Vec<Action>) {
        let Some(Cluster { state: State::Waiting(worker), .. }) = self.clusters.get_mut(key) else { return };
        let quiet = |at: Instant| now.saturating_duration_since(at) < SKIP_WARNING;
        let warn = !worker.warned.is_some_and(quiet);
        if warn {
            worker.warned = Some(now);
        }
        // A skipped round has no look, so no tick was missed.
        advance(worker, now, self.settings.interval);
        let slot = worker.slot;
        self.queue(key, slot);
        actions.push(Action::Skipped { id: view.id.clone(), warn });
    }

    fn begin(
        &mut self,
        key: &Arc<str>,
        tenant: Option<Arc<str>>,
        now: Instant,
        hour: i64,
        actions: &mut Vec<Action>,
    ) {
        let nsg_interval = self.settings.nsg_interval;
        let Some(cluster) = self.clusters.get_mut(key) else { return };
        let Some(view) = cluster.view.as_mut() else { return };
        if view.tenant != tenant {
            Arc::make_mut(view).tenant = tenant;
        }
        let view = Arc::clone(view);
        let mut worker = match std::mem::replace(&mut cluster.state, State::Rest) {
            State::Waiting(worker) => worker,
            other => {
                cluster.state = other;
                return;
            }
        };
        worker.number += 1;
        // The hour is remembered with the first round, so that this one is not hourly.
        let hourly = worker.hour.replace(hour).is_some_and(|before| before != hour);
        let due = *worker.nsg.get_or_insert(now + nsg_interval);
        let nsg_due = now >= due;
        if nsg_due {
            worker.nsg = Some(next_slot(due, now, nsg_interval).0);
        }
        let round = Round { hourly, nsg_due, number: worker.number };
        let late = now.saturating_duration_since(worker.slot);
        let cancel = CancellationToken::new();
        cluster.state = State::Looking { worker, id: view.id.clone(), cancel: cancel.clone(), removed: None };
        cluster.serial = 0;
        self.running += 1;
        actions.push(Action::Look(Box::new(LookStart { key: Arc::clone(key), view, round, cancel, late })));
    }

    /// A look ended: the worker waits for its next tick, or ends when the cluster is no longer monitored.
    pub(crate) fn done(&mut self, key: &Arc<str>, now: Instant, actions: &mut Vec<Action>) {
        let Some(cluster) = self.clusters.get_mut(key) else { return };
        let (mut worker, id, removed) = match std::mem::replace(&mut cluster.state, State::Rest) {
            State::Looking { worker, id, removed, .. } => (worker, id, removed),
            other => {
                cluster.state = other;
                return;
            }
        };
        self.running -= 1;
        if let Some((document, bucket)) = removed {
            actions.push(Action::Remove { document, bucket });
        }
        let wanted = cluster.view.as_ref().is_some_and(|view| self.owned.contains(view.bucket));
        if !wanted {
            self.workers -= 1;
            actions.push(Action::Forget(id));
            return self.remove_if_unused(key);
        }
        self.missed += advance(&mut worker, now, self.settings.interval);
        let slot = worker.slot;
        cluster.state = State::Waiting(worker);
        self.queue(key, slot);
    }

    /// Cancels every running look.
    pub(crate) fn cancel_all(&self) {
        for cluster in self.clusters.values() {
            if let State::Looking { cancel, .. } = &cluster.state {
                cancel.cancel();
            }
        }
    }

    #[cfg(test)]
    pub(super) fn looking(&self) -> std::collections::HashSet<&str> {
        let looks = |state: &State| matches!(state, State::Looking { .. });
        self.clusters.iter().filter(|(_, cluster)| looks(&cluster.state)).map(|(key, _)| &**key).collect()
    }
}

/// Whether two views are equal except for the tenant, which is set here.
fn same(held: &ClusterView, seen: &ClusterView) -> bool {
    let mut seen = seen.clone();
    seen.tenant.clone_from(&held.tenant);
    *held == seen
}

/// The first tick after `now`, in phase with `slot`, and how many ticks were missed before it.
fn next_slot(slot: Instant, now: Instant, interval: Duration) -> (Instant, u64) {
    let behind = now.saturating_duration_since(slot).as_nanos() / interval.as_nanos().max(1);
    let ticks = u32::try_from(behind + 1).unwrap_or(u32::MAX);
    (slot + interval * ticks, u64::from(ticks - 1))
}

/// Moves a worker to its next tick; returns how many were dropped.
fn advance(worker: &mut Worker, now: Instant, interval: Duration) -> u64 {
    let (slot, missed) = next_slot(worker.slot, now, interval);
    worker.slot = slot;
    missed
}

#[cfg(test)]
mod tests;
