//! From SQLite to PostgreSQL, and nobody has to sign in again.

use anyhow::{Context as _, Result, ensure};
use tests_kit::Postgres;

use super::operator::{Kubeconfig, Operator};

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

    let settings = [("ARO_STORE__KIND", "postgres"), ("ARO_STORE__URL_FILE", "data/database")];
    operator.aro.restart_with(&settings).await?;
    sre.get("/api/info").await?.ok()?;
    ensure!(token.status().await? == 200, "the grant did not move");
    let id = sre.grants().await?[0]["id"].as_str().unwrap_or_default().to_owned();
    sre.revoke(&id).await?;
    ensure!(token.status().await? == 401);
    let held = "SELECT count(*) FROM documents WHERE collection = 'Grants' AND body LIKE '%\"revoked\":{%'";
    ensure!(postgres.sql(name, held).await? == "1", "it is not PostgreSQL that holds it");

    // And back, for whoever wants to.
    operator.stop().await?;
    let back = ["store", "copy", "--from", &bare, "--to", "sqlite:back.db", "--password-file", "password"];
    let copied = operator.ok(&back).await?;
    ensure!(copied.contains("OpenShiftClusters") && copied.contains(" 30 copied "), "{copied}");
    Ok(())
}
