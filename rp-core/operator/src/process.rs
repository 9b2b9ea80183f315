//! The process: its listeners, its lease, and its controllers.

use std::net::SocketAddr;

use rp_base::{SharedClock, SharedRandom};
use rp_metrics::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, AccessError};
use crate::api::Api;
use crate::azure::AzureAccess;
use crate::controller::{Context, Controller, Role};
use crate::health::{Readiness, serve_health};
use crate::lease::{Election, LeaseTimes};
use crate::metrics::Metrics;
use crate::metrics_listener::{MetricsDoor, serve_metrics};
use crate::queue::Queue;
use crate::runner::Worker;
use crate::status::StatusWriter;
use crate::watch::Watches;

/// What a process is told.
#[derive(Debug, Clone)]
pub struct Options {
    pub role: Role,
    pub access: Access,
    /// The build of the operator.
    pub version: String,
    /// The table of controllers; those of the role run.
    pub controllers: &'static [Controller],
    pub lease: LeaseTimes,
    /// Address of the health listener.
    pub health: SocketAddr,
    /// The metrics listener.
    pub metrics: MetricsDoor,
    pub clock: SharedClock,
    pub random: SharedRandom,
}

/// Why a process ends other than by a signal.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        cause: std::io::Error,
    },
    #[error("a part of the operator stopped")]
    Stopped,
}

/// Runs until `stop`; then the lease is given back.
///
/// # Errors
/// The process cannot start, or a part of it failed: it is started again from outside.
pub async fn run(options: Options, stop: CancellationToken) -> Result<(), ProcessError> {
    let registry = Registry::new();
    rp_metrics::process::register(&registry);
    let metrics = Metrics::register(&registry);
    let user_agent = format!("aro-operator/{} ({})", options.version, options.role.name());
    let client = options.access.client(&user_agent)?;
    let api = Api::new(client, &options.access.host()?, metrics.client.clone());
    let readiness = Readiness::default();
    let mut services = JoinSet::new();
    let (health, page) = (listen(options.health).await?, listen(options.metrics.address()).await?);
    services.spawn(serve_health(health, readiness.clone(), CancellationToken::new()));
    let azure = AzureAccess::from_environment(&options.clock, &options.random, &registry);
    services.spawn(serve_metrics(page, options.metrics, registry, api.clone(), CancellationToken::new()));
    services.spawn(options.access.clone().refresh(api.clone(), user_agent));
    let status = StatusWriter::new(&api, &options.clock, options.role, &options.version);
    let context = Context {
        api,
        clock: options.clock,
        random: options.random,
        role: options.role,
        version: options.version,
        metrics: metrics.operator.clone(),
        status,
        azure,
    };
    let work = Work { context, controllers: options.controllers, metrics, readiness };
    // Health and metrics are served to the very end; dropping the set ends them.
    tokio::select! {
        ended = work.for_role(options.lease, &stop) => ended,
        _ = services.join_next() => Err(ProcessError::Stopped),
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ProcessError> {
    TcpListener::bind(address).await.map_err(|cause| ProcessError::Listen { address, cause })
}

struct Work {
    context: Context,
    controllers: &'static [Controller],
    metrics: Metrics,
    readiness: Readiness,
}

impl Work {
    /// Role worker works at once; role master while it holds the lease.
    async fn for_role(&self, times: LeaseTimes, stop: &CancellationToken) -> Result<(), ProcessError> {
        if self.context.role == Role::Worker {
            return tokio::select! {
                () = stop.cancelled() => Ok(()),
                () = self.controllers() => Err(ProcessError::Stopped),
            };
        }
        let host = rp_metrics::process::hostname();
        let mut election =
            Election::new(&self.context, format!("{host}_{}", self.context.random.uuid()), times);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = election.acquire(|| self.readiness.stand_by()) => {}
            }
            tracing::info!("holding the lease of role master");
            self.metrics.operator.leader.set(1.0);
            let ended = tokio::select! {
                () = stop.cancelled() => Some(Ok(())),
                () = self.controllers() => Some(Err(ProcessError::Stopped)),
                () = election.keep() => None,
            };
            self.metrics.operator.leader.set(0.0);
            if let Some(ended) = ended {
                election.release().await;
                return ended;
            }
            tracing::warn!("the lease of role master is lost; standing by");
            self.readiness.stand_by();
        }
    }

    /// Runs the controllers of the role; ends only when one of their tasks does. Dropping it ends all of them.
    async fn controllers(&self) {
        let mut watches = Watches::default();
        let mut tasks = JoinSet::new();
        let of_role = |one: &&Controller| self.context.role == Role::Master || one.on_workers;
        for controller in self.controllers.iter().filter(of_role) {
            let queue = Queue::new(controller.name, &self.metrics.queue);
            for watched in controller.watched {
                watches.add(watched, &queue);
            }
            let worker =
                Worker { controller, context: self.context.clone(), queue, metrics: self.metrics.clone() };
            tasks.spawn(worker.run());
        }
        let (api, random) = (&self.context.api, &self.context.random);
        let (feeds, synced) = watches.into_feeds(api, random, &self.metrics.operator.watches);
        for feed in feeds {
            tasks.spawn(feed.run());
        }
        self.readiness.work(synced);
        // None of them ends but by a defect.
        let _ = tasks.join_next().await;
    }
}
