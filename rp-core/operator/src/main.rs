//! `aro-operator`: arguments in, exit code out.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use rp_base::{SystemClock, SystemRandom};
use rp_operator::access::Access;
use rp_operator::controller::Role;
use rp_operator::controllers::TABLE;
use rp_operator::lease::LeaseTimes;
use rp_operator::manifests::ManifestArgs;
use rp_operator::metrics_listener::MetricsDoor;
use rp_operator::process::{self, Options};
use rp_operator_api::deployment::METRICS_TLS;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// The operator inside a cluster of Azure Red Hat OpenShift.
#[derive(Debug, Parser)]
#[command(name = "aro-operator", version = VERSION)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the controllers of a role until SIGTERM.
    Operator(OperatorArgs),
    /// Prints the objects with which the service deploys the operator, as YAML for kubectl apply.
    Manifests(ManifestArgs),
}

#[derive(Debug, clap::Args)]
struct OperatorArgs {
    /// master: all controllers; worker: the internet checker.
    role: String,
    /// Kubeconfig for a run outside a cluster; its current context is used.
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Address of the health listener.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:8080")]
    health: SocketAddr,
    /// Address of the metrics listener [default: [::]:8888 with --metrics-tls, 127.0.0.1:8888 without].
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Folder with tls.crt and tls.key: metrics are served by TLS, to those whom the cluster gives the right to the path
    /// /metrics. Without it they are plain HTTP on this machine.
    #[arg(long, value_name = "FOLDER", env = METRICS_TLS)]
    metrics_tls: Option<PathBuf>,
    /// Seconds that the lease of role master is valid without a renewal; it is renewed three times as often.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(3..=600))]
    lease_seconds: u64,
}

/// The build: the commit where the build names it, else the version of the workspace.
const VERSION: &str = match option_env!("ARO_COMMIT") {
    Some(commit) => commit,
    None => env!("CARGO_PKG_VERSION"),
};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Operator(args) => start(args),
        Command::Manifests(args) => print(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(std::io::stderr(), "{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print(args: ManifestArgs) -> Result<()> {
    Ok(std::io::stdout().write_all(args.text()?.as_bytes())?)
}

fn start(args: OperatorArgs) -> Result<()> {
    rp_net::tls::install_provider();
    let Some(role) = Role::parse(&args.role) else { bail!("invalid role {}", args.role) };
    log();
    let valid = Duration::from_secs(args.lease_seconds);
    let options = Options {
        role,
        access: Access::find(args.kubeconfig)?,
        version: VERSION.to_owned(),
        controllers: TABLE,
        lease: LeaseTimes { valid, renew: valid / 3 },
        health: args.health,
        metrics: MetricsDoor::of(args.metrics, args.metrics_tls)?,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start")?;
    runtime.block_on(async {
        let stop = stop_on_signal()?;
        Ok(process::run(options, stop).await?)
    })
}

/// JSON on standard error; text in development mode (`contract/operator.md` §1).
fn log() {
    let filter = EnvFilter::try_from_env("ARO_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    let development = std::env::var("RP_MODE").is_ok_and(|mode| mode.eq_ignore_ascii_case("development"));
    if development { lines.init() } else { lines.json().flatten_event(true).with_span_list(false).init() }
}

/// Cancelled by SIGTERM or SIGINT.
fn stop_on_signal() -> Result<CancellationToken> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let signalled = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
        signalled.cancel();
    });
    Ok(stop)
}
