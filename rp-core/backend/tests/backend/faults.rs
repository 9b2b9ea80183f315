//! Stores that fail, leases that are lost, managers that panic, clocks that jump.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rp_base::{ManualClock, Timestamp};
use rp_cluster::{Failure, Outcome};
use rp_documents::cluster::Worker;
use rp_documents::{Collection, OpenShiftCluster};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::faulty::Fault;
use crate::manager::{Scripted, steps};
use crate::world::{CLUSTERS, SUBSCRIPTION, World, key, quick, short_leases, until};

#[tokio::test(flavor = "multi_thread")]
async fn every_write_of_an_operation_survives_each_fault() {
    let collections =
        [CLUSTERS, Collection::AsyncOperations, Collection::OperationLogs, Collection::Reservations];
    for collection in collections {
        for fault in [Fault::Away, Fault::AnswerLost, Fault::Conflict] {
            for state in ["Creating", "Updating", "Deleting"] {
                let world = World::new().await;
                let manager = Scripted::new(|job| async move {
                    steps(&job, 3, |_| async {}).await?;
                    Ok(Outcome::Done)
                });
                world.cluster("a", state, |_| {}).await;
                // The claim, the first step's position, and so on.
                let writes = if collection == CLUSTERS { 6 } else { 2 };
                for _ in 0..writes {
                    world.store.fail(collection, fault);
                }
                let process = world.start(Arc::<Scripted>::clone(&manager), quick());
                let end = if state == "Deleting" { "" } else { "Succeeded" };
                world.reaches("a", end).await;
                process.stop().await;
                let row = format!("{collection:?} {fault:?} {state}");
                assert_eq!(world.operation("a").await["asyncOperation"]["status"], "Succeeded", "{row}");
                assert_eq!(*manager.seen.doubles.lock(), Vec::<String>::new(), "{row}");
                assert!(world.store.planned() < writes || collection == Collection::Reservations, "{row}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_somebody_else_has_ends_the_work_and_nothing_more_is_written() {
    let world = World::new().await;
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let counts = Arc::clone(&dropped);
    let manager = Scripted::new(move |_| {
        let guard = Guard(Arc::clone(&counts));
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    world.cluster("a", "Updating", |_| {}).await;
    let settings = rp_config::Backend { heartbeat: Duration::from_millis(100), ..quick() };
    let process = world.start(Arc::<Scripted>::clone(&manager), settings);
    until("it runs", async || {
        if manager.runs_of(&key(SUBSCRIPTION, "a")) == 1 { Ok(()) } else { Err("not yet".into()) }
    })
    .await;
    let far = Timestamp::from_seconds(4_000_000_000).seconds();
    world
        .change("a", |body| {
            body["leaseOwner"] = json!("another");
            body["leaseToken"] = json!(9);
            body["leaseExpires"] = json!(far);
        })
        .await;
    until("the work was dropped", async || {
        if dropped.load(Ordering::Relaxed) == 1 { Ok(()) } else { Err("it runs".into()) }
    })
    .await;
    let document = world.document("a").await;
    process.stop().await;
    assert_eq!(document, world.document("a").await);
    assert_eq!((&document["leaseOwner"], &document["leaseToken"]), (&json!("another"), &json!(9)));
    assert_eq!(world.operation("a").await["asyncOperation"]["status"], "Updating");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_for_longer_than_a_lease_ends_the_work_in_time() {
    let world = World::new().await;
    let first = Arc::new(AtomicUsize::new(0));
    let runs = Arc::clone(&first);
    let manager = Scripted::new(move |_| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        async move {
            if run == 0 {
                std::future::pending::<()>().await;
            }
            Ok(Outcome::Done)
        }
    });
    world.cluster("a", "Updating", |_| {}).await;
    let process = world.start(Arc::<Scripted>::clone(&manager), short_leases());
    until(
        "it runs",
        async || {
            if first.load(Ordering::Relaxed) == 1 { Ok(()) } else { Err("not yet".into()) }
        },
    )
    .await;
    world.store.away.send_replace(true);
    until("the lease was given up", async || {
        let shown = process.registry.render();
        if shown.contains("aro_backend_leases_lost_total 1\n") { Ok(()) } else { Err(shown) }
    })
    .await;
    world.store.away.send_replace(false);
    world.reaches("a", "Succeeded").await;
    assert_eq!(*manager.seen.doubles.lock(), Vec::<String>::new());
    process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_document_stops_after_the_limit_with_a_reason_and_blocks_nobody() {
    let world = World::new().await;
    let manager = Scripted::new(|job| async move {
        assert!(job.document.id != "bad", "poisoned\nin here");
        Ok(Outcome::Done)
    });
    world.cluster("bad", "Updating", |_| {}).await;
    for n in 0..5 {
        world.cluster(&format!("c{n}"), "Updating", |_| {}).await;
    }
    let process = world.start(Arc::<Scripted>::clone(&manager), quick());
    for n in 0..5 {
        world.reaches(&format!("c{n}"), "Succeeded").await;
    }
    world.reaches("bad", "Failed").await;
    process.stop().await;
    assert_eq!(manager.runs_of(&key(SUBSCRIPTION, "bad")), 5, "the contract's limit");
    let operation = world.operation("bad").await;
    assert_eq!(operation["asyncOperation"]["error"]["message"], "Internal server error.");
    let log = world.log("bad").await;
    assert_eq!(log["error"], "dequeued 6 times, failing");
    assert!(log["lines"].to_string().contains("poisonedin here"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_off_is_not_counted_and_goes_on_when_it_can() {
    let world = World::new().await;
    let tries = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&tries);
    let manager = Scripted::new(move |_| {
        let tried = counts.fetch_add(1, Ordering::Relaxed);
        async move { if tried < 8 { Err(Failure::Later("Azure is away".into())) } else { Ok(Outcome::Done) } }
    });
    world.cluster("a", "Updating", |_| {}).await;
    let other = "00000000-0000-0000-0000-000000000002";
    world.cluster_in(other, "waits", "Updating", |_| {}).await;
    let process = world.start(manager, quick());
    world.reaches("a", "Succeeded").await;
    until("it says why it waits", async || {
        let log = world.log("waits").await.to_string();
        if log.contains("is not known to us") { Ok(()) } else { Err(log) }
    })
    .await;
    assert_eq!(world.state("waits").await, "Updating");
    world.subscribe(other, "Registered").await;
    world.reaches("waits", "Succeeded").await;
    process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn others_who_write_the_document_meanwhile_lose_nothing() {
    let world = World::new().await;
    let (began, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (tells, waits) = (Arc::clone(&began), Arc::clone(&gate));
    let manager = Scripted::new(move |job| {
        let (began, gate) = (Arc::clone(&tells), Arc::clone(&waits));
        async move {
            began.add_permits(1);
            let _permit = gate.acquire().await.unwrap();
            let change =
                |cluster: &mut OpenShiftCluster, by: Worker| cluster.properties.infra_id.set(by, "infra");
            let written = job.progress.patch(Box::new(change)).await?;
            assert_eq!(written.unknown["addedMeanwhile"], 1);
            Ok(Outcome::Done)
        }
    });
    world.cluster("a", "Updating", |_| {}).await;
    let process = world.start(manager, quick());
    began.acquire().await.unwrap().forget();
    world.change("a", |body| body["addedMeanwhile"] = json!(1)).await;
    gate.add_permits(1);
    world.reaches("a", "Succeeded").await;
    process.stop().await;
    let document = world.document("a").await;
    assert_eq!(
        (&document["addedMeanwhile"], &document["openShiftCluster"]["properties"]["infraId"]),
        (&json!(1), &json!("infra"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_of_the_store_that_jumps_or_stands_neither_frees_a_lease_nor_keeps_one() {
    let clock = ManualClock::at(Timestamp::from_seconds(1_800_000_000));
    let world = World::at(&clock).await;
    let (began, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (tells, waits) = (Arc::clone(&began), Arc::clone(&gate));
    let manager = Scripted::new(move |job| {
        let (began, gate) = (Arc::clone(&tells), Arc::clone(&waits));
        async move {
            began.add_permits(1);
            let _permit = gate.acquire().await.unwrap();
            steps(&job, 2, |_| async {}).await?;
            Ok(Outcome::Done)
        }
    });
    world.cluster("a", "Updating", |_| {}).await;
    let first = world.start(Arc::<Scripted>::clone(&manager), short_leases());
    began.acquire().await.unwrap().forget();
    let other = world.beside();
    let second = other.start(Arc::<Scripted>::clone(&manager), short_leases());
    until("the other has seen it", async || {
        let reads = other.store.reads.load(Ordering::Relaxed);
        if reads > 1 { Ok(()) } else { Err(reads.to_string()) }
    })
    .await;
    clock.advance(Duration::from_hours(5));
    let renewed = async |after: i64| {
        until("the lease is renewed", async || {
            let expires = world.document("a").await["leaseExpires"].as_i64().unwrap_or_default();
            if expires > after { Ok(()) } else { Err(expires.to_string()) }
        })
        .await;
    };
    renewed(1_800_000_000 + 5 * 3600).await;
    assert_eq!(began.available_permits(), 0, "nobody else took it");
    // The holder dies while the store's clock stands still: the lease ends all the same.
    first.kill().await;
    began.acquire().await.unwrap().forget();
    gate.add_permits(10);
    world.reaches("a", "Succeeded").await;
    second.stop().await;
    assert_eq!(*manager.seen.doubles.lock(), Vec::<String>::new());
}
