//! `aro serve` as a process: its start, its signals, its end.

use anyhow::{Result, ensure};
use tests_kit::{Authority, Folder, GENEROUS, Session, Wire, until};

use super::served::{Served, serve, write_server};

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_read_again_on_hangup_and_old_connections_live() -> Result<()> {
    let served = Served::start().await?;
    let host = served.url.trim_start_matches("https://");
    let request = format!("GET /healthz/ready HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let mut old = Wire::connect(&served.url, served.authority.pem()).await?;
    old.send(&request).await?;
    let (status, text) = old.answer().await?;
    ensure!(status == 200, "{text}");

    let other = Authority::new("the next authority")?;
    write_server(&served.folder, &other)?;
    served.aro.signal("HUP")?;
    until("the new certificate is served", GENEROUS, || async {
        Session::open(other.pem(), &served.proxy_url, None)?.get("/healthz/ready").await?.ok()
    })
    .await?;
    let refused = served.stranger()?.get("/healthz/ready").await;
    ensure!(refused.is_err(), "the old certificate is served still");
    old.send(&request).await?;
    let (status, text) = old.answer().await?;
    ensure!(status == 200, "{text}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_certificate_leaves_the_old_in_use() -> Result<()> {
    let served = Served::start().await?;
    served.folder.write("server.crt", "no certificate")?;
    served.aro.signal("HUP")?;
    until("it is said", GENEROUS, || async {
        let log = served.aro.log();
        ensure!(log.contains("the old certificate stays in use"), "{log}");
        Ok(())
    })
    .await?;
    served.stranger()?.get("/healthz/ready").await?.ok()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_on_the_same_store_is_told_who_holds_it() -> Result<()> {
    let served = Served::start().await?;
    let second = serve(&served.folder, "second")?;
    let status = second.wait(GENEROUS).await?;
    let said = second.log();
    ensure!(status.code() == Some(1), "{status}: {said}");
    ensure!(said.contains("aro.db"), "the store is not named: {said}");
    ensure!(said.contains(&served.aro.pid().to_string()), "the holder is not named: {said}");
    served.stranger()?.get("/healthz/ready").await?.ok()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_in_peace_and_comes_again() -> Result<()> {
    let served = Served::start().await?;
    served.aro.signal("TERM")?;
    let status = served.aro.wait(GENEROUS).await?;
    ensure!(status.success(), "{status}\n{}", served.aro.tail());
    ensure!(served.aro.log().contains("stopped"), "{}", served.aro.tail());
    let again = serve(&served.folder, "again")?;
    let stranger = served.stranger()?;
    again.ready(GENEROUS, || async { stranger.get("/healthz/ready").await?.ok() }).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_not_start_on_mistakes_and_names_all_of_them() -> Result<()> {
    let folder = Folder::new("mistakes")?;
    folder.write(
        "aro.toml",
        r#"
[listen]
portal = "nowhere"
admin = "0.0.0.0:6060"
[portal]
url = "https://localhost:8444/with/a/path"
[proxy]
url = "https://localhost:8444"
[oidc]
issuer = "https://id.example.test"
client_id = "aro"
client_key_file = "client.key"
[roles]
sre = "team-sre"
[limits]
drain = "soon"
[storee]
path = "x"
"#,
    )?;
    let aro = serve(&folder, "aro")?;
    let status = aro.wait(GENEROUS).await?;
    let said = aro.log();
    ensure!(status.code() == Some(1), "{status}: {said}");
    for mistake in [
        "listen.portal",
        "listen.admin",
        "portal.url",
        "oidc.client_cert_file",
        "limits.drain",
        "storee",
        "roles.sre",
    ] {
        ensure!(said.contains(mistake), "{mistake} is not named: {said}");
    }
    ensure!(!folder.path().join("aro.db").exists(), "it touched the store");
    Ok(())
}
