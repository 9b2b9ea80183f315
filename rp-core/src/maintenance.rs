//! The role maintenance: scheduler and actuator (`contract/mimo.md`), by itself or beside the workers, from the settings.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rp_base::chain;
use rp_cluster::{ClusterManager, Environment, StepMetrics};
use rp_maintenance::{ClusterTasks, MaintenanceParts, MaintenanceService, StartError, TaskRunner};
use rp_metrics::Registry;
use rp_runtime::{Lifecycle, LogControl, Watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::{Services, VERSION, environment, process};

/// The services' names in statsd.
const ACTUATOR: &str = "mimo_actuator";
const SCHEDULER: &str = "mimo_scheduler";
/// Between two tries to start beside other roles.
const AGAIN: Duration = Duration::from_secs(5);

/// Maintenance that runs until the process ends.
#[derive(Debug)]
pub struct MaintenanceRole {
    task: JoinHandle<()>,
    /// Closed at the end.
    services: Services,
}

/// The role by itself. Where the settings do not say where in Azure this is, it plans and runs nothing.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    services: Services,
    life: &Lifecycle,
    log: Option<LogControl>,
) -> anyhow::Result<MaintenanceRole> {
    rp_runtime::register_process_metrics(&services.registry, "maintenance");
    let readiness = process::start_admin(&services, life, log).await?;
    let environment = environment::own_environment(&services)?.map(Arc::new);
    if environment.is_none() {
        tracing::warn!("no tasks are run here: rp.subscription or azure.credential is not set");
    }
    let service = MaintenanceService::start(parts(&services, environment)?);
    let service = service.await.context("maintenance cannot start")?;
    let ready = service.ready();
    readiness.add("maintenance", move || {
        let checked = ready.check();
        async move { checked }
    });
    let watch = Watch::new(services.settings.followed(&["keys"]));
    process::follow_files(&services, life, watch, None, None)?;
    tracing::info!("maintaining clusters");
    let life = life.clone();
    Ok(MaintenanceRole { task: tokio::spawn(async move { finish(service, &life).await }), services })
}

impl MaintenanceRole {
    /// Waits for the end: every task handed on.
    pub async fn finished(self) {
        if let Err(error) = self.task.await {
            tracing::error!(error = %chain(&error), "maintenance failed");
        }
        process::close(&self.services).await;
    }
}

/// The role beside the workers, with their environment. A store that is away keeps it waiting, not them.
///
/// # Errors
/// The settings do not tell the domain of clusters.
pub(crate) fn within(
    services: &Services,
    life: &Lifecycle,
    environment: Arc<Environment>,
) -> anyhow::Result<JoinHandle<()>> {
    let parts = parts(services, Some(environment))?;
    let life = life.clone();
    Ok(tokio::spawn(async move {
        let stop = life.stopping();
        loop {
            match stop.run_until_cancelled(MaintenanceService::start(parts.clone())).await {
                None => return,
                Some(Ok(service)) => return finish(service, &life).await,
                Some(Err(error)) => tell(&error),
            }
            if stop.run_until_cancelled(sleep(AGAIN)).await.is_none() {
                return;
            }
        }
    }))
}

fn tell(error: &StartError) {
    tracing::error!(error = %chain(error), "maintenance cannot start: it is tried again");
}

/// Waits for the process to stop, then for the running tasks.
async fn finish(service: MaintenanceService, life: &Lifecycle) {
    let (stop, cut, cutting) = (life.stopping(), life.cutting(), service.cutting());
    stop.cancelled().await;
    let watch = tokio::spawn(async move {
        cut.cancelled().await;
        cutting.cancel();
    });
    service.stop().await;
    watch.abort();
}

fn parts(services: &Services, environment: Option<Arc<Environment>>) -> anyhow::Result<MaintenanceParts> {
    let actuator = services.statsd.service(ACTUATOR);
    let runner = environment.map(|environment| {
        let steps = StepMetrics::new(&services.registry, actuator.clone());
        Arc::new(ClusterTasks::new(ClusterManager::new(environment, steps))) as Arc<dyn TaskRunner>
    });
    Ok(MaintenanceParts {
        store: Arc::clone(&services.store),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        runner,
        settings: services.settings.maintenance.clone(),
        registry: services.registry.clone(),
        actuator,
        scheduler: services.statsd.service(SCHEDULER),
        domain: environment::domain(&services.settings)?,
        version: VERSION.to_owned(),
    })
}

/// Registers everything that maintenance counts, for lists of metrics.
pub fn register_metrics(registry: &Registry) {
    rp_maintenance::register_metrics(registry);
}
