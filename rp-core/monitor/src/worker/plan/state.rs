//! What the plan knows of a cluster, and the ticks of its worker.

use std::sync::Arc;
use std::time::Duration;

use rp_documents::ResourceId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::view::ClusterView;

/// One cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    /// `None`: not monitored, because of its state or because it is gone.
    pub(super) view: Option<Arc<ClusterView>>,
    pub(super) state: State,
    /// The serial of its valid heap entry.
    pub(super) serial: u64,
}

#[derive(Debug)]
pub(super) enum State {
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
pub(super) struct Worker {
    /// When its present round was or is due.
    pub(super) slot: Instant,
    pub(super) number: u64,
    /// Of the wall clock, in hours since the epoch.
    pub(super) hour: Option<i64>,
    pub(super) nsg: Option<Instant>,
    pub(super) warned: Option<Instant>,
}

impl Worker {
    /// Moves on to the next tick; returns how many were dropped.
    pub(super) fn advance(&mut self, now: Instant, interval: Duration) -> u64 {
        let (slot, missed) = next_slot(self.slot, now, interval);
        self.slot = slot;
        missed
    }
}

/// The first tick after `now`, in phase with `slot`, and how many ticks were missed before it.
pub(super) fn next_slot(slot: Instant, now: Instant, interval: Duration) -> (Instant, u64) {
    let behind = now.saturating_duration_since(slot).as_nanos() / interval.as_nanos().max(1);
    let ticks = u32::try_from(behind + 1).unwrap_or(u32::MAX);
    (slot + interval * ticks, u64::from(ticks - 1))
}
