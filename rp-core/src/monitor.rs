//! The role monitor, by itself or beside others, from the settings.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rp_azure::{CallPolicy, Observer, RetryPolicy};
use rp_base::chain;
use rp_config::{Settings, StoreKind};
use rp_documents::ResourceId;
use rp_kube::lean::LeanOptions;
use rp_monitor::check::{Check, CheckOptions, CheckParts, HiveMonitor, Records, SideMonitor};
use rp_monitor::connect::Connections;
use rp_monitor::emit::{EmitterParts, Emitters};
use rp_monitor::fetch::FetchLimits;
use rp_monitor::nsg::{NsgMonitor, SubnetPrefixes};
use rp_monitor::{Emit, MonitorParts, MonitorService};
use rp_runtime::{Lifecycle, LogControl, Watch};
use tokio::task::JoinHandle;

use crate::{Services, VERSION, process};

/// For one call to Azure with its repeats: within a look's deadline.
const PATIENCE: Duration = Duration::from_secs(20);

/// A monitor that runs until the process ends.
#[derive(Debug)]
pub struct MonitorRole {
    task: JoinHandle<()>,
    /// Closed at the end, where nothing else needs them.
    services: Option<Services>,
}

/// The role by itself.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    services: Services,
    life: &Lifecycle,
    log: Option<LogControl>,
) -> anyhow::Result<MonitorRole> {
    if matches!(services.settings.store.kind, StoreKind::Sqlite) {
        tracing::warn!("the store is SQLite: this process has it alone, the portal cannot run beside it");
    }
    rp_runtime::register_process_metrics(&services.registry, "monitor");
    let readiness = process::start_admin(&services, life, log).await?;
    let service = service(&services, false).await?;
    let ready = service.ready();
    readiness.add("monitor", move || {
        let checked = ready.check().map_err(|error| error.to_string());
        async move { checked }
    });
    let watch = Watch::new(services.settings.followed(&["keys"]));
    process::follow_files(&services, life, watch, None, None)?;
    tracing::info!("looking at clusters");
    Ok(MonitorRole { task: run(service, life), services: Some(services) })
}

/// The role beside others, on their services; `None`: the settings say no.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn within(services: &Services, life: &Lifecycle) -> anyhow::Result<Option<MonitorRole>> {
    if !services.settings.monitor.enabled {
        return Ok(None);
    }
    let service = service(services, true).await?;
    Ok(Some(MonitorRole { task: run(service, life), services: None }))
}

impl MonitorRole {
    /// Waits for the end: every look finished or cut, everything written.
    pub async fn finished(self) {
        if let Err(error) = self.task.await {
            tracing::error!(error = %chain(&error), "the monitor failed");
        }
        if let Some(services) = self.services {
            process::close(&services).await;
        }
    }
}

fn run(service: MonitorService, life: &Lifecycle) -> JoinHandle<()> {
    let (stop, cut) = (life.stopping(), life.cutting());
    tokio::spawn(async move {
        stop.cancelled().await;
        let cutting = service.cutting();
        let watch = tokio::spawn(async move {
            cut.cancelled().await;
            cutting.cancel();
        });
        service.stop().await;
        watch.abort();
    })
}

async fn service(services: &Services, shared: bool) -> anyhow::Result<MonitorService> {
    let settings = &services.settings;
    let emitters = emitters(services);
    let options = check_options(settings);
    let mut beside = beside(services, &options).await?;
    let subnets = subnets(services, emitters.azure_observer());
    if let Some(subnets) = &subnets {
        beside.push(Arc::new(NsgMonitor::new(Arc::clone(subnets))));
    }
    let check = Check::new(CheckParts {
        directory: services.directory().await? as _,
        dialer: services.dialer.clone(),
        clock: Arc::clone(&services.clock),
        budget: services.budget(),
        emitters: emitters.clone(),
        records: Some(Records::new(&services.store, services.keyring.clone())),
        beside,
        subnets: subnets.map(|subnets| subnets as _),
        options,
    });
    let parts = MonitorParts {
        store: Arc::clone(&services.store),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        registry: services.registry.clone(),
        look: Arc::new(check),
        emit: Emit::over(&emitters),
        settings: settings.monitor.clone(),
        shared,
        version: VERSION.to_owned(),
    };
    MonitorService::start(parts).await.context("the monitor cannot start")
}

/// What runs beside the cluster monitor in a look.
async fn beside(services: &Services, options: &CheckOptions) -> anyhow::Result<Vec<Arc<dyn SideMonitor>>> {
    let told = &services.settings.monitor;
    let mut beside: Vec<Arc<dyn SideMonitor>> = Vec::new();
    match &told.hive_cluster {
        Some(name) if told.hive => {
            let hive = ResourceId::imported(name).context("monitor.hive_cluster")?;
            let (directory, dialer) = (services.directory().await?, services.dialer.clone());
            let connections = Connections::new(directory as _, dialer, options.connection.clone());
            let clock = Arc::clone(&services.clock);
            let monitor = HiveMonitor::new(connections, hive, services.budget(), clock, options.fetch);
            beside.push(Arc::new(monitor));
        }
        _ => tracing::info!("skipping: no hive cluster manager"),
    }
    Ok(beside)
}

/// Subnets for the NSG monitor and the proxy's collector; `None`: Azure is not asked.
pub fn subnets(services: &Services, observer: Observer) -> Option<Arc<SubnetPrefixes>> {
    let policy = CallPolicy { observer: Some(observer), ..CallPolicy::new(RetryPolicy::QUICK, PATIENCE) };
    let arm = services.azure.client()?.with_policy(policy);
    Some(Arc::new(SubnetPrefixes::new(Arc::new(arm), Arc::clone(&services.clock))))
}

/// Settings of one look.
pub fn check_options(settings: &Settings) -> CheckOptions {
    let told = &settings.monitor;
    CheckOptions {
        timeout: told.timeout,
        grace: told.grace,
        parallel: told.parallel,
        fetch: FetchLimits { parallel: told.parallel, page: told.page, ..FetchLimits::default() },
        connection: LeanOptions {
            user_agent: format!("aro/{} (monitor)", VERSION),
            ..CheckOptions::default().connection
        },
        commit: VERSION,
        ..CheckOptions::default()
    }
}

/// Both statsd emitters (`contract/monitor.md` §13) and the exposition.
fn emitters(services: &Services) -> Emitters {
    Emitters::new(EmitterParts {
        service: services.statsd.monitor(),
        cluster: services.statsd.clusters(),
        clock: Arc::clone(&services.clock),
        registry: services.registry.clone(),
        detail: services.settings.metrics.detail,
    })
}
