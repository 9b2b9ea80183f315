//! One cluster through every version of the API, by the typed client and by `aro api`: each answer is what that version's
//! published description says.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rp_client::ClusterId;
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, binary, workspace};

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-0000000000f6";
const GROUP: &str = "versions";

#[tokio::test]
async fn every_version_answers_as_it_is_described() -> Result<()> {
    let aro = Aro::start(AroOptions { clusters: 1, ..AroOptions::default() }).await?;
    let rp = aro.rp()?;
    rp.subscription(SUBSCRIPTION, "Registered", "tenant").await?;
    let id = ClusterId::new(SUBSCRIPTION, GROUP, "one");
    let location = "westeurope";
    for version in rp_api::all() {
        let api = rp.version(version.name);
        let refused = api.get(&ClusterId::new(SUBSCRIPTION, GROUP, "missing")).await;
        ensure!(refused.as_ref().err().and_then(rp_client::ClientError::status) == Some(404), "{refused:?}");
        // The first that can makes it; the others change a tag.
        let followed = if version.name == "2019-12-31-preview" {
            api.put(&id, &wanted()).await?
        } else {
            match api.patch(&id, &json!({"tags": {"by": version.name}})).await {
                Ok(followed) => followed,
                // It is being made, or changed by the version before.
                Err(error) if error.code() == "RequestNotAllowed" => {
                    seen(&api, &id, version.name).await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
        };
        followed.operation.status().await?.context("a status")?;
        seen(&api, &id, version.name).await?;
        let (versions, role_sets) = (
            api.openshift_versions(SUBSCRIPTION, location).await,
            api.role_sets(SUBSCRIPTION, location).await,
        );
        ensure!(versions.is_ok() == version.openshift_versions, "{}: {versions:?}", version.name);
        ensure!(role_sets.is_ok() == version.role_sets, "{}: {role_sets:?}", version.name);
        ensure!(!api.operations().await?.is_empty());
    }
    command(&aro, &id)
}

async fn seen(api: &rp_client::Client, id: &ClusterId, version: &str) -> Result<()> {
    let cluster = api.get(id).await?;
    ensure!(cluster.name == id.name, "{version}: {cluster:?}");
    let all = api.list(SUBSCRIPTION, Some(GROUP)).await?;
    ensure!(all.len() == 1, "{version}: {all:?}");
    Ok(())
}

/// The same by hand.
fn command(aro: &Aro, id: &ClusterId) -> Result<()> {
    let run = |args: &[&str]| -> Result<(bool, String)> {
        let mut command = Command::new(binary("aro")?);
        command.args(["api", "--url", &aro.dev.rp_url]).arg("--ca-file").arg(&aro.dev.ca_file).args(args);
        let output = command.output()?;
        let (said, error) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
        Ok((output.status.success(), if output.status.success() { said } else { error }))
    };
    let (done, text) = run(&["get", &id.path()])?;
    ensure!(done, "{text}");
    let shown: Value = serde_json::from_str(&text)?;
    ensure!(shown["name"] == "one", "{text}");
    let (done, text) = run(&["list", SUBSCRIPTION])?;
    ensure!(done && serde_json::from_str::<Vec<Value>>(&text)?.len() == 1, "{text}");
    let (done, text) = run(&["call", "GET", "/providers/Microsoft.RedHatOpenShift/operations"])?;
    ensure!(done && text.contains("Microsoft.RedHatOpenShift/openShiftClusters/read"), "{text}");
    let (done, text) = run(&["get", &ClusterId::new(SUBSCRIPTION, GROUP, "missing").path()])?;
    ensure!(!done && text.contains("404 ResourceNotFound"), "{text}");
    Ok(())
}

/// The body of the oldest version's example, for this subscription and region.
fn wanted() -> Value {
    let file = "docs/reference/swagger/2020-04-30/examples/OpenShiftClusters_CreateOrUpdate.json";
    let text = std::fs::read_to_string(workspace().join(file)).unwrap_or_default();
    let text = text.replace("00000000-0000-0000-0000-000000000000", SUBSCRIPTION);
    let mut body =
        serde_json::from_str::<Value>(&text).unwrap_or_default()["parameters"]["parameters"].take();
    body["location"] = json!("westeurope");
    let properties = &mut body["properties"];
    properties["clusterProfile"]["domain"] = json!("versions");
    properties["clusterProfile"]["version"] = json!("");
    body
}
