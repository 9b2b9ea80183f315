//! The store is away for a while: what holds meanwhile, and what comes after (`contract/rules.md` §3.7).

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tests_kit::{Answer, GENEROUS, Session, Wire, kubeconfig_server, kubeconfig_token, until};

use super::world::Replicas;

/// New accesses are refused from here on at the latest: what cannot be recorded is refused before.
const REFUSED_AFTER: Duration = Duration::from_secs(5);
/// Streams are cut from here on.
const CUT_AFTER: Duration = Duration::from_millis(14_500);
/// What a busy machine may add to either.
const SLACK: Duration = Duration::from_secs(5);

/// An access to a cluster through one replica, without the balancer: its health checks would fail with the store.
struct OpenAccess {
    proxy: Session,
    path: String,
    host: String,
    token: String,
}

impl OpenAccess {
    async fn open(world: &Replicas, alice: &Session, resource: &str) -> Result<Self> {
        let replica = world.replicas.first().context("a replica")?;
        let text = alice.kubeconfig(resource, "read", "the store goes away", None).await?;
        let (server, token) = (kubeconfig_server(&text)?, kubeconfig_token(&text)?);
        let path = server.strip_prefix(&world.proxy_url).context("the balancer's address")?.to_owned();
        let proxy = Session::open(world.authority.pem(), &replica.proxy_url, None)?.with_bearer(&token);
        let host = replica.proxy_url.trim_start_matches("https://").to_owned();
        Ok(Self { proxy, path, host, token })
    }

    async fn get(&self, path: &str) -> Result<Answer> {
        self.proxy.get(&format!("{}/api/v1/namespaces/default/pods/web{path}", self.path)).await
    }

    /// The first one is audited durably before its first byte. While seven programs of a world start on a busy machine, a
    /// connection to the database may take longer than a call waits for one; then it is refused, and asked for again.
    async fn first_watch(&self, world: &Replicas) -> Result<Wire> {
        until("the first watch is open", GENEROUS, || self.watch(world)).await
    }

    async fn watch(&self, world: &Replicas) -> Result<Wire> {
        let replica = world.replicas.first().context("a replica")?;
        let mut wire = Wire::connect(&replica.proxy_url, world.authority.pem()).await?;
        let (path, host, token) = (&self.path, &self.host, &self.token);
        wire.send(format!(
            "GET {path}/api/v1/pods?watch=true HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
        ))
        .await?;
        wire.says("\"ADDED\"").await?;
        Ok(wire)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_store_is_trusted_for_five_seconds_and_streams_for_fifteen() -> Result<()> {
    let world = Replicas::start("").await?;
    let alice = world.alice().await?;
    let resource = world.cluster(&alice).await?;
    let here = OpenAccess::open(&world, &alice, &resource).await?;
    here.get("").await?.ok()?;
    let mut watch = here.first_watch(&world).await?;
    world.postgres.pause()?;
    let paused = Instant::now();
    here.get("").await?.ok()?;
    let refused = until("new accesses are refused", GENEROUS, || async {
        let answer = here.get("").await?;
        ensure!(answer.status == 503, "{}", answer.status);
        Ok((answer, paused.elapsed()))
    })
    .await?;
    let (answer, after) = refused;
    ensure!(after < REFUSED_AFTER + SLACK, "refused after {after:?} only");
    ensure!(!answer.header("retry-after").is_empty() && answer.text.contains("store"), "{}", answer.text);
    // A page says what is away where it would have stood, and keeps its frame.
    let replica = world.replicas.first().context("a replica")?;
    let browser = alice.at(&replica.url);
    let page = browser.send(reqwest::Method::GET, "/access", &[("accept", "text/html")], None).await?;
    ensure!(page.text.contains("The store did not answer"), "{} {}", page.status, page.text);
    watch.closed(GENEROUS).await?;
    let cut = paused.elapsed();
    ensure!(cut >= CUT_AFTER && cut < CUT_AFTER + SLACK, "cut after {cut:?}");

    world.postgres.resume();
    until("it serves again without a restart", GENEROUS, || async { here.get("").await?.ok() }).await?;
    let sessions = || async { alice.at(&replica.url).get("/api/info").await?.ok() };
    until("sessions are looked up again", GENEROUS, sessions).await?;
    // The writer of the audit log tries again some seconds after it failed.
    until("a watch is opened again", GENEROUS, || here.watch(&world)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_store_comes_back_and_nothing_is_lost() -> Result<()> {
    let world = Replicas::start("").await?;
    let alice = world.alice().await?;
    let resource = world.cluster(&alice).await?;
    let here = OpenAccess::open(&world, &alice, &resource).await?;
    let logged = here.get("/log").await?.ok()?;
    world.postgres.stop().await?;
    until("new accesses are refused", GENEROUS, || async {
        let answer = here.get("").await?;
        ensure!(answer.status == 503, "{}", answer.status);
        Ok(())
    })
    .await?;
    world.postgres.go().await?;
    until("it serves again without a restart", GENEROUS, || async { here.get("/log").await?.ok() }).await?;
    let entries = world.audited(&alice, logged.header("x-request-id")).await?;
    ensure!(entries.iter().any(|entry| entry["phase"] == "start"), "{entries:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_spool_cached_grants_live_on_and_their_entries_come_in_afterwards() -> Result<()> {
    let world = Replicas::start_with("spool", "").await?;
    let alice = world.alice().await?;
    let resource = world.cluster(&alice).await?;
    let here = OpenAccess::open(&world, &alice, &resource).await?;
    here.get("").await?.ok()?;
    let unused = OpenAccess::open(&world, &alice, &resource).await?;
    let mut watch = here.watch(&world).await?;
    world.postgres.pause()?;
    let paused = Instant::now();
    // A grant that was never used is in no cache.
    until("what is not cached is refused", GENEROUS, || async {
        let answer = unused.get("").await?;
        ensure!(answer.status == 503, "{}", answer.status);
        Ok(())
    })
    .await?;
    let mut spooled = Vec::new();
    until("streams would have been cut long ago", GENEROUS, || async {
        here.get("").await?.ok()?;
        ensure!(paused.elapsed() > CUT_AFTER + SLACK, "{:?}", paused.elapsed());
        Ok(())
    })
    .await?;
    for _ in 0..3 {
        // Promised to the audit trail, which is in the store that is away.
        spooled.push(here.get("/log").await?.ok()?.header("x-request-id").to_owned());
    }
    let quiet = watch.closed(Duration::from_millis(200)).await;
    ensure!(quiet.is_err(), "the watch was cut: {quiet:?}");
    world.postgres.resume();
    for id in spooled {
        let entries = world.audited(&alice, &id).await?;
        ensure!(entries.iter().any(|entry| entry["phase"] == "start"), "{entries:?}");
    }
    until("the others serve again", GENEROUS, || async { unused.get("").await?.ok() }).await?;
    Ok(())
}
