//! What is taken back ends at once, and what ended stays ended.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{GENEROUS, Wire, kubeconfig_server, kubeconfig_token, until};

use crate::world::World;

/// The promise (`contract/rules.md` §3.7).
const WITHIN: Duration = Duration::from_secs(1);
/// Revocations until one is as fast as promised: other tests have the machine too, in bursts.
const ROUNDS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn revocation_closes_live_streams_within_a_second() -> Result<()> {
    let world = World::get().await?;
    let mut took = Vec::new();
    while took.len() < ROUNDS {
        let (watch, exec) = revoked_in_use(world, took.len()).await?;
        took.push((watch, exec));
        // kubectl has its own end to come to.
        if watch < WITHIN && exec < WITHIN * 2 {
            return Ok(());
        }
    }
    anyhow::bail!("watch and exec ended after {took:?}")
}

/// How long a watch and a `kubectl exec` live on after their grant was revoked.
async fn revoked_in_use(world: &World, round: usize) -> Result<(Duration, Duration)> {
    let session = world.aro.session("elevated").await?;
    let reason = &format!("revoked by a story, round {round}");
    let text = session.kubeconfig(&world.named, "write", reason, None).await?;
    let grant = grant_of(&session, reason).await?;
    let (server, token) = (kubeconfig_server(&text)?, kubeconfig_token(&text)?);
    let path = server.strip_prefix(world.aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?;

    let mut watch = Wire::connect(&server, &world.aro.ca_pem()?).await?;
    let request = format!(
        "GET {path}/api/v1/pods?watch=true HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        host(&server)
    );
    watch.send(&request).await?;
    watch.says("\"ADDED\"").await?;
    let kubectl = world.aro.kubectl_with(&text)?;
    let mut exec = kubectl.start(&["exec", "-i", "web", "--", "sh", "-c", "echo started; cat"])?;
    exec.says("started").await?;

    session.revoke(&grant).await?;
    let began = Instant::now();
    let rest = watch.closed(GENEROUS).await?;
    let watch_took = began.elapsed();
    // A clean cut: events only, never a foreign text.
    ensure!(!rest.contains("<html") && !rest.contains("\"code\":5"), "{rest}");
    let ended = exec_end(&mut exec).await?;
    let exec_took = ended.duration_since(began);

    let said = kubectl.refused(&["get", "pods"]).await?;
    ensure!(said.contains("revoked") || said.contains("ended"), "{said}");
    Ok((watch_took, exec_took))
}

async fn exec_end(exec: &mut tests_kit::Running) -> Result<Instant> {
    let cell = std::cell::RefCell::new(exec);
    until("kubectl exec ends", GENEROUS, || async {
        ensure!(!cell.borrow_mut().runs()?, "it runs: {}", cell.borrow().stdout());
        Ok(Instant::now())
    })
    .await
}

fn host(url: &str) -> &str {
    url.trim_start_matches("https://").split('/').next().unwrap_or_default()
}

async fn grant_of(session: &tests_kit::Session, reason: &str) -> Result<String> {
    let grants = session.grants().await?;
    let grant = grants.iter().find(|grant| grant.to_string().contains(reason));
    let id = grant
        .and_then(|grant| grant.get("id").or_else(|| grant.pointer("/grant/id")))
        .and_then(Value::as_str);
    id.map(str::to_owned).with_context(|| format!("{grants:?}"))
}

/// Takes a minute: the shortest life that is given.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_life_ends_its_streams() -> Result<()> {
    let world = World::get().await?;
    let session = world.aro.session("sre").await?;
    let text = session.kubeconfig(&world.named, "read", "a short life by a story", Some(60)).await?;
    let kubectl = world.aro.kubectl_with(&text)?;
    let watch = kubectl.start(&["get", "pods", "-w"])?;
    watch.says("web").await?;
    watch.end(GENEROUS * 3).await?;
    let said = kubectl.refused(&["get", "pods"]).await?;
    ensure!(said.contains("reached its end"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_an_import_ends_its_grants() -> Result<()> {
    let world = World::get().await?;
    let resource = world.aro.import_and_wait(&world.plane.service_kubeconfig()?, "short-lived", &[]).await?;
    let kubectl = world.aro.kubectl("sre", &resource, "read").await?;
    kubectl.ok(&["get", "pods"]).await?;
    let admin = world.aro.session("admin").await?;
    admin.change(reqwest::Method::DELETE, "/api/v1/imports/short-lived", None).await?.ok()?;
    until("the cluster is gone", GENEROUS, || async {
        let said = kubectl.refused(&["get", "pods"]).await?;
        ensure!(!said.is_empty());
        Ok(())
    })
    .await
}
