//! Two replicas whose clocks differ by more than a minute.

use anyhow::{Result, ensure};
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
        let before = opened.statuses(&world).await?;
        ensure!(before == [200, 200], "taken on replica {other}: {before:?}");
        // Ended on the first, and with it the access of the other, on both.
        here.post(&format!("/api/v1/elevations/{elevation}/end"), &json!({})).await?.ok()?;
        until("the access ends with its elevation", GENEROUS, async || {
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
