//! Tasks on etcd over an API server in memory.

mod renewal;

use std::sync::Arc;
use std::time::Duration;

use rp_actions::etcd::PODS;
use rp_documents::maintenance::Task;
use serde_json::{Value, json};

use super::super::tests::rig::{Rig, terminal};
use super::super::{TaskFailure, TaskOrder};
use super::operator::{OVERRIDES, REASON};
use super::{CERTIFICATES, ETCD, plan, secret_path};
use crate::harness::Api;

const BROKEN: &str = "master-1";
const OVERRIDES_PATH: &str = "/spec/unsupportedConfigOverrides";

/// A pod of each member; the container of one is not ready.
fn put_pods(api: &Api, broken: Option<&str>) {
    for n in 0..3 {
        let node = format!("master-{n}");
        let ready = broken != Some(node.as_str());
        api.put(
            &format!("{PODS}/etcd-{node}"),
            json!({"metadata": {"name": format!("etcd-{node}")},
                "spec": {"nodeName": node, "containers": [{"name": "etcd", "image": "quay.io/e@sha256:1"}]},
                "status": {"podIP": format!("10.0.0.{n}"), "containerStatuses": [{"name": "etcd", "ready": ready}]}}),
        );
    }
}

/// A cluster whose member on `master-1` does not serve. The etcd operator makes it anew when it is waited for.
async fn broken(longest: Duration) -> Rig {
    let rig = Rig::with_steps_of(longest).await;
    put_pods(&rig.world.api, Some(BROKEN));
    rig.world.api.put_members(&["master-0", BROKEN, "master-2"]);
    rig.world.api.put(
        ETCD,
        json!({"metadata": {"name": "cluster"},
        "spec": {"logLevel": "Normal", "unsupportedConfigOverrides": {"own": 1}}}),
    );
    for node in ["master-0", BROKEN, "master-2"] {
        for kind in CERTIFICATES {
            rig.world.api.put(
                &secret_path(&format!("{kind}{node}")),
                json!({"metadata": {"name": format!("{kind}{node}")}}),
            );
        }
    }
    rig
}

fn repairs(rig: &Rig) {
    let api = rig.world.api.clone();
    rig.world.progress.on_start(move |name, _| {
        if name == "condition.waitMember" {
            put_pods(&api, None);
        }
    });
}

async fn recover(rig: &Rig, machine: &str) -> Result<(), TaskFailure> {
    rig.run(Task::RecoverEtcd, TaskOrder { machine: machine.to_owned(), ..TaskOrder::default() }).await
}

fn etcd(rig: &Rig) -> Value {
    rig.world.api.get(ETCD).unwrap()
}

fn assert_as_before(rig: &Rig) {
    let etcd = etcd(rig);
    assert_eq!(etcd.pointer(OVERRIDES_PATH), Some(&json!({"own": 1})), "{etcd}");
    assert_eq!(etcd["metadata"]["annotations"].as_object().map_or(0, |notes| notes.len()), 0, "{etcd}");
}

const REMOVED: [&str; 4] = [
    "etcd-master-0: etcdctl member list --write-out=json",
    "etcd-master-0: etcdctl member remove 2",
    "etcd-master-0: etcdctl member list --write-out=json",
    "etcd-master-2: etcdctl member list --write-out=json",
];

#[tokio::test]
async fn a_broken_member_is_replaced() {
    let rig = broken(Duration::from_secs(20)).await;
    repairs(&rig);
    let told = rig.world.api.clone();
    rig.world.progress.on_start(move |name, _| match name {
        "action.redeploy" => {
            let etcd = told.get(ETCD).unwrap();
            let overrides = etcd.pointer(OVERRIDES_PATH).unwrap();
            assert_eq!(overrides["useUnsupportedUnsafeNonHANonProductionUnstableEtcd"], true, "{etcd}");
            assert_eq!(overrides["own"], 1);
        }
        "condition.waitMember" => put_pods(&told, None),
        _ => {}
    });
    recover(&rig, BROKEN).await.unwrap();
    assert_eq!(rig.world.api.take_commands(), REMOVED);
    assert_eq!(rig.world.api.members(), ["master-0", "master-2"]);
    assert!(rig.world.api.get(&format!("{PODS}/etcd-recovery-data-backup")).is_none());
    for kind in CERTIFICATES {
        assert!(rig.world.api.get(&secret_path(&format!("{kind}{BROKEN}"))).is_none());
        assert!(rig.world.api.get(&secret_path(&format!("{kind}master-0"))).is_some());
    }
    let reason = etcd(&rig)["spec"]["forceRedeploymentReason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("single-master-recovery-20"), "{reason}");
    assert_as_before(&rig);
}

#[tokio::test]
async fn a_worker_that_dies_after_any_step_is_followed_by_one_that_repeats_nothing() {
    for step in 0..plan(Task::RecoverEtcd).len() - 1 {
        let rig = broken(Duration::from_secs(20)).await;
        let (progress, api) = (Arc::downgrade(&rig.world.progress), rig.world.api.clone());
        rig.world.progress.on_start(move |name, at| {
            if name == "condition.waitMember" {
                put_pods(&api, None);
            }
            if let Some(progress) = progress.upgrade()
                && at == step
            {
                progress.forget_on_start();
                progress.refuse_next_save();
            }
        });
        assert_eq!(recover(&rig, BROKEN).await, Err(TaskFailure::Lost), "{step}");
        repairs(&rig);
        recover(&rig, BROKEN).await.unwrap();
        let removals = rig.world.api.take_commands();
        assert_eq!(removals.iter().filter(|one| one.contains("remove")).count(), 1, "{step}: {removals:?}");
        assert_as_before(&rig);
    }
}

#[tokio::test]
async fn what_is_not_one_broken_member_is_refused_before_anything_is_written() {
    for (machine, not_ready, told) in [
        ("master-0", Some(BROKEN), "The broken etcd member is on node master-1, not on master-0."),
        (BROKEN, None, "Every etcd pod is ready: there is no member to recover."),
    ] {
        let rig = broken(Duration::from_secs(20)).await;
        put_pods(&rig.world.api, not_ready);
        rig.world.api.take_writes();
        assert_eq!(terminal(recover(&rig, machine).await), told);
        assert!(rig.world.api.take_writes().is_empty() && rig.world.api.take_commands().is_empty());
    }
}

#[tokio::test]
async fn an_etcd_without_quorum_loses_no_member() {
    let rig = broken(Duration::from_secs(20)).await;
    rig.world.api.fail_command("context deadline exceeded");
    let told = terminal(recover(&rig, BROKEN).await);
    assert_eq!(told, "etcdctl member list --write-out=json in etcd-master-0: context deadline exceeded");
    assert_eq!(rig.world.api.members().len(), 3);
    assert_as_before(&rig);
}

#[tokio::test]
async fn a_command_whose_connection_breaks_is_tried_again() {
    let rig = broken(Duration::from_secs(20)).await;
    let api = rig.world.api.clone();
    rig.world.progress.on_start(move |name, _| {
        if name == "action.removeMember" {
            api.break_command();
        }
    });
    match recover(&rig, BROKEN).await {
        Err(TaskFailure::Transient(told)) => assert!(told.contains("broke off"), "{told}"),
        other => panic!("{other:?}"),
    }
    repairs(&rig);
    recover(&rig, BROKEN).await.unwrap();
    assert_eq!(rig.world.api.take_commands()[1..], REMOVED);
    assert_as_before(&rig);
}

/// What an order leaves that ended after too many attempts: the pod of the member is gone, the operator bears two.
#[tokio::test]
async fn a_recovery_that_ended_in_the_middle_can_be_ordered_again() {
    let rig = broken(Duration::from_secs(20)).await;
    let mut left = etcd(&rig);
    left["metadata"]["annotations"] =
        json!({OVERRIDES: r#"{"own":1}"#, REASON: "single-master-recovery-1999"});
    left["spec"]["unsupportedConfigOverrides"] =
        json!({"useUnsupportedUnsafeNonHANonProductionUnstableEtcd": true});
    left["spec"]["forceRedeploymentReason"] = json!("single-master-recovery-1999");
    rig.world.api.put(ETCD, left);
    rig.world.api.remove(&format!("{PODS}/etcd-{BROKEN}"));
    repairs(&rig);
    recover(&rig, BROKEN).await.unwrap();
    let reason = etcd(&rig)["spec"]["forceRedeploymentReason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("single-master-recovery-20"), "{reason}");
    assert_as_before(&rig);
}

#[tokio::test]
async fn a_backup_that_fails_ends_the_task_with_its_log() {
    let rig = broken(Duration::from_secs(20)).await;
    let pod = format!("{PODS}/etcd-recovery-data-backup");
    rig.world.api.put(
        &pod,
        json!({"metadata": {"name": "etcd-recovery-data-backup"}, "status": {"phase": "Failed"},
        "log": "etcd still runs on this node after 180 s\n"}),
    );
    let told = terminal(recover(&rig, BROKEN).await);
    assert_eq!(told, "Pod etcd-recovery-data-backup failed: etcd still runs on this node after 180 s");
    assert!(rig.world.api.get(&pod).is_none(), "another attempt begins with a pod of its own");
    assert!(rig.world.api.take_commands().is_empty());
}

#[tokio::test]
async fn a_member_that_does_not_come_back_is_told_and_the_operator_is_as_before() {
    let rig = broken(Duration::from_secs(2)).await;
    let told = terminal(recover(&rig, BROKEN).await);
    assert!(told.contains("waitMember") && told.contains("2 of 3 etcd pods are there"), "{told}");
    assert_as_before(&rig);
}
