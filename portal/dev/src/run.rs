//! Starting everything, in the order in which the parts need each other.

use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use aro::serve::{self, ServeOptions};
use rp_base::{Id, Random, Secret, SharedClock, SystemClock, SystemRandom};
use rp_config::{Override, Settings, needs};
use rp_core::Services;
use rp_core::frontend::Callers;
use rp_core::process::{self, shutdown_timeouts};
use rp_frontend::AzureChecks;
use rp_net::listen::Stop;
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_runtime::LogOutput;
use rp_simulator::fleet::Faults;
use rp_simulator_oidc::{Backchannel, OidcOptions, OidcProvider};
use rp_simulator_region::{Region, RegionIdentity, RegionOptions};
use tokio::net::TcpListener;

use crate::announce::{self, Banner};
use crate::folder::{DevState, Folder, Ports, read_text, write_private, write_public};
use crate::install::RegionInstaller;
use crate::{RunArgs, accounts, azure, backend, certificates, checks, control, names, offers, seed};

const CLIENT_ID: &str = "aro-dev";
/// How often a simulated cluster changes something.
const TICK: Duration = Duration::from_secs(5);

/// Runs until asked to end.
pub(crate) async fn run(args: RunArgs) -> anyhow::Result<()> {
    let folder = Folder::open(&args.data_dir)?;
    let kept = folder.load_state(args.port_base, &SystemRandom)?;
    certificates::ensure(folder.path(), &SystemClock)?;
    let clock: SharedClock = Arc::new(SystemClock);
    let identity = RegionIdentity::open_or_create(&folder.file("region"), clock.now())?;
    let settings = settings(&folder, &kept, &identity, &args)?;
    let (output, log_file) = log_output(&folder, args.log_to_terminal)?;
    let (log, life) = process::begin_with(&settings.log, output, shutdown_timeouts(&settings))?;
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };

    let oidc = start_provider(&folder, &kept, &clock, &stop).await?;
    let region = Region::start(RegionOptions {
        listener: bind(kept.ports.region).await?,
        identity,
        clusters: args.clusters,
        seed: kept.seed,
        locations: vec![],
        faults: faults(&args),
        clock: Arc::clone(&clock),
        tick: TICK,
        stop: stop.clone(),
    })?;
    let stand_in =
        azure::start(bind(kept.ports.azure).await?, &folder, &kept, region.fleet(), &clock, &stop)?;
    let services = Services::open(&settings).await?;
    seed::seed(&region, &services, settings.monitor.enabled).await?;
    offers::seed(&services).await?;
    let takes = Duration::from_millis(args.install_millis.max(1));
    let domain = settings.rp.api.domain.clone().unwrap_or_default();
    let installer =
        RegionInstaller::open(region.installs(), &folder, &services, takes, domain, stand_in.control())
            .await?;
    let workers = backend::start(&services, &stand_in, Arc::new(installer), args.pairs, &life).await?;
    let control_listener = bind(kept.ports.control).await?;
    let subscriptions = region.fleet().clusters().map(|cluster| cluster.subscription);
    checks::prepare(&stand_in.control(), subscriptions.chain([names::CUSTOMER.to_owned()]));
    let known = |arm| checks::KnownChecks { checks: AzureChecks::new(arm), azure: stand_in.control() };
    let extras = ServeOptions {
        simulated: true,
        callers: Callers::Everybody,
        checks: services.azure.client().cloned().map(|arm| Arc::new(known(arm)) as _),
        ..ServeOptions::default()
    };
    let serving = serve::start(services, &life, Some(log), extras).await?;
    let portal = serving.portal.clone();
    announce::write_state(&folder, &kept, oidc.issuer())?;
    announce::print(&Banner {
        folder: &folder,
        given: &args.data_dir,
        kept: &kept,
        clusters: args.clusters,
        log_file: log_file.as_deref(),
    });
    if args.open {
        announce::open_browser(&announce::url(&kept));
    }
    control::start(control_listener, portal, oidc, kept.accounts.clone(), kept.control.clone(), &life);
    // Operations are handed on while the store is open.
    if let Err(error) = workers.await {
        tracing::error!(error = %rp_base::chain(&error), "the workers ended");
    }
    serving.finished().await;
    Ok(())
}

/// Where the log goes: to standard error when that is read by a program or when it is asked for, else into a file of the
/// folder, so that the banner stays on the terminal. The log of the start before is kept beside it.
fn log_output(folder: &Folder, to_terminal: bool) -> anyhow::Result<(LogOutput, Option<PathBuf>)> {
    if to_terminal || !std::io::stderr().is_terminal() {
        return Ok((LogOutput::StandardError, None));
    }
    let file = folder.file("aro-dev.log");
    if file.exists() {
        std::fs::rename(&file, folder.file("aro-dev.log.1")).context("cannot keep the log of before")?;
    }
    let opened = std::fs::File::create(&file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok((LogOutput::File(opened), Some(file)))
}

/// What comes and goes in the region.
fn faults(args: &RunArgs) -> Option<Faults> {
    let share = f64::from(args.faults.min(100)) / 100.0;
    (share > 0.0).then(|| Faults { share, period: Duration::from_secs(args.fault_period.max(1)) })
}

async fn bind(port: u16) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; is aro-dev running already?"))
}

/// The settings file is written for people to read; it is what `aro serve` would take.
fn settings(
    folder: &Folder,
    kept: &DevState,
    identity: &RegionIdentity,
    args: &RunArgs,
) -> anyhow::Result<Settings> {
    let secret = folder.file("oidc-client-secret");
    if !secret.exists() {
        write_private(&secret, Id::random(&SystemRandom).as_str())?;
    }
    write_public(&folder.file("region-ca.pem"), &identity.ca)?;
    write_public(&folder.file("region-client.pem"), &identity.proxy_client.certificate)?;
    write_private(&folder.file("region-client.key"), identity.proxy_client.key.expose())?;
    azure::write_token(folder)?;
    let file = folder.file("aro.toml");
    write_public(&file, &toml_text(&kept.ports, args.clusters))?;
    let overrides = [Override { key: "log.level", value: &args.log, flag: "--log" }];
    Ok(rp_config::load(Some(&file), &overrides, needs::PORTAL)?)
}

fn toml_text(ports: &Ports, clusters: usize) -> String {
    // Recordings have one place, and the environment may name another.
    let recordings = match std::env::var_os("ARO_RECORDING__BLOB_URL") {
        Some(_) => "",
        None => "folder = \"recordings\"\n",
    };
    let mut text = format!(
        r#"# Written at each start of aro-dev.
[listen]
portal = "127.0.0.1:{portal}"
admin = "127.0.0.1:{admin}"

[portal]
url = "https://localhost:{portal}"

# Another host name: a page of a cluster must never act with the portal's cookies.
[proxy]
url = "https://127.0.0.1:{portal}"

[ssh]
listen = "127.0.0.1:{ssh}"
host = "localhost"

[tls]
cert_file = "server.pem"
key_file = "server.key"
ca_file = "ca.pem"

[store]
path = "aro.db"

[audit]
path = "audit.db"
checkpoint_key_file = "checkpoint.key"

[keys]
keyring_file = "keyring.json"

[oidc]
issuer = "https://localhost:{oidc}"
client_id = "{CLIENT_ID}"
client_secret_file = "oidc-client-secret"
ca_file = "ca.pem"
scopes = ["openid", "profile", "offline_access"]

# Short, so that a disabled account can be watched losing its access.
[session]
revalidate = "5s"
alarm_after = "1m"

[elevation]
self_service = ["dev-elevated"]

[imports]
allow = ["127.0.0.0/8", "::1/128", "10.0.0.0/8"]

[private_link]
way = "connect"
address = "127.0.0.1:{region}"
server_name = "proxy"
ca_file = "region-ca.pem"
client_cert_file = "region-client.pem"
client_key_file = "region-client.key"

# A stand-in of the simulator.
[azure]
region = "westeurope"
credential = "workload_identity"
client_id = "{azure_client}"
federated_token_file = "azure-token"
resource_manager = "https://localhost:{azure}"
authority = "https://localhost:{azure}"
diagnosis = "https://localhost:{azure}{lens}"
diagnosis_tenant = "{lens_tenant}"
ca_file = "ca.pem"

# Everybody on this machine may call it.
[rp]
enabled = true
listen = "127.0.0.1:{rp}"
url = "https://localhost:{rp}"
domain = "westeurope.aroapp.io"
d2s_workers = true
ready_delay = "1ms"

# Short, so that a restart of this program goes on soon.
[backend]
workers = 20
lease = "15s"
heartbeat = "3s"
poll = "1s"
retry = "1s"
retry_most = "10s"
drain = "10s"

# Often, so that faults are seen soon; nobody waits for looks at the end.
[monitor]
interval = "{interval}"
start_delay = "{interval}"
timeout = "20s"
grace = "2s"
drain = "1s"
nsg_interval = "1m"
ready_delay = "5s"
record_interval = "5s"

# Shells and terminals can be watched afterwards, under Recordings.
[recording]
policy = "wanted"
{recordings}
[log]
format = "text"

[roles]
"#,
        recordings = recordings,
        portal = ports.portal,
        admin = ports.admin,
        oidc = ports.oidc,
        region = ports.region,
        azure = ports.azure,
        rp = ports.rp,
        ssh = ports.ssh,
        azure_client = names::CLIENT_ID,
        lens = rp_simulator_azure::DIAGNOSES,
        lens_tenant = rp_simulator_azure::DIAGNOSIS_TENANT,
        // A laptop has better things to do than ten thousand looks in fifteen seconds.
        interval = if clusters > 1000 { "60s" } else { "15s" },
    );
    for (role, group) in accounts::GROUPS {
        text.push_str(&format!("{role} = [\"{group}\"]\n"));
    }
    text
}

async fn start_provider(
    folder: &Folder,
    kept: &DevState,
    clock: &SharedClock,
    stop: &Stop,
) -> anyhow::Result<OidcProvider> {
    let files = ServerFiles { certificate: folder.file("server.pem"), key: folder.file("server.key") };
    let portal = format!("https://localhost:{}", kept.ports.portal);
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    let options = OidcOptions {
        listener: bind(kept.ports.oidc).await?,
        tls: Some(ServerTls::load(files, &[b"h2", b"http/1.1"], ClientAuth::None)?),
        issuer: format!("https://localhost:{}", kept.ports.oidc).parse()?,
        client_id: CLIENT_ID.to_owned(),
        client_secret: Secret::new(read_text(&folder.file("oidc-client-secret"))?.trim().to_owned()),
        redirect_uris: vec![format!("{portal}/callback")],
        post_logout_redirect_uris: vec![portal.clone(), format!("{portal}/"), format!("{portal}/signed-out")],
        backchannel: Some(Backchannel {
            uri: format!("{portal}/backchannel-logout").parse()?,
            ca_pem: Some(read_text(&folder.file("ca.pem"))?),
        }),
        accounts: accounts::for_provider(&kept.accounts),
        clock: Arc::clone(clock),
        random,
        stop: stop.clone(),
    };
    Ok(OidcProvider::start(options)?)
}
