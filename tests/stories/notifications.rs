//! Notifications from what happens to a receiver outside: a request with the way to its decision, a receiver that is away,
//! and a process that is killed meanwhile.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use axum::body::Bytes;
use axum::extract::State;
use http::HeaderMap;
use parking_lot::Mutex;
use rp_base::{Clock as _, Secret, SystemClock, Timestamp};
use rp_database::{SharedStore, SqliteOptions, SqliteStore, Typed};
use rp_documents::OperationLog;
use rp_notify::{ID, SIGNATURE, TIMESTAMP, signature};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Folder, GENEROUS, Session, until};
use tokio::task::JoinHandle;

const KEY: &str = "what the hub and this service know";
const REASON: &str = "story of notifications";

/// What a receiver took.
type Taken = Arc<Mutex<Vec<Value>>>;

/// A receiver of webhooks that checks every signature.
struct Hub {
    address: SocketAddr,
    taken: Taken,
    serving: JoinHandle<()>,
}

impl Hub {
    async fn start(address: SocketAddr) -> Result<Self> {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let (address, taken) = (listener.local_addr()?, Taken::default());
        let app =
            axum::Router::new().route("/hook", axum::routing::post(take)).with_state(Arc::clone(&taken));
        let serving = tokio::spawn(async move { drop(axum::serve(listener, app).await) });
        Ok(Self { address, taken, serving })
    }

    /// Takes nothing more; nobody listens at its address.
    fn leave(&self) {
        self.serving.abort();
    }

    /// Waits for an event; gives its message.
    async fn gets(&self, event: &str) -> Result<Value> {
        until(&format!("{event} arrives"), GENEROUS, || async {
            let taken = self.taken.lock().clone();
            let found = taken.iter().find(|message| message["event"] == event).cloned();
            found.with_context(|| format!("{taken:?}"))
        })
        .await
    }
}

async fn take(State(taken): State<Taken>, headers: HeaderMap, body: Bytes) -> http::StatusCode {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let at = Timestamp::from_seconds(header(TIMESTAMP).parse().unwrap_or_default());
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let right = signature(&Secret::new(KEY.to_owned()), at, &body) == header(SIGNATURE);
    if !right || message["id"] != header(ID) {
        return http::StatusCode::UNAUTHORIZED;
    }
    taken.lock().push(message);
    http::StatusCode::NO_CONTENT
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_is_told_also_when_it_and_we_were_away() -> Result<()> {
    let (folder, hub) = (Folder::new("notifications")?, Hub::start((Ipv4Addr::LOCALHOST, 0).into()).await?);
    let key = folder.write("key", KEY)?;
    let destination = format!("webhook:http://{}/hook#name=hub&secret_file={}", hub.address, key.display());
    let env = [("ARO_NOTIFY__DESTINATIONS", destination.as_str()), ("ARO_NOTIFY__RETRY", "200ms")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mut aro = Aro::start(AroOptions { clusters: 2, env, ..AroOptions::default() }).await?;
    let told = decided(&aro, &hub).await;
    aro.explain(told)?;
    let told = away(&mut aro, hub).await;
    aro.explain(told)
}

/// A request leads to the page that decides on it, and the decision is told.
async fn decided(aro: &Aro, hub: &Hub) -> Result<()> {
    let (person, approver) = (aro.session("elevated").await?, aro.session("approver").await?);
    let asked = ask(&person, "admin", false).await?;
    let message = hub.gets("elevation.requested").await?;
    ensure!(message["text"].as_str().is_some_and(|text| text.contains(REASON)), "{message}");
    let link = message["link"]["url"].as_str().context("a link")?;
    let path = link.strip_prefix(aro.dev.url.trim_end_matches('/')).with_context(|| link.to_owned())?;
    let page = approver.get(path).await?.ok()?.text;
    ensure!(page.contains(REASON), "{}", tests_kit::shown(&page));
    let stranger = aro.stranger()?.get(path).await?;
    ensure!(!stranger.text.contains(REASON) && stranger.status != 200, "{stranger:?}");
    let id = asked["id"].as_str().context("an id")?;
    approver.post(&format!("/api/v1/elevations/{id}/approve"), &json!({})).await?.ok()?;
    let approved = hub.gets("elevation.approved").await?;
    ensure!(approved["subject"] == message["subject"] && approved["resolves"] == true, "{approved}");

    let admin = aro.session("admin").await?;
    let tested = admin.post("/api/v1/notifications/hub/test", &json!({})).await?.ok()?.json()?;
    ensure!(hub.gets("test").await?["id"] == tested["id"], "{tested}");
    let unknown = admin.post("/api/v1/notifications/other/test", &json!({})).await?;
    ensure!(unknown.status == 404 && unknown.text.contains("destination_not_found"), "{unknown:?}");
    ensure!(person.get("/api/v1/notifications").await?.status == 403);
    let page = admin.get("/notifications").await?.ok()?.text;
    ensure!(page.contains("hub") && page.contains("Delivered"), "{}", tests_kit::shown(&page));
    ensure!(!page.contains(KEY) && !page.contains("/hook"));
    Ok(())
}

async fn ask(session: &Session, rights: &str, break_glass: bool) -> Result<Value> {
    let body = json!({ "reason": REASON, "rights": rights, "break_glass": break_glass });
    session.post("/api/v1/elevations", &body).await?.ok()?.json()
}

/// What happens while the receiver is away, and while this service is killed, arrives later, each once.
async fn away(aro: &mut Aro, hub: Hub) -> Result<()> {
    hub.leave();
    let before: Vec<Value> = hub.taken.lock().clone();
    let admin = aro.session("admin").await?;
    ask(&admin, "admin", true).await?;
    until("the sender finds nobody", GENEROUS, || async {
        let list = admin.get("/api/v1/notifications").await?.ok()?.json()?;
        let error = list["items"][0]["error"].as_str().unwrap_or_default().to_owned();
        ensure!(error.contains("could not be reached"), "{list}");
        Ok(())
    })
    .await?;
    aro.process().kill()?;
    operation_fails(aro).await?;
    let back = Hub::start(hub.address).await?;
    aro.restart().await?;
    back.gets("elevation.break_glass").await?;
    let failed = back.gets("operation.failed").await?;
    ensure!(failed["text"].as_str().is_some_and(|text| text.contains("quota is used up")), "{failed}");
    // A test comes after everything that waited.
    let admin = aro.session("admin").await?;
    admin.post("/api/v1/notifications/hub/test", &json!({})).await?.ok()?;
    back.gets("test").await?;
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for message in before.iter().chain(&*back.taken.lock()) {
        *times.entry(message["id"].to_string()).or_default() += 1;
    }
    ensure!(times.len() == 6 && times.values().all(|times| *times == 1), "{times:?}");
    Ok(())
}

/// Writes what a worker writes at the end of an operation that failed, while the service does not run.
async fn operation_fails(aro: &Aro) -> Result<()> {
    let options = SqliteOptions::new(aro.data().join("aro.db"), Arc::new(SystemClock));
    let store: SharedStore = Arc::new(SqliteStore::open(options).await?);
    let key = "/subscriptions/6f1f0f2e-9d3e-4c61-8a57-0d1a2b3c4d5e/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/harbor";
    let now = SystemClock.now();
    let log: OperationLog = serde_json::from_value(json!({
        "id": "7d1f2a90-5a10-4b6c-9d0c-2b1f6f2f8a11", "key": key, "kind": "Updating", "started": now, "ended": now,
        "result": "Failed", "error": "quota is used up", "steps": [], "lines": [],
    }))?;
    Typed::<OperationLog>::new(Arc::clone(&store)).create(log).await?;
    store.close().await;
    Ok(())
}
