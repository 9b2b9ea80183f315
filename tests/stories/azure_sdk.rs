//! Azure's own SDK for Python against the simulated Azure: an independent client confirms its behaviour.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_base::{SystemClock, SystemRandom};
use rp_net::listen::Stop;
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_simulator_azure::{Application, ArmOptions, ArmStandIn, EmptyContents};
use tests_kit::{part, workspace};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const APPLICATION: &str = "11111111-0000-4000-8000-000000000002";
const TENANT: &str = "22222222-0000-4000-8000-000000000002";
const SUBSCRIPTION: &str = "33333333-0000-4000-8000-000000000002";
/// The SDK takes its time to be read.
const PATIENCE: Duration = Duration::from_mins(8);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn azures_sdk_makes_reads_waits_and_is_refused() -> Result<()> {
    rp_net::tls::install_provider();
    let folder = tempfile::tempdir()?;
    let (certificate, key) = (folder.path().join("server.pem"), folder.path().join("server.key"));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    std::fs::write(&certificate, made.cert.pem())?;
    std::fs::write(&key, made.signing_key.serialize_pem())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("https://localhost:{}", listener.local_addr()?.port());
    let cut = CancellationToken::new();
    let _cut = cut.clone().drop_guard();
    let files = ServerFiles { certificate: certificate.clone(), key };
    let stand_in = ArmStandIn::start(ArmOptions {
        listener,
        tls: Some(ServerTls::load(files, &[b"http/1.1"], ClientAuth::None)?),
        url: url.parse()?,
        applications: vec![Application {
            client_id: APPLICATION.to_owned(),
            secret: Some("right".to_owned()),
        }],
        contents: Arc::new(EmptyContents),
        file: None,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        stop: Stop { stop: cut.clone(), cut },
    })?;
    let control = stand_in.control();
    control.subscribe(SUBSCRIPTION, TENANT);
    // Long enough that pollers see work in progress.
    control.slow(Duration::from_millis(100));
    let mut command = tokio::process::Command::new(part("python")?);
    command.arg(workspace().join("tests/python/azure_sdk.py")).kill_on_drop(true);
    for (name, value) in [
        ("ARM_URL", url.as_str()),
        ("ARM_CA", certificate.to_str().context("a path")?),
        ("ARM_TENANT", TENANT),
        ("ARM_SUBSCRIPTION", SUBSCRIPTION),
        ("ARM_CLIENT_ID", APPLICATION),
        ("ARM_SECRET", "right"),
    ] {
        command.env(name, value);
    }
    let done = tokio::time::timeout(PATIENCE, command.output()).await.context("the SDK does not end")??;
    let (told, failed) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    ensure!(done.status.success(), "after {told:?}: {failed}");
    let parts: Vec<&str> = told.lines().collect();
    ensure!(
        parts == ["groups", "networks", "pages", "deployments", "machines", "strangers", "end"],
        "{parts:?}"
    );
    let left = control.ids(&format!("/subscriptions/{SUBSCRIPTION}"));
    ensure!(left.is_empty(), "{left:?}");
    let polls = control.requests().iter().filter(|asked| asked.path.contains("/operationStatuses/")).count();
    ensure!(polls >= 5, "{polls} looks at operations");
    Ok(())
}
