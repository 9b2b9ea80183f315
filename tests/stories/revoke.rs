//! What is taken back ends at once, and what ended stays ended.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{
    GENEROUS, Kubectl, Running, Times, Wire, kubeconfig_server, kubeconfig_token, promised, until,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::world::World;

/// The promise (`contract/rules.md` §3.7).
const WITHIN: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn revocation_closes_live_streams_within_a_second() -> Result<()> {
    let world = World::get().await?;
    promised("the end of what runs", WITHIN, async |round| revoked_in_use(world, round).await).await
}

/// How long a watch, a `kubectl exec` and a connection through `kubectl port-forward` live on after their grant was
/// revoked.
async fn revoked_in_use(world: &World, round: usize) -> Result<Times> {
    let session = world.aro.session("elevated").await?;
    let reason = &format!("revoked by a story, round {round}");
    let text = session.kubeconfig(&world.named, "write", reason, None).await?;
    let grant = grant_of(&session, reason).await?;
    let kubectl = world.aro.kubectl_with(&text)?;
    let mut watch = watch(world, &text).await?;
    let exec = kubectl.start(&["exec", "-i", "web", "--", "sh", "-c", "echo started; cat"])?;
    exec.says("started").await?;
    let (_forward, mut forwarded) = forwarded(&kubectl).await?;
    let watch =
        tokio::spawn(async move { Ok::<_, anyhow::Error>((watch.closed(GENEROUS).await?, Instant::now())) });
    let exec = tokio::spawn(async move { exec.end(GENEROUS).await.map(|output| (output, Instant::now())) });
    let forward = tokio::spawn(async move {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(GENEROUS, forwarded.read_to_end(&mut rest)).await;
        // A reset is an end too.
        ended.context("the forwarded connection stays open").map(|_| Instant::now())
    });

    session.revoke(&grant).await?;
    let began = Instant::now();
    let (rest, watch) = watch.await??;
    // A clean cut: events only, never a foreign text.
    ensure!(!rest.contains("<html") && !rest.contains("\"code\":5"), "{rest}");
    ensure!(rest.contains("\"ERROR\"") && rest.contains("revoked"), "{rest}");
    let (output, exec) = exec.await??;
    ensure!(output.stderr.contains("revoked"), "{output:?}");
    let ends = [("watch", watch), ("exec", exec), ("port-forward", forward.await??)];

    let said = kubectl.refused(&["get", "pods"]).await?;
    ensure!(said.contains("revoked") || said.contains("ended"), "{said}");
    Ok(ends.map(|(what, end)| (what.to_owned(), end.saturating_duration_since(began))).into())
}

/// A watch that has told of a pod.
async fn watch(world: &World, kubeconfig: &str) -> Result<Wire> {
    let (server, token) = (kubeconfig_server(kubeconfig)?, kubeconfig_token(kubeconfig)?);
    let path = server.strip_prefix(world.aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?;
    let mut watch = Wire::connect(&server, &world.aro.ca_pem()?).await?;
    let request = format!(
        "GET {path}/api/v1/pods?watch=true HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        host(&server)
    );
    watch.send(&request).await?;
    watch.says("\"ADDED\"").await?;
    Ok(watch)
}

/// A `kubectl port-forward` and a connection through it that has said something to a server that keeps it open.
async fn forwarded(kubectl: &Kubectl) -> Result<(Running, TcpStream)> {
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let there = server.local_addr()?.port();
    let forward = kubectl.start(&["port-forward", "pod/web", &format!(":{there}")])?;
    forward.says("Forwarding from 127.0.0.1:").await?;
    let said = forward.stdout();
    let here = said.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next());
    let here: u16 = here.context("a local port")?.parse()?;
    let mut stream = TcpStream::connect(("127.0.0.1", here)).await?;
    stream.write_all(b"hello").await?;
    let (mut far, _) = tokio::time::timeout(GENEROUS, server.accept()).await.context("nobody came")??;
    let mut heard = [0; 5];
    tokio::time::timeout(GENEROUS, far.read_exact(&mut heard)).await.context("nothing came")??;
    // The far end stays open until the near one is over.
    tokio::spawn(async move { far.read(&mut heard).await });
    Ok((forward, stream))
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

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_life_ends_its_streams() -> Result<()> {
    let world = World::with(&[("ARO_ACCESS__MIN_LIFE", "1s")]).await?;
    let session = world.aro.session("sre").await?;
    let text = session.kubeconfig(&world.named, "read", "a short life by a story", Some(15)).await?;
    let kubectl = world.aro.kubectl_with(&text)?;
    let watch = kubectl.start(&["get", "pods", "-w"])?;
    watch.says("web").await?;
    watch.end(GENEROUS).await?;
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
