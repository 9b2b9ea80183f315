//! The service: pool membership, feeds, workers, records, heartbeat, readiness (`contract/monitor.md` §1, §12).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedClock, SharedRandom};
use rp_database::{SharedStore, StoreError};
use rp_documents::Collection;
use rp_metrics::Registry;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::emit::Emitters;
use crate::feed::{self, ClusterIndex, Feed, FeedTimes, LastPoll, Sink, Subscriptions};
use crate::looks::{PendingLooks, Recorder};
use crate::names::{Metric, own};
use crate::sample::Value;
use crate::worker::plan::Plan;
use crate::worker::run::Scheduler;
use crate::worker::{Look, WorkerMetrics};
use rp_pool::{Assignment, Pool, PoolError, PoolParts, PoolTimes, WorkerType};

/// Capacity of the queue of feed pages for the scheduler.
const PAGES: usize = 16;

/// A look that has not ended so long after its time-out and grace is abandoned: looks keep their own time, this is for
/// one that does not.
const ABANDON: Duration = Duration::from_secs(5);

type EmitFn = dyn Fn(&'static Metric, i64, &[(&str, &str)]) + Send + Sync;

/// Sink for the service's own metrics. Cheap to clone.
#[derive(Clone)]
pub struct Emit {
    told: Arc<EmitFn>,
    emitters: Option<Emitters>,
}

impl fmt::Debug for Emit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Emit")
    }
}

impl Emit {
    /// Calls the function for each metric; it must not block.
    pub fn new(told: impl Fn(&'static Metric, i64, &[(&str, &str)]) + Send + Sync + 'static) -> Self {
        Self { told: Arc::new(told), emitters: None }
    }

    /// Emits to both sinks.
    pub fn over(emitters: &Emitters) -> Self {
        let to = emitters.clone();
        let told = move |metric: &'static Metric, value: i64, dims: &[(&str, &str)]| {
            to.service(metric, Value::Int(value), dims);
        };
        Self { told: Arc::new(told), emitters: Some(emitters.clone()) }
    }

    /// Emits nothing.
    pub fn none() -> Self {
        Self::new(|_, _, _| {})
    }

    pub(crate) fn count(&self, metric: &'static Metric, count: usize, dims: &[(&str, &str)]) {
        (self.told)(metric, i64::try_from(count).unwrap_or(i64::MAX), dims);
    }

    /// The heartbeat, and the numbers of the process.
    fn beat(&self, ready: bool, version: &str) {
        match &self.emitters {
            Some(emitters) => {
                emitters.heartbeat(ready, version);
                emitters.process();
            }
            None if ready => self.count(&own::HEARTBEAT, 1, &[("version", version)]),
            None => {}
        }
    }
}

/// The dependencies of the service.
pub struct MonitorParts {
    pub store: SharedStore,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    pub look: Arc<dyn Look>,
    pub emit: Emit,
    pub settings: rp_config::Monitor,
    /// The process also serves users: fewer concurrent looks, so that pages respond.
    pub shared: bool,
    /// Version of this software, for the heartbeat.
    pub version: String,
}

impl fmt::Debug for MonitorParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonitorParts").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Why the service did not start: fatal (`contract/monitor.md` §1).
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the bucket loop cannot be started")]
    Pool(#[from] PoolError),
    #[error("the feed of {} cannot be read", collection.name())]
    Feed {
        collection: Collection,
        #[source]
        cause: StoreError,
    },
}

/// Why the monitor is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    #[error("buckets were not read within {0:?}")]
    Buckets(Duration),
    #[error("the feed of {feed} was not read within {within:?}")]
    Feed { feed: &'static str, within: Duration },
    /// Seconds that are left.
    #[error("the process is young: ready in {0} s")]
    Young(u64),
}

/// Readiness of the monitor. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ready {
    assignment: watch::Receiver<Assignment>,
    feeds: Vec<(&'static str, LastPoll)>,
    started: Instant,
    settings: rp_config::Monitor,
}

impl Ready {
    /// Ready if buckets and feeds were read recently and the process is old enough, so that a crash loop shows as a gap
    /// (`contract/monitor.md` §12 and "Do better" 4: having no bucket is fine).
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self) -> Result<(), NotReady> {
        let within = self.settings.ready_within;
        let old = |at: Option<Instant>| at.is_none_or(|at| at.elapsed() >= within);
        if old(self.assignment.borrow().read()) {
            return Err(NotReady::Buckets(within));
        }
        let late = self.feeds.iter().find_map(|(feed, polled)| old(polled.at()).then_some(*feed));
        if let Some(feed) = late {
            return Err(NotReady::Feed { feed, within });
        }
        let age = self.started.elapsed();
        if age < self.settings.ready_delay {
            return Err(NotReady::Young((self.settings.ready_delay - age).as_secs()));
        }
        Ok(())
    }
}

/// A running monitor.
#[derive(Debug)]
pub struct MonitorService {
    pool: Pool,
    ready: Ready,
    subscriptions: Subscriptions,
    stop: CancellationToken,
    cut: CancellationToken,
    end: CancellationToken,
    scheduler: JoinHandle<()>,
    recorder: JoinHandle<()>,
    others: JoinSet<()>,
}

impl MonitorService {
    /// Joins the pool, reads the feeds once and starts the workers.
    ///
    /// # Errors
    /// [`StartError`]: the process must end.
    pub async fn start(parts: MonitorParts) -> Result<Self, StartError> {
        let started = Instant::now();
        let (stop, end) = (CancellationToken::new(), CancellationToken::new());
        let cut = CancellationToken::new();
        let subscriptions = Subscriptions::default();
        let (to, events) = mpsc::channel(PAGES);
        let mut feeds = feeds(&parts, &subscriptions, &to);
        drop(to);
        let pool = Pool::join(pool_parts(&parts)).await?;
        let (known, book) = (ClusterIndex::default(), PendingLooks::default());
        let (watched, sizes) = watch::channel(0);
        let scheduler = Scheduler {
            plan: Plan::new(
                parts.settings.clone(),
                parts.shared,
                SharedRandom::clone(&parts.random),
                known.clone(),
                started,
            ),
            look: Arc::clone(&parts.look),
            subscriptions: subscriptions.clone(),
            book: book.clone(),
            clock: SharedClock::clone(&parts.clock),
            emit: parts.emit.clone(),
            metrics: WorkerMetrics::register(&parts.registry),
            events,
            assignment: pool.assignment(),
            abandon: parts.settings.timeout + parts.settings.grace + ABANDON,
            drain: parts.settings.drain,
            cut: cut.clone(),
            watched,
        };
        // It receives what the feeds read, so it is started first.
        let scheduler = tokio::spawn(scheduler.run(stop.clone()));
        let (tell_primed, primed) = watch::channel(false);
        let mut others = JoinSet::new();
        let polled =
            feeds.iter().map(|(collection, feed)| (feed::name(*collection), feed.polled())).collect();
        let ready =
            Ready { assignment: pool.assignment(), feeds: polled, started, settings: parts.settings.clone() };
        for (collection, feed) in &mut feeds {
            if let Err(cause) = feed.poll().await {
                stop.cancel();
                pool.leave().await;
                return Err(StartError::Feed { collection: *collection, cause });
            }
        }
        tell_primed.send_replace(true);
        for (_, feed) in feeds {
            others.spawn(feed.follow(stop.clone()));
        }
        let recorder = Recorder {
            store: SharedStore::clone(&parts.store),
            book,
            known,
            by: pool.id(),
            assignment: pool.assignment(),
            period: parts.settings.record_interval,
            primed,
        };
        let recorder = tokio::spawn(recorder.run(end.clone()));
        let beat = HeartbeatLoop { parts, ready: ready.clone(), subscriptions: subscriptions.clone(), sizes };
        others.spawn(beat.run(stop.clone()));
        Ok(Self { pool, ready, subscriptions, stop, cut, end, scheduler, recorder, others })
    }

    /// For the readiness check of the admin listener.
    pub fn ready(&self) -> Ready {
        self.ready.clone()
    }

    /// Tenants of the subscriptions in force.
    pub fn subscriptions(&self) -> Subscriptions {
        self.subscriptions.clone()
    }

    /// The UUID under which this process is in the pool and in the record of looks.
    pub fn worker(&self) -> Arc<str> {
        self.pool.id()
    }

    /// The assignment of this process, as it changes.
    pub fn assignment(&self) -> watch::Receiver<Assignment> {
        self.pool.assignment()
    }

    /// Cancel it to end a drain at once.
    pub fn cutting(&self) -> CancellationToken {
        self.cut.clone()
    }

    /// Stops: no new look; buckets and lease are released now, running looks end or are cancelled after the drain,
    /// pending looks are written.
    pub async fn stop(self) {
        self.stop.cancel();
        self.pool.leave().await;
        if let Err(error) = self.scheduler.await {
            tracing::error!(%error, "the scheduler ended in a panic");
        }
        self.end.cancel();
        if let Err(error) = self.recorder.await {
            tracing::error!(%error, "the recorder ended in a panic");
        }
        self.others.join_all().await;
    }
}

fn pool_parts(parts: &MonitorParts) -> PoolParts {
    let settings = &parts.settings;
    PoolParts {
        store: SharedStore::clone(&parts.store),
        worker_type: WorkerType::MONITOR,
        times: PoolTimes {
            interval: settings.bucket_interval,
            ttl: settings.worker_ttl,
            lease: settings.lease,
        },
        random: SharedRandom::clone(&parts.random),
        registry: parts.registry.clone(),
    }
}

fn feeds(
    parts: &MonitorParts,
    subscriptions: &Subscriptions,
    to: &mpsc::Sender<Vec<feed::Event>>,
) -> Vec<(Collection, Feed)> {
    let settings = &parts.settings;
    let times = FeedTimes { poll: settings.feed_poll, page: settings.feed_page, verify: settings.verify };
    let feed = |collection, sink| {
        let feed = Feed::new(&parts.store, collection, times, sink, &parts.clock, &parts.registry);
        (collection, feed)
    };
    let clusters = |imported| Sink::Clusters { to: to.clone(), imported };
    let cache = Sink::Subscriptions { cache: subscriptions.clone(), emit: parts.emit.clone() };
    // Imported clusters are followed even when they are not monitored, to remove their mirrored documents.
    vec![
        feed(Collection::Subscriptions, cache),
        feed(Collection::OpenShiftClusters, clusters(false)),
        feed(Collection::ImportedClusters, clusters(true)),
    ]
}

/// Heartbeat and cache sizes.
struct HeartbeatLoop {
    parts: MonitorParts,
    ready: Ready,
    subscriptions: Subscriptions,
    sizes: watch::Receiver<usize>,
}

impl HeartbeatLoop {
    async fn run(self, stop: CancellationToken) {
        let mut tick = interval(self.parts.settings.emit_interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                () = stop.cancelled() => return,
            }
            let emit = &self.parts.emit;
            emit.beat(self.ready.check().is_ok(), &self.parts.version);
            emit.count(&own::CACHE_SIZE, *self.sizes.borrow(), &[("cache", "openshiftclusters")]);
            emit.count(&own::CACHE_SIZE, self.subscriptions.len(), &[("cache", "subscriptions")]);
        }
    }
}

#[cfg(test)]
mod tests;
