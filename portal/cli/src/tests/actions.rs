//! Actions on objects of a cluster.

use clap::Parser as _;
use serde_json::{Value, json};

use super::portal::{Aro, ID, portal};
use crate::*;

const WHY: &str = "the disk fails";

#[tokio::test]
async fn a_drain_is_asked_for_until_nothing_is_left_or_the_time_is_over() {
    let portal = portal().await;
    let cluster = ID.to_lowercase();
    let drain = ["node", "drain", &cluster, "worker-1", "--reason", WHY, "-o", "json"];
    let (exit, text, notes) = portal.run(&drain).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    let told = serde_json::from_str::<Value>(&text).unwrap();
    assert_eq!(told["after"], "cordoned, 1 pod asked to leave, 0 pods left");
    let sent = portal.seen.try_iter().last().unwrap().2;
    assert_eq!(sent, json!({"force": false, "waitSeconds": 15, "reason": WHY, "dryRun": false}));
    let (exit, table, notes) = portal.run(&[&drain[..6], &["--wait-limit", "1s"]].concat()).await;
    assert!(exit == Exit::Failed && notes.contains("1 pod left on worker-1"), "{exit:?} {notes}");
    let row = table.lines().nth(1).unwrap_or_default();
    assert!(
        row.contains("blocked") && row.contains("needs 1 healthy pods") && row.contains("lost"),
        "{table}"
    );
}

#[tokio::test]
async fn actions_need_a_reason_or_are_tried_only() {
    let portal = portal().await;
    let cluster = ID.to_lowercase();
    let scale = ["workload", "scale", &cluster, "deployment", "openshift-dns", "web", "3"];
    let (exit, table, notes) = portal.run(&[&scale[..], &["--reason", WHY, "--from", "2"]].concat()).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(table.lines().nth(1).is_some_and(|row| row.contains("2 replicas") && row.contains("3 replicas")));
    let seen = portal.seen.try_iter().last().unwrap();
    assert!(seen.1.ends_with("/workloads/deployment/openshift-dns/web/scale?"), "{}", seen.1);
    assert_eq!(seen.2, json!({"replicas": 3, "from": 2, "reason": WHY, "dryRun": false}));
    portal.run(&["csr", "approve", &cluster, "csr-1", "--dry-run"]).await;
    let seen = portal.seen.try_iter().last().unwrap();
    assert!(seen.1.ends_with("/csrs/csr-1/approve?") && seen.2["dryRun"] == true, "{seen:?}");
    let silent = [&["aro"][..], &["node", "cordon", &cluster, "worker-1"]].concat();
    assert!(Aro::try_parse_from(silent).is_err(), "no reason");
    let many = [&["aro"][..], &scale[..6], &["5000", "--reason", WHY]].concat();
    assert!(Aro::try_parse_from(many).is_err(), "too many");
    assert_eq!(portal.run(&["pod", "delete", &cluster, "a/b", "c", "--reason", WHY]).await.0, Exit::Usage);
}
