//! What one replica did, the others know.

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use tests_kit::{GENEROUS, Session, kubeconfig_server, kubeconfig_token};

use super::world::{Opened, Replicas};

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_begun_on_one_replica_ends_on_another_and_holds_on_both() -> Result<()> {
    let world = Replicas::start("").await?;
    let alice = world.alice().await?;
    for replica in &world.replicas {
        let info = alice.at(&replica.url).get("/api/info").await?.ok()?.json()?;
        ensure!(info.to_string().contains("alice"), "{info}");
    }
    let saw =
        |route: &str| world.replicas.iter().map(|replica| replica.process.log().contains(route)).collect();
    tests_kit::until("the log names both replicas", GENEROUS, || async {
        let (began, ended): (Vec<bool>, Vec<bool>) =
            (saw("\"route\":\"/api/login\""), saw("\"route\":\"/callback\""));
        ensure!(began != ended && began.contains(&true) && ended.contains(&true), "{began:?} {ended:?}");
        Ok(())
    })
    .await?;

    // Signed out on one, signed out on the other.
    let csrf = alice.get("/api/info").await?.ok()?.json()?["csrf"].as_str().unwrap_or_default().to_owned();
    let headers =
        [("x-csrf-token", csrf.as_str()), ("origin", world.url.as_str()), ("accept", "application/json")];
    let out = alice.at(&world.replicas[0].url).send(Method::POST, "/api/logout", &headers, None).await?;
    ensure!(out.status < 400, "{} {}", out.status, out.text);
    tests_kit::until("the other replica knows", GENEROUS, || async {
        let answer = alice.at(&world.replicas[1].url).get("/api/info").await?;
        ensure!(answer.status == 401, "{} {}", answer.status, answer.text);
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_of_one_replica_works_on_another_and_its_end_is_seen_on_both() -> Result<()> {
    let world = Replicas::start("").await?;
    let alice = world.alice().await?;
    let resource = world.cluster(&alice).await?;
    let text = alice.kubeconfig(&resource, "read", "a story of replicas", None).await?;
    let opened = Opened::new(&world, &text)?;
    let before = opened.statuses(&world).await?;
    ensure!(before == [200, 200], "{before:?}");
    let grants = alice.grants().await?;
    let id = grants.iter().find_map(|grant| grant["id"].as_str()).context("a grant")?.to_owned();
    alice.revoke(&id).await?;
    // How soon is held by `revoked.rs`.
    tests_kit::until("it is refused on both", GENEROUS, async || {
        let after = opened.statuses(&world).await?;
        ensure!(after == [401, 401], "{after:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_names_the_client_behind_the_balancer() -> Result<()> {
    let world = Replicas::start("").await?;
    let alice = world.alice().await?;
    let resource = world.cluster(&alice).await?;
    let far = "127.0.0.77".parse()?;
    let there = alice.from_address(world.authority.pem(), far)?;
    let text = there.kubeconfig(&resource, "read", "from a far address", None).await?;
    let server = kubeconfig_server(&text)?;
    let path = server.strip_prefix(&world.proxy_url).context("the balancer's address")?.to_owned();
    let proxy = Session::open(world.authority.pem(), &world.proxy_url, None)?
        .with_bearer(&kubeconfig_token(&text)?)
        .from_address(world.authority.pem(), far)?;
    let answer = proxy.get(&format!("{path}/api/v1/namespaces/default/pods/web")).await?.ok()?;
    for text in ["from a far address", answer.header("x-request-id")] {
        let entries = world.audited(&alice, text).await?;
        ensure!(entries.iter().any(|entry| entry["actor"]["from"] == "127.0.0.77"), "{text}: {entries:?}");
    }
    // Who is no balancer cannot say where it comes from.
    let replica = world.replicas.first().context("a replica")?;
    let address = replica.proxy_url.trim_start_matches("https://");
    let mut liar = tokio::net::TcpStream::connect(address).await?;
    tokio::io::AsyncWriteExt::write_all(&mut liar, b"PROXY TCP4 192.0.2.1 127.0.0.1 1 2\r\n").await?;
    let mut rest = Vec::new();
    let read =
        tokio::time::timeout(GENEROUS, tokio::io::AsyncReadExt::read_to_end(&mut liar, &mut rest)).await?;
    ensure!(read.is_err() || rest.first() != Some(&0x16), "its TLS was answered");
    Ok(())
}
