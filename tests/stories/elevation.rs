//! Elevations, from the question to the end, with kubectl on a real kube-apiserver.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, ControlPlane, GENEROUS, InUse, Running, Session, Shared, until};
use tokio::sync::Mutex;

/// The promise is a second (`contract/rules.md` §3.7; `revoke.rs` holds it): kubectl's own end, beside other
/// tests, gets more.
const WITHIN: Duration = Duration::from_secs(20);
const REASON: &str = "story of an elevation";

/// A system of its own: what ends here must not end what other stories do.
struct World {
    aro: Aro,
    cluster: String,
}

impl World {
    async fn get() -> Result<InUse<Self>> {
        static WORLD: Shared<World> = Shared::new();
        WORLD.get(Self::start).await
    }

    async fn start() -> Result<Self> {
        let plane = ControlPlane::shared().await?;
        let aro = Aro::start(AroOptions { clusters: 4, ..AroOptions::default() }).await?;
        let service = plane.service_kubeconfig()?;
        let cluster = aro.import_and_wait(&service, "elevation", &["system:masters"]).await?;
        Ok(Self { aro, cluster })
    }

    async fn ask(&self, session: &Session, rights: &str, break_glass: bool) -> Result<Value> {
        let body =
            json!({ "reason": REASON, "rights": rights, "target": self.cluster, "break_glass": break_glass });
        session.post("/api/v1/elevations", &body).await?.ok()?.json()
    }

    /// A kubeconfig of the cluster, without elevating the person first.
    async fn take(&self, session: &Session, rights: &str) -> Result<tests_kit::Answer> {
        let body = json!({ "reason": REASON, "rights": rights });
        session.post(&format!("{}/kubeconfig/new", self.cluster), &body).await
    }
}

/// One at a time: an account's elevations are the account's.
static ELEVATED: Mutex<()> = Mutex::const_new(());

fn id(elevation: &Value) -> Result<&str> {
    elevation["id"].as_str().with_context(|| format!("no id: {elevation}"))
}

async fn act(session: &Session, elevation: &Value, verb: &str, body: &Value) -> Result<tests_kit::Answer> {
    session.post(&format!("/api/v1/elevations/{}/{verb}", id(elevation)?), body).await
}

/// Ends what an earlier story left in force.
async fn nothing_in_force(session: &Session) -> Result<()> {
    let mine = session.get("/api/v1/elevations?mine=true&active=true").await?.ok()?.json()?;
    for elevation in mine["items"].as_array().context("items")? {
        act(session, elevation, "end", &json!({})).await?.ok()?;
    }
    Ok(())
}

async fn ended(running: &mut Running) -> Result<Instant> {
    let cell = std::cell::RefCell::new(running);
    until("kubectl ends", GENEROUS, || async {
        ensure!(!cell.borrow_mut().runs()?, "it runs: {}", cell.borrow().stdout());
        Ok(Instant::now())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn power_comes_with_an_elevation_and_goes_with_it() -> Result<()> {
    let (world, _turn) = (World::get().await?, ELEVATED.lock().await);
    let session = world.aro.session("elevated").await?;
    nothing_in_force(&session).await?;
    let refused = world.take(&session, "write").await?;
    ensure!(refused.status == 403 && refused.text.contains("elevation_needed"), "{}", refused.text);

    let elevation = world.ask(&session, "write", false).await?;
    ensure!(elevation["state"] == "active" && elevation["way"] == "self_service", "{elevation}");
    let kubectl = world.aro.kubectl_with(&world.take(&session, "write").await?.ok()?.text)?;
    let mut exec = kubectl.start(&["exec", "-i", "web", "--", "sh", "-c", "echo started; cat"])?;
    exec.says("started").await?;
    let watch = kubectl.start(&["get", "pods", "-w"])?;
    watch.says("web").await?;
    let grant = session.grants().await?.into_iter().find(|grant| grant["elevation_id"] == elevation["id"]);
    let grant = grant.context("the grant names its elevation")?;
    let detail = format!("/api/v1/grants/{}", grant["id"].as_str().context("id")?);
    let seen = session.get(&detail).await?.ok()?.json()?;
    let open = seen["streams"].to_string();
    ensure!(open.contains("exec pods in default web") && open.contains("watch pods in default"), "{seen}");

    act(&session, &elevation, "end", &json!({ "why": "done" })).await?.ok()?;
    let began = Instant::now();
    let took = ended(&mut exec).await?.duration_since(began);
    ensure!(took < WITHIN, "kubectl exec ended after {took:?}");

    // The same file reads on, by itself: the watch still runs.
    ensure!(kubectl.ok(&["get", "pods"]).await?.contains("web"));
    let mut watch = watch;
    ensure!(watch.runs()?, "the watch ended: {}", watch.stderr());
    watch.kill().await?;
    let said = kubectl.refused(&["exec", "web", "--", "true"]).await?;
    ensure!(said.contains("write rights") && said.contains("elevation has ended"), "{said}");
    let seen = session.get(&detail).await?.ok()?.json()?;
    ensure!(seen["rights"] == "write" && seen["rights_now"] == "read", "{seen}");
    let again = act(&session, &elevation, "end", &json!({})).await?;
    ensure!(again.status == 409, "{} {}", again.status, again.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_person_decides() -> Result<()> {
    let (world, _turn) = (World::get().await?, ELEVATED.lock().await);
    let session = world.aro.session("elevated").await?;
    nothing_in_force(&session).await?;
    let approver = world.aro.session("approver").await?;
    let asked = world.ask(&session, "admin", false).await?;
    ensure!(asked["state"] == "waiting" && asked["way"] == "approval", "{asked}");
    let early = world.take(&session, "admin").await?;
    ensure!(early.status == 403, "{}", early.text);
    let waiting = approver.get("/api/v1/elevations?waiting=true").await?.ok()?.text;
    ensure!(waiting.contains(id(&asked)?), "{waiting}");

    // One's own, without the role, and without the token against forged requests.
    for account in ["elevated", "admin", "auditor"] {
        let other = world.aro.session(account).await?;
        let refused = act(&other, &asked, "approve", &json!({})).await?;
        ensure!(refused.status == 403, "{account}: {} {}", refused.status, refused.text);
    }
    for verb in ["approve", "refuse", "end", "review"] {
        let path = format!("/api/v1/elevations/{}/{verb}", id(&asked)?);
        let headers = [("content-type", "application/json"), ("accept", "application/json")];
        let forged = approver.send(Method::POST, &path, &headers, Some("{}".to_owned())).await?;
        ensure!(forged.status == 403 && forged.text.contains("csrf"), "{verb}: {}", forged.text);
    }

    // Two at once: one answer is good.
    let yes = json!({ "why": "go on" });
    let (one, other) =
        tokio::try_join!(act(&approver, &asked, "approve", &yes), act(&approver, &asked, "refuse", &yes))?;
    let mut codes = [one.status, other.status];
    codes.sort_unstable();
    ensure!(codes == [200, 409], "{} {}", one.text, other.text);
    if other.status == 200 {
        // The refusal was faster; the next question is approved.
        let asked = world.ask(&session, "admin", false).await?;
        act(&approver, &asked, "approve", &yes).await?.ok()?;
    }
    let kubectl = world.aro.kubectl_with(&world.take(&session, "admin").await?.ok()?.text)?;
    kubectl.ok(&["get", "secrets", "-A"]).await?;

    let auditor = world.aro.session("auditor").await?;
    let told = auditor.audit(id(&asked)?).await?;
    let verbs: Vec<&str> = told.iter().filter_map(|entry| entry["verb"].as_str()).collect();
    ensure!(verbs.contains(&"elevation.request"), "{verbs:?}");
    ensure!(verbs.contains(&"elevation.approve") || verbs.contains(&"elevation.refuse"), "{verbs:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn breaking_the_glass_is_loud_and_looked_at() -> Result<()> {
    let (world, _turn) = (World::get().await?, ELEVATED.lock().await);
    let session = world.aro.session("admin").await?;
    let operator = Session::open(&world.aro.ca_pem()?, &world.aro.dev.admin_url, None)?;
    let alarms = async || -> Result<u64> {
        let text = operator.get("/metrics").await?.ok()?.text;
        let line =
            text.lines().find(|line| line.starts_with("aro_break_glass_total ")).context(text.clone())?;
        Ok(line.rsplit(' ').next().context("a number")?.parse()?)
    };
    let before = alarms().await?;
    let elevation = world.ask(&session, "admin", true).await?;
    ensure!(elevation["way"] == "break_glass" && elevation["state"] == "active", "{elevation}");
    ensure!(alarms().await? == before + 1);
    let kubectl = world.aro.kubectl_with(&world.take(&session, "admin").await?.ok()?.text)?;
    kubectl.ok(&["get", "secrets"]).await?;
    act(&session, &elevation, "end", &json!({})).await?.ok()?;

    let auditor = world.aro.session("auditor").await?;
    let unreviewed = async || -> Result<bool> {
        let list = auditor.get("/api/v1/elevations?unreviewed=true").await?.ok()?.text;
        Ok(list.contains(id(&elevation)?))
    };
    ensure!(unreviewed().await?);
    // The account admin is an auditor too; its own it may not look at.
    let own = act(&session, &elevation, "review", &json!({ "fine": true, "note": "it was I" })).await?;
    ensure!(own.status == 403, "{} {}", own.status, own.text);
    let seen = act(&auditor, &elevation, "review", &json!({ "fine": true, "note": "incident 7" })).await?;
    ensure!(seen.ok()?.json()?["review"]["fine"] == true);
    ensure!(!unreviewed().await?);
    ensure!(!auditor.audit("elevation.break_glass").await?.is_empty());
    Ok(())
}
