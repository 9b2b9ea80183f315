//! `aro`: roles and verbs. Arguments in, exit code out; nothing else happens here.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use aro::args::{AuditCommand, Cli, Command, ConfigArgs, MonitorArgs, MonitorVerb, ProxyVerb};
use aro::{api, audit, carry, keys, monitor, monitor_once, parts, print, proxy_role, rp, serve, store};
use clap::{CommandFactory as _, Parser as _};
use rp_config::{Log, LogFormat, Override, Settings, needs};
use rp_core::Foundation;
use rp_runtime::{Farewell, Lifecycle};

#[cfg(feature = "heap-profile")]
#[global_allocator]
static ALLOCATOR: rp_runtime::Allocator = rp_runtime::Allocator;

/// Time to finish for roles without settings.
const DRAIN: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    // kubectl waits for this at every call: no TLS, no runtime, no table of arguments.
    if let Some(code) = portal_cli::cached_credential(std::env::args_os()) {
        return code;
    }
    rp_net::tls::install_provider();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("cannot start")),
    };
    match Cli::parse().command {
        Command::Verb(verb) => runtime.block_on(portal_cli::run(verb, &mut portal_cli::Output::standard())),
        Command::Audit { verb: AuditCommand::Portal(verb) } => {
            let verb = portal_cli::Verb::Audit(portal_cli::AuditArgs { verb });
            runtime.block_on(portal_cli::run(verb, &mut portal_cli::Output::standard()))
        }
        Command::Audit { verb: AuditCommand::Verify(args) } => {
            let settings = || settings(&args.config, &[]);
            match runtime.block_on(audit::verify(&args, settings)) {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::FAILURE,
                Err(error) => failed(&error),
            }
        }
        Command::Monitor(MonitorArgs { verb: Some(MonitorVerb::Once(args)), .. }) => {
            match runtime.block_on(monitor_once::run(args, |config| settings(config, &[]))) {
                Ok(code) => code,
                Err(error) => failed(&error),
            }
        }
        command => match runtime.block_on(run(command)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        },
    }
}

#[expect(clippy::print_stderr, reason = "a command's error goes to the person who ran it")]
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("aro: {error:#}");
    ExitCode::FAILURE
}

#[expect(clippy::print_stdout, reason = "the answer of a command")]
async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(args) => run_serve(&args, false).await,
        Command::Portal(args) => run_serve(&args, true).await,
        Command::Rp(args) => run_rp(&args).await,
        Command::Monitor(args) => run_monitor(&args.config).await,
        Command::Store { verb } => Box::pin(store::run(verb, |args| settings(args, &[]))).await,
        Command::Keys { verb } => keys::run(verb, |args| settings(args, &[])).await,
        Command::CheckConfig(args) => {
            settings(&args, needs::PORTAL)?;
            println!("{}: no mistakes", args.config.display());
            Ok(())
        }
        Command::Api(args) => Box::pin(api::run(args, told)).await,
        Command::Print(args) => {
            print!("{}", print::reference(&args)?);
            Ok(())
        }
        Command::Completion { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "aro", &mut std::io::stdout());
            Ok(())
        }
        Command::Proxy(args) => match args.verb {
            ProxyVerb::Serve(args) => run_proxy(&args).await,
            ProxyVerb::Connect(args) => carry::connect(args, &plain_life()?).await,
            ProxyVerb::Tunnel(args) => carry::tunnel(args, &plain_life()?).await,
        },
        Command::ExitCodes => {
            println!("{}", portal_cli::EXIT_CODES);
            Ok(())
        }
        Command::Audit { verb: AuditCommand::Dump(args) } => audit::dump(&settings(&args, &[])?).await,
        Command::Audit { verb: AuditCommand::Key(args) } => audit::key(&settings(&args, &[])?),
        Command::Verb(_) | Command::Audit { verb: AuditCommand::Portal(_) | AuditCommand::Verify(_) } => {
            Ok(())
        }
    }
}

/// A line for whoever reads; a reader that has gone, such as `head`, wants no more.
fn told(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Of a role without settings.
fn plain_life() -> anyhow::Result<Lifecycle> {
    rp_runtime::start_logging(&Log { level: "info".to_owned(), format: LogFormat::Text })?;
    Ok(Lifecycle::with_signals(Farewell { leave: Duration::ZERO, drain: DRAIN })?)
}

fn settings(args: &ConfigArgs, needs: &[&str]) -> anyhow::Result<Settings> {
    let mut overrides = Vec::new();
    for pair in &args.set {
        let (key, value) =
            pair.split_once('=').with_context(|| format!("--set {pair}: expected KEY=VALUE"))?;
        overrides.push(Override { key, value, flag: "--set" });
    }
    Ok(rp_config::load(Some(&args.config), &overrides, needs)?)
}

async fn run_serve(args: &ConfigArgs, replica: bool) -> anyhow::Result<()> {
    let settings = settings(args, needs::PORTAL)?;
    if replica {
        serve::needs_postgres(&settings)?;
    }
    let log = rp_runtime::start_logging(&settings.log)?;
    let life = Lifecycle::with_signals(parts::farewell(&settings))?;
    let foundation = Foundation::open(&settings).await?;
    let extras = serve::Extras { replica, ..serve::Extras::default() };
    let serving = serve::start(&settings, foundation, &life, Some(log), extras).await?;
    serving.finished().await;
    Ok(())
}

async fn run_monitor(args: &ConfigArgs) -> anyhow::Result<()> {
    let settings = settings(args, &[])?;
    let log = rp_runtime::start_logging(&settings.log)?;
    let life = Lifecycle::with_signals(Farewell { leave: Duration::ZERO, drain: settings.monitor.drain })?;
    let started = async {
        let foundation = Foundation::open(&settings).await?;
        monitor::start(&settings, foundation, &life, Some(log)).await
    };
    match started.await {
        Ok(monitoring) => {
            monitoring.finished().await;
            Ok(())
        }
        Err(error) => {
            tracing::error!("failed to start: {error:#}");
            Err(error)
        }
    }
}

async fn run_rp(args: &ConfigArgs) -> anyhow::Result<()> {
    let settings = settings(args, needs::RP)?;
    let log = rp_runtime::start_logging(&settings.log)?;
    let life = Lifecycle::with_signals(parts::farewell(&settings))?;
    let started = async {
        let foundation = Foundation::open(&settings).await?;
        rp::start(&settings, foundation, &life, Some(log)).await
    };
    match started.await {
        Ok(serving) => {
            serving.finished().await;
            Ok(())
        }
        Err(error) => {
            tracing::error!("failed to start: {error:#}");
            Err(error)
        }
    }
}

async fn run_proxy(args: &ConfigArgs) -> anyhow::Result<()> {
    let settings = settings(args, needs::PROXY)?;
    serve::needs_postgres(&settings)?;
    let log = rp_runtime::start_logging(&settings.log)?;
    let life = Lifecycle::with_signals(parts::farewell(&settings))?;
    let foundation = Foundation::open(&settings).await?;
    proxy_role::start(&settings, foundation, &life, Some(log)).await?.finished().await;
    Ok(())
}
