//! `aro`: roles and verbs. Arguments in, exit code out; nothing else happens here.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use aro::args::{AuditCommand, Cli, Command, MonitorArgs, MonitorVerb, ProxyArgs, ProxyVerb};
use aro::config_args::ConfigArgs;
use aro::{
    api, audit, command_reference, completion, doctor, keys, monitor_once, output, print, proxy_role,
    proxy_tools, serve, ssh, store,
};
use clap::{CommandFactory as _, FromArgMatches as _};
use rp_config::{Log, LogFormat, needs};
use rp_core::process::{self, shutdown_timeouts};
use rp_core::{Services, maintenance, monitor, provider};
use rp_runtime::{Lifecycle, ShutdownTimeouts};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: rp_runtime::Allocator = rp_runtime::Allocator;

/// Time to finish for roles without settings.
const DRAIN: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let code = start();
    rp_runtime::flush_log();
    code
}

fn start() -> ExitCode {
    // kubectl waits for this at every call: no TLS, no runtime, no table of arguments.
    if let Some(code) = portal_cli::cached_credential(std::env::args_os()) {
        return code;
    }
    rp_net::tls::install_provider();
    // A shell that completes a command line; it starts a runtime of its own, for a moment.
    portal_cli::complete_names();
    completion::answer(Cli::command);
    let matches = command_reference::with_examples(Cli::command()).get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("cannot start")),
    };
    match cli.command {
        Command::Verb(verb) => runtime.block_on(portal_cli::run(verb, &mut portal_cli::Output::standard())),
        Command::Audit { verb: AuditCommand::Portal(verb) } => {
            let verb = portal_cli::Verb::Audit(portal_cli::AuditArgs { verb });
            runtime.block_on(portal_cli::run(verb, &mut portal_cli::Output::standard()))
        }
        Command::Proxy(ProxyArgs { verb: ProxyVerb::Local(args) }) => {
            let verb = portal_cli::Verb::ProxyLocal(args);
            runtime.block_on(portal_cli::run(verb, &mut portal_cli::Output::standard()))
        }
        Command::Audit { verb: AuditCommand::Verify(args) } => match runtime.block_on(audit::verify(&args)) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => failed(&error),
        },
        Command::Doctor(args) => match runtime.block_on(doctor::run(&args)) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => failed(&error),
        },
        Command::Monitor(MonitorArgs { verb: Some(MonitorVerb::Once(args)), .. }) => {
            match runtime.block_on(monitor_once::run(args)) {
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

/// Tells the person who ran a command its error; one whose standard error is closed is told by the exit code alone.
fn failed(error: &anyhow::Error) -> ExitCode {
    rp_runtime::flush_log();
    let _ = writeln!(std::io::stderr(), "aro: {error:#}");
    ExitCode::FAILURE
}

async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(args) => run_serve(&args, false).await,
        Command::Portal(args) => run_serve(&args, true).await,
        Command::Rp(args) => run_rp(&args).await,
        Command::Monitor(args) => run_monitor(&args.config).await,
        Command::Maintenance(args) => run_maintenance(&args).await,
        Command::Store { verb } => Box::pin(store::run(verb)).await,
        Command::Keys { verb } => keys::run(verb).await,
        Command::CheckConfig(args) => {
            args.settings(needs::PORTAL)?;
            Ok(output::print_line(&format!("{}: no mistakes", args.config.display()))?)
        }
        Command::Api(args) => Box::pin(api::run(args, print_text)).await,
        Command::Print(args) => Ok(output::print_text(&print::reference(&args, Cli::command)?)?),
        Command::Completion { shell } => {
            let program = std::env::args_os().next().unwrap_or_else(|| "aro".into());
            Ok(output::print_bytes(&completion::script(shell, program)?)?)
        }
        Command::Proxy(args) => match args.verb {
            ProxyVerb::Serve(args) => run_proxy(&args).await,
            ProxyVerb::Connect(args) => proxy_tools::connect(args, &default_lifecycle()?).await,
            ProxyVerb::Tunnel(args) => proxy_tools::tunnel(args, &default_lifecycle()?).await,
            // Answered above, as all verbs for people are.
            ProxyVerb::Local(_) => Ok(()),
        },
        Command::ExitCodes => Ok(output::print_line(portal_cli::EXIT_CODES)?),
        Command::Audit { verb: AuditCommand::Dump(args) } => audit::dump(&args.settings(&[])?).await,
        Command::Audit { verb: AuditCommand::Key(args) } => audit::key(&args.settings(&[])?),
        Command::Verb(_)
        | Command::Doctor(_)
        | Command::Audit { verb: AuditCommand::Portal(_) | AuditCommand::Verify(_) } => Ok(()),
    }
}

/// Prints a line; what cannot be written ends nothing that was begun.
fn print_text(text: &str) {
    let _ = output::print_line(text);
}

/// The lifecycle of a role without settings.
fn default_lifecycle() -> anyhow::Result<Lifecycle> {
    let log = Log { level: "info".to_owned(), format: LogFormat::Text };
    let (_, life) = process::begin(&log, ShutdownTimeouts { leave: Duration::ZERO, drain: DRAIN })?;
    Ok(life)
}

async fn run_serve(args: &ConfigArgs, replica: bool) -> anyhow::Result<()> {
    let settings = args.settings(needs::PORTAL)?;
    if replica {
        serve::needs_postgres(&settings)?;
    }
    let (log, life) = process::begin(&settings.log, shutdown_timeouts(&settings))?;
    let services = Services::open(&settings).await?;
    let extras = serve::ServeOptions { replica, ..serve::ServeOptions::default() };
    serve::start(services, &life, Some(log), extras).await?.finished().await;
    Ok(())
}

async fn run_monitor(args: &ConfigArgs) -> anyhow::Result<()> {
    let settings = args.settings(&[])?;
    let timeouts = ShutdownTimeouts { leave: Duration::ZERO, drain: settings.monitor.drain };
    let (log, life) = process::begin(&settings.log, timeouts)?;
    let started = async { monitor::start(Services::open(&settings).await?, &life, Some(log)).await };
    log_failed_start(started.await)?.finished().await;
    Ok(())
}

async fn run_maintenance(args: &ConfigArgs) -> anyhow::Result<()> {
    let settings = args.settings(needs::RP)?;
    let timeouts = ShutdownTimeouts { leave: Duration::ZERO, drain: settings.maintenance.drain };
    let (log, life) = process::begin(&settings.log, timeouts)?;
    let started = async { maintenance::start(Services::open(&settings).await?, &life, Some(log)).await };
    log_failed_start(started.await)?.finished().await;
    Ok(())
}

async fn run_rp(args: &ConfigArgs) -> anyhow::Result<()> {
    let settings = args.settings(needs::RP)?;
    let (log, life) = process::begin(&settings.log, shutdown_timeouts(&settings))?;
    let started = async {
        let services = Services::open(&settings).await?;
        let door = ssh::ssh_endpoint(&services).await?;
        provider::start(services, &life, Some(log), door).await
    };
    log_failed_start(started.await)?.finished().await;
    Ok(())
}

async fn run_proxy(args: &ConfigArgs) -> anyhow::Result<()> {
    let settings = args.settings(needs::PROXY)?;
    serve::needs_postgres(&settings)?;
    let (log, life) = process::begin(&settings.log, shutdown_timeouts(&settings))?;
    let services = Services::open(&settings).await?;
    proxy_role::start(services, &life, Some(log)).await?.finished().await;
    Ok(())
}

/// Logs why a role did not start: nobody reads the standard error of a service.
fn log_failed_start<T>(started: anyhow::Result<T>) -> anyhow::Result<T> {
    started.inspect_err(|error| tracing::error!("failed to start: {error:#}"))
}
