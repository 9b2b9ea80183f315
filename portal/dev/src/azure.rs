//! The stand-in for Azure: what the simulated clusters' machines and networks look like from there.

use std::sync::Arc;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_base::{Clock as _, Random as _, SharedClock, SystemClock, SystemRandom};
use rp_net::listen::Stop;
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_simulator::fleet::Fleet;
use rp_simulator_azure::{Application, ArmOptions, ArmStandIn, Clusters};
use serde_json::json;
use tokio::net::TcpListener;

use crate::folder::{DevState, Folder, write_private};
use crate::names::{CLIENT_ID, MOST_PAIRS, SECRET, application};

/// Seconds: until the next start, which writes another.
const LIFE: i64 = 400 * 24 * 3600;

/// The token of a service account that is federated with the application. The stand-in believes its signature.
pub(crate) fn write_token(folder: &Folder) -> anyhow::Result<()> {
    let now = SystemClock.now().seconds();
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(&json!({"alg": "RS256", "kid": "aro-dev"}));
    let claims =
        part(&json!({"iss": "https://localhost/aro-dev", "sub": "system:serviceaccount:aro:monitor",
        "aud": "api://AzureADTokenExchange", "nbf": now - 60, "exp": now + LIFE}));
    let mut signature = [0_u8; 256];
    SystemRandom.fill(&mut signature);
    write_private(
        &folder.file("azure-token"),
        &format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(signature)),
    )
}

/// We, and one application for each cluster that a customer may make here.
fn applications() -> Vec<Application> {
    let of = |pair| Application { client_id: application(pair), secret: Some(SECRET.to_owned()) };
    let own = Application { client_id: CLIENT_ID.to_owned(), secret: None };
    std::iter::once(own).chain((1..=MOST_PAIRS).map(of)).collect()
}

/// Starts it.
pub(crate) fn start(
    listener: TcpListener,
    folder: &Folder,
    kept: &DevState,
    fleet: &Arc<Fleet>,
    clock: &SharedClock,
    stop: &Stop,
) -> anyhow::Result<ArmStandIn> {
    let files = ServerFiles { certificate: folder.file("server.pem"), key: folder.file("server.key") };
    let options = ArmOptions {
        listener,
        tls: Some(ServerTls::load(files, &[b"h2", b"http/1.1"], ClientAuth::None)?),
        url: format!("https://localhost:{}", kept.ports.azure).parse()?,
        applications: applications(),
        contents: Arc::new(Clusters::new(Arc::clone(fleet), Arc::clone(clock))),
        file: Some(folder.file("azure.jsonl")),
        clock: Arc::clone(clock),
        random: Arc::new(SystemRandom),
        stop: stop.clone(),
    };
    ArmStandIn::start(options).context("azure.jsonl cannot be used; remove the data folder")
}
