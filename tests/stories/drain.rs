//! Graceful shutdown: requests finish, streams are notified, the deadline cuts the rest.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tests_kit::{Aro, AroOptions, Behaviour, GENEROUS, Upstream, Wire, until};
use tokio::net::TcpStream;

use crate::proxied_cluster::ProxiedCluster;

/// What is open has so long to end by itself.
const DRAIN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_finishes_requests_and_cuts_streams_at_the_deadline() -> Result<()> {
    let env = vec![("ARO_LIMITS__DRAIN".to_owned(), format!("{}s", DRAIN.as_secs()))];
    let aro = Aro::start(AroOptions { env, ..AroOptions::default() }).await?;
    let held = Upstream::start(Behaviour::Held).await?;
    let watched = Upstream::start(Behaviour::Watch(10)).await?;
    let slow = open(&aro, &held, "held", "/api/v1/pods").await?;
    let stream = open(&aro, &watched, "watched", "/api/v1/pods?watch=true").await?;
    let (mut slow, mut stream) = (slow, stream);
    stream.says("\"ADDED\"").await?;
    until("the slow request is there", GENEROUS, || async {
        ensure!(!held.passed_on().is_empty(), "nothing");
        Ok(())
    })
    .await?;

    let told = Instant::now();
    aro.process().signal("TERM")?;
    let address = aro.dev.proxy_url.trim_start_matches("https://").trim_end_matches('/').to_owned();
    until("new connections are refused", GENEROUS, || async {
        ensure!(TcpStream::connect(&address).await.is_err(), "accepted");
        Ok(())
    })
    .await?;
    held.release();
    let (status, text) = slow.answer().await?;
    ensure!(status == 200, "{text}");
    stream.closed(GENEROUS).await?;
    let cut = told.elapsed();
    ensure!(cut >= DRAIN, "the stream was cut {cut:?} after the signal");
    let ended = aro.process().wait(GENEROUS).await?;
    ensure!(ended.success(), "{ended}\n{}", aro.process().tail());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() -> Result<()> {
    let env = vec![("ARO_LIMITS__DRAIN".to_owned(), "300s".to_owned())];
    let aro = Aro::start(AroOptions { env, ..AroOptions::default() }).await?;
    let watched = Upstream::start(Behaviour::Watch(10)).await?;
    let mut stream = open(&aro, &watched, "watched", "/api/v1/pods?watch=true").await?;
    stream.says("\"ADDED\"").await?;
    aro.process().signal("TERM")?;
    until("the first signal is logged", GENEROUS, || async {
        ensure!(aro.process().log().contains("drain"), "{}", aro.process().tail());
        Ok(())
    })
    .await?;
    aro.process().signal("TERM")?;
    // Well before the drain would end.
    aro.process().wait(GENEROUS).await?;
    Ok(())
}

async fn open(aro: &Aro, upstream: &Upstream, name: &str, path: &str) -> Result<Wire> {
    ProxiedCluster::import(aro, upstream, name).await?.send(aro, path).await
}
