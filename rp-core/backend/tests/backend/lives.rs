//! Operations from the queue to their end.

use std::sync::Arc;
use std::time::Duration;

use rp_api::CloudError;
use rp_base::{Clock as _, SystemClock};
use rp_cluster::{Failure, Operation, Outcome};
use rp_documents::cluster::{InstallPhase, Worker};
use rp_documents::{Collection, OpenShiftCluster};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::manager::{Scripted, steps};
use crate::world::{CLUSTERS, SUBSCRIPTION, World, key, quick, until};

fn properties(document: &Value) -> &Value {
    &document["openShiftCluster"]["properties"]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_cluster_goes_through_its_phases_and_its_operation_ends() {
    let world = World::new().await;
    let manager = Scripted::new(|job| async move {
        assert_eq!(job.operation, Operation::Create);
        assert_eq!(job.subscription.unknown["future"], 1);
        let phase = job.document.cluster.properties.install.phase();
        steps(&job, 3, |_| async {}).await?;
        if phase == Some(InstallPhase::RemoveBootstrap) {
            let change = |cluster: &mut OpenShiftCluster, by: Worker| {
                cluster.properties.install.clear(by);
            };
            job.progress.patch(Box::new(change)).await?;
            return Ok(Outcome::Done);
        }
        job.progress.create_billing_record("infra", "tenant", "eastus").await?;
        let change = |cluster: &mut OpenShiftCluster, by: Worker| {
            cluster.properties.install.phase.set(by, InstallPhase::RemoveBootstrap.name());
        };
        job.progress.patch(Box::new(change)).await?;
        Ok(Outcome::NextPhase)
    });
    world.cluster("a", "Creating", |_| {}).await;
    let process = world.start(Arc::<Scripted>::clone(&manager), quick());
    world.reaches("a", "Succeeded").await;
    process.stop().await;
    assert_eq!(manager.runs_of(&key(SUBSCRIPTION, "a")), 2);
    let document = world.document("a").await;
    for gone in ["asyncOperationId", "correlationData", "operation", "leaseOwner", "leaseExpires", "dequeues"]
    {
        assert!(document.get(gone).is_none(), "{gone}: {document}");
    }
    // What other releases wrote is still there.
    assert_eq!(document["futureEnvelope"], json!([1, 2]));
    assert_eq!(document["openShiftCluster"]["futureCluster"], json!({"x": 1}));
    assert_eq!(properties(&document)["futureProperty"], "kept");
    assert_eq!(document["leaseToken"], 2);
    let operation = world.operation("a").await;
    assert_eq!(operation["asyncOperation"]["status"], "Succeeded");
    assert!(
        operation["asyncOperation"]["endTime"].is_string()
            && operation["asyncOperation"].get("error").is_none()
    );
    assert_eq!(properties(&operation)["provisioningState"], "Succeeded");
    let log = world.log("a").await;
    assert_eq!((&log["result"], log["steps"].as_array().unwrap().len()), (&json!("Succeeded"), 6));
    assert_eq!((&log["attempt"], &log["planned"], &log["kind"]), (&json!(2), &json!(3), &json!("Creating")));
    let bill = world.get(Collection::Billing, "a").await.unwrap();
    assert_eq!(bill["billing"]["tenantID"], "tenant");
    assert!(bill["billing"]["creationTime"].is_number() && bill["billing"].get("deletionTime").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_end_with_what_each_may_read() {
    let world = World::new().await;
    let manager = Scripted::new(|job| async move {
        match job.document.id.as_str() {
            "told" => {
                let told = CloudError::bad("QuotaExceeded", "properties.x", "Not enough cores.");
                Err(Failure::Customer { told, detail: "at https://internal".into() })
            }
            _ => Err(Failure::Internal("the password is hunter2".into())),
        }
    });
    world.cluster("told", "Creating", |_| {}).await;
    world.cluster("ours", "Updating", |_| {}).await;
    world
        .cluster("admin", "AdminUpdating", |body| {
            body["openShiftCluster"]["properties"]["lastProvisioningState"] = json!("Succeeded");
            body["openShiftCluster"]["properties"]["maintenanceState"] = json!("Planned");
        })
        .await;
    let process = world.start(manager, quick());
    world.reaches("told", "Failed").await;
    world.reaches("ours", "Failed").await;
    world.reaches("admin", "Succeeded").await;
    process.stop().await;
    assert_eq!(properties(&world.document("told").await)["failedProvisioningState"], "Creating");
    let told = world.operation("told").await;
    assert_eq!(told["asyncOperation"]["status"], "Failed");
    assert_eq!(
        told["asyncOperation"]["error"],
        json!({"code": "QuotaExceeded", "message": "Not enough cores.", "target": "properties.x"})
    );
    let ours = world.operation("ours").await;
    assert_eq!(
        ours["asyncOperation"]["error"],
        json!({"code": "InternalServerError", "message": "Internal server error."})
    );
    let admin = world.document("admin").await;
    assert_eq!(properties(&admin)["failedProvisioningState"], "AdminUpdating");
    assert_eq!(properties(&admin)["maintenanceState"], "Planned");
    assert_eq!(world.operation("admin").await["asyncOperation"]["status"], "Failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_leaves_nothing_and_its_result_comes_before_its_document_goes() {
    let world = World::new().await;
    let manager = Scripted::new(|job| async move {
        job.progress.create_billing_record("infra", "tenant", "eastus").await?;
        job.progress.end_billing_record().await?;
        Ok(Outcome::Done)
    });
    world.cluster("a", "Deleting", |_| {}).await;
    world.cluster("b", "Succeeded", |_| {}).await;
    let process = world.start(manager, quick());
    world.reaches("a", "").await;
    process.stop().await;
    assert!(world.get(Collection::Reservations, "client/client-a").await.is_none());
    assert!(world.get(Collection::Reservations, "group//groups/a").await.is_none());
    assert!(world.get(Collection::Reservations, "client/client-b").await.is_some());
    let operation = world.operation("a").await;
    assert_eq!(operation["asyncOperation"]["status"], "Succeeded");
    assert!(operation.get("openShiftCluster").is_none());
    let written = world.store.written.lock().clone();
    let at = |what| written.iter().position(|each| *each == what).unwrap();
    assert!(at(("replace", Collection::AsyncOperations)) < at(("delete", CLUSTERS)), "{written:?}");
    assert_eq!(world.log("a").await["result"], "Succeeded");
    // The bill outlives the cluster.
    let bill = world.get(Collection::Billing, "a").await.unwrap();
    let at = |member: &str| bill["billing"][member].as_i64().unwrap_or_else(|| panic!("no {member}: {bill}"));
    assert!(at("creationTime") <= at("deletionTime"), "{bill}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_the_frontend_did_not_record_is_made_and_names_are_held_again() {
    let world = World::new().await;
    world.cluster("a", "Creating", |_| {}).await;
    for (of, id) in [
        (Collection::AsyncOperations, "operation-a"),
        (Collection::Reservations, "client/client-a"),
        (Collection::Reservations, "group//groups/a"),
    ] {
        world.store.inner.delete(of, id, rp_database::Expect::Any).await.unwrap();
    }
    let process = world.start(Scripted::done(), quick());
    world.reaches("a", "Succeeded").await;
    process.stop().await;
    let operation = world.operation("a").await;
    assert_eq!(operation["asyncOperation"]["status"], "Succeeded");
    assert_eq!(operation["asyncOperation"]["initialStatus"], "Creating");
    let path = format!(
        "/subscriptions/{SUBSCRIPTION}/providers/microsoft.redhatopenshift/locations/eastus/operationsstatus/operation-a"
    );
    assert_eq!(operation["asyncOperation"]["id"], path);
    let held = world.get(Collection::Reservations, "client/client-a").await.unwrap();
    assert_eq!(held["cluster"], key(SUBSCRIPTION, "a"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_another_cluster_has_fails_the_new_one() {
    let world = World::new().await;
    world.cluster("first", "Succeeded", |_| {}).await;
    world.cluster("second", "Creating", |body| body["clientIdKey"] = json!("client-first")).await;
    let manager = Scripted::done();
    let process = world.start(Arc::<Scripted>::clone(&manager), quick());
    world.reaches("second", "Failed").await;
    process.stop().await;
    assert_eq!(manager.runs_of(&key(SUBSCRIPTION, "second")), 0, "nothing was made for it");
    assert_eq!(world.operation("second").await["asyncOperation"]["error"]["code"], "DuplicateClientID");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_somebody_else_now_holds_that_name_and_no_other() {
    let world = World::new().await;
    // The frontend wrote the change and died: the old name is held, the new one by nobody.
    let change = |body: &mut Value| {
        body["clientIdKey"] = json!("client-new");
        body["formerClientIdKey"] = json!("client-a");
    };
    world.cluster("a", "Updating", change).await;
    world.cluster("b", "Succeeded", |_| {}).await;
    let process = world.start(Scripted::done(), quick());
    world.reaches("a", "Succeeded").await;
    process.stop().await;
    let held = world.get(Collection::Reservations, "client/client-new").await.unwrap();
    assert_eq!(held["cluster"], key(SUBSCRIPTION, "a"));
    assert!(world.get(Collection::Reservations, "client/client-a").await.is_none(), "the old name is free");
    assert!(world.get(Collection::Reservations, "client/client-b").await.is_some(), "others keep theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_an_older_release_and_damaged_ones_block_nobody() {
    let world = World::new().await;
    world
        .cluster("old", "Updating", |body| {
            // No lease members, no operation, no correlation.
            for name in ["asyncOperationId", "correlationData", "bucket"] {
                body.as_object_mut().unwrap().remove(name);
            }
        })
        .await;
    world.cluster("odd", "Updating", |body| body["leaseExpires"] = json!("soon")).await;
    world.cluster("bare", "Updating", |body| body["openShiftCluster"] = json!(null)).await;
    world.cluster("other", "Canceled", |_| {}).await;
    world.cluster("fine", "Updating", |_| {}).await;
    let process = world.start(Scripted::done(), quick());
    world.reaches("old", "Succeeded").await;
    world.reaches("fine", "Succeeded").await;
    process.stop().await;
    assert_eq!(world.document("odd").await["leaseExpires"], "soon");
    assert_eq!(world.state("other").await, "Canceled");
    let logs = world.store.inner.list(Collection::OperationLogs, None, None, 10).await.unwrap();
    assert_eq!(logs.items.len(), 2, "an operation without a name has a log of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_while_nobody_polls_is_picked_up_at_once_and_at_most_so_many_run() {
    let world = World::new().await;
    let (gate, running) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (waits, tells) = (Arc::clone(&gate), Arc::clone(&running));
    let manager = Scripted::new(move |_| {
        let (gate, running) = (Arc::clone(&waits), Arc::clone(&tells));
        async move {
            running.add_permits(1);
            let _permit = gate.acquire().await.unwrap();
            Ok(Outcome::Done)
        }
    });
    // No poll helps here.
    let settings = rp_config::Backend { workers: 4, poll: Duration::from_hours(1), ..quick() };
    let process = world.start(manager, settings);
    for n in 0..8 {
        world.cluster(&format!("c{n}"), "Updating", |_| {}).await;
    }
    let some = running.acquire_many(3).await.unwrap();
    some.forget();
    // One place is kept for deletions.
    world.cluster("gone", "Deleting", |_| {}).await;
    running.acquire().await.unwrap().forget();
    assert_eq!(running.available_permits(), 0);
    gate.add_permits(100);
    for n in 0..8 {
        world.reaches(&format!("c{n}"), "Succeeded").await;
    }
    world.reaches("gone", "").await;
    // A turn is counted once its end is written.
    until("eight turns to be counted", async || {
        let shown = process.registry.render();
        let counted = "aro_backend_turns_total{operation=\"Updating\",result=\"succeeded\"} 8\n";
        if shown.contains(counted) { Ok(()) } else { Err(shown) }
    })
    .await;
    process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_stops_hands_over_at_the_next_step_and_nothing_is_counted() {
    let world = World::new().await;
    let began = Arc::new(Semaphore::new(0));
    let tells = Arc::clone(&began);
    let manager = Scripted::new(move |job| {
        let began = Arc::clone(&tells);
        async move {
            let stopping = job.stopping.clone();
            steps(&job, 4, async |at| {
                if at == 1 {
                    began.add_permits(1);
                    stopping.cancelled().await;
                }
            })
            .await?;
            Ok(Outcome::Done)
        }
    });
    world.cluster("a", "Updating", |_| {}).await;
    let first = world.start(Arc::<Scripted>::clone(&manager), quick());
    began.acquire().await.unwrap().forget();
    first.stop().await;
    let document = world.document("a").await;
    assert_eq!(properties(&document)["provisioningState"], "Updating");
    assert_eq!((document.get("leaseOwner"), document.get("dequeues")), (None, None), "{document}");
    assert_eq!(document["operation"]["next"], "action.2");
    let second = world.start(Arc::<Scripted>::clone(&manager), quick());
    world.reaches("a", "Succeeded").await;
    second.stop().await;
    let log = world.log("a").await;
    assert_eq!((&log["attempt"], log["steps"].as_array().unwrap().len()), (&json!(2), 4), "{log}");
    assert!(log["lines"].to_string().contains("Handed over"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_does_not_come_to_its_step_is_cut_off_at_the_deadline() {
    let world = World::new().await;
    world.cluster("a", "Updating", |_| {}).await;
    let manager = Scripted::new(|_| std::future::pending());
    let settings = rp_config::Backend { drain: Duration::from_millis(50), ..quick() };
    let process = world.start(Arc::<Scripted>::clone(&manager), settings);
    until("it runs", async || {
        if manager.runs_of(&key(SUBSCRIPTION, "a")) == 1 { Ok(()) } else { Err("not yet".into()) }
    })
    .await;
    let before = SystemClock.now().seconds();
    process.stop().await;
    let document = world.document("a").await;
    assert_eq!((document.get("leaseOwner"), document.get("dequeues")), (None, None), "{document}");
    assert_eq!(properties(&document)["provisioningState"], "Updating");
    // What the step asked of others may be under way: nobody begins before that has had time to end.
    let free = document["leaseExpires"].as_i64().unwrap_or_default();
    assert!(free >= before + 8, "free after {free}, cut off at {before}: {document}");
    let told = world.log("a").await["lines"].to_string();
    assert!(told.contains("Handed over"), "{told}");
}
