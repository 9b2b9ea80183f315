//! What the workers count, for Prometheus. The contract's statsd lines are made of the same in [`crate::dimensions`].

use std::time::Duration;

use rp_base::Timestamp;
use rp_metrics::{Counter, Family, Gauge, Histogram, Registry, Rounds, buckets, label_enum, labels, metrics};

use crate::kind::Kind;

label_enum! {
    /// How a turn of a worker ended.
    pub enum TurnOutcome {
        Succeeded = "succeeded",
        UserError = "user_error",
        InternalError = "internal_error",
        NextPhase = "next_phase",
        /// The process stops; another goes on.
        HandedOver = "handed_over",
        /// Ours; put off.
        Later = "later",
        Panicked = "panicked",
        Lost = "lost",
        /// Somebody was faster, or there was no work any more.
        Beaten = "beaten",
        /// The store did not answer.
        NotTaken = "not_taken",
    }
}
labels! {
    /// What is worked on.
    pub struct KindLabels { kind: &'static str }
}
labels! {
    /// An operation (`Creating`, …) and its end.
    pub struct TurnLabels { operation: &'static str, result: TurnOutcome }
}

/// Seconds, from a trivial operation to an installation.
pub(crate) const OPERATIONS: &[f64] =
    &[0.01, 0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0];

metrics! {
    /// Workers (`contract/backend.md` §7, "Do better" 10, 11).
    pub struct BackendMetrics("aro_backend") {
        /// Documents that this process works on.
        pub workers: Family<KindLabels, Gauge> = "workers";
        /// Documents with work, at work here or elsewhere, that this process knows of.
        pub known: Family<KindLabels, Gauge> = "queue_known";
        /// Documents that anybody could take, as of the last look once a minute.
        pub length: Family<KindLabels, Gauge> = "queue_length";
        /// Turns of workers, by how they ended.
        pub turns: Family<TurnLabels, Counter> = "turns_total";
        /// Time of one turn of a worker, from the take.
        pub duration: Family<TurnLabels, Histogram> = "turn_duration_seconds", OPERATIONS;
        /// Time from the last write of a document to its take.
        pub pickup: Histogram = "pickup_seconds", buckets::REQUESTS;
        /// Renewals of leases that failed and were tried again.
        pub heartbeat_failures: Counter = "heartbeat_failures_total";
        /// Leases that this process lost.
        pub leases_lost: Counter = "leases_lost_total";
        /// Reads of the queue that failed.
        pub feed_failures: Family<KindLabels, Counter> = "queue_read_failures_total";
    }
}

/// The instruments with the words of this crate.
#[derive(Debug, Clone)]
pub(crate) struct Metrics(pub(crate) BackendMetrics, FeedRounds);

/// Heartbeats of the feeds behind the queues.
#[derive(Debug, Clone)]
struct FeedRounds {
    clusters: Rounds,
    subscriptions: Rounds,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Self {
        let clusters = Rounds::new(registry, "clusters-queue");
        let subscriptions = Rounds::new(registry, "subscriptions-queue");
        Self(BackendMetrics::register(registry), FeedRounds { clusters, subscriptions })
    }

    /// A feed was read to its end, or could not be.
    pub(crate) fn feed_read(&self, kind: Kind, now: Timestamp) {
        match kind {
            Kind::Cluster => self.1.clusters.ended(now),
            Kind::Subscription => self.1.subscriptions.ended(now),
        }
    }

    pub(crate) fn feed_failed(&self, kind: Kind) {
        self.0.feed_failures.with(&KindLabels { kind: kind.name() }).inc();
    }

    pub(crate) fn heartbeat_failed(&self) {
        self.0.heartbeat_failures.inc();
    }

    pub(crate) fn lease_lost(&self) {
        self.0.leases_lost.inc();
    }

    pub(crate) fn workers(&self, kind: Kind, count: usize) {
        self.0.workers.with(&KindLabels { kind: kind.name() }).set_count(count);
    }

    pub(crate) fn queue(&self, kind: Kind, known: usize, length: usize) {
        let labels = KindLabels { kind: kind.name() };
        self.0.known.with(&labels).set_count(known);
        self.0.length.with(&labels).set_count(length);
    }

    pub(crate) fn turn(&self, operation: &'static str, result: TurnOutcome, took: Duration) {
        let labels = TurnLabels { operation, result };
        self.0.turns.with(&labels).inc();
        self.0.duration.with(&labels).observe_duration(took);
    }

    pub(crate) fn picked_up(&self, after: Duration) {
        self.0.pickup.observe_duration(after);
    }
}

/// Registers everything that workers count, for lists of metrics.
pub fn register_metrics(registry: &Registry) {
    BackendMetrics::register(registry);
}
