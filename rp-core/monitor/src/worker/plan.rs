//! Schedules the looks: no I/O, every instant is passed in. One heap of instants for all clusters, so that
//! ten thousand of them cost one timer and a few hundred bytes each.

mod action;
mod clusters;
mod state;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use rp_base::SharedRandom;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Round;
use super::pace::Pace;
use crate::feed::ClusterIndex;
use crate::view::ClusterView;
use rp_pool::Buckets;

use state::{Cluster, State, next_slot};

pub(crate) use action::{Action, LookStart, Tenancy};

/// Delay of a round while the subscriptions are not known.
const PUT_OFF: Duration = Duration::from_millis(500);

/// Between two warnings that a cluster's subscription is invalid.
pub(crate) const SKIP_WARNING: Duration = Duration::from_mins(30);

/// Concurrent looks in a process that serves users: a base, plus one per number of clusters, because looks that
/// hang hold their slots.
const SHARED: (usize, usize) = (16, 40);

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
        worker.advance(now, self.settings.interval);
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
        self.missed += worker.advance(now, self.settings.interval);
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
