//! The published Python and Go clients against our API: every operation in every version that they speak, with pollers that
//! go to the end of what they follow.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, GENEROUS, part, until, workspace};

/// The client takes its time to be read. Its pollers ask every second, as we tell them.
const LIMIT: Duration = Duration::from_secs(900);
/// The versions of the package before 2.0.
const EARLIER: [&str; 7] = [
    "2020-04-30",
    "2021-09-01-preview",
    "2022-04-01",
    "2022-09-04",
    "2023-04-01",
    "2023-09-04",
    "2023-11-22",
];

/// A region in which clusters are made, and one that the client is to make.
struct World {
    aro: Aro,
    told: Value,
}

impl World {
    async fn start() -> Result<Self> {
        let env = [("ARO_DEV_INSTALL_MILLIS", "300"), ("ARO_RP__POLL_AFTER", "1s")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let aro = Aro::start(AroOptions { clusters: 60, env, ..AroOptions::default() }).await?;
        let asked: Value = serde_json::from_str(&aro.verb("cluster", &["--name", "sdk", "--json"]).await?)?;
        let id = asked["id"].as_str().context("an id")?;
        let told = json!({
            "url": aro.dev.rp_url, "ca": aro.dev.ca_file, "id": id, "body": asked["body"],
            "other": busiest(&aro).await?, "location": asked["body"]["location"],
            "made": asked["body"]["properties"]["clusterProfile"]["version"],
        });
        Ok(Self { aro, told })
    }

    /// Lets a client do `steps` in each of `versions`; `earlier`: the package that speaks several.
    async fn python(&self, earlier: bool, versions: &[&str], steps: &[&str]) -> Result<Value> {
        let mut told = self.told.clone();
        told["versions"] = json!(versions);
        told["steps"] = json!(steps);
        let mut command = tokio::process::Command::new(part("python")?);
        command.arg(script()).arg(told.to_string()).stdin(Stdio::null()).kill_on_drop(true);
        if earlier {
            command.env("PYTHONPATH", part("python-rp")?);
        }
        let output =
            tokio::time::timeout(LIMIT, command.output()).await.context("the client has no end")??;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let failed = Err(anyhow::anyhow!("the client failed: {said}"));
            return self.aro.explain(failed);
        }
        serde_json::from_slice(&output.stdout).with_context(|| said.into_owned())
    }
}

impl World {
    /// Lets the Go client do `steps`.
    async fn go(&self, steps: &[&str]) -> Result<Value> {
        let mut told = self.told.clone();
        told["steps"] = json!(steps);
        let mut command = tokio::process::Command::new(part("azuresdk")?);
        command.arg(told.to_string()).stdin(Stdio::null()).kill_on_drop(true);
        let output =
            tokio::time::timeout(LIMIT, command.output()).await.context("the client has no end")??;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let failed = Err(anyhow::anyhow!("the client failed: {said}"));
            return self.aro.explain(failed);
        }
        serde_json::from_slice(&output.stdout).with_context(|| said.into_owned())
    }
}

fn script() -> PathBuf {
    workspace().join("tests/python/rp_sdk.py")
}

/// The subscription with most clusters, once those that were being deleted are gone: every list shall show the same.
async fn busiest(aro: &Aro) -> Result<String> {
    let session = aro.session("viewer").await?;
    let list = until("nothing is being deleted", GENEROUS, || async {
        let list = session.get("/api/v1/clusters?limit=500").await?.ok()?.json()?;
        let items = list["items"].as_array().context("a list")?;
        let goes = items.iter().find(|item| item["provisioningState"] == "Deleting");
        ensure!(goes.is_none(), "{goes:?}");
        Ok(list)
    })
    .await?;
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for item in list["items"].as_array().context("a list")? {
        let id = item["resourceId"].as_str().context("an id")?;
        *counts.entry(id.split('/').nth(2).unwrap_or_default().to_owned()).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    Ok(most.context("no clusters")?.0)
}

#[tokio::test]
async fn the_published_clients_do_everything_in_every_version_that_they_speak() -> Result<()> {
    let world = World::start().await?;
    let newest = world.python(false, &["2025-07-25"], &["create", "reads", "refused", "update"]).await?;
    ensure!(newest["package"].as_str().is_some_and(|version| version.starts_with("4.")), "{newest}");
    let earlier = world.python(true, &EARLIER, &["reads", "refused"]).await?;
    ensure!(earlier["package"].as_str().is_some_and(|version| version.starts_with("1.")), "{earlier}");
    let listed = &newest["versions"]["2025-07-25"]["listed"];
    ensure!(listed.as_array().is_some_and(|list| !list.is_empty()), "{newest}");
    for version in EARLIER {
        ensure!(&earlier["versions"][version]["listed"] == listed, "{version} lists something else");
    }
    // An operation of the oldest, and the end by the latest of them.
    world.python(true, &["2020-04-30"], &["update"]).await?;
    world.python(true, &["2023-11-22"], &["delete"]).await?;
    Ok(())
}

#[tokio::test]
async fn the_published_go_client_does_everything() -> Result<()> {
    let world = World::start().await?;
    let seen = world.go(&["create", "reads", "refused", "update", "delete"]).await?;
    ensure!(seen["listed"].as_array().is_some_and(|list| list.len() > 10), "no second page: {seen}");
    Ok(())
}
