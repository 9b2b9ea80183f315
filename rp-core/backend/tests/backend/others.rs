//! What others do to documents at the worst moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rp_cluster::Outcome;
use rp_database::{Draft, Expect};
use rp_documents::Collection;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::faulty::Fault;
use crate::manager::Scripted;
use crate::world::{CLUSTERS, SUBSCRIPTION, World, key, quick};

/// The claim is made but not confirmed, and before it is looked for somebody else writes the document.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_over_a_claim_that_was_not_confirmed_is_kept() {
    let world = World::new().await;
    let manager = Scripted::new(|job| async move {
        assert_eq!(job.document.unknown["addedMeanwhile"], 1);
        Ok(Outcome::Done)
    });
    world.cluster("a", "Updating", |_| {}).await;
    world.store.fail(CLUSTERS, Fault::AnswerLost);
    world.store.meddle.store(true, Ordering::Relaxed);
    let process = world.start(Arc::<Scripted>::clone(&manager), quick());
    world.reaches("a", "Succeeded").await;
    process.stop().await;
    assert_eq!(world.document("a").await["addedMeanwhile"], 1);
    assert_eq!(manager.runs_of(&key(SUBSCRIPTION, "a")), 1, "it was done by the take that was not confirmed");
}

/// A lease that is taken away by hand: what its holder wants to write is not called written.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_removed_by_hand_is_lost() {
    let world = World::new().await;
    let (began, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let (tells, waits, counts) = (Arc::clone(&began), Arc::clone(&gate), Arc::clone(&acknowledged));
    let manager = Scripted::new(move |job| {
        let (began, gate, acknowledged) = (Arc::clone(&tells), Arc::clone(&waits), Arc::clone(&counts));
        async move {
            began.add_permits(1);
            let _permit = gate.acquire().await.unwrap();
            job.progress.patch(Box::new(|cluster, by| cluster.properties.infra_id.set(by, "mark"))).await?;
            acknowledged.fetch_add(1, Ordering::Relaxed);
            Ok(Outcome::Done)
        }
    });
    world.cluster("a", "Updating", |_| {}).await;
    let process = world.start(Arc::<Scripted>::clone(&manager), quick());
    began.acquire().await.unwrap().forget();
    world
        .change("a", |body| {
            let envelope = body.as_object_mut().unwrap();
            envelope.remove("leaseOwner");
            envelope.remove("leaseExpires");
        })
        .await;
    gate.add_permits(10);
    world.reaches("a", "Succeeded").await;
    process.stop().await;
    assert_eq!(manager.runs_of(&key(SUBSCRIPTION, "a")), 2);
    assert_eq!(acknowledged.load(Ordering::Relaxed), 1, "of the second run");
    assert_eq!(world.document("a").await["openShiftCluster"]["properties"]["infraId"], "mark");
    assert_eq!(*manager.seen.doubles.lock(), Vec::<String>::new());
}

/// Records beside the cluster that nobody can read keep no worker for ever.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_records_beside_a_cluster_do_not_hold_up_its_end() {
    let world = World::new().await;
    world.cluster("a", "Updating", |_| {}).await;
    world.cluster("b", "Deleting", |_| {}).await;
    world.cluster("c", "Updating", |body| body["asyncOperationId"] = json!("")).await;
    world.change("c", |body| body["asyncOperationId"] = json!("NO NAME")).await;
    for (of, id) in [
        (Collection::AsyncOperations, "operation-a"),
        (Collection::AsyncOperations, "operation-b"),
        (Collection::Reservations, "client/client-b"),
        (Collection::OperationLogs, "operation-b"),
    ] {
        let draft = Draft {
            id: id.into(),
            partition: id.into(),
            unique_key: None,
            body: r#"{"id": 5}"#.into(),
            expires_at: None,
        };
        let store = &world.store.inner;
        if store.replace(of, draft.clone(), Expect::Any).await.is_err() {
            store.create(of, draft).await.unwrap();
        }
    }
    let process = world.start(Scripted::done(), quick());
    world.reaches("a", "Succeeded").await;
    world.reaches("b", "").await;
    world.reaches("c", "Succeeded").await;
    process.stop().await;
    let operation = world.operation("a").await;
    assert_eq!(operation["asyncOperation"]["status"], "Succeeded");
    assert_eq!(operation["openShiftCluster"]["properties"]["provisioningState"], "Succeeded");
    assert_eq!(world.operation("b").await["asyncOperation"]["status"], "Succeeded");
}
