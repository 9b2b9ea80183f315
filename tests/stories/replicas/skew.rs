//! Two replicas whose clocks differ by more than a minute.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tests_kit::{GENEROUS, until};

use super::world::{Opened, Replicas};

/// The first is behind, the second ahead, each by less than a sign-in allows.
const CLOCKS: [&str; 2] = ["-45s", "+45s"];

#[tokio::test(flavor = "multi_thread")]
async fn replicas_whose_clocks_differ_agree_on_what_opens_what() -> Result<()> {
    let world = Replicas::start_skewed(CLOCKS).await?;
    let alice = world.alice().await?;
    for replica in &world.replicas {
        alice.at(&replica.url).get("/api/info").await?.ok()?;
    }
    let resource = world.cluster(&alice).await?;
    for (from, other) in [(0, 1), (1, 0)] {
        let here = alice.at(&world.replicas[from].url);
        // Elevated on one; the access with these rights is taken on the other, at once.
        let elevation = here.elevate("write").await?;
        let there = alice.at(&world.replicas[other].url);
        let text = there.kubeconfig(&resource, "write", "a story of two clocks", Some(600)).await?;
        let opened = Opened::new(&world, &text)?;
        let before = opened.deletions(&world).await?;
        ensure!(before == [404, 404], "taken on replica {other}: {before:?}");
        // Ended on the first, and with it the right to write on both; reading stays until it is revoked.
        here.post(&format!("/api/v1/elevations/{elevation}/end"), &json!({})).await?.ok()?;
        until("the elevation has ended on both", GENEROUS, async || {
            let after = opened.deletions(&world).await?;
            ensure!(after == [403, 403], "{after:?}");
            Ok(())
        })
        .await?;
        let grants = there.grants().await?;
        let open =
            grants.iter().find(|grant| grant["state"] == "active").with_context(|| format!("{grants:?}"))?;
        here.revoke(open["id"].as_str().context("an id")?).await?;
        until("the access has ended on both", GENEROUS, async || {
            let after = opened.statuses(&world).await?;
            ensure!(after == [401, 401], "{after:?}");
            Ok(())
        })
        .await?;
    }
    // Entries of both are one chain.
    let found = world.audited(&alice, "a story of two clocks").await?;
    ensure!(found.len() >= 2, "{found:?}");
    Ok(())
}
