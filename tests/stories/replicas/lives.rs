//! Replicas that end, politely and not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use tests_kit::{GENEROUS, Session, Wire, kubeconfig_server, kubeconfig_token, until};
use tokio::task::JoinHandle;

use super::world::Replicas;

/// More than a balancer's checks take to see it.
const LEAVES: &str = "[limits]\nleave = \"8s\"\ndrain = \"60s\"";

/// Asks through the balancer until told to stop; every answer by its request id and status.
fn asks(session: Session, path: String, stop: Arc<AtomicBool>) -> JoinHandle<Vec<(String, u16)>> {
    tokio::spawn(async move {
        let mut seen = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            match session.get(&path).await {
                Ok(answer) => seen.push((answer.header("x-request-id").to_owned(), answer.status)),
                // No answer: nothing was promised.
                Err(error) => seen.push((format!("{error:#}"), 0)),
            }
        }
        seen
    })
}

struct Cluster {
    path: String,
    proxy: Session,
    token: String,
}

async fn cluster(world: &Replicas, alice: &Session) -> Result<Cluster> {
    let resource = world.cluster(alice).await?;
    let text = alice.kubeconfig(&resource, "read", "a story of replicas that end", None).await?;
    let (server, token) = (kubeconfig_server(&text)?, kubeconfig_token(&text)?);
    let path = server.strip_prefix(&world.proxy_url).context("the balancer's address")?.to_owned();
    let proxy = Session::open(world.authority.pem(), &world.proxy_url, None)?.with_bearer(&token);
    // A connection for each request: each may meet another replica.
    let proxy = proxy.from_address(world.authority.pem(), "127.0.0.1".parse()?)?;
    Ok(Cluster { path, proxy, token })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_replica_loses_no_promised_entry_and_sessions_live_on() -> Result<()> {
    let mut world = Replicas::start("").await?;
    let alice = world.alice().await?;
    let cluster = cluster(&world, &alice).await?;
    // Reading a log is promised to the audit trail before the first byte goes to the cluster.
    let path = format!("{}/api/v1/namespaces/default/pods/web/log", cluster.path);
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> =
        (0..4).map(|_| asks(cluster.proxy.clone(), path.clone(), Arc::clone(&stop))).collect();
    until("both replicas have served some", GENEROUS, || async {
        for replica in &world.replicas {
            let served = replica.process.log().matches("pods").count();
            ensure!(served > 10, "{served} requests here");
        }
        Ok(())
    })
    .await?;
    world.replicas[0].process.kill()?;
    // The other serves on, and the session that either began lives.
    world.balanced().await?;
    alice.get("/api/info").await?.ok()?;
    cluster.proxy.get(&path).await?.ok()?;
    stop.store(true, Ordering::Relaxed);
    let mut promised = Vec::new();
    for worker in workers {
        promised.extend(worker.await?.into_iter().filter(|(_, status)| *status == 200).map(|(id, _)| id));
    }
    ensure!(promised.len() > 20, "only {} answers", promised.len());
    for id in &promised {
        let entries =
            world.audited(&alice, id).await.with_context(|| format!("{} answers", promised.len()))?;
        ensure!(entries.iter().any(|entry| entry["phase"] == "start"), "no start entry: {entries:?}");
    }
    let (folder, authority) = (&world.folder, &world.authority);
    world.replicas[0].again(folder, authority).await?;
    alice.at(&world.replicas[0].url).get("/api/info").await?.ok()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_is_noticed_by_nobody() -> Result<()> {
    let mut world = Replicas::start(LEAVES).await?;
    let alice = world.alice().await?;
    let cluster = cluster(&world, &alice).await?;
    let path = format!("{}/api/v1/namespaces/default/pods/web", cluster.path);
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> =
        (0..3).map(|_| asks(cluster.proxy.clone(), path.clone(), Arc::clone(&stop))).collect();
    for n in 0..world.replicas.len() {
        // A stream on the one that goes: it lives until the drain's end, or until its client leaves.
        let host = world.replicas[n].proxy_url.trim_start_matches("https://").to_owned();
        let mut watch = Wire::connect(&world.replicas[n].proxy_url, world.authority.pem()).await?;
        let (mount, token) = (&cluster.path, &cluster.token);
        watch
            .send(format!(
                "GET {mount}/api/v1/pods?watch=true HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
            ))
            .await?;
        watch.says("\"ADDED\"").await?;
        world.replicas[n].process.signal("TERM")?;
        let replica = &world.replicas[n];
        until("it drains", GENEROUS, || async {
            ensure!(
                replica.process.log().contains("stopping: no new connections"),
                "{}",
                replica.process.tail()
            );
            Ok(())
        })
        .await?;
        ensure!(replica.process.exited()?.is_none(), "it ended with an open stream");
        drop(watch);
        let status = replica.process.wait(GENEROUS).await?;
        ensure!(status.success(), "{status}");
        let (folder, authority) = (&world.folder, &world.authority);
        world.replicas[n].again(folder, authority).await?;
        // Only then the next may go.
        world.haproxy.finds_ready(n).await?;
    }
    stop.store(true, Ordering::Relaxed);
    let mut answers = 0;
    for worker in workers {
        let seen = worker.await?;
        let bad: Vec<_> = seen.iter().filter(|(_, status)| *status != 200).collect();
        ensure!(bad.is_empty(), "{bad:?}\n{}", world.haproxy.tail());
        answers += seen.len();
    }
    ensure!(answers > 20, "only {answers} answers");
    Ok(())
}
