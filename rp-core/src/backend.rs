//! The role backend: workers on the clusters of the store (`contract/backend.md` §2).

use std::sync::Arc;

use rp_backend::{Backend, BackendParts};
use rp_base::chain;
use rp_cluster::{AssetInstallation, ClusterManager, Environment, Installation, StepMetrics};
use rp_database::Typed;
use rp_metrics::Statsd;
use rp_runtime::Lifecycle;
use tokio::task::JoinHandle;

use crate::environment::{domain, own_environment};
use crate::{Services, installs, maintenance};

/// The service's name in statsd.
const STATSD: &str = "rp";

/// Starts them; the task ends when the last operation has been handed on. `None`: the settings do not say where in
/// Azure this is, and what is asked for waits for workers elsewhere.
///
/// # Errors
/// A part cannot be made; the message names it.
pub fn start(services: &Services, life: &Lifecycle) -> anyhow::Result<Option<JoinHandle<()>>> {
    let Some(environment) = own_environment(services)? else {
        tracing::warn!("no workers here: rp.subscription or azure.credential is not set");
        return Ok(None);
    };
    Ok(Some(run(services, life, environment, services.statsd.service(STATSD))?))
}

/// Starts workers, and maintenance unless the settings say no, over an environment that is made; the task ends when the
/// last operation and the last task have been handed on.
///
/// # Errors
/// The settings do not tell the domain of clusters.
pub fn run(
    services: &Services,
    life: &Lifecycle,
    environment: Environment,
    statsd: Statsd,
) -> anyhow::Result<JoinHandle<()>> {
    let environment = Arc::new(environment);
    remove_abandoned_installs(services, life, &environment.installation);
    let maintained = services.settings.maintenance.enabled;
    let maintenance =
        maintained.then(|| maintenance::within(services, life, Arc::clone(&environment))).transpose()?;
    let steps = StepMetrics::new(&services.registry, statsd.clone());
    let backend = Backend::new(BackendParts {
        store: Arc::clone(&services.store),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        manager: Arc::new(ClusterManager::new(environment, steps)),
        settings: services.settings.backend.clone(),
        registry: services.registry.clone(),
        statsd,
        domain: domain(&services.settings)?,
    });
    let stop = life.stopping();
    Ok(tokio::spawn(async move {
        backend.run(stop).await;
        if let Some(maintenance) = maintenance
            && let Err(error) = maintenance.await
        {
            tracing::error!(error = %chain(&error), "maintenance failed");
        }
    }))
}

/// Beside the workers, until they stop.
fn remove_abandoned_installs(services: &Services, life: &Lifecycle, installation: &Installation) {
    let Installation::Assets(AssetInstallation { runner, .. }) = installation else { return };
    let (runner, clusters) = (Arc::clone(runner), Typed::new(Arc::clone(&services.store)));
    let stop = life.stopping();
    tokio::spawn(async move {
        stop.run_until_cancelled(installs::remove_abandoned(&*runner, &clusters)).await;
    });
}
