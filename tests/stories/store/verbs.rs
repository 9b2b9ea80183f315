//! Backups of a running process, and the way back.

use anyhow::{Result, ensure};

use super::operator::{Kubeconfig, Operator};

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_taken_while_it_runs_and_goes_back_only_while_it_does_not() -> Result<()> {
    let mut operator = Operator::start(10).await?;
    let sre = operator.aro.session("sre").await?;
    let resource = operator.cluster(&sre).await?;
    let token = Kubeconfig::take(&operator, &sre, &resource).await?;
    let files = operator.ok(&["store", "backup", "backup.db"]).await?;
    ensure!(files.lines().count() == 2 && files.contains("backup.db.audit"), "{files}");
    let said = operator.refused(&["store", "backup", "backup.db"]).await?;
    ensure!(said.contains("make the backup's file"), "{said}");
    // After the backup: a grant ends.
    let id = sre.grants().await?[0]["id"].as_str().unwrap_or_default().to_owned();
    sre.revoke(&id).await?;
    ensure!(token.status().await? == 401);
    let said = operator.refused(&["store", "restore", "backup.db"]).await?;
    ensure!(said.contains("held by process"), "{said}");
    ensure!(sre.get("/api/info").await?.status == 200, "a refused restore did something");

    operator.stop().await?;
    let said = operator.refused(&["store", "backup", "later.db"]).await?;
    ensure!(said.contains("no process answers"), "{said}");
    let said = operator.ok(&["store", "restore", "backup.db"]).await?;
    ensure!(said.contains("have ended") && said.contains("before-restore-1"), "{said}");
    operator.aro.restart().await?;
    // No access survived the restore: not the session, and not a grant that was revoked after the backup.
    let status = sre.get("/api/info").await?.status;
    ensure!(matches!(status, 307 | 401 | 403), "the session lives: {status}");
    ensure!(token.status().await? == 401, "what was revoked lives again");
    let again = operator.aro.session("sre").await?;
    let ended = again.grants().await?;
    ensure!(
        ended.iter().any(|grant| grant["id"] == id.as_str()),
        "the grant of the backup is there: {ended:?}"
    );
    ensure!(Kubeconfig::take(&operator, &again, &resource).await?.status().await? == 200);
    let auditor = operator.aro.session("auditor").await?;
    for verb in ["store.backup", "store.restore"] {
        ensure!(!auditor.audit(verb).await?.is_empty(), "{verb} is not on record");
    }

    // Everything is lost but the backup.
    operator.stop().await?;
    for file in ["aro.db", "audit.db"] {
        std::fs::remove_file(operator.aro.data().join(file))?;
    }
    let restore = ["store", "restore", "backup.db", "--audit", "backup.db.audit", "--keep-access"];
    let said = operator.ok(&restore).await?;
    ensure!(!said.contains("before-restore-2") && !said.contains("have ended"), "{said}");
    operator.aro.restart().await?;
    // By choice the old session lives again, and so does what was revoked after the backup.
    sre.get("/api/info").await?.ok()?;
    ensure!(token.status().await? == 200);
    let auditor = operator.aro.session("auditor").await?;
    ensure!(!auditor.audit("store.restore").await?.is_empty(), "it is not on record");
    ensure!(auditor.audit("grant.revoke").await?.is_empty(), "the trail is not the backup's");
    Ok(())
}

/// Another keyring opens nothing of what is there: it is said, and none is made.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_keyring_is_said_and_not_replaced() -> Result<()> {
    let mut operator = Operator::start(5).await?;
    operator.stop().await?;
    let (keyring, away) = (operator.aro.data().join("keyring.json"), operator.aro.data().join("away.json"));
    std::fs::rename(&keyring, &away)?;
    let config = operator.aro.data().join("aro.toml").display().to_string();
    let said = operator.run(&["serve", "--config", &config], "").await?;
    ensure!(said.status == 1 && said.stderr.contains("bring it back"), "{said:?}");
    ensure!(!keyring.exists(), "a keyring was made");
    std::fs::rename(&away, &keyring)?;
    operator.aro.restart().await?;
    operator.aro.session("sre").await?.get("/api/info").await?.ok()?;
    Ok(())
}
