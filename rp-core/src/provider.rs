//! The resource provider: the roles frontend and backend in one process, by themselves or beside others.

use rp_base::chain;
use rp_frontend::SshEndpoint;
use rp_runtime::{Lifecycle, LogControl, Watch};
use tokio::task::JoinHandle;

use crate::frontend::{self, Callers, FrontendInputs};
use crate::{Services, backend, process};

/// A resource provider that serves until the process ends.
#[derive(Debug)]
pub struct Provider {
    listener: JoinHandle<()>,
    /// `None`: none run here.
    workers: Option<JoinHandle<()>>,
    /// Closed at the end, where nothing else needs them.
    services: Option<Services>,
}

/// A process of the provider alone: its API, its workers, and the admin listener. `ssh`: the door that others serve, as
/// administrators are told of it.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    services: Services,
    life: &Lifecycle,
    log: Option<LogControl>,
    ssh: Option<SshEndpoint>,
) -> anyhow::Result<Provider> {
    let registry = &services.registry;
    rp_runtime::register_process_metrics(registry, "rp");
    rp_audit::register_metrics(registry);
    let readiness = process::start_admin(&services, life, log).await?;
    let access = services.access().await?;
    let watch = Watch::new(services.settings.followed(&["keys"]));
    process::follow_files(&services, life, watch, None, Some(access))?;
    let frontend =
        frontend::start(&services, life, FrontendInputs { ssh, ..FrontendInputs::default() }).await?;
    let api = frontend.api;
    readiness.add("api", move || {
        let api = api.clone();
        async move { api.ready().await.map_err(|error| chain(&error).to_string()) }
    });
    let workers = backend::start(&services, life)?;
    Ok(Provider { listener: frontend.listener, workers, services: Some(services) })
}

/// The provider beside other roles, on their services; `None`: the settings say no.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn within(
    services: &Services,
    life: &Lifecycle,
    inputs: FrontendInputs,
) -> anyhow::Result<Option<Provider>> {
    if !services.settings.rp.api.enabled {
        return Ok(None);
    }
    let callers = inputs.callers;
    let frontend = frontend::start(services, life, inputs).await?;
    // A simulation has workers of its own.
    let workers = match callers {
        Callers::Settings => backend::start(services, life)?,
        Callers::Everybody => None,
    };
    Ok(Some(Provider { listener: frontend.listener, workers, services: None }))
}

impl Provider {
    /// Waits for the end: every request finished or cut, every operation handed on.
    pub async fn finished(self) {
        if let Err(error) = self.listener.await {
            tracing::error!(error = %chain(&error), "the API's listener failed");
        }
        if let Some(workers) = self.workers
            && let Err(error) = workers.await
        {
            tracing::error!(error = %chain(&error), "the workers failed");
        }
        if let Some(services) = self.services {
            process::close(&services).await;
        }
    }
}
