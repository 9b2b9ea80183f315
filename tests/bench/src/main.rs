//! Speed and memory of the proxy beside other proxies, all in the same run (`docs/performance.md`).
//!
//! What is measured runs in processes of its own, so that CPU time and memory are the kernel's count of that
//! process alone. Rounds of the compared programs are interleaved: what the machine does besides hits all.

mod audit;
mod clients;
mod creates;
mod dispatch;
mod exposition;
mod fake_api_server;
mod floods;
mod grants;
mod latency;
mod list;
mod measure;
mod monitor;
mod ours;
mod page;
mod peers;
mod prom;
mod provider;
mod rebalance;
mod report;
mod requests;
mod revoke;
mod ssh;
mod start;
mod stream;
mod tls;
mod viewers;
mod watches;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};

use crate::report::Part;

/// Measures the proxy and its peers, prints Markdown.
#[derive(Debug, Parser)]
#[command(name = "bench", version)]
struct Cli {
    #[command(subcommand)]
    what: Command,
    /// A document that has a place for each part's table; the new one takes it
    #[arg(long, global = true)]
    into: Option<PathBuf>,
}

/// How much to do.
#[derive(Debug, Clone, Args)]
struct Scale {
    /// Rounds of everything that is compared; the table has the least and the median
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Length of one round of requests, seconds
    #[arg(long, default_value_t = 6)]
    seconds: u64,
    /// Idle watches, each on a connection of its own
    #[arg(long, default_value_t = 8000)]
    watches: usize,
    /// Watches that one revocation ends
    #[arg(long, default_value_t = 5000)]
    revoked: usize,
    /// Bytes through one stream, MiB
    #[arg(long, default_value_t = 2048)]
    mebibytes: u64,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Everything below
    All(Scale),
    #[command(flatten)]
    Measured(Measured),
    #[command(flatten)]
    Helper(Helper),
}

/// The parts.
#[derive(Debug, Subcommand)]
enum Measured {
    /// Time to readiness, idle memory, size
    Start(Scale),
    /// CPU time of a small GET, beside nginx, HAProxy and Go; then the latency added at half load
    Requests(Scale),
    /// CPU time of a byte stream, beside HAProxy
    Stream(Scale),
    /// Memory of idle watches
    Watches(Scale),
    /// From a revocation to the end of the last open watch
    Revoke(Scale),
    /// Floods of HTTP/2 frames: CPU time, memory, and how long others wait
    Floods,
    /// Grants in use, and a store with many more
    Grants(grants::GrantScale),
    /// The audit log: entries a second, and searches
    Audit(audit::AuditScale),
    /// The list of clusters: first byte, size, search, memory
    List(list::ListScale),
    /// Pages that follow clusters: memory and CPU of 500
    Viewers,
    /// One cluster's page: its first byte, and how soon a change is seen in it
    Page,
    /// PromQL: overhead of a large answer, memory of a huge one, suggestions, a fleet
    Prom(Scale),
    /// The bastion beside OpenSSH's ProxyJump, memory of sessions, recording, echo in the browser's terminal
    Ssh(ssh::SshScale),
    /// The resource provider's API: PUT and GET beside kube-apiserver with etcd, pages of a list, idle connections
    Provider(provider::ProviderScale),
    /// The workers: trivial operations beside graphile-worker, idle latency, growth
    Dispatch(dispatch::DispatchScale),
    /// The monitor: looks at clusters, beside client-go; ten thousand every minute; memory
    Monitor(monitor::MonitorScale),
    /// What the monitor shows: memory and CPU of series, of one reading, of statsd lines
    Exposition(exposition::ExpositionScale),
    /// Ten thousand clusters between four processes: one joins, one is killed
    Rebalance(rebalance::RebalanceScale),
    /// Many clusters made at once in the simulated region: memory of one
    Creates(creates::CreateScale),
}

/// Processes that a part starts.
#[derive(Debug, Subcommand)]
enum Helper {
    /// The far side of watches and streams
    #[command(hide = true)]
    Far {
        #[arg(long)]
        cert: PathBuf,
        #[arg(long)]
        key: PathBuf,
    },
    /// Watching clients
    #[command(hide = true)]
    Clients(clients::ClientArgs),
    /// Grants in use
    #[command(hide = true)]
    UseGrants(grants::UseArgs),
    /// A machine for many SSH sessions
    #[command(hide = true)]
    SshMachine(ssh::MachineArgs),
    /// Many SSH clients
    #[command(hide = true)]
    SshClients(ssh::ClientArgs),
    /// Many clusters
    #[command(hide = true)]
    MonitorFar {
        #[arg(long)]
        cert: PathBuf,
        #[arg(long)]
        key: PathBuf,
    },
    /// Looks at them
    #[command(hide = true)]
    MonitorLooks(monitor::LookArgs),
    /// One of the processes that share a fleet
    #[command(hide = true)]
    RebalanceWorker(rebalance::WorkerArgs),
}

fn main() -> Result<()> {
    let Cli { what, into } = Cli::parse();
    tests_kit::raise_open_files()?;
    tls::install();
    if let Some(document) = &into {
        ensure!(what.is_whole(), "a part of a table cannot take the place of a whole one: measure all of it");
        report::check(document)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match what {
            Command::All(scale) => all(&scale, into.as_deref()).await,
            Command::Measured(what) => Box::pin(measured(what)).await?.finish(into.as_deref()),
            Command::Helper(what) => Box::pin(helper(what)).await,
        }
    })
}

impl Command {
    /// Whether the table will have all its rows.
    fn is_whole(&self) -> bool {
        match self {
            Self::Measured(Measured::Ssh(scale)) => scale.is_whole(),
            Self::Measured(Measured::Audit(scale)) => scale.is_whole(),
            Self::All(_) | Self::Measured(_) | Self::Helper(_) => true,
        }
    }
}

async fn measured(what: Measured) -> Result<Part> {
    match what {
        Measured::Start(scale) => start::run(&scale).await,
        Measured::Requests(scale) => requests_and_latency(&scale).await,
        Measured::Stream(scale) => stream::run(&scale).await,
        Measured::Watches(scale) => watches::run(&scale).await,
        Measured::Revoke(scale) => revoke::run(&scale).await,
        Measured::Floods => floods::run().await,
        Measured::Grants(scale) => grants::run(&scale).await,
        Measured::Audit(scale) => audit::run(&scale).await,
        Measured::List(scale) => list::run(&scale).await,
        Measured::Viewers => viewers::run().await,
        Measured::Page => page::run().await,
        Measured::Prom(scale) => prom::run(&scale).await,
        Measured::Ssh(scale) => ssh::run(&scale).await,
        Measured::Provider(scale) => provider::run(&scale).await,
        Measured::Dispatch(scale) => dispatch::run(&scale).await,
        Measured::Monitor(scale) => monitor::run(&scale).await,
        Measured::Exposition(scale) => exposition::run(&scale).await,
        Measured::Rebalance(scale) => rebalance::run(&scale).await,
        Measured::Creates(scale) => creates::run(&scale).await,
    }
}

async fn helper(what: Helper) -> Result<()> {
    match what {
        Helper::Far { cert, key } => fake_api_server::run(&cert, &key).await,
        Helper::Clients(args) => clients::run(args).await,
        Helper::UseGrants(args) => grants::in_use(&args).await,
        Helper::SshMachine(args) => ssh::machine(args).await,
        Helper::SshClients(args) => ssh::clients(args).await,
        Helper::MonitorFar { cert, key } => monitor::fake_clusters(&cert, &key).await,
        Helper::MonitorLooks(args) => monitor::looks(args).await,
        Helper::RebalanceWorker(args) => rebalance::work(args).await,
    }
}

/// Each part's table is in its place before the next part begins.
async fn all(scale: &Scale, into: Option<&Path>) -> Result<()> {
    let provider =
        provider::ProviderScale { rounds: 3, seconds: 6, connections: 32, clusters: 10_000, idle: 2000 };
    let creates = creates::CreateScale { clusters: 1000, workers: 1000, install: 60_000, patience: 7200 };
    let parts = [
        Measured::Start(scale.clone()),
        Measured::Requests(scale.clone()),
        Measured::Stream(scale.clone()),
        Measured::Watches(scale.clone()),
        Measured::Revoke(scale.clone()),
        Measured::Prom(scale.clone()),
        Measured::Monitor(monitor::MonitorScale::default()),
        Measured::Exposition(exposition::ExpositionScale { clusters: 10_000, series: 150 }),
        Measured::Rebalance(rebalance::RebalanceScale { clusters: 10_000, faster: 1 }),
        Measured::Dispatch(dispatch::DispatchScale::default()),
        Measured::Viewers,
        Measured::Page,
        Measured::Ssh(ssh::SshScale::default()),
        Measured::Provider(provider),
        Measured::Floods,
        Measured::Grants(grants::GrantScale { stored: 1_000_000, used: 20_000 }),
        Measured::Audit(audit::AuditScale { entries: 300_000, store: audit::Stores::Both }),
        Measured::List(list::ListScale { clusters: 10_000, requests: 200 }),
        Measured::Creates(creates),
    ];
    for part in parts {
        Box::pin(measured(part)).await?.finish(into)?;
    }
    Ok(())
}

async fn requests_and_latency(scale: &Scale) -> Result<Part> {
    let mut part = Part::new("requests", "One GET of 4.3 KB through the proxy, TLS on both legs")?;
    let world = requests::World::start().await?;
    let capacity = requests::run(&world, scale, &mut part).await?;
    latency::run(&world, scale, capacity / 2.0, &mut part).await?;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn a_document_gets_whole_tables_only() {
        Cli::command().debug_assert();
        let whole = |words: &str| Cli::parse_from(words.split(' ')).what.is_whole();
        assert!(whole("bench ssh --into performance.md"));
        assert!(whole("bench --into performance.md audit --entries 9"));
        assert!(!whole("bench ssh --only bulk"));
        assert!(!whole("bench audit --store sqlite"));
    }
}
