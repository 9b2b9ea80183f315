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
mod grants;
mod latency;
mod limits;
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

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

/// Measures the proxy and its peers, prints Markdown.
#[derive(Debug, Parser)]
#[command(name = "bench", version)]
struct Cli {
    #[command(subcommand)]
    what: Command,
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
    /// CPU time of a small GET, beside nginx, HAProxy and Go; then the latency added at half load
    Requests(Scale),
    /// Memory of idle watches
    Watches(Scale),
    /// From a revocation to the end of the last open watch
    Revoke(Scale),
    /// CPU time of a byte stream, beside HAProxy
    Stream(Scale),
    /// Time to readiness, idle memory, size
    Start(Scale),
    /// PromQL: overhead of a large answer, memory of a huge one, suggestions, a fleet
    Prom(Scale),
    /// The monitor: looks at clusters, beside client-go; ten thousand every minute; memory
    Monitor(monitor::MonitorScale),
    /// What the monitor shows: memory and CPU of series, of one reading, of statsd lines
    Exposition(exposition::ExpositionScale),
    /// Ten thousand clusters between four processes: one joins, one is killed
    Rebalance(rebalance::RebalanceScale),
    /// One of those processes
    #[command(hide = true)]
    RebalanceWorker(rebalance::WorkerArgs),
    /// Pages that follow clusters: memory and CPU of 500
    Viewers,
    /// One cluster's page: its first byte, and how soon a change is seen in it
    Page,
    /// The audit log: entries a second, and searches
    Audit(audit::AuditScale),
    /// Grants in use, and a store with many more
    Grants(grants::GrantScale),
    /// The list of clusters: first byte, size, search, memory
    List(list::ListScale),
    /// The resource provider's API: PUT and GET beside kube-apiserver with etcd, pages of a list, idle connections
    Provider(provider::ProviderScale),
    /// The bastion beside OpenSSH's ProxyJump, memory of sessions, recording, echo in the browser's terminal
    Ssh(ssh::SshScale),
    /// A machine for many SSH sessions
    #[command(hide = true)]
    SshMachine(ssh::MachineArgs),
    /// Many SSH clients, in a process of their own
    #[command(hide = true)]
    SshClients(ssh::ClientArgs),
    /// The far side of watches and streams
    #[command(hide = true)]
    Far {
        #[arg(long)]
        cert: PathBuf,
        #[arg(long)]
        key: PathBuf,
    },
    /// Many clusters, in a process of their own
    #[command(hide = true)]
    MonitorFar {
        #[arg(long)]
        cert: PathBuf,
        #[arg(long)]
        key: PathBuf,
    },
    /// Looks at them, in a process of their own
    #[command(hide = true)]
    MonitorLooks(monitor::LookArgs),
    /// The workers: trivial operations beside graphile-worker, idle latency, growth
    Dispatch(dispatch::DispatchScale),
    /// Many clusters made at once in the simulated region: memory of one
    Creates(creates::CreateScale),
    /// Grants in use, in a process of their own
    #[command(hide = true)]
    UseGrants(grants::UseArgs),
    /// Watching clients, in a process of their own
    #[command(hide = true)]
    Clients(clients::ClientArgs),
}

fn main() -> Result<()> {
    let what = Cli::parse().what;
    limits::raise()?;
    tls::install();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match what {
            Command::All(scale) => all(&scale).await,
            Command::Requests(scale) => requests_and_latency(&scale).await,
            Command::Watches(scale) => watches::run(&scale).await,
            Command::Revoke(scale) => revoke::run(&scale).await,
            Command::Stream(scale) => stream::run(&scale).await,
            Command::Start(scale) => start::run(&scale).await,
            Command::Prom(scale) => {
                report::machine()?;
                prom::run(&scale).await
            }
            Command::Monitor(scale) => {
                report::machine()?;
                monitor::run(&scale).await
            }
            Command::Rebalance(scale) => {
                report::machine()?;
                rebalance::run(&scale).await
            }
            Command::RebalanceWorker(args) => rebalance::work(args).await,
            Command::MonitorFar { cert, key } => monitor::fake_clusters(&cert, &key).await,
            Command::MonitorLooks(args) => monitor::looks(args).await,
            Command::Exposition(scale) => {
                report::machine()?;
                exposition::run(&scale).await
            }
            Command::Viewers => {
                report::machine()?;
                viewers::run().await
            }
            Command::Page => {
                report::machine()?;
                page::run().await
            }
            Command::Audit(scale) => {
                report::machine()?;
                audit::run(&scale).await
            }
            Command::Grants(scale) => {
                report::machine()?;
                grants::run(&scale).await
            }
            Command::List(scale) => {
                report::machine()?;
                list::run(&scale).await
            }
            Command::Provider(scale) => {
                report::machine()?;
                provider::run(&scale).await
            }
            Command::Ssh(scale) => {
                report::machine()?;
                ssh::run(&scale).await
            }
            Command::SshMachine(args) => ssh::machine(args).await,
            Command::SshClients(args) => ssh::clients(args).await,
            Command::Dispatch(scale) => {
                report::machine()?;
                dispatch::run(&scale).await
            }
            Command::Creates(scale) => {
                report::machine()?;
                creates::run(&scale).await
            }
            Command::UseGrants(args) => grants::in_use(&args).await,
            Command::Far { cert, key } => fake_api_server::run(&cert, &key).await,
            Command::Clients(args) => clients::run(args).await,
        }
    })
}

async fn all(scale: &Scale) -> Result<()> {
    report::machine()?;
    start::run(scale).await?;
    requests_and_latency(scale).await?;
    stream::run(scale).await?;
    watches::run(scale).await?;
    revoke::run(scale).await?;
    prom::run(scale).await?;
    monitor::run(&monitor::MonitorScale::default()).await?;
    exposition::run(&exposition::ExpositionScale { clusters: 10_000, series: 150 }).await?;
    rebalance::run(&rebalance::RebalanceScale { clusters: 10_000, faster: 1 }).await?;
    dispatch::run(&dispatch::DispatchScale::default()).await?;
    viewers::run().await?;
    page::run().await?;
    ssh::run(&ssh::SshScale::default()).await?;
    provider::run(&provider::ProviderScale {
        rounds: 3,
        seconds: 6,
        connections: 32,
        clusters: 10_000,
        idle: 2000,
    })
    .await?;
    grants::run(&grants::GrantScale { stored: 1_000_000, used: 20_000 }).await?;
    audit::run(&audit::AuditScale { entries: 300_000, store: audit::Stores::Both }).await
}

async fn requests_and_latency(scale: &Scale) -> Result<()> {
    let world = requests::World::start().await?;
    let capacity = requests::run(&world, scale).await?;
    latency::run(&world, scale, capacity / 2.0).await
}
