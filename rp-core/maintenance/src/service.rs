//! Both roles in one process: pools, caches, scheduler, actuator, heartbeats.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedClock, SharedRandom, chain};
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::Collection;
use rp_metrics::{Registry, Statsd};
use rp_pool::{Assignment, Pool, PoolError, PoolParts, PoolTimes, WorkerType};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::actuator::{Actuator, Shared};
use crate::caches::Caches;
use crate::lease::Holder;
use crate::metrics::MaintenanceMetrics;
use crate::scheduler::Scheduler;
use crate::task::TaskRunner;

/// Buckets and feeds that were read longer ago are not ready (`contract/mimo.md` §4, §6).
const FRESH: Duration = Duration::from_secs(60);

/// What maintenance needs.
#[derive(Debug, Clone)]
pub struct MaintenanceParts {
    pub store: SharedStore,
    pub clock: SharedClock,
    pub random: SharedRandom,
    /// Does the work; `None`: this process plans and runs nothing.
    pub runner: Option<Arc<dyn TaskRunner>>,
    pub settings: rp_config::Maintenance,
    pub registry: Registry,
    /// The emitters of the services `mimo_actuator` and `mimo_scheduler`.
    pub actuator: Statsd,
    pub scheduler: Statsd,
    /// The parent of domains that are ours to manage.
    pub domain: String,
    /// Of this software, on heartbeats.
    pub version: String,
}

/// Why maintenance does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the pool {worker_type} cannot be joined")]
    Pool {
        worker_type: &'static str,
        #[source]
        cause: PoolError,
    },
    #[error("the store could not be read")]
    Store(#[from] StoreError),
}

/// Maintenance that runs.
#[derive(Debug)]
pub struct MaintenanceService {
    ready: Ready,
    stop: CancellationToken,
    cut: CancellationToken,
    pools: Vec<Pool>,
    roles: Vec<JoinHandle<()>>,
    others: JoinSet<()>,
}

/// Whether the process works, for the readiness check. It does not need to own clusters (`contract/mimo.md` "Do
/// better" 15).
#[derive(Debug, Clone)]
pub struct Ready {
    started: Instant,
    delay: Duration,
    caches: Caches,
    assignments: Vec<watch::Receiver<Assignment>>,
}

impl Ready {
    /// Whether it is ready.
    ///
    /// # Errors
    /// What it waits for.
    pub fn check(&self) -> Result<(), String> {
        let age = self.started.elapsed();
        if age < self.delay {
            return Err(format!("started {} s ago, ready after {} s", age.as_secs(), self.delay.as_secs()));
        }
        let fresh = |read: Option<Instant>| read.is_some_and(|read| read.elapsed() <= FRESH);
        if !self.assignments.iter().all(|assignment| fresh(assignment.borrow().read())) {
            return Err("the buckets were not read within 60 s".to_owned());
        }
        match self.caches.stalest() {
            Some((_, age)) if age <= FRESH => Ok(()),
            Some((collection, _)) => {
                Err(format!("the change feed of {} was not read within 60 s", collection.name()))
            }
            None => Err("no change feed was read yet".to_owned()),
        }
    }
}

impl MaintenanceService {
    /// Reads the store, joins the pools and starts both roles.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub async fn start(parts: MaintenanceParts) -> Result<Self, StartError> {
        let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
        let caches = Caches::default();
        let mut others = JoinSet::new();
        let started =
            caches.start(&parts.store, parts.settings.feed_poll, &parts.domain, &stop, &mut others).await;
        let guard = stop.clone().drop_guard();
        started?;
        let metrics = MaintenanceMetrics::register(&parts.registry);
        let mut service = Self {
            ready: Ready {
                started: Instant::now(),
                delay: parts.settings.ready_delay,
                caches: caches.clone(),
                assignments: Vec::new(),
            },
            stop: stop.clone(),
            cut: cut.clone(),
            pools: Vec::new(),
            roles: Vec::new(),
            others,
        };
        let assignment = service.join(&parts, WorkerType::MIMO_SCHEDULER).await?;
        let scheduler = scheduler(&parts, &caches, &metrics);
        service.roles.push(tokio::spawn(scheduler.run(assignment, stop.clone())));
        if let Some(runner) = &parts.runner {
            let assignment = service.join(&parts, WorkerType::MIMO_ACTUATOR).await?;
            let shared = shared(&parts, Arc::clone(runner), &caches, &metrics, cut);
            service.roles.push(tokio::spawn(Actuator::new(shared).run(assignment, stop.clone())));
        }
        let beat = Beat { parts, ready: service.ready.clone(), caches };
        service.others.spawn(beat.run(stop));
        guard.disarm();
        Ok(service)
    }

    async fn join(
        &mut self,
        parts: &MaintenanceParts,
        worker_type: WorkerType,
    ) -> Result<watch::Receiver<Assignment>, StartError> {
        let settings = &parts.settings;
        let times = PoolTimes {
            interval: settings.bucket_interval,
            ttl: settings.worker_ttl,
            lease: settings.worker_ttl,
        };
        let pool = Pool::join(PoolParts {
            store: SharedStore::clone(&parts.store),
            worker_type,
            times,
            random: SharedRandom::clone(&parts.random),
            registry: parts.registry.clone(),
        });
        let pool = pool.await.map_err(|cause| StartError::Pool { worker_type: worker_type.0, cause })?;
        let assignment = pool.assignment();
        self.ready.assignments.push(assignment.clone());
        self.pools.push(pool);
        Ok(assignment)
    }

    /// For the readiness check of the admin listener.
    pub fn ready(&self) -> Ready {
        self.ready.clone()
    }

    /// Cancel it to end a drain at once.
    pub fn cutting(&self) -> CancellationToken {
        self.cut.clone()
    }

    /// Stops: nothing new starts, running tasks come to the end of their step and are handed on, buckets and leases are
    /// given back.
    pub async fn stop(mut self) {
        self.stop.cancel();
        for pool in self.pools.drain(..) {
            pool.leave().await;
        }
        for role in self.roles.drain(..) {
            if let Err(error) = role.await {
                tracing::error!(error = %chain(&error), "a role of maintenance ended in a panic");
            }
        }
        self.others.shutdown().await;
    }
}

fn scheduler(parts: &MaintenanceParts, caches: &Caches, metrics: &MaintenanceMetrics) -> Scheduler {
    let store = || SharedStore::clone(&parts.store);
    Scheduler {
        store: store(),
        manifests: Typed::new(store()),
        schedules: Typed::new(store()),
        caches: caches.clone(),
        settings: parts.settings.clone(),
        metrics: metrics.clone(),
        statsd: parts.scheduler.clone(),
        random: SharedRandom::clone(&parts.random),
    }
}

fn shared(
    parts: &MaintenanceParts,
    runner: Arc<dyn TaskRunner>,
    caches: &Caches,
    metrics: &MaintenanceMetrics,
    cut: CancellationToken,
) -> Shared {
    let store = || SharedStore::clone(&parts.store);
    Shared {
        store: store(),
        manifests: Typed::new(store()),
        schedules: Typed::new(store()),
        clusters: Typed::new(store()),
        subscriptions: Typed::new(store()),
        caches: caches.clone(),
        runner,
        holder: Holder {
            owner: parts.random.uuid().to_string().into(),
            // A lease is counted in whole seconds.
            lease: parts.settings.lease.max(Duration::from_secs(1)),
        },
        settings: parts.settings.clone(),
        metrics: metrics.clone(),
        statsd: parts.actuator.clone(),
        clock: SharedClock::clone(&parts.clock),
        stopping: CancellationToken::new(),
        cut,
    }
}

/// Heartbeats and cache sizes (`contract/metrics.md` §3).
struct Beat {
    parts: MaintenanceParts,
    ready: Ready,
    caches: Caches,
}

impl Beat {
    async fn run(self, stop: CancellationToken) {
        let mut tick = interval(self.parts.settings.emit_interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                () = stop.cancelled() => return,
            }
            let version = [("version", self.parts.version.as_str())];
            if self.ready.check().is_ok() {
                self.parts.scheduler.gauge("scheduler.heartbeat", 1, &version);
                if self.parts.runner.is_some() {
                    self.parts.actuator.gauge("actuator.heartbeat", 1, &version);
                }
            }
            let sizes = [
                (Collection::OpenShiftClusters, self.caches.clusters.read().len()),
                (Collection::Subscriptions, self.caches.subscriptions.read().len()),
                (Collection::MaintenanceSchedules, self.caches.schedules.read().len()),
            ];
            for (collection, size) in sizes {
                self.emit_size(collection, size);
            }
        }
    }

    fn emit_size(&self, collection: Collection, size: usize) {
        let name = match collection {
            Collection::OpenShiftClusters => "OpenShiftClusterDocument",
            Collection::Subscriptions => "SubscriptionDocument",
            _ => "MaintenanceScheduleDocument",
        };
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        self.parts.scheduler.gauge("changefeed.caches.size", size, &[("name", name)]);
        if collection == Collection::OpenShiftClusters && self.parts.runner.is_some() {
            self.parts.actuator.gauge("changefeed.caches.size", size, &[("name", name)]);
        }
    }
}
