//! A page that follows a real cluster, in a real browser.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tests_kit::{Folder, GENEROUS, browser, until};

use crate::observe::World;

/// Does what the browser's story asks for by an empty file in its folder; `NAME.done` tells it so.
async fn on<F: Future<Output = Result<()>>>(folder: &Folder, name: &str, act: F) -> Result<()> {
    let asked = folder.path().join(name);
    until(&format!("the browser asks for {name}"), GENEROUS * 2, || async {
        ensure!(asked.exists(), "no {}", asked.display());
        Ok(())
    })
    .await?;
    act.await.with_context(|| name.to_owned())?;
    std::fs::write(folder.path().join(format!("{name}.done")), "")?;
    Ok(())
}

#[tokio::test]
async fn an_open_page_follows_the_cluster() -> Result<()> {
    let world = World::get().await?;
    let folder = Folder::new("live")?;
    let cluster = world.cluster;
    cluster.operator("live-page", "").await?;
    let input = json!({"url": world.aro.dev.url, "resource": world.open, "account": "viewer",
        "password": world.aro.password("viewer")?, "operator": "live-page", "other": "live-other"});
    let helped = async {
        on(&folder, "degrade", cluster.operator("live-page", "The page must say this.")).await?;
        on(&folder, "while-paused", cluster.operator("live-page", "Said while it was paused.")).await?;
        on(&folder, "add", cluster.operator("live-other", "One more is broken.")).await
    };
    let (found, helped) = tokio::join!(browser(&folder, "live", &input), helped);
    let found = found?;
    helped?;
    ensure!(found["errors"] == json!([]), "{found}");
    ensure!(found["violations"] == json!([]), "{found}");
    ensure!(found["typed"] == "live-" && found["focused"] == true, "what was typed stays: {found}");
    ensure!(found["filtered"] == true, "what comes is filtered as the list is: {found}");
    ensure!(found["open"] == true, "what was opened stays open: {found}");
    ensure!(found["paused"] == true, "nothing changes while it is paused: {found}");
    ensure!(found["back"] == format!("{}/operators", world.open), "back after the sign-in: {found}");
    Ok(())
}
