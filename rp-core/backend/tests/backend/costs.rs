//! What an operation asks of the store.

use std::sync::Arc;
use std::time::Duration;

use rp_documents::Collection;

use crate::faulty::Fault;
use crate::manager::Scripted;
use crate::world::{CLUSTERS, SUBSCRIPTION, World, key, quick};

/// What the feed has just delivered is not read again, and neither is what nobody else can have written.
#[tokio::test(flavor = "multi_thread")]
async fn a_quick_operation_reads_what_it_cannot_know_and_nothing_else() {
    let world = World::new().await;
    let hour = Duration::from_hours(1);
    world.cluster("a", "Updating", |_| {}).await;
    let process = world.start(Scripted::done(), rp_config::Backend { poll: hour, ..quick() });
    world.reaches("a", "Succeeded").await;
    process.stop().await;
    let mut got = world.store.got.lock().clone();
    got.sort_unstable_by_key(|collection| collection.name());
    assert_eq!(got, [Collection::AsyncOperations, Collection::Subscriptions]);
    let written = world.store.written.lock().clone();
    // On a slow machine the log is written more than once.
    let ours = written.into_iter().map(|(_, collection)| collection);
    let ours: Vec<Collection> = ours.filter(|each| *each != Collection::OperationLogs).collect();
    assert_eq!(ours, [CLUSTERS, Collection::AsyncOperations, CLUSTERS], "the claim, the result, the end");
}

/// Somebody writes the operation after it was looked up.
#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_was_written_meanwhile_is_looked_for_again() {
    let world = World::new().await;
    world.store.fail(Collection::AsyncOperations, Fault::Conflict);
    world.cluster("a", "Updating", |_| {}).await;
    let manager = Scripted::done();
    let process = world.start(Arc::<Scripted>::clone(&manager), quick());
    world.reaches("a", "Succeeded").await;
    process.stop().await;
    assert_eq!(world.operation("a").await["asyncOperation"]["status"], "Succeeded");
    assert_eq!(manager.runs_of(&key(SUBSCRIPTION, "a")), 1);
    assert!(world.store.got.lock().contains(&CLUSTERS), "it was made sure that the lease is ours");
}
