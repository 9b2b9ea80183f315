//! Many who say nothing, and some who ask too often.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tests_kit::Session;
use tokio::net::TcpSocket;

use super::world::Replicas;

const SILENT: usize = 10_000;
/// What a good request may take beside them, in a debug build on busy cores: less than a silent one is let live.
const SOON: Duration = Duration::from_secs(9);

/// As many descriptors as a shell gives would not do on every machine; the count says what was reached.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_silent_sockets_do_not_delay_a_good_one() -> Result<()> {
    let world = Replicas::start("").await?;
    let replica = world.replicas.first().context("a replica")?;
    let address = replica.proxy_url.trim_start_matches("https://").to_owned();
    let address = tokio::net::lookup_host(&address).await?.find(SocketAddr::is_ipv4).context("an address")?;
    let mut silent = Vec::with_capacity(SILENT);
    for n in 0..SILENT {
        // From two addresses that no other test uses.
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 90 + u8::try_from(n % 2)?], 0)))?;
        let mut socket = socket.connect(address).await.with_context(|| format!("socket {n}"))?;
        // Some never begin TLS, some begin and stop in the middle of it; those over the address's rate are closed.
        if n % 3 == 0 {
            let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, b"\x16\x03\x01\x02\x00\x01").await;
        }
        silent.push(socket);
    }
    for _ in 0..20 {
        let fresh = Session::open(world.authority.pem(), &replica.url, None)?;
        let began = Instant::now();
        fresh.get("/healthz/ready").await?.ok()?;
        let took = began.elapsed();
        ensure!(took < SOON, "a good request took {took:?} beside {} silent ones", silent.len());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_too_often_is_told_when_to_come_again_and_others_are_not() -> Result<()> {
    let limits = "[limits]\nsign_in_per_minute = 30\nmisses_per_minute = 20\nissue_per_minute = 3";
    let world = Replicas::start(limits).await?;
    let alice = world.alice().await?;
    let replica = world.replicas.first().context("a replica")?;
    let pem = world.authority.pem();

    // Sign-ins by address.
    let hasty = Session::open(pem, &replica.url, None)?.from_address(pem, "127.0.0.80".parse()?)?;
    let refused = until_refused(60, || hasty.get("/api/login")).await?;
    ensure!(refused.1 >= 25, "refused after {} already", refused.1);
    let calm = Session::open(pem, &replica.url, None)?.from_address(pem, "127.0.0.81".parse()?)?;
    ensure!(calm.get("/api/login").await?.status < 400);

    // Tokens that open nothing, by address; good ones go on from there.
    let guesser = Session::open(pem, &replica.url, None)?
        .with_bearer("aro1_cli_AAAAAAAAAAAAAAAAAAAAAAAAAA_x_y")
        .from_address(pem, "127.0.0.82".parse()?)?;
    until_refused(60, || guesser.get("/api/v1/clusters")).await?;
    alice.at(&replica.url).from_address(pem, "127.0.0.82".parse()?)?.get("/api/v1/clusters").await?.ok()?;

    // Grants by person.
    let resource = world.cluster(&alice).await?;
    let path = format!("{resource}/kubeconfig/new");
    let body = serde_json::json!({ "reason": "asked for too often", "rights": "read" });
    until_refused(12, || alice.post(&path, &body)).await?;
    Ok(())
}

/// Asks until 429 with `Retry-After`; gives that answer and how many came before.
async fn until_refused<F>(most: usize, ask: impl Fn() -> F) -> Result<(tests_kit::Answer, usize)>
where
    F: Future<Output = Result<tests_kit::Answer>>,
{
    for n in 0..most {
        let answer = ask().await?;
        if answer.status == 429 {
            let wait: u64 = answer.header("retry-after").parse().context("Retry-After in seconds")?;
            ensure!((1..=60).contains(&wait), "{wait} s");
            return Ok((answer, n));
        }
    }
    anyhow::bail!("{most} were let through")
}
