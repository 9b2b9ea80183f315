//! What is measured: the monitor's looks in a process of their own, with statsd on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use clap::Args;
use rp_base::{Secret, SystemClock};
use rp_config::MetricsDetail;
use rp_documents::ResourceId;
use rp_metrics::statsd::{QUEUE, Socket};
use rp_metrics::{Registry, Statsd, StatsdOptions};
use rp_monitor::check::{Check, CheckOptions, CheckParts};
use rp_monitor::emit::{EmitterParts, Emitters};
use rp_monitor::{ClusterView, Look as _, Round};
use rp_net::{
    Budget, BudgetLimits, Credential, Dialer, DialerOptions, Directory, DirectoryError, Endpoint, Networks,
    PrivateWay, Source, Target,
};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::measure::resident;
use crate::report;

/// Looks at once, as the service has it by default.
const AT_ONCE: usize = 64;
/// From one look at a cluster to the next.
const MINUTE: Duration = Duration::from_secs(60);

/// What the process is told.
#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// Of the far side
    #[arg(long)]
    url: String,
    #[arg(long)]
    ca: PathBuf,
    #[arg(long)]
    clusters: usize,
    /// Looks one after the other over all clusters, as fast as it goes
    #[arg(long, default_value_t = 0)]
    burst: u64,
    /// Minutes in which every cluster is looked at once each
    #[arg(long, default_value_t = 0)]
    minutes: u32,
    /// Only this collector: what a cluster costs besides its answers
    #[arg(long)]
    only: Option<String>,
    /// Where the numbers go
    #[arg(long)]
    statsd: String,
    /// Connections to a cluster that stay open between looks
    #[arg(long, default_value_t = 1)]
    keep: usize,
}

#[derive(Debug)]
struct FixedDirectory(Vec<Arc<Target>>);

fn number(id: &ResourceId) -> Option<usize> {
    id.name().strip_prefix('c')?.parse().ok()
}

#[async_trait]
impl Directory for FixedDirectory {
    async fn find(&self, id: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        number(id).and_then(|at| self.0.get(at)).cloned().ok_or(DirectoryError::Unknown)
    }
}

fn target(at: usize, url: &str, ca_pem: &str) -> Result<Target> {
    let token = Credential::Token(Secret::new("bench".to_owned()));
    let target = Target {
        id: ResourceId::imported(&format!("c{at}"))?,
        source: Source::Imported,
        endpoint: Endpoint::Direct { url: format!("{url}/c/{at}").parse()? },
        server_name: "localhost".to_owned(),
        ca_pem: ca_pem.to_owned(),
        read: token.clone(),
        admin: token,
        as_groups: Vec::new(),
        ssh: None,
        fingerprint: 0,
    };
    Ok(target.fingerprinted())
}

fn view(at: usize) -> Result<ClusterView> {
    let id = format!(
        "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/bench/providers/Microsoft.RedHatOpenShift/openShiftClusters/c{at}"
    );
    let mut view = ClusterView::bare(format!("c{at}"), ResourceId::parse(&id)?, Source::Aro);
    "westeurope".clone_into(&mut view.location);
    "Succeeded".clone_into(&mut view.provisioning_state);
    "https://api.bench.westeurope.aroapp.io:6443/".clone_into(&mut view.api_url);
    "bench".clone_into(&mut view.domain);
    view.service_principal = true;
    Ok(view)
}

struct Inspector {
    check: Check,
    views: Vec<Arc<ClusterView>>,
    room: Semaphore,
    done: AtomicU64,
    failed: AtomicU64,
    took: AtomicU64,
}

impl Inspector {
    async fn look(&self, at: usize, number: u64) {
        let Some(view) = self.views.get(at) else { return };
        let Ok(_room) = self.room.acquire().await else { return };
        let round = Round { hourly: false, nsg_due: false, number };
        let done = self.check.look(Arc::clone(view), round, CancellationToken::new()).await;
        self.done.fetch_add(1, Ordering::Relaxed);
        self.took.fetch_add(u64::try_from(done.took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if !done.failed.is_empty() && self.failed.fetch_add(1, Ordering::Relaxed) < 3 {
            report::progress(format_args!("failed: {:?}", done.failed));
        }
    }
}

fn looker(args: &LookArgs) -> Result<Inspector> {
    let ca = std::fs::read_to_string(&args.ca)?;
    let targets: Vec<Arc<Target>> =
        (0..args.clusters).map(|at| Ok(Arc::new(target(at, &args.url, &ca)?))).collect::<Result<_>>()?;
    let views = (0..args.clusters).map(|at| Ok(Arc::new(view(at)?))).collect::<Result<_>>()?;
    let (clock, registry) = (Arc::new(SystemClock), Registry::new());
    let statsd = |emitter, socket| {
        let options = StatsdOptions {
            emitter,
            socket,
            account: "bench".to_owned(),
            namespace: "BBM".to_owned(),
            dimensions: BTreeMap::from([("location".to_owned(), "westeurope".to_owned())]),
            queue: QUEUE,
            silent_dial: false,
        };
        Statsd::start(options, Arc::clone(&clock) as _, &registry)
    };
    let socket = Socket::parse(&args.statsd)?;
    let emitters = Emitters::new(EmitterParts {
        service: statsd("service", socket.clone()),
        cluster: statsd("cluster", socket),
        clock: Arc::clone(&clock) as _,
        registry: registry.clone(),
        detail: MetricsDetail::All,
    });
    let check = Check::new(CheckParts {
        directory: Arc::new(FixedDirectory(targets)),
        dialer: Dialer::new(DialerOptions {
            private: PrivateWay::Direct,
            networks: Networks::new(vec!["127.0.0.0/8".parse()?], Vec::new()),
            keepalive: Duration::from_secs(30),
        }),
        clock: Arc::clone(&clock) as _,
        budget: Budget::new(BudgetLimits::default(), &registry),
        emitters,
        records: None,
        beside: Vec::new(),
        subnets: None,
        options: CheckOptions {
            keep: args.keep,
            only: args.only.clone().map(|name| vec![name]),
            commit: "bench",
            ..CheckOptions::default()
        },
    });
    Ok(Inspector {
        check,
        views,
        room: Semaphore::new(AT_ONCE),
        done: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        took: AtomicU64::new(0),
    })
}

/// Looks, and prints what it took as one line of JSON.
pub(crate) async fn run(args: LookArgs) -> Result<()> {
    let empty = resident(std::process::id())?;
    let looker = Arc::new(looker(&args)?);
    let known = resident(std::process::id())?;
    let (before, began) = (cpu()?, Instant::now());
    if args.burst > 0 {
        burst(&looker, args.burst).await?;
    }
    let missed = if args.minutes > 0 { minutes(&looker, args.minutes).await? } else { 0 };
    let (after, took) = (cpu()?, began.elapsed());
    let looks = looker.done.load(Ordering::Relaxed);
    report::line(json!({
        "looks": looks, "failed": looker.failed.load(Ordering::Relaxed), "missed": missed,
        "cpu_seconds": after - before, "seconds": took.as_secs_f64(),
        "mean_look_micros": looker.took.load(Ordering::Relaxed) / looks.max(1),
        "resident_empty": empty, "resident_known": known, "resident": resident(std::process::id())?,
    }));
    Ok(())
}

/// User and system time of this process so far, seconds.
fn cpu() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("stat")?.1.split_whitespace().collect();
    let field = |at: usize| fields.get(at).context("stat")?.parse::<f64>().context("stat");
    Ok((field(11)? + field(12)?) / 100.0)
}

async fn burst(looker: &Arc<Inspector>, looks: u64) -> Result<()> {
    let next = Arc::new(AtomicUsize::new(0));
    let lanes = (0..16).map(|_| {
        let (looker, next) = (Arc::clone(looker), Arc::clone(&next));
        tokio::spawn(async move {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at as u64 >= looks {
                    return;
                }
                let clusters = looker.views.len();
                looker.look(at % clusters, (at / clusters) as u64 + 1).await;
            }
        })
    });
    for lane in lanes.collect::<Vec<_>>() {
        lane.await?;
    }
    Ok(())
}

/// Every cluster once a minute, spread over the minute; a tick that is due while the look before still runs is missed.
async fn minutes(looker: &Arc<Inspector>, minutes: u32) -> Result<u64> {
    let clusters = u32::try_from(looker.views.len())?;
    let began = tokio::time::Instant::now() + Duration::from_millis(100);
    let tasks: Vec<_> = (0..clusters)
        .map(|at| {
            let looker = Arc::clone(looker);
            tokio::spawn(async move {
                let mut missed = 0;
                let first = began + MINUTE * at / clusters;
                for minute in 0..minutes {
                    let due = first + MINUTE * minute;
                    if tokio::time::Instant::now() > due + MINUTE {
                        missed += 1;
                        continue;
                    }
                    tokio::time::sleep_until(due).await;
                    looker.look(at as usize, u64::from(minute) + 1).await;
                }
                missed
            })
        })
        .collect();
    let mut missed = 0;
    for task in tasks {
        missed += task.await?;
    }
    Ok(missed)
}
