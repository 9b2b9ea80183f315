//! Ten thousand clusters shared by four processes over PostgreSQL: one joins, one is killed. How long until each
//! cluster is looked at again, and no burst (`contract/monitor.md` §3.4).
//!
//! Who looks when is measured, so a look here is a wait; what a look costs is `bench monitor`.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use clap::Args;
use parking_lot::Mutex;
use rp_base::{Clock as _, SystemClock, SystemRandom, Timestamp};
use rp_database::{Draft, PostgresOptions, PostgresStore, SharedStore};
use rp_documents::{Collection, ResourceId};
use rp_metrics::Registry;
use rp_monitor::{ClusterView, Emit, Look, LookOutcome, MonitorParts, MonitorService, Round};
use serde_json::json;
use tests_kit::{Folder, Postgres, Process, until};
use tokio_util::sync::CancellationToken;

use crate::measure::{cpu, resident};
use crate::report::{Part, progress, row, table, verdict};

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-00000000000a";
/// How long a look takes.
const LOOK: Duration = Duration::from_millis(300);
/// Documents of one write: a database that is busy has to be done with it in seconds.
const BATCH: usize = 50;
/// By the contract, seconds: own document, master's pass, the new owner's pass, start delay.
const GAP: f64 = 60.0 + 10.0 + 10.0 + 60.0;
/// Of a join: master's pass, the owner's pass, start delay.
const JOIN: f64 = 10.0 + 10.0 + 60.0;

#[derive(Debug, Clone, Args)]
pub(crate) struct RebalanceScale {
    #[arg(long, default_value_t = 10_000)]
    pub(crate) clusters: usize,
    /// All lengths of time are the contract's through this
    #[arg(long, default_value_t = 1)]
    pub(crate) faster: u32,
}

/// What a worker is told.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkerArgs {
    #[arg(long)]
    database: PathBuf,
    /// A line for each look: the cluster's name and Unix milliseconds.
    #[arg(long)]
    record: PathBuf,
    #[arg(long)]
    faster: u32,
}

/// Looks of one process.
struct Worker {
    process: Process,
    record: PathBuf,
}

/// Name and instant of every look.
type Inspections = Vec<(String, i64)>;

/// Gives the part's table.
pub(crate) async fn run(scale: &RebalanceScale) -> Result<Part> {
    ensure!(scale.faster > 0 && scale.clusters > 0, "nothing to do");
    let RebalanceScale { clusters, faster } = scale;
    let title = format!("{clusters} clusters between four processes, {faster} times as fast as the contract");
    let mut part = Part::new("rebalance", title.clone())?;
    let folder = Folder::new("bench-rebalance")?;
    let postgres = Postgres::start().await?;
    let url = postgres.database().await?;
    let database = folder.write("database", &url)?;
    fill(&url, scale.clusters).await?;
    let mut workers = Vec::new();
    for number in 0..3 {
        workers.push(worker(&folder, &database, number, scale)?);
    }
    let all = Span { scale, patience: Duration::from_secs(900) };
    progress("three processes take the fleet");
    all.looked_at(&workers, 1, SystemClock.now()).await?;
    progress("a fourth joins");
    let joined = SystemClock.now();
    workers.push(worker(&folder, &database, 3, scale)?);
    let fourth = std::slice::from_ref(workers.last().context("it was started")?);
    // A little less than a quarter, for buckets are not equally full.
    all.settled(fourth, scale.clusters / 5).await?;
    all.looked_at(&workers, 2, joined).await?;
    progress("one is killed");
    let killed = SystemClock.now();
    workers[0].process.kill()?;
    let took = all.looked_at(&workers, 1, killed).await?;
    all.looked_at(&workers, 2, SystemClock.now()).await?;
    let usage: Vec<(Duration, u64)> = workers[1..]
        .iter()
        .map(|worker| Ok((cpu(worker.process.pid())?, resident(worker.process.pid())?)))
        .collect::<Result<_>>()?;
    table(&title, &["", "", "at most", ""]);
    report(scale, &workers, (joined, killed), took, &usage, &mut part)?;
    Ok(part)
}

/// How waits are scaled.
struct Span<'a> {
    scale: &'a RebalanceScale,
    patience: Duration,
}

impl Span<'_> {
    /// Waits until each cluster was looked at so often since an instant; how long after it that was.
    async fn looked_at(&self, workers: &[Worker], times: usize, since: Timestamp) -> Result<Duration> {
        until("each cluster is looked at", self.patience, || async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let mut counts: HashMap<String, usize> = HashMap::new();
            for (name, at) in looks(workers)? {
                if at > since.millis() {
                    *counts.entry(name).or_default() += 1;
                }
            }
            let done = counts.values().filter(|count| **count >= times).count();
            ensure!(done == self.scale.clusters, "{done} of {}", self.scale.clusters);
            Ok(())
        })
        .await?;
        Ok(SystemClock.now().since(since))
    }

    /// Waits until these processes look at so many clusters.
    async fn settled(&self, workers: &[Worker], clusters: usize) -> Result<()> {
        until("it has its share", self.patience, || async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let names: std::collections::HashSet<String> =
                looks(workers)?.into_iter().map(|(name, _)| name).collect();
            ensure!(names.len() >= clusters, "{} of {clusters}", names.len());
            Ok(())
        })
        .await
    }
}

fn worker(folder: &Folder, database: &Path, number: usize, scale: &RebalanceScale) -> Result<Worker> {
    let record = folder.path().join(format!("looks-{number}"));
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("rebalance-worker").arg("--database").arg(database).arg("--record").arg(&record);
    command.args(["--faster", &scale.faster.to_string()]);
    let process = Process::start(folder, &format!("worker-{number}"), &mut command)?;
    Ok(Worker { process, record })
}

fn looks(workers: &[Worker]) -> Result<Inspections> {
    let mut all = Vec::new();
    for worker in workers.iter().filter(|worker| worker.record.exists()) {
        for line in BufReader::new(File::open(&worker.record)?).lines() {
            let line = line?;
            // The last line may be half written.
            if let Some((name, at)) = line.split_once(' ')
                && let Ok(at) = at.parse()
            {
                all.push((name.to_owned(), at));
            }
        }
    }
    Ok(all)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of a report")]
fn report(
    scale: &RebalanceScale,
    workers: &[Worker],
    (joined, killed): (Timestamp, Timestamp),
    took: Duration,
    usage: &[(Duration, u64)],
    part: &mut Part,
) -> Result<()> {
    let faster = f64::from(scale.faster);
    let steady = scale.clusters as f64 / 60.0;
    let mut times: Vec<i64> = looks(workers)?.into_iter().map(|(_, at)| at).collect();
    times.sort_unstable();
    let window = 1000.0 / faster;
    let burst = |from: Timestamp, to: Timestamp| {
        let inside: Vec<i64> =
            times.iter().copied().filter(|at| (from.millis()..to.millis()).contains(at)).collect();
        let mut most = 0;
        let mut start = 0;
        for (end, at) in inside.iter().enumerate() {
            while (at - inside[start]) as f64 > window {
                start += 1;
            }
            most = most.max(end - start + 1);
        }
        most as f64 / steady
    };
    let fourth: HashMap<String, i64> = looks(&workers[3..])?.into_iter().rev().collect();
    let share = fourth.values().filter(|at| **at < killed.millis());
    let last = share.max().map_or(0, |at| at - joined.millis()) as f64 / 1000.0 * faster;
    let gap = longest_gap(workers)? * faster;
    let mut told = |what: &str, value: f64, aim: f64, unit: &str| {
        part.most(what, value, aim, unit);
        row(&[format!("{what}, {unit}"), format!("{value:.1}"), format!("{aim}"), verdict(value, aim)]);
    };
    // The interval itself comes on top of what the handover takes.
    told("one joins: it looked at each of its clusters after", last, JOIN + 60.0, "s");
    told("one is killed: each cluster looked at again after", took.as_secs_f64() * faster, GAP + 60.0, "s");
    told("longest time between two looks at a cluster", gap, GAP + 60.0, "s");
    told("looks of the busiest second ÷ the steady load, while one joins", burst(joined, killed), 2.0, "×");
    told("the same, after one was killed", burst(killed, SystemClock.now()), 2.0, "×");
    let memory = usage.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0) as f64 / 1_048_576.0;
    let busy = usage.iter().map(|(busy, _)| busy.as_secs_f64()).sum::<f64>();
    for (what, figure) in [
        ("memory of a process", format!("{memory:.0} MiB")),
        ("CPU of three processes over the whole run", format!("{busy:.1} s")),
    ] {
        part.stated(what, &figure);
        row(&[what.to_owned(), figure, String::new(), String::new()]);
    }
    Ok(())
}

/// Seconds, over all clusters.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a run")]
fn longest_gap(workers: &[Worker]) -> Result<f64> {
    let mut by_cluster: HashMap<String, Vec<i64>> = HashMap::new();
    for (name, at) in looks(workers)? {
        by_cluster.entry(name).or_default().push(at);
    }
    let mut longest = 0;
    for times in by_cluster.values_mut() {
        times.sort_unstable();
        longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0).max(longest);
    }
    Ok(longest as f64 / 1000.0)
}

async fn open(url: &str) -> Result<SharedStore> {
    let mut options = PostgresOptions::from_url(url)?;
    options.max_connections = 6;
    Ok(Arc::new(PostgresStore::connect(options).await?))
}

async fn fill(url: &str, clusters: usize) -> Result<()> {
    let store = open(url).await?;
    let draft = |id: String, partition: &str, key: Option<String>, body: String| Draft {
        id,
        partition: partition.to_owned(),
        unique_key: key,
        body,
        expires_at: None,
    };
    let properties = json!({"tenantId": SUBSCRIPTION});
    let body = json!({"id": SUBSCRIPTION, "subscription": {"state": "Registered", "properties": properties}});
    let subscription = draft(SUBSCRIPTION.to_owned(), SUBSCRIPTION, None, body.to_string());
    store.create(Collection::Subscriptions, subscription).await?;
    let mut drafts = Vec::with_capacity(BATCH);
    for number in 0..clusters {
        let name = format!("cluster-{number:05}");
        let id = ResourceId::from_parts(SUBSCRIPTION, "group", &name)?;
        let body = json!({"id": name, "key": id.key(), "partitionKey": SUBSCRIPTION, "bucket": number * 7 % 256,
            "openShiftCluster": {"id": id, "location": "westeurope", "properties": {"provisioningState": "Succeeded"}}});
        drafts.push(draft(name, SUBSCRIPTION, Some(id.key().to_owned()), body.to_string()));
        if drafts.len() == BATCH || number + 1 == clusters {
            store.create_all(Collection::OpenShiftClusters, std::mem::take(&mut drafts)).await?;
        }
    }
    store.close().await;
    Ok(())
}

/// Writes down each look and takes its time.
struct Recorded(Mutex<File>);

#[async_trait]
impl Look for Recorded {
    async fn look(&self, cluster: Arc<ClusterView>, _: Round, _: CancellationToken) -> LookOutcome {
        let started = SystemClock.now();
        let line = format!("{} {}\n", cluster.document, started.millis());
        if let Err(error) = self.0.lock().write_all(line.as_bytes()) {
            progress(format_args!("a look is not in the record: {error}"));
        }
        tokio::time::sleep(LOOK).await;
        LookOutcome { started, took: LOOK, failed: Vec::new() }
    }

    fn forget(&self, _: &ResourceId) {}
}

/// One process.
pub(crate) async fn work(args: WorkerArgs) -> Result<()> {
    let store = open(std::fs::read_to_string(&args.database)?.trim()).await?;
    let file = OpenOptions::new().create(true).append(true).open(&args.record)?;
    let usual = rp_config::Monitor::default();
    let faster = args.faster;
    let settings = rp_config::Monitor {
        bucket_interval: usual.bucket_interval / faster,
        worker_ttl: usual.worker_ttl / faster,
        lease: usual.lease / faster,
        interval: usual.interval / faster,
        start_delay: usual.start_delay / faster,
        feed_poll: usual.feed_poll / faster,
        record_interval: usual.record_interval / faster,
        ..usual
    };
    let parts = MonitorParts {
        store,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        registry: Registry::new(),
        look: Arc::new(Recorded(Mutex::new(file))),
        emit: Emit::none(),
        settings,
        shared: false,
        version: "bench".to_owned(),
    };
    let service = MonitorService::start(parts).await?;
    // The process that started it ends it.
    std::future::pending::<()>().await;
    service.stop().await;
    Ok(())
}
