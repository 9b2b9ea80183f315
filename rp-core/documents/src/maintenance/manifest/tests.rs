use serde_json::json;

use super::*;

fn manifest(members: &serde_json::Value) -> ManifestDocument {
    serde_json::from_value(json!({
        "id": "m", "clusterResourceID": "/subscriptions/s/c", "maintenanceManifest": members,
    }))
    .unwrap()
}

#[test]
fn names_are_the_contracts_and_the_unknown_stays() {
    let stored = json!({
        "id": "m", "clusterResourceID": "/c", "leaseOwner": "o", "leaseExpires": 7, "dequeues": 2,
        "future": [1],
        "maintenanceManifest": {"state": "Pending", "statusText": "t", "maintenanceTaskID": "x",
            "createdBySchedule": "s", "priority": 3, "runAfter": 1, "runBefore": 2, "new": {"a": 1}},
    });
    let document: ManifestDocument = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(serde_json::to_value(&document).unwrap(), stored);
    assert_eq!(document.lease().owner, "o");
}

#[test]
fn what_runs_says_its_step() {
    let status = |members: serde_json::Value| manifest(&members).maintenance_manifest.status().into_owned();
    assert_eq!(status(json!({"state": "Pending", "statusText": "waits", "position": "action.a"})), "waits");
    assert_eq!(status(json!({"state": "InProgress"})), "");
    assert_eq!(status(json!({"state": "InProgress", "position": "action.fixSSH"})), "action.fixSSH");
    let order = json!({"vmSize": "s", "deallocate": true,
        "masters": [{"machine": "m", "node": "n1", "vmSize": "t"}, {"machine": "m", "node": "n0", "vmSize": "t"}]});
    let of = |position: &str| status(json!({"state": "InProgress", "position": position, "resize": order}));
    assert_eq!(of("action.stop#2"), "stop of n0");
    assert_eq!(of("condition.rollbackWaitReady#2"), "rollbackWaitReady of n1");
    let on_machine = json!({"state": "InProgress", "position": "action.stop", "machine": "worker-1"});
    assert_eq!(status(on_machine), "stop of worker-1");
    assert_eq!(status(json!({"state": "InProgress", "machine": "worker-1"})), "");
}

#[test]
fn only_what_is_not_over_has_a_key() {
    let mut document = manifest(&json!({"state": "Pending"}));
    assert_eq!(document.unique_key().as_deref(), Some("open/subscriptions/s/c/m"));
    for state in ManifestState::ALL {
        document.maintenance_manifest.state = state;
        assert_eq!(document.unique_key().is_none(), state.is_terminal(), "{state:?}");
    }
}

#[test]
fn what_is_over_stays_over() {
    for from in ManifestState::ALL {
        for to in ManifestState::ALL {
            let mut document = manifest(&json!({"state": "Pending"}));
            document.maintenance_manifest.state = from;
            let moved = document.with_state(to, "why", Timestamp::from_seconds(5));
            assert_eq!(moved.is_some(), from.may_become(to));
            assert!(!from.is_terminal() || moved.is_none());
            if let Some((document, forgotten)) = moved {
                assert_eq!(forgotten.is_some(), to.is_terminal());
                assert_eq!(document.maintenance_manifest.ended != 0, to.is_terminal());
            }
        }
    }
}

#[test]
fn due_is_after_the_second_and_late_is_never_what_runs() {
    let now = Timestamp::from_seconds(100);
    assert!(manifest(&json!({"state": "Pending", "runAfter": 99})).is_due(now));
    assert!(!manifest(&json!({"state": "Pending", "runAfter": 100})).is_due(now));
    assert!(!manifest(&json!({"state": "Pending", "runAfter": 1, "retryAfter": 100})).is_due(now));
    assert!(!manifest(&json!({"state": "Completed", "runAfter": 1})).is_due(now));
    assert!(manifest(&json!({"state": "Pending", "runBefore": 99})).is_late(now));
    assert!(!manifest(&json!({"state": "Pending", "runBefore": 100})).is_late(now));
    assert!(!manifest(&json!({"state": "Pending"})).is_late(now));
    assert!(!manifest(&json!({"state": "InProgress", "runBefore": 1})).is_late(now));
}

#[test]
fn what_takes_machines_away_and_was_begun_is_not_dropped() {
    let now = Timestamp::from_seconds(100);
    for task in [Task::ResizeControlPlane, Task::RestartMachine] {
        let waits = |started: i64| {
            manifest(&json!({"state": "Pending", "runBefore": 99, "started": started,
                "maintenanceTaskID": task.id()}))
        };
        assert!(waits(0).is_late(now) && !waits(50).is_late(now));
        for state in [ManifestState::Cancelled, ManifestState::TimedOut] {
            assert!(waits(0).with_state(state, "", now).is_some());
            assert!(waits(50).with_state(state, "", now).is_none(), "{state:?}");
        }
        assert!(waits(50).with_state(ManifestState::InProgress, "", now).is_some());
    }
}

#[test]
fn tasks_on_machines_name_one_and_others_do_not() {
    let check = |task: Task, machine: &str, force| {
        let manifest = Manifest {
            maintenance_task_id: task.id().to_owned(),
            run_before: 1,
            machine: machine.to_owned(),
            force,
            ..Manifest::default()
        };
        manifest.check().map_err(|problem| problem.to_string())
    };
    assert_eq!(check(Task::StopMachine, "a-worker-1", true), Ok(Task::StopMachine));
    assert_eq!(check(Task::StopMachine, "", false).unwrap_err(), "machine: Must be provided");
    let long = "a".repeat(65);
    for bad in ["../x", "A", "a b", "a.b", long.as_str()] {
        let told = check(Task::StartMachine, bad, false).unwrap_err();
        assert_eq!(told, "machine: Must be the name of a machine", "{bad}");
    }
    let told = check(Task::FixSsh, "a-worker-1", false).unwrap_err();
    assert_eq!(told, "machine: The task is not about a machine");
    assert_eq!(check(Task::RecoverEtcd, "a-master-1", false), Ok(Task::RecoverEtcd));
    for (task, machine) in [(Task::FixSsh, ""), (Task::RecoverEtcd, "a-master-1")] {
        let told = check(task, machine, true).unwrap_err();
        assert_eq!(told, "force: Only tasks that start, stop, restart or redeploy a machine can be forced");
    }
}

#[test]
fn a_task_that_is_not_built_is_refused_by_name() {
    let check = |id: &str| {
        let manifest = Manifest { maintenance_task_id: id.into(), run_before: 1, ..Manifest::default() };
        manifest.check().map_err(|problem| problem.message)
    };
    assert_eq!(check(""), Err("Must be provided".to_owned()));
    assert_eq!(check("x"), Err("task ID not registered".to_owned()));
    assert_eq!(check(Task::FixSsh.id()), Ok(Task::FixSsh));
    let refused = check(Task::ResizeControlPlane.id()).unwrap_err();
    assert!(refused.starts_with("task 'control plane resize' is not available: POST "), "{refused}");
    let refused = check(Task::IdentityCertificate.id()).unwrap_err();
    assert!(refused.starts_with("task 'MSI certificate renewal' is not available: "), "{refused}");
}
