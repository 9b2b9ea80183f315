//! Keys change while people work.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{GENEROUS, Process, binary, until};

use super::operator::{Kubeconfig, Operator};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_takes_over_while_people_work() -> Result<()> {
    let operator = Operator::start(40).await?;
    let sre = operator.aro.session("sre").await?;
    let resource = operator.cluster(&sre).await?;
    let before = Kubeconfig::take(&operator, &sre, &resource).await?;
    ensure!(before.status().await? == 200);
    ensure!(operator.ok(&["keys", "list"]).await? == "k1\n");
    ensure!(operator.ok(&["keys", "rotate", "--later"]).await? == "k2\n");
    ensure!(operator.ok(&["keys", "list"]).await? == "k1\nk2\n", "it seals before it is used");
    ensure!(operator.ok(&["keys", "use", "k2"]).await? == "k2\n");
    ensure!(operator.ok(&["keys", "rotate"]).await? == "k3\n");
    ensure!(operator.ok(&["keys", "list"]).await? == "k3\nk1\nk2\n");
    // What was given with the old key works on.
    ensure!(before.status().await? == 200);
    sre.get("/api/info").await?.ok()?;
    let said = operator.refused(&["keys", "forget", "k1"]).await?;
    ensure!(said.contains("aro keys reseal"), "{said}");

    let done: Value = serde_json::from_str(&operator.ok(&["keys", "reseal"]).await?)?;
    ensure!(done["key"] == "k3" && done["left"] == json!({}) && done["done"] == true, "{done}");
    ensure!(done["resealed"].as_u64().is_some_and(|n| n >= 40), "{done}");
    for collection in ["OpenShiftClusters", "Sessions"] {
        let documents = operator.list(collection).await?;
        let text = serde_json::to_string(&documents)?;
        ensure!(text.contains("\"v3.k3."), "{collection}: nothing is sealed");
        ensure!(!text.contains("\"v3.k1.") && !text.contains("\"v3.k2."), "{collection}: old keys are left");
    }
    // The session of before, a grant from now on, and the cluster's own credential.
    let after = Kubeconfig::take(&operator, &sre, &resource).await?;
    ensure!(after.status().await? == 200);
    operator.ok(&["keys", "forget", "k1"]).await?;
    operator.ok(&["keys", "forget", "k2"]).await?;
    sre.get("/api/info").await?.ok()?;
    ensure!(after.status().await? == 200);
    ensure!(before.status().await? == 401, "a token that was signed with a forgotten key");
    let said = operator.refused(&["keys", "forget", "k3"]).await?;
    ensure!(said.contains("in use"), "{said}");

    let auditor = operator.aro.session("auditor").await?;
    for verb in ["keys.rotate", "keys.use", "keys.reseal", "keys.forget"] {
        let entries = until(verb, GENEROUS, || async {
            let entries = auditor.audit(verb).await?;
            ensure!(!entries.is_empty(), "no entry");
            Ok(entries)
        })
        .await?;
        ensure!(entries.iter().any(|entry| entry["actor"]["name"] == "operator"), "{verb}: {entries:?}");
    }
    Ok(())
}

/// Kills until one falls between the first value and the last.
const KILLS: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_it_goes_on_where_it_was() -> Result<()> {
    let mut operator = Operator::start(400).await?;
    for kill in 1..=KILLS {
        let former = format!("k{kill}");
        let new = operator.ok(&["keys", "rotate"]).await?.trim().to_owned();
        killed_once_it_sealed(&mut operator, kill).await?;
        let (left, sealed) = (sealed_by(&operator, &former).await?, sealed_by(&operator, &new).await?);
        let done: Value = serde_json::from_str(&operator.ok(&["keys", "reseal"]).await?)?;
        ensure!(done["key"] == *new && done["left"] == json!({}), "{done}");
        ensure!(sealed_by(&operator, &former).await? == 0, "{former} is left");
        if left == 0 || sealed == 0 {
            continue;
        }
        // What was sealed before the kill is not sealed once more.
        let again = done["resealed"].as_u64().context("a number")?;
        ensure!(again < done["values"].as_u64().context("a number")?, "{done}");
        return Ok(());
    }
    anyhow::bail!("{KILLS} kills, and none in the middle");
}

/// Begins to seal again, and kills the process that does it when the first values are.
async fn killed_once_it_sealed(operator: &mut Operator, kill: usize) -> Result<()> {
    let mut command = Command::new(binary("aro")?);
    command.args(["keys", "reseal"]).current_dir(operator.aro.data());
    let reseal = Process::start(operator.aro.folder(), &format!("reseal-{kill}"), &mut command)?;
    until("something is sealed again", GENEROUS, || async {
        let log = reseal.log();
        ensure!(log.lines().any(|line| !line.contains(" 0 sealed again")), "{log}");
        Ok(())
    })
    .await?;
    operator.aro.restart().await
}

/// Clusters with a value that is sealed by the key.
async fn sealed_by(operator: &Operator, key: &str) -> Result<usize> {
    let mark = format!("\"v3.{key}.");
    let clusters = operator.list("OpenShiftClusters").await?;
    Ok(clusters.iter().filter(|cluster| cluster.to_string().contains(&mark)).count())
}

/// In place of the contract's tools `db` and `aead`.
#[tokio::test(flavor = "multi_thread")]
async fn one_document_is_printed_and_its_secret_opened_on_request() -> Result<()> {
    let operator = Operator::start(10).await?;
    let sre = operator.aro.session("sre").await?;
    let resource = operator.cluster(&sre).await?;
    // By the resource id, however it is written.
    let upper = resource.to_uppercase();
    let found: Value =
        serde_json::from_str(&operator.ok(&["store", "get", "openshiftclusters", &upper]).await?)?;
    let id = found["id"].as_str().context("an id")?;
    ensure!(found["key"] == resource.to_lowercase(), "{}", found["key"]);
    let pointer = "/document/openShiftCluster/properties/aroSREKubeconfig";
    let sealed = found.pointer(pointer).and_then(Value::as_str).context("a sealed kubeconfig")?;
    ensure!(sealed.starts_with("v3.k1."), "{sealed}");
    let place = format!("OpenShiftClusters/{id}/aroSREKubeconfig");
    let open = ["keys", "open", "--keyring", "keyring.json", "--place", &place];
    let opened = operator.run(&open, sealed).await?;
    ensure!(opened.status == 0 && opened.stdout.contains("clusters"), "{opened:?}");
    let elsewhere = ["keys", "open", "--keyring", "keyring.json", "--place", "Sessions/x/sealed"];
    let refused = operator.run(&elsewhere, sealed).await?;
    ensure!(refused.status == 1 && refused.stdout.is_empty(), "{refused:?}");
    // And the other way.
    let seal = ["keys", "seal", "--keyring", "keyring.json", "--place", "Collection/id/field"];
    let made = operator.run(&seal, "hunter2").await?;
    let open = ["keys", "open", "--keyring", "keyring.json", "--place", "Collection/id/field"];
    let opened = operator.run(&open, &made.stdout).await?;
    ensure!(made.status == 0 && opened.stdout == "hunter2", "{made:?} {opened:?}");

    let said = operator.refused(&["store", "get", "OpenShiftClusters", "/no/such"]).await?;
    ensure!(said.contains("no document"), "{said}");
    let said = operator.refused(&["store", "list", "Nothing"]).await?;
    ensure!(said.contains("OpenShiftClusters"), "{said}");
    let read = operator.aro.session("auditor").await?.audit("store.read").await?;
    ensure!(!read.is_empty(), "nobody would know that it was read");
    Ok(())
}

/// The contract's own vector (`contract/database.md` §11.3), with the key in the keyring's file.
#[tokio::test(flavor = "multi_thread")]
async fn older_forms_open_for_migration() -> Result<()> {
    let operator = Operator::start(1).await?;
    let file = operator.aro.data().join("keyring.json");
    let mut keyring: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";
    keyring["legacy"] = json!({ "v2": [key] });
    operator.aro.folder().write("with-legacy.json", keyring.to_string())?;
    let path = operator.aro.folder().path().join("with-legacy.json").display().to_string();
    let sealed = "AAECAwQFBgcICQoLDA0OD0RqzgelPXexsvzJd2Xg+/5HdVXAq8Tlu5zGNxyTKIChab0FViHwiWe8cclNoVxF1Q==";
    let opened = operator.run(&["keys", "open", "--keyring", &path], sealed).await?;
    ensure!(opened.status == 0 && opened.stdout == "test", "{opened:?}");
    let refused = operator.run(&["keys", "open", "--keyring", "keyring.json"], sealed).await?;
    ensure!(refused.status == 1 && refused.stdout.is_empty(), "{refused:?}");
    Ok(())
}
