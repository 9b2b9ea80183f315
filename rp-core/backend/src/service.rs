//! The loop that hands documents to workers (`contract/backend.md` §2).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{SharedClock, SharedRandom, chain};
use rp_cluster::Manager;
use rp_database::SharedStore;
use rp_metrics::{Registry, Statsd};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::claim_cache::ClaimCache;
use crate::context::Context;
use crate::feed::Feed;
use crate::kind::Kind;
use crate::metrics::{Metrics, TurnOutcome};
use crate::queue::{Bounds, Queue, QueuedDocument};
use crate::settings::{kept_for_deletes, normalized};
use crate::time::StoreTime;
use crate::{cluster, subscription};

/// Between two emissions of the queue's length (`contract/backend.md` §7.3).
const LENGTH: Duration = Duration::from_secs(60);
/// Pause of a document after its turn ended, unless a newer version is read.
const REST: Duration = Duration::from_secs(2);
/// Pause of a document that could not be claimed.
const AWAY: Duration = Duration::from_secs(1);
/// Pause between two checks of a queue whose slots are all in use.
const BREATH: Duration = Duration::from_millis(2);

/// Dependencies of the workers.
#[derive(Debug)]
pub struct BackendParts {
    pub store: SharedStore,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub manager: Arc<dyn Manager>,
    pub settings: rp_config::Backend,
    pub registry: Registry,
    /// The contract's lines about operations.
    pub statsd: Statsd,
    /// The domain of clusters without one of their own, e.g. `eastus.aroapp.io`.
    pub domain: String,
}

/// The workers of one process.
#[derive(Debug)]
pub struct Backend {
    context: Arc<Context>,
    counts: Arc<Counts>,
}

/// Documents at work in this process.
#[derive(Debug, Default)]
struct Counts {
    clusters: AtomicUsize,
    subscriptions: AtomicUsize,
}

/// A slot among the workers; released on drop.
struct Slot {
    context: Arc<Context>,
    counts: Arc<Counts>,
    kind: Kind,
    picked: QueuedDocument,
    /// Its worker had the document, as far as is known.
    worked: bool,
    rest: Duration,
}

impl Backend {
    /// Creates the workers; [`Backend::run`] starts them.
    pub fn new(parts: BackendParts) -> Self {
        let BackendParts { store, clock, random, manager, settings, registry, statsd, domain } = parts;
        let settings = normalized(settings);
        let others = settings.workers - kept_for_deletes(&settings);
        let clusters = Bounds { others, per_subscription: settings.per_subscription };
        let subscriptions = Bounds { others: settings.workers, per_subscription: 1 };
        let context = Context {
            time: StoreTime::new(clock.now()),
            owner: random.uuid().to_string(),
            metrics: Metrics::new(&registry),
            clusters: Mutex::new(Queue::new(clusters)),
            subscriptions: Mutex::new(Queue::new(subscriptions)),
            claims: ClaimCache::default(),
            wake: Notify::new(),
            stopping: CancellationToken::new(),
            cut: CancellationToken::new(),
            store,
            clock,
            random,
            manager,
            settings,
            statsd,
            domain,
        };
        Self { context: Arc::new(context), counts: Arc::default() }
    }

    /// The name of this process in leases.
    pub fn owner(&self) -> &str {
        &self.context.owner
    }

    /// Works until `stop`: then takes nothing new, lets running operations come to the end of their step and hands them
    /// on, and cuts what is left at the deadline.
    pub async fn run(self, stop: CancellationToken) {
        let mut background = JoinSet::new();
        for kind in [Kind::Cluster, Kind::Subscription] {
            background.spawn(Feed::new(Arc::clone(&self.context), kind).follow());
        }
        background.spawn(emit_queue_length(Arc::clone(&self.context)));
        let mut workers = JoinSet::new();
        tokio::select! {
            () = self.dispatch(&mut workers) => {}
            () = stop.cancelled() => {}
        }
        tracing::info!(workers = workers.len(), "stopping");
        self.context.stopping.cancel();
        let settings = &self.context.settings;
        if timeout(settings.drain, join_all(&mut workers)).await.is_err() {
            tracing::warn!(workers = workers.len(), "running operations are cut off; others go on with them");
            self.context.cut.cancel();
            if timeout(settings.lease, join_all(&mut workers)).await.is_err() {
                tracing::error!(workers = workers.len(), "leases were not given back: they run out");
            }
        }
        workers.shutdown().await;
        background.shutdown().await;
        tracing::info!("exiting");
    }

    async fn dispatch(&self, workers: &mut JoinSet<()>) {
        loop {
            while workers.len() < self.context.settings.workers
                && let Some((kind, picked)) = self.pick()
            {
                self.start(workers, kind, picked);
            }
            let due = self.next_due(workers.len());
            tokio::select! {
                Some(ended) = workers.join_next() => log_panic(ended),
                () = self.context.wake.notified() => {}
                () = sleep_until(due) => {}
            }
            while let Some(ended) = workers.try_join_next() {
                log_panic(ended);
            }
        }
    }

    /// Picks the next document. Subscriptions are few and quick: they go first, on a part of the slots.
    fn pick(&self) -> Option<(Kind, QueuedDocument)> {
        let now = Instant::now();
        let most = (self.context.settings.workers / 10).max(1);
        if self.counts.subscriptions.load(Ordering::Relaxed) < most
            && let Some(picked) = self.context.subscriptions.lock().pick(now)
        {
            return Some((Kind::Subscription, picked));
        }
        let picked = self.context.clusters.lock().pick(now)?;
        Some((Kind::Cluster, picked))
    }

    /// When the next document becomes due. Without free slots, the end of a worker wakes the loop.
    fn next_due(&self, workers: usize) -> Instant {
        let now = Instant::now();
        let idle = now + self.context.settings.poll;
        if workers >= self.context.settings.workers {
            return idle;
        }
        let of = |kind| self.context.queue(kind).lock().next_due();
        let due = [of(Kind::Cluster), of(Kind::Subscription)].into_iter().flatten().fold(idle, Instant::min);
        due.max(now + BREATH)
    }

    fn start(&self, workers: &mut JoinSet<()>, kind: Kind, picked: QueuedDocument) {
        let (context, counts) = (Arc::clone(&self.context), Arc::clone(&self.counts));
        let slot = Slot::new(Arc::clone(&context), counts, kind, picked.clone());
        workers.spawn(async move {
            let turn = match kind {
                Kind::Cluster => cluster::process(context, picked).await,
                Kind::Subscription => subscription::process(context, picked).await,
            };
            slot.end(turn);
        });
    }
}

impl Slot {
    fn new(context: Arc<Context>, counts: Arc<Counts>, kind: Kind, picked: QueuedDocument) -> Self {
        let slot = Self { context, counts, kind, picked, worked: false, rest: REST };
        slot.count().fetch_add(1, Ordering::Relaxed);
        slot.emit_workers();
        slot
    }

    fn end(mut self, turn: TurnOutcome) {
        self.worked = !matches!(turn, TurnOutcome::Beaten | TurnOutcome::NotTaken);
        if turn == TurnOutcome::NotTaken {
            self.rest = AWAY.mul_f64(1.0 + self.context.random.unit());
        }
    }

    fn count(&self) -> &AtomicUsize {
        match self.kind {
            Kind::Cluster => &self.counts.clusters,
            Kind::Subscription => &self.counts.subscriptions,
        }
    }

    fn emit_workers(&self) {
        let count = self.count().load(Ordering::Relaxed);
        self.context.metrics.workers(self.kind, count);
        let name = match self.kind {
            Kind::Cluster => "backend.openshiftcluster.workers.count",
            Kind::Subscription => "backend.subscriptions.workers.count",
        };
        self.context.statsd.gauge(name, i64::try_from(count).unwrap_or(i64::MAX), &[]);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.context.queue(self.kind).lock().release(&self.picked, self.worked, self.rest, Instant::now());
        self.count().fetch_sub(1, Ordering::Relaxed);
        self.emit_workers();
        self.context.wake.notify_one();
    }
}

async fn join_all(workers: &mut JoinSet<()>) {
    while let Some(one) = workers.join_next().await {
        log_panic(one);
    }
}

/// Logs a panic of a worker: its lease expires, and another attempt is made.
fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(error = %chain(&error), "a worker panicked: its document is free when the lease ends");
    }
}

async fn emit_queue_length(context: Arc<Context>) {
    let mut tick = interval(LENGTH);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first value comes after one period.
    tick.tick().await;
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            () = context.stopping.cancelled() => return,
        }
        for kind in [Kind::Cluster, Kind::Subscription] {
            let (known, length) = {
                let queue = context.queue(kind).lock();
                (queue.known(), queue.length(Instant::now()))
            };
            context.metrics.queue(kind, known, length);
            if kind == Kind::Cluster {
                let length = i64::try_from(length).unwrap_or(i64::MAX);
                context.statsd.gauge("database.openshiftclusters.queue.length", length, &[]);
            }
        }
    }
}
