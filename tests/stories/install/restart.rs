//! Everything killed in the middle of an installation.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{Region, gone, works};

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_goes_on_after_everything_was_killed_and_nothing_is_left_of_it() -> Result<()> {
    let mut region = Region::start().await?;
    let wanted = region.wanted("again", &["--subnets", "4"]).await?;
    region.aro.explain(region.rp.put(&wanted.id, &wanted.body).await.map_err(Into::into))?;
    // The store, the region and the stand-in for Azure are files of one folder: while Azure's part is made, and while
    // OpenShift comes up.
    let begun = |told: &Value| told["items"][0]["step"].as_u64() > Some(8);
    let installs = |told: &Value| told["items"][0]["current"]["name"] == "condition.installationComplete";
    region.operations(&wanted, "some steps are done", begun).await?;
    region.aro.process().kill()?;
    region.aro.restart().await?;
    region.operations(&wanted, "OpenShift is installed", installs).await?;
    region.aro.process().kill()?;
    region.aro.restart().await?;
    let done = |told: &Value| told["items"][0]["state"] == "succeeded";
    let told = region.operations(&wanted, "it is installed after all", done).await?;
    ensure!(told["items"].as_array().is_some_and(|all| all.len() == 1), "one operation: {told:#}");
    ensure!(told["items"][0]["attempt"].as_u64() > Some(1), "{told:#}");
    works(&region, &wanted).await?;
    gone(&region, &wanted).await
}
