//! `aro monitor once`: one look at one cluster, shown and not emitted.
//!
//! With a kubeconfig it needs nothing else. By name the running process looks, for the store is its own; when none
//! runs by these settings, the store is opened here.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use portal_cli::Exit;
use rp_base::{SharedClock, SystemClock};
use rp_config::Settings;
use rp_core::Services;
use rp_core::files::read;
use rp_documents::ResourceId;
use rp_kube::kubeconfig;
use rp_monitor::ClusterView;
use rp_monitor::check::CheckOptions;
use rp_monitor::collect::COLLECTORS;
use rp_monitor::once::{Once, OneTarget, Report};
use rp_net::{Dialer, DialerOptions, Endpoint, Networks, PrivateWay, Source, Target};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use crate::config_args::ConfigArgs;
use crate::control::Client;
use crate::monitor_look::{InspectionRequest, NotFound, look, options};
use crate::output::{print_json, print_text};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 every collector went well; 1 some failed; 2 the command line is wrong;\n5 no such cluster; 6 the cluster did not answer"
)]
pub struct OnceArgs {
    /// Name or resource id of a cluster that the running process knows
    #[arg(required_unless_present = "kubeconfig")]
    cluster: Option<String>,
    /// Look at the cluster of this kubeconfig instead; needs no process, no store and no settings
    #[arg(long, value_name = "FILE", conflicts_with = "cluster")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, when it is not the current one
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    context: Option<String>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = OnceFormat::Table)]
    output: OnceFormat,
    /// Only these collectors, beside those that come before all others
    #[arg(long = "collector", value_name = "NAME")]
    collectors: Vec<String>,
    /// Objects of one page of a list
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    page: u16,
    /// As the first look of an hour: with what is told once an hour
    #[arg(long)]
    hourly: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnceFormat {
    Table,
    Json,
    Yaml,
}

/// Looks and prints.
///
/// # Errors
/// The cluster is not known, the kubeconfig or the settings cannot be used, or no look came about.
pub async fn run(args: OnceArgs) -> anyhow::Result<ExitCode> {
    if let Some(name) = args.collectors.iter().find(|name| !COLLECTORS.iter().any(|it| it.name == **name)) {
        let names: Vec<&str> = COLLECTORS.iter().map(|it| it.name).collect();
        print_error(&format!("no collector is called {name}; there are: {}", names.join(", ")));
        return Ok(Exit::Usage.into());
    }
    let report = match (&args.kubeconfig, &args.cluster) {
        (Some(file), _) => inspect_kubeconfig(file, &args).await,
        (None, cluster) => {
            let cluster = cluster.clone().context("a cluster or --kubeconfig")?;
            let collectors = args.collectors.clone();
            let wanted = InspectionRequest { cluster, collectors, hourly: args.hourly, page: args.page };
            by_name(&wanted, &args.config.settings(&[])?).await
        }
    };
    let report = match report {
        Ok(report) => report,
        Err(error) if error.is::<NotFound>() => {
            print_error(&format!("{error:#}"));
            return Ok(Exit::NotFound.into());
        }
        Err(error) => return Err(error),
    };
    print(&report, args.output)?;
    Ok(match (report.is_reached(), report.is_well()) {
        (false, _) => Exit::Away.into(),
        (true, false) => Exit::Failed.into(),
        (true, true) => Exit::Ok.into(),
    })
}

#[expect(clippy::print_stderr, reason = "a command's error goes to the person who ran it")]
fn print_error(text: &str) {
    eprintln!("aro: {text}");
}

fn print(report: &Report, format: OnceFormat) -> anyhow::Result<()> {
    let printed = match format {
        OnceFormat::Table => print_text(&report.table()),
        OnceFormat::Json => print_json(serde_json::to_string_pretty(report)?),
        OnceFormat::Yaml => {
            print_text(&serde_saphyr::to_string(report).context("it cannot be written as YAML")?)
        }
    };
    Ok(printed?)
}

async fn inspect_kubeconfig(file: &Path, args: &OnceArgs) -> anyhow::Result<Report> {
    let text = read(file)?;
    let plan = kubeconfig::read(&text, args.context.as_deref())
        .with_context(|| format!("cannot use {}", file.display()))?;
    let host = plan.server.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let id = name_of(&plan.context)?;
    let target = Target {
        id: id.clone(),
        source: Source::Imported,
        endpoint: Endpoint::Direct { url: plan.server.clone() },
        server_name: plan.tls_server_name.clone().unwrap_or(host),
        ca_pem: plan.ca_pem.clone(),
        read: plan.credential.clone(),
        admin: plan.credential.clone(),
        as_groups: Vec::new(),
        ssh: None,
        fingerprint: 0,
    };
    // The holder of the kubeconfig may reach its server, but never a metadata service.
    let everywhere = vec!["0.0.0.0/0".parse()?, "::/0".parse()?];
    let dialer = Dialer::new(DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::new(everywhere, Vec::new()),
        keepalive: std::time::Duration::from_secs(30),
    });
    let mut view = ClusterView::bare(id.name().to_owned(), id, Source::Imported);
    view.api_url = plan.server.to_string();
    let clock: SharedClock = Arc::new(SystemClock);
    let once = Once {
        directory: Arc::new(OneTarget(Arc::new(target.fingerprinted()))),
        dialer,
        clock,
        view,
        options: options(&args.collectors, args.page, CheckOptions::default()),
        beside: Vec::new(),
        subnets: None,
        hourly: args.hourly,
    };
    Ok(once.look(CancellationToken::new()).await)
}

/// The imported form's id, after the context; contexts may be called anything.
fn name_of(context: &str) -> anyhow::Result<ResourceId> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = context.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    let found = ResourceId::imported(name).or_else(|_| ResourceId::imported("cluster"));
    found.map_err(|error| anyhow!("{error}"))
}

/// The running process looks; without one, this process does, over the store.
async fn by_name(wanted: &InspectionRequest, settings: &Settings) -> anyhow::Result<Report> {
    if let Some(path) = &settings.listen.control
        && UnixStream::connect(path).await.is_ok()
    {
        let body = serde_json::to_value(wanted)?;
        let answer = Client::new(settings)?.post("/monitor/once", &body).await?;
        if let Some(message) = answer.get("unknown").and_then(serde_json::Value::as_str) {
            return Err(NotFound::None(message.to_owned()).into());
        }
        return serde_json::from_value(answer).context("the answer has another form");
    }
    look(wanted, &Services::open(settings).await?).await
}
