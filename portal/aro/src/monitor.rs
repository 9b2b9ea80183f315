//! `aro monitor`, and the monitor inside `aro serve`: settings into the parts of the monitor.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use rp_access::StoreDirectory;
use rp_base::chain;
use rp_config::{Settings, StoreKind};
use rp_core::Foundation;
use rp_documents::ResourceId;
use rp_kube::lean::LeanOptions;
use rp_metrics::statsd::{QUEUE, Socket};
use rp_metrics::{Statsd, StatsdOptions, process};
use rp_monitor::check::{Beside, Check, CheckOptions, CheckParts, HiveMonitor, Records};
use rp_monitor::connect::Connections;
use rp_monitor::emit::{EmitterParts, Emitters};
use rp_monitor::fetch::FetchLimits;
use rp_monitor::nsg::NsgMonitor;
use rp_monitor::pool::PoolTimes;
use rp_monitor::{Emit, MonitorParts, MonitorService, MonitorSettings};
use rp_net::{Budget, Dialer};
use rp_runtime::{Lifecycle, LogControl, WATCH_PERIOD, Watch};
use tokio::task::JoinHandle;

use crate::{azure, parts, reload, serve};

/// A monitor that runs until the process ends.
#[derive(Debug)]
pub struct Monitoring {
    task: JoinHandle<()>,
    /// Closed at the end, where nothing else needs it.
    foundation: Option<Foundation>,
}

/// The role by itself.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    settings: &Settings,
    foundation: Foundation,
    life: &Lifecycle,
    log: Option<LogControl>,
) -> anyhow::Result<Monitoring> {
    if matches!(settings.store.kind, StoreKind::Sqlite) {
        tracing::warn!("the store is SQLite: this process has it alone, the portal cannot run beside it");
    }
    rp_runtime::register_process_metrics(&foundation.registry);
    let readiness = serve::start_admin(settings, &foundation, life, log).await?;
    let directory = parts::directory(&foundation).await?;
    let budget = parts::budget(settings, &foundation);
    let service = service(settings, &foundation, &directory, budget, false).await?;
    let ready = service.ready();
    readiness.add("monitor", move || {
        let checked = ready.check();
        async move { checked }
    });
    let (keyring, watch) = (foundation.keyring.clone(), Watch::new(vec![settings.keys.keyring_file.clone()]));
    reload::follow(life, watch, WATCH_PERIOD, move || reload::keyring(&keyring, || {}))?;
    tracing::info!("looking at clusters");
    Ok(Monitoring { task: run(service, life), foundation: Some(foundation) })
}

/// The role beside others in one process; `None`: the settings say no.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn within(
    settings: &Settings,
    foundation: &Foundation,
    directory: &Arc<StoreDirectory>,
    budget: Budget,
    life: &Lifecycle,
) -> anyhow::Result<Option<Monitoring>> {
    if !settings.monitor.enabled {
        return Ok(None);
    }
    let service = service(settings, foundation, directory, budget, true).await?;
    Ok(Some(Monitoring { task: run(service, life), foundation: None }))
}

impl Monitoring {
    /// Waits for the end: every look finished or cut, everything written.
    pub async fn finished(self) {
        if let Err(error) = self.task.await {
            tracing::error!(error = %chain(&error), "the monitor failed");
        }
        if let Some(foundation) = self.foundation {
            foundation.close().await;
            tracing::info!("stopped");
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

async fn service(
    settings: &Settings,
    foundation: &Foundation,
    directory: &Arc<StoreDirectory>,
    budget: Budget,
    shared: bool,
) -> anyhow::Result<MonitorService> {
    let emitters = emitters(settings, foundation)?;
    let dialer = parts::dialer(settings)?;
    let options = check_options(settings);
    let mut beside = beside(settings, foundation, directory, &dialer, &budget, &options)?;
    let subnets = azure::subnets(settings, foundation, emitters.azure_observer())?;
    if let Some(subnets) = &subnets {
        beside.push(Arc::new(NsgMonitor::new(Arc::clone(subnets))));
    }
    let check = Check::new(CheckParts {
        directory: Arc::clone(directory) as _,
        dialer,
        clock: Arc::clone(&foundation.clock),
        budget,
        emitters: emitters.clone(),
        records: Some(Records::new(&foundation.store, foundation.keyring.clone())),
        beside,
        subnets: subnets.map(|subnets| subnets as _),
        options,
    });
    let parts = MonitorParts {
        store: Arc::clone(&foundation.store),
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        registry: foundation.registry.clone(),
        look: Arc::new(check),
        emit: Emit::over(&emitters),
        settings: MonitorSettings { shared, ..monitor_settings(settings) },
        version: serve::VERSION.to_owned(),
    };
    MonitorService::start(parts).await.context("the monitor cannot start")
}

/// What runs beside the cluster monitor in a look.
fn beside(
    settings: &Settings,
    foundation: &Foundation,
    directory: &Arc<StoreDirectory>,
    dialer: &Dialer,
    budget: &Budget,
    options: &CheckOptions,
) -> anyhow::Result<Vec<Arc<dyn Beside>>> {
    let mut beside: Vec<Arc<dyn Beside>> = Vec::new();
    match &settings.monitor.hive_cluster {
        Some(name) if settings.monitor.hive => {
            let hive = ResourceId::imported(name).context("monitor.hive_cluster")?;
            let connections =
                Connections::new(Arc::clone(directory) as _, dialer.clone(), options.connection.clone());
            let clock = Arc::clone(&foundation.clock);
            let monitor = HiveMonitor::new(connections, hive, budget.clone(), clock, options.fetch);
            beside.push(Arc::new(monitor));
        }
        _ => tracing::info!("skipping: no hive cluster manager"),
    }
    Ok(beside)
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
            user_agent: format!("aro/{} (monitor)", serve::VERSION),
            ..CheckOptions::default().connection
        },
        commit: serve::VERSION,
        ..CheckOptions::default()
    }
}

fn monitor_settings(settings: &Settings) -> MonitorSettings {
    let told = &settings.monitor;
    MonitorSettings {
        pool: PoolTimes { interval: told.bucket_interval, ttl: told.worker_ttl, lease: told.lease },
        interval: told.interval,
        start_delay: told.start_delay,
        // A look keeps its own time; this is for one that does not.
        abandon: told.timeout + told.grace + MonitorSettings::default().abandon / 12,
        nsg_interval: told.nsg_interval,
        looks: told.looks,
        imported: told.imported,
        feed_poll: told.feed_poll,
        feed_page: told.feed_page,
        verify: told.verify,
        ready_delay: told.ready_delay,
        ready_within: told.ready_within,
        emit: told.emit_interval,
        record: told.record_interval,
        drain: told.drain,
        ..MonitorSettings::default()
    }
}

/// Both statsd emitters (`contract/monitor.md` §13) and the exposition.
fn emitters(settings: &Settings, foundation: &Foundation) -> anyhow::Result<Emitters> {
    let service = statsd(settings, foundation, "service")?;
    let cluster = statsd(settings, foundation, "cluster")?;
    Ok(Emitters::new(EmitterParts {
        service,
        cluster,
        clock: Arc::clone(&foundation.clock),
        registry: foundation.registry.clone(),
        detail: settings.metrics.detail.parse().context("metrics.detail")?,
    }))
}

fn statsd(settings: &Settings, foundation: &Foundation, emitter: &'static str) -> anyhow::Result<Statsd> {
    let metrics = &settings.metrics;
    let Some(socket) = &metrics.statsd_socket else { return Ok(Statsd::none()) };
    let socket = Socket::parse(socket).context("metrics.statsd_socket")?;
    let location = settings.azure.region.clone().unwrap_or_default();
    let mut dimensions = BTreeMap::from([
        ("location".to_owned(), location),
        ("Environment".to_owned(), metrics.environment.clone()),
    ]);
    if emitter == "service" {
        dimensions.insert("hostname".to_owned(), process::hostname());
        dimensions.insert("service".to_owned(), "monitor".to_owned());
        dimensions.insert("version".to_owned(), serve::VERSION.to_owned());
    }
    let (account, namespace) = match emitter {
        "cluster" => (&metrics.cluster_account, &metrics.cluster_namespace),
        _ => (&metrics.statsd_account, &metrics.statsd_namespace),
    };
    let options = StatsdOptions {
        emitter,
        socket,
        account: account.clone(),
        namespace: namespace.clone(),
        dimensions,
        queue: QUEUE,
        silent_dial: false,
    };
    Ok(Statsd::start(options, Arc::clone(&foundation.clock), &foundation.registry))
}
