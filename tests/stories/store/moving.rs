//! Moves the store from SQLite to PostgreSQL; sessions stay valid.

use anyhow::{Context as _, Result, ensure};
use tests_kit::{GENEROUS, Postgres, free_port, until};

use super::operator::{Kubeconfig, Operator};

/// `aro-dev` runs in the folder above its data.
const POSTGRES: [(&str, &str); 2] =
    [("ARO_STORE__KIND", "postgres"), ("ARO_STORE__URL_FILE", "data/database")];

#[tokio::test(flavor = "multi_thread")]
async fn a_store_moves_to_postgresql_and_everybody_goes_on() -> Result<()> {
    let mut operator = Operator::start(30).await?;
    let sre = operator.aro.session("sre").await?;
    let resource = operator.cluster(&sre).await?;
    let token = Kubeconfig::take(&operator, &sre, &resource).await?;
    ensure!(token.status().await? == 200);
    let postgres = Postgres::start().await?;
    let url = postgres.database().await?;
    operator.aro.folder().write("data/database", &url)?;
    // The password stays off the command line.
    let (before, place) = url.rsplit_once('@').context("a URL")?;
    let (_, password) = before.rsplit_once(':').context("a password")?;
    operator.aro.folder().write("data/password", password)?;
    let bare = format!("postgres://postgres@{place}");
    let copy = ["store", "copy", "--from", "settings:aro.toml", "--to", &bare, "--password-file", "password"];
    let said = operator.refused(&copy).await?;
    ensure!(said.contains("held by process"), "{said}");

    operator.stop().await?;
    let said = operator.refused(&["store", "copy", "--from", "settings:aro.toml", "--to", &url]).await?;
    ensure!(said.contains("--password-file") && !said.contains(password), "{said}");
    let copied = operator.ok(&copy).await?;
    let row = |name: &str| copied.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    ensure!(row("OpenShiftClusters").contains(" 30 copied "), "{copied}");
    ensure!(row("Sessions").contains(" 1 copied ") && row("Grants").contains(" 1 copied "), "{copied}");
    ensure!(!row("AuditBatches").contains(" 0 copied "), "the audit trail stayed behind: {copied}");
    let name = url.rsplit_once('/').context("a URL")?.1;
    let count = "SELECT count(*) FROM documents WHERE collection = 'OpenShiftClusters'";
    ensure!(postgres.sql(name, count).await? == "30");
    // Twice would be a mistake.
    let said = operator.run(&copy, "").await?;
    ensure!(said.status == 1 && said.stderr.contains("already has documents"), "{said:?}");

    operator.aro.restart_with(&POSTGRES).await?;
    sre.get("/api/info").await?.ok()?;
    ensure!(token.status().await? == 200, "the grant did not move");
    let id = sre.grants().await?[0]["id"].as_str().unwrap_or_default().to_owned();
    sre.revoke(&id).await?;
    ensure!(token.status().await? == 401);
    let held = "SELECT count(*) FROM documents WHERE collection = 'Grants' AND body LIKE '%\"revoked\":{%'";
    ensure!(postgres.sql(name, held).await? == "1", "it is not PostgreSQL that holds it");

    // The verbs reach the process here too, by the socket that the settings name.
    let control = operator.aro.data().join("control.sock").display().to_string();
    operator.aro.restart_with(&[("ARO_LISTEN__CONTROL", &control)]).await?;
    let ask = async |args: &[&str]| {
        let set = format!("listen.control={control}");
        let args: Vec<&str> = args.iter().copied().chain(["--set", &set]).collect();
        operator.run(&args, "").await
    };
    let grants = ask(&["store", "list", "Grants"]).await?;
    ensure!(grants.status == 0 && grants.stdout.contains(&id), "{grants:?}");
    let backup = ask(&["store", "backup", "never.db"]).await?;
    ensure!(backup.status == 1 && backup.stderr.contains("own tools"), "{backup:?}");
    ask(&["keys", "rotate"]).await?;
    let sealed = ask(&["keys", "reseal"]).await?;
    ensure!(sealed.status == 0 && sealed.stdout.contains("\"left\":{}"), "{sealed:?}");
    sre.get("/api/info").await?.ok()?;

    // The way back works too.
    operator.stop().await?;
    let back = ["store", "copy", "--from", &bare, "--to", "sqlite:back.db", "--password-file", "password"];
    let copied = operator.ok(&back).await?;
    ensure!(copied.contains("OpenShiftClusters") && copied.contains(" 30 copied "), "{copied}");
    Ok(())
}

/// The primary is frozen and its standby is promoted: no process is restarted.
#[tokio::test(flavor = "multi_thread")]
async fn a_failover_takes_seconds_and_no_restart() -> Result<()> {
    let mut operator = Operator::start(10).await?;
    let primary = Postgres::start().await?;
    let url = primary.database().await?;
    let name = url.rsplit_once('/').context("a URL")?.1.to_owned();
    let standby = primary.standby().await?;
    operator.aro.folder().write("data/database", primary.url_with(&standby, &name))?;
    operator.stop().await?;
    let to = format!("settings:{}", operator.postgres_settings()?);
    operator.ok(&["store", "copy", "--from", "settings:aro.toml", "--to", &to]).await?;
    operator.aro.restart_with(&POSTGRES).await?;
    let sre = operator.aro.session("sre").await?;
    let resource = operator.cluster(&sre).await?;
    let token = Kubeconfig::take(&operator, &sre, &resource).await?;
    ensure!(token.status().await? == 200);
    until("the standby has the grant", GENEROUS, || async {
        let count = "SELECT count(*) FROM documents WHERE collection = 'Grants'";
        ensure!(standby.sql(&name, count).await? == "1");
        Ok(())
    })
    .await?;
    primary.pause()?;
    standby.promote()?;
    let again = until("a kubeconfig is given", GENEROUS, || Kubeconfig::take(&operator, &sre, &resource));
    let again = again.await.with_context(|| operator.aro.process().tail())?;
    until("both work", GENEROUS, || async {
        ensure!(token.status().await? == 200 && again.status().await? == 200);
        Ok(())
    })
    .await?;
    ensure!(standby.sql(&name, "SELECT count(*) FROM timelines").await? == "2");
    Ok(())
}

/// A process that serves kubectl and nothing else, beside the portal that gave the kubeconfig.
#[tokio::test(flavor = "multi_thread")]
async fn the_api_proxy_alone_serves_what_a_portal_gave() -> Result<()> {
    let mut operator = Operator::start(10).await?;
    let said = operator.refused(&["portal", "--config", "aro.toml"]).await?;
    ensure!(said.contains("store.kind"), "one of several replicas on SQLite: {said}");
    let postgres = Postgres::start().await?;
    operator.aro.folder().write("data/database", postgres.database().await?)?;
    operator.stop().await?;
    let settings = operator.postgres_settings()?;
    let to = format!("settings:{settings}");
    operator.ok(&["store", "copy", "--from", "settings:aro.toml", "--to", &to]).await?;
    operator.aro.restart_with(&POSTGRES).await?;
    let sre = operator.aro.session("sre").await?;
    let resource = operator.cluster(&sre).await?;
    let token = Kubeconfig::take(&operator, &sre, &resource).await?;

    let (port, admin, ssh) = (free_port()?, free_port()?, free_port()?);
    let base = format!("https://127.0.0.1:{port}");
    let set = [
        format!("listen.portal=127.0.0.1:{port}"),
        format!("listen.admin=127.0.0.1:{admin}"),
        format!("ssh.listen=127.0.0.1:{ssh}"),
        format!("proxy.url={base}"),
        "audit.path=proxy-audit.db".to_owned(),
        "audit.checkpoint_key_file=proxy-audit.p8".to_owned(),
    ];
    let mut args = vec!["proxy", "serve", "--config", &settings];
    set.iter().for_each(|pair| args.extend(["--set", pair.as_str()]));
    let proxy = operator.spawn("proxy", &args)?;
    let there = token.at(&base);
    proxy
        .ready(GENEROUS, || async {
            let status = there.status().await?;
            ensure!(status == 200, "{status}");
            Ok(())
        })
        .await?;
    let stranger = operator.aro.stranger()?.at(&base);
    stranger.get("/healthz/ready").await?.ok()?;
    let page = stranger.get("/").await?.status;
    ensure!(page == 404, "it has pages: {page}");
    let id = sre.grants().await?[0]["id"].as_str().unwrap_or_default().to_owned();
    sre.revoke(&id).await?;
    until("the proxy sees that it has ended", GENEROUS, || async {
        let status = there.status().await?;
        ensure!(status == 401, "{status}");
        Ok(())
    })
    .await?;
    proxy.signal("TERM")?;
    ensure!(proxy.wait(GENEROUS).await?.success(), "{}", proxy.tail());
    Ok(())
}
