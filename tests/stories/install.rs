//! The circle: a customer's PUT becomes a cluster of the simulated region, step by step before people's eyes; kubectl works
//! in it; DELETE leaves nothing.

mod restart;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_client::{Client, ClusterId};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Output, browser, until};

use crate::command_line::aro;

/// From the request to the end, on a machine that does other things too.
const LONG: Duration = Duration::from_secs(300);
/// What the simulated installer takes.
const INSTALL: &str = "6000";

/// A region in which clusters are made.
struct Region {
    aro: Aro,
    rp: Client,
}

/// One cluster that is asked for.
struct ClusterSpec {
    id: ClusterId,
    /// Path of its pages.
    page: String,
    name: String,
    body: Value,
}

impl Region {
    async fn start() -> Result<Self> {
        let env = vec![
            ("ARO_DEV_INSTALL_MILLIS".to_owned(), INSTALL.to_owned()),
            ("ARO_DEV_FAULTS".to_owned(), "0".to_owned()),
        ];
        let aro = Aro::start(AroOptions { clusters: 5, env, ..AroOptions::default() }).await?;
        let rp = aro.rp()?.version("2023-11-22");
        Ok(Self { aro, rp })
    }

    async fn wanted(&self, name: &str, more: &[&str]) -> Result<ClusterSpec> {
        let args: Vec<&str> = ["--name", name, "--json"].iter().chain(more).copied().collect();
        let asked: Value = serde_json::from_str(&self.aro.verb("cluster", &args).await?)?;
        let id = asked["id"].as_str().context("an id")?.to_owned();
        let parts: Vec<&str> = id.split('/').collect();
        let (subscription, group) =
            (parts.get(2).context("a subscription")?, parts.get(4).context("a group")?);
        Ok(ClusterSpec {
            id: ClusterId::new(subscription, group, name),
            page: id.to_lowercase(),
            name: name.to_owned(),
            body: asked["body"].clone(),
        })
    }

    /// What the portal says of the operations on a cluster, once it is so.
    async fn operations(
        &self,
        wanted: &ClusterSpec,
        what: &str,
        so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let session = self.aro.session("viewer").await?;
        let path = format!("/api/v1/clusters{}/operations", wanted.page);
        let told = until(what, LONG, || async {
            let told = session.get(&path).await?.ok()?.json()?;
            ensure!(so(&told), "{told:#}");
            Ok(told)
        });
        self.aro.explain(told.await)
    }

    /// Runs `aro` as a signed-in person.
    async fn command(&self, args: &[&str]) -> Result<Output> {
        let cookie = self.aro.session("viewer").await?.cookie().context("a cookie")?.to_owned();
        let file: PathBuf = self.aro.folder().write("viewer.cookie", cookie)?;
        let (ca, file) = (self.aro.dev.ca_file.to_string_lossy(), file.to_string_lossy());
        let more = ["--portal", &self.aro.dev.url, "--ca-file", &ca, "--session-cookie-file", &file];
        let all: Vec<&str> = args.iter().chain(&more).copied().collect();
        aro(self.aro.folder().path(), &all).await
    }

    async fn look(&self, wanted: &ClusterSpec) -> Result<Value> {
        let input = json!({"url": self.aro.dev.url, "account": "viewer", "password": self.aro.password("viewer")?,
            "resource": wanted.page});
        let seen = self.aro.explain(browser(self.aro.folder(), "install", &input).await)?;
        ensure!(seen["errors"] == json!([]), "errors of the page: {}", seen["errors"]);
        ensure!(seen["violations"] == json!([]), "axe: {}", seen["violations"]);
        ensure!(seen["unloaded"] == true, "the page was loaded again: {seen:#}");
        Ok(seen)
    }
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_becomes_a_cluster_that_kubectl_works_in_and_delete_leaves_nothing() -> Result<()> {
    let mut region = Region::start().await?;
    let wanted = region.wanted("circle", &[]).await?;
    let begun = region.aro.explain(region.rp.put(&wanted.id, &wanted.body).await.map_err(Into::into))?;
    ensure!(begun.created);
    region
        .operations(&wanted, "a step has begun", |told| told["items"][0]["step"].as_u64() > Some(0))
        .await?;
    // One follows in a browser, one on the command line, one as ARM's clients do.
    let watch = ["operations", "watch", &wanted.page, "-o", "json"];
    let (seen, watched, made) = tokio::join!(region.look(&wanted), region.command(&watch), begun.wait(LONG),);
    let made = region.aro.explain(made.map_err(Into::into))?;
    ensure!(made.properties.provisioning_state == "Succeeded", "{made:?}");
    let (seen, watched) = (seen?, watched?);
    ensure!(seen["told"].as_str().is_some_and(|told| told.contains("succeeded")), "{seen:#}");
    ensure!(seen["listed"].as_str().is_some_and(|all| all.contains("Finish installation")), "{seen:#}");
    ensure!(watched.status == 0 && watched.stdout.contains("\"event\":\"end\""), "{watched:?}");
    ensure!(watched.stdout.contains("runInstaller"), "{watched:?}");
    works(&region, &wanted).await?;
    gone(&region, &wanted).await?;
    // Nothing holds its names: the same can be made again, and outlives a restart of everything.
    let again = region.aro.explain(region.rp.put(&wanted.id, &wanted.body).await.map_err(Into::into))?;
    region.aro.explain(again.wait(LONG).await.map_err(Into::into))?;
    region.aro.process().signal("TERM")?;
    region.aro.process().wait(tests_kit::GENEROUS).await?;
    region.aro.restart().await?;
    works(&region, &wanted).await
}

/// It is a cluster like any other.
async fn works(region: &Region, wanted: &ClusterSpec) -> Result<()> {
    let kubectl = region.aro.kubectl("sre", &wanted.page, "read").await?;
    let nodes = kubectl.ok(&["get", "nodes", "-o", "name"]).await?;
    ensure!(nodes.lines().count() == 6, "{nodes}");
    let path = "jsonpath={.status.history[0].state} {.status.history[0].version}";
    let version = kubectl.ok(&["get", "clusterversion", "version", "-o", path]).await?;
    ensure!(version == "Completed 4.17.27", "{version}");
    Ok(())
}

/// Deletes a cluster and looks for what may be left of it.
async fn gone(region: &Region, wanted: &ClusterSpec) -> Result<()> {
    let operation = region.rp.delete(&wanted.id).await?.context("an operation")?;
    region.aro.explain(operation.wait(LONG).await.map_err(Into::into))?;
    let missing = region.rp.get(&wanted.id).await.map(drop);
    ensure!(missing.as_ref().is_err_and(|error| error.status() == Some(404)), "{missing:?}");
    let session = region.aro.session("viewer").await?;
    until("the list has it no more", LONG, || async {
        let list = session.get(&format!("/api/v1/clusters?q={}", wanted.name)).await?.ok()?.json()?;
        ensure!(list["total"] == 0, "{list}");
        Ok(())
    })
    .await?;
    let left = left_in_azure(region, wanted).await?;
    ensure!(left.is_empty(), "left in Azure: {left:?}");
    let installed = region.aro.data().join("installed.json");
    let installed = std::fs::read_to_string(&installed)?;
    ensure!(!installed.contains(&wanted.name), "the region keeps it: {installed}");
    // What was done stays readable for a while.
    let told = region.operations(wanted, "its deletion is told", |told| {
        told["items"][0]["kind"] == "Deleting" && told["items"][0]["state"] == "succeeded"
    });
    told.await.map(drop)
}

/// Ids of resources in the stand-in for Azure that name the cluster.
async fn left_in_azure(region: &Region, wanted: &ClusterSpec) -> Result<Vec<String>> {
    let settings = std::fs::read_to_string(region.aro.data().join("aro.toml"))?;
    let url =
        settings.lines().find_map(|line| line.strip_prefix("resource_manager = \"")).context("a url")?;
    let url = url.trim_end_matches('"');
    let profile = &wanted.body["properties"]["servicePrincipalProfile"];
    let text = |name: &str| profile[name].as_str().unwrap_or_default().to_owned();
    let http = reqwest::Client::builder()
        .add_root_certificate(reqwest::Certificate::from_pem(region.aro.ca_pem()?.as_bytes())?)
        .build()?;
    let own = "00000000-0000-4000-8000-0000000000a0";
    let theirs = wanted.page.split('/').nth(2).context("a subscription")?;
    let mut left = Vec::new();
    for (subscription, list) in [
        (theirs, "resourceGroups"),
        (theirs, "resourceGroups/dev/resources"),
        (own, "resourceGroups/aro-rp/resources"),
    ] {
        let form = [
            ("grant_type", "client_credentials".to_owned()),
            ("client_id", text("clientId")),
            ("client_secret", text("clientSecret")),
            ("scope", format!("{url}/.default")),
        ];
        let tenant = rp_simulator_azure::tenant_of(subscription);
        let token = http.post(format!("{url}/{tenant}/oauth2/v2.0/token")).form(&form).send().await?;
        let token: Value = token.json().await?;
        let token = token["access_token"].as_str().with_context(|| format!("{token}"))?;
        let path = format!("{url}/subscriptions/{subscription}/{list}?api-version=2021-04-01");
        let list: Value = http.get(&path).bearer_auth(token).send().await?.json().await?;
        let items = list["value"].as_array().with_context(|| format!("{path}: {list}"))?;
        let ids = items.iter().filter_map(|item| item["id"].as_str()).map(str::to_lowercase);
        left.extend(ids.filter(|id| id.contains(&wanted.name)));
    }
    Ok(left)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_that_fails_shows_why_and_can_be_deleted() -> Result<()> {
    let region = Region::start().await?;
    let wanted = region.wanted("stuck", &["--subnets", "2", "--install", "fails-at:authentication"]).await?;
    let begun = region.aro.explain(region.rp.put(&wanted.id, &wanted.body).await.map_err(Into::into))?;
    let failed = begun.wait(LONG).await.map(drop);
    ensure!(failed.is_err(), "it came to an end: {failed:?}");
    let told = region
        .operations(&wanted, "it is told as failed", |told| told["items"][0]["state"] == "failed")
        .await?;
    ensure!(told["items"][0]["error"].as_str().is_some_and(|why| !why.is_empty()), "{told:#}");
    let seen = region.look(&wanted).await?;
    let words = seen["told"].as_str().unwrap_or_default();
    for expected in ["failed", "authentication", "What to do"] {
        ensure!(words.contains(expected), "without {expected}: {seen:#}");
    }
    ensure!(count(&seen["diagnostics"]) > 0, "no diagnostics: {seen:#}");
    let watched = region.command(&["operations", "watch", &wanted.page]).await?;
    ensure!(watched.status == 1 && watched.stdout.contains("authentication"), "{watched:?}");
    gone(&region, &wanted).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_that_waits_says_for_what() -> Result<()> {
    let region = Region::start().await?;
    let wanted = region.wanted("mute", &["--subnets", "3", "--install", "no-api"]).await?;
    region.aro.explain(region.rp.put(&wanted.id, &wanted.body).await.map_err(Into::into))?;
    let waits = |told: &Value| {
        let current = &told["items"][0]["current"];
        current["name"] == "condition.installationComplete"
            && current["message"].as_str().is_some_and(|message| message.contains("does not answer"))
    };
    region.operations(&wanted, "it waits for the API server", waits).await?;
    let session = region.aro.session("viewer").await?;
    for path in ["operations", "overview"] {
        let page = session.get(&format!("{}/{path}", wanted.page)).await?.ok()?.text;
        ensure!(page.contains("installation complete"), "{path}: {}", tests_kit::shown(&page));
    }
    let list = session.get("/?q=mute").await?.ok()?.text;
    ensure!(list.contains("installation complete"), "{}", tests_kit::shown(&list));
    Ok(())
}
