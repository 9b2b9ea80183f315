//! Clients that send requests and do not read the answers.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use futures_util::future::try_join_all;
use h2::client::{Builder, SendRequest};
use tests_kit::{Aro, AroOptions, GENEROUS, Wire};
use tokio::task::JoinHandle;

const CONNECTIONS: usize = 20;
const STREAMS: usize = 250;
/// What they may cost together. With an encoder for each answer it was more than a gigabyte.
const MOST_GROWTH: u64 = 48 << 20;

/// A connection on which every stream's window is shut, and all its streams have asked.
struct StalledConnection {
    _sender: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

async fn stalled(aro: &Aro) -> Result<StalledConnection> {
    let stream = Wire::connect_h2(&aro.dev.url, &aro.ca_pem()?).await?.into_stream();
    let (mut sender, connection) =
        Builder::new().initial_window_size(0).handshake::<_, Bytes>(stream).await?;
    let connection = tokio::spawn(connection);
    let base = aro.dev.url.trim_end_matches('/');
    let mut heads = Vec::new();
    for number in 0..STREAMS {
        sender = sender.ready().await?;
        let path = ["/static/app.js", "/static/explore.js", "/nothing-here", "/favicon.ico"][number % 4];
        let request = http::Request::get(format!("{base}{path}"));
        let request = request.header("accept-encoding", "gzip").header("accept", "text/html").body(())?;
        heads.push(sender.send_request(request, true)?.0);
    }
    let answers = tokio::time::timeout(GENEROUS, try_join_all(heads)).await.context("every head")??;
    let refused = answers.iter().filter(|answer| answer.status() == 503).count();
    ensure!(refused >= STREAMS / 2, "only {refused} of {STREAMS} were refused");
    // The bodies are dropped with the connection only: a client that resets its streams holds nothing.
    std::mem::forget(answers);
    Ok(StalledConnection { _sender: sender, connection })
}

fn resident(aro: &Aro) -> Result<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{}/statm", aro.process().pid()))?;
    let pages: u64 = statm.split(' ').nth(1).context("resident pages")?.parse()?;
    Ok(pages * 4096)
}

#[tokio::test]
async fn answers_that_strangers_do_not_take_cost_little_and_end() -> Result<()> {
    let env = vec![("ARO_LIMITS__STRANGER_TIME".to_owned(), "5s".to_owned())];
    let aro = Aro::start(AroOptions { clusters: 1, env, ..AroOptions::default() }).await?;
    aro.explain(stall(&aro).await)
}

async fn stall(aro: &Aro) -> Result<()> {
    // Everything is loaded once.
    drop(stalled(aro).await?);
    let before = resident(aro)?;
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        held.push(stalled(aro).await?);
    }
    let grown = resident(aro)?.saturating_sub(before);
    ensure!(grown < MOST_GROWTH, "{} KiB for {CONNECTIONS} connections", grown / 1024);
    let began = Instant::now();
    ensure!(aro.session("viewer").await?.get("/").await?.status == 200, "others are served");
    ensure!(began.elapsed() < Duration::from_secs(10), "others are served soon");
    for each in held {
        // However it answers pings.
        let ended =
            tokio::time::timeout(GENEROUS, each.connection).await.context("the end of a connection")?;
        drop(ended?);
    }
    Ok(())
}
