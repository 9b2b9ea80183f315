//! A revocation on one replica ends on every replica what its grant opened: watches, exec, port-forward, shells by SSH,
//! terminals and tunnels.

mod streams;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{GENEROUS, Session, Times, promised};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use self::streams::{PLACE, Streams};
use super::world::Replicas;
use crate::machine::Machine;

/// The promise (`contract/rules.md` §3.7).
const WITHIN: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_on_one_replica_ends_every_stream_on_both_within_a_second() -> Result<()> {
    let world = Replicas::start("[limits]\nissue_per_minute = 0\nstreams_per_minute = 0").await?;
    let alice = world.alice().await?;
    let machine = Machine::start().await?;
    let (place, _place) = talkative().await?;
    let more =
        json!({ "ssh": machine.import()?, "tunnel": { "destinations": [format!("{PLACE}={place}")] } });
    let cluster = world.cluster_with(&alice, &more).await?;
    alice.elevate("write").await?;
    promised("the end of what runs on two replicas", WITHIN, async |round| {
        one_round(&world, &alice, &cluster, round).await.with_context(|| world.tails())
    })
    .await
}

/// Opens everything on both replicas, revokes its grants on one of them, and times the end of each stream from the
/// answer to its revocation.
async fn one_round(world: &Replicas, alice: &Session, cluster: &str, round: usize) -> Result<Times> {
    let streams = Streams::open_grants(world, alice, cluster, round).await?;
    let mut running = Vec::new();
    for replica in &world.replicas {
        running.extend(streams.open(replica).await?);
    }
    ensure!(running.len() == 14, "{} streams", running.len());
    let csrf = alice.get("/api/info").await?.ok()?.json()?["csrf"].as_str().context("csrf")?.to_owned();
    let asked = alice.at(&world.replicas[round % world.replicas.len()].url);
    let mut answered = Vec::new();
    for grant in streams.grants() {
        let headers = [("accept", "application/json"), ("x-csrf-token", &*csrf), ("origin", &*world.url)];
        let path = format!("/api/v1/grants/{grant}");
        asked.send(Method::DELETE, &path, &headers, None).await?.ok()?;
        answered.push((grant.to_owned(), Instant::now()));
    }
    let mut times = Times::new();
    for stream in running {
        let ended = stream.ended.await?.with_context(|| stream.what.clone())?;
        let from = answered.iter().find(|(grant, _)| *grant == stream.grant).context("its grant")?.1;
        times.push((stream.what, ended.saturating_duration_since(from)));
    }
    Ok(times)
}

/// Starts a server behind the cluster that greets every client and keeps every connection open; returns its address.
async fn talkative() -> Result<(std::net::SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"hello from the place").await;
            open.push(stream);
        }
    });
    Ok((address, serving))
}

/// A member of an answer that is text.
fn text(answer: &Value, pointer: &str) -> Result<String> {
    let found = answer.pointer(pointer).and_then(Value::as_str);
    found.map(str::to_owned).with_context(|| format!("no {pointer} in {answer}"))
}

/// Runs until the stream is over; gives the instant.
fn until_over(over: impl Future<Output = Result<()>> + Send + 'static) -> JoinHandle<Result<Instant>> {
    tokio::spawn(async move {
        tokio::time::timeout(GENEROUS, over).await.context("it goes on")??;
        Ok(Instant::now())
    })
}
