//! Subscriptions that ARM deleted.

use std::sync::Arc;
use std::time::Duration;

use rp_cluster::{Operation, Outcome};
use rp_documents::Collection;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::manager::Scripted;
use crate::world::{SUBSCRIPTION, World, quick, until};

#[tokio::test(flavor = "multi_thread")]
async fn its_clusters_are_deleted_and_it_waits_until_they_are_gone() {
    let world = World::new().await;
    let gate = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&gate);
    let manager = Scripted::new(move |job| {
        let gate = Arc::clone(&waits);
        async move {
            if job.operation == Operation::Update {
                let _permit = gate.acquire().await.unwrap();
            }
            Ok(Outcome::Done)
        }
    });
    world.cluster("busy", "Updating", |_| {}).await;
    // A high count of another time does not fail it at once.
    world
        .cluster("failed", "Failed", |body| {
            body["dequeues"] = json!(6);
            body["asyncOperationId"] = json!("");
        })
        .await;
    for n in 0..5 {
        world.cluster(&format!("c{n}"), "Succeeded", |body| body["asyncOperationId"] = json!("")).await;
    }
    world.cluster_in("00000000-0000-0000-0000-000000000002", "other", "Succeeded", |_| {}).await;
    // Nudges alone carry it on.
    let hour = Duration::from_hours(1);
    let settings = rp_config::Backend { poll: hour, retry_most: hour, ..quick() };
    let process = world.start(manager, settings);
    world.subscribe(SUBSCRIPTION, "Deleted").await;
    for id in ["failed", "c0", "c1", "c2", "c3", "c4"] {
        world.reaches(id, "").await;
    }
    assert_eq!(world.state("busy").await, "Updating");
    let subscription = world.get(Collection::Subscriptions, SUBSCRIPTION).await.unwrap();
    assert_eq!(subscription["deleting"], true);
    gate.add_permits(1);
    world.reaches("busy", "").await;
    until("the subscription is done", async || {
        let subscription = world.get(Collection::Subscriptions, SUBSCRIPTION).await.unwrap();
        let done = subscription.get("deleting").is_none() && subscription.get("leaseOwner").is_none();
        if done { Ok(()) } else { Err(subscription.to_string()) }
    })
    .await;
    let subscription = world.get(Collection::Subscriptions, SUBSCRIPTION).await.unwrap();
    assert_eq!(subscription["future"], 1);
    assert_eq!(world.state("other").await, "Succeeded");
    process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_cluster_in_an_unknown_state_keeps_no_other() {
    let world = World::new().await;
    for (name, state) in [("a", "Canceled"), ("b", "Succeeded")] {
        world.cluster(name, state, |body| body["asyncOperationId"] = json!("")).await;
    }
    world.subscribe(SUBSCRIPTION, "Deleted").await;
    let process = world.start(Scripted::done(), quick());
    world.reaches("b", "").await;
    assert_eq!(world.state("a").await, "Canceled");
    // It is looked at again and again: somebody has to mend the other one.
    world
        .change("a", |body| body["openShiftCluster"]["properties"]["provisioningState"] = json!("Failed"))
        .await;
    world.reaches("a", "").await;
    until("the subscription is done", async || {
        let subscription = world.get(Collection::Subscriptions, SUBSCRIPTION).await.unwrap();
        if subscription.get("deleting").is_none() { Ok(()) } else { Err(subscription.to_string()) }
    })
    .await;
    process.stop().await;
}
