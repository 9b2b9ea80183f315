//! Tasks on machines over a simulated Azure and an API server in memory.

use std::sync::Arc;

use http::Method;
use rp_documents::maintenance::Task;
use rp_simulator_azure::{Fault, FaultResponse};
use serde_json::{Value, json};

use super::super::tests::rig::{Rig, node_path, set_ready, terminal};
use super::super::{TaskFailure, TaskOrder};
use super::{SERVE, START, ended, plan};

const WORKER: &str = "worker-1";

async fn run(rig: &Rig, task: Task, machine: &str, force: bool) -> Result<(), TaskFailure> {
    let order = TaskOrder { machine: machine.to_owned(), force, ..TaskOrder::default() };
    rig.run(task, order).await
}

fn node(rig: &Rig, name: &str) -> Value {
    rig.world.api.get(&node_path(name)).unwrap()
}

fn is_cordoned(rig: &Rig, name: &str) -> bool {
    node(rig, name)["spec"]["unschedulable"] == true
}

/// No note of a task is left on the node.
fn assert_no_notes(rig: &Rig, name: &str) {
    let node = node(rig, name);
    let notes = node["metadata"]["annotations"].as_object().map(|notes| notes.len()).unwrap_or_default();
    assert_eq!(notes, 0, "{node}");
}

#[tokio::test]
async fn a_machine_is_restarted_behind_a_cordon() {
    let rig = Rig::start().await;
    run(&rig, Task::RestartMachine, WORKER, false).await.unwrap();
    assert_eq!(rig.azure_writes(), ["powerOff worker-1", "start worker-1"]);
    assert!(!is_cordoned(&rig, WORKER));
    assert_no_notes(&rig, WORKER);
}

#[tokio::test]
async fn a_node_that_was_cordoned_before_stays_so() {
    let rig = Rig::start().await;
    let mut cordoned = node(&rig, WORKER);
    cordoned["spec"]["unschedulable"] = json!(true);
    rig.world.api.put(&node_path(WORKER), cordoned);
    run(&rig, Task::RedeployMachine, WORKER, false).await.unwrap();
    assert_eq!(rig.azure_writes(), ["redeploy worker-1"]);
    assert!(is_cordoned(&rig, WORKER));
    assert_no_notes(&rig, WORKER);
}

#[tokio::test]
async fn a_machine_that_was_stopped_takes_pods_again_once_it_is_started() {
    let rig = Rig::start().await;
    run(&rig, Task::StopMachine, WORKER, false).await.unwrap();
    assert!(is_cordoned(&rig, WORKER));
    run(&rig, Task::StopMachine, WORKER, false).await.unwrap();
    run(&rig, Task::StartMachine, WORKER, false).await.unwrap();
    assert_eq!(rig.azure_writes(), ["deallocate worker-1", "start worker-1"]);
    assert!(!is_cordoned(&rig, WORKER));
    assert_no_notes(&rig, WORKER);
}

#[tokio::test]
async fn a_worker_that_dies_after_any_step_is_followed_by_one_that_repeats_no_call() {
    for task in [Task::StartMachine, Task::StopMachine, Task::RestartMachine] {
        // Nothing is saved after the last one.
        for step in 0..plan(task, false).len() - 1 {
            let rig = Rig::start().await;
            if task == Task::StartMachine {
                run(&rig, Task::StopMachine, WORKER, true).await.unwrap();
                rig.world.progress.forget_position();
            }
            let before = rig.azure_writes().len();
            let progress = Arc::downgrade(&rig.world.progress);
            rig.world.progress.on_start(move |_, at| {
                if let Some(progress) = progress.upgrade()
                    && at == step
                {
                    progress.forget_on_start();
                    progress.refuse_next_save();
                }
            });
            assert_eq!(run(&rig, task, WORKER, false).await, Err(TaskFailure::Lost), "{task:?} {step}");
            run(&rig, task, WORKER, false).await.unwrap();
            let calls = if task == Task::RestartMachine { 2 } else { 1 };
            assert_eq!(rig.azure_writes().len() - before, calls, "{task:?} {step}: {:?}", rig.azure_writes());
            assert_eq!(is_cordoned(&rig, WORKER), task == Task::StopMachine, "{task:?} {step}");
        }
    }
}

#[tokio::test]
async fn a_machine_is_moved_once_where_its_node_says_its_boot() {
    let rig = Rig::start().await;
    let boots = |id: &str| {
        let mut node = node(&rig, WORKER);
        node["status"]["nodeInfo"] = json!({ "bootID": id });
        rig.world.api.put(&node_path(WORKER), node);
    };
    boots("one");
    // The worker dies after Azure has moved the machine, and the node starts anew meanwhile.
    let progress = Arc::downgrade(&rig.world.progress);
    rig.world.progress.on_start(move |name, _| {
        if let Some(progress) = progress.upgrade()
            && name == "action.redeploy"
        {
            progress.forget_on_start();
            progress.refuse_next_save();
        }
    });
    assert_eq!(run(&rig, Task::RedeployMachine, WORKER, false).await, Err(TaskFailure::Lost));
    boots("two");
    run(&rig, Task::RedeployMachine, WORKER, false).await.unwrap();
    assert_eq!(rig.azure_writes(), ["redeploy worker-1"]);
    assert_no_notes(&rig, WORKER);
}

#[tokio::test]
async fn no_master_is_taken_away_while_another_one_is_not_ready() {
    let rig = Rig::start().await;
    set_ready(&rig.world.api, "master-1", "Unknown");
    let told = terminal(run(&rig, Task::RestartMachine, "master-0", false).await);
    assert_eq!(
        told,
        "master-0 is a control plane node, and 1 of the 2 others are Ready, master-1 is not. \
         Without it etcd would lose its quorum."
    );
    assert!(!is_cordoned(&rig, "master-0"));
    // The one that is not Ready is no loss, whatever etcd says of it.
    rig.put_etcd("True");
    rig.world.progress.forget_position();
    let master = rig.world.api.clone();
    rig.world.progress.on_start(move |name, _| {
        if name == "condition.waitReady" {
            set_ready(&master, "master-1", "True");
        }
    });
    run(&rig, Task::RestartMachine, "master-1", false).await.unwrap();
    assert_eq!(rig.azure_writes(), ["powerOff master-1", "start master-1"]);
    rig.world.progress.forget_position();
    let told = terminal(run(&rig, Task::StopMachine, "master-0", false).await);
    assert!(told.starts_with("etcd is not healthy: "), "{told}");
}

#[tokio::test]
async fn a_forced_task_skips_the_steps_in_the_cluster() {
    let rig = Rig::start().await;
    set_ready(&rig.world.api, "master-1", "Unknown");
    run(&rig, Task::RestartMachine, "master-0", true).await.unwrap();
    assert_eq!(rig.azure_writes(), ["powerOff master-0", "start master-0"]);
    assert!(!is_cordoned(&rig, "master-0"));
}

#[tokio::test]
async fn a_node_of_a_strange_shape_is_an_error_and_no_panic() {
    for strange in
        [json!({"metadata": {"annotations": "x"}}), json!({"metadata": {"annotations": 5}, "spec": "x"})]
    {
        let rig = Rig::start().await;
        rig.world.api.put(&node_path(WORKER), strange.clone());
        let ended = run(&rig, Task::StopMachine, WORKER, false).await;
        assert!(!matches!(ended, Err(TaskFailure::Lost | TaskFailure::HandedOver)), "{strange}: {ended:?}");
    }
}

#[test]
fn a_node_that_does_not_come_back_is_not_waited_for_again() {
    let passes = || TaskFailure::Transient("node worker-1 is not Ready".to_owned());
    assert!(matches!(ended(Some(SERVE[0]), passes()), TaskFailure::Terminal(_)));
    assert_eq!(ended(Some(START), passes()), passes());
    assert_eq!(ended(None, TaskFailure::Lost), TaskFailure::Lost);
}

#[tokio::test]
async fn what_is_not_there_and_what_would_lose_its_disk_is_refused() {
    let rig = Rig::start().await;
    let told = terminal(run(&rig, Task::StopMachine, "worker-9", false).await);
    assert!(told.contains("worker-9"), "{told}");
    let disk =
        json!({"caching": "ReadOnly", "diffDiskSettings": {"option": "Local", "placement": "CacheDisk"}});
    let vm = json!({"location": "eastus", "properties": {"storageProfile": {"osDisk": disk}}});
    assert!(rig.cloud.control.put(&rig.vm_id(WORKER), vm));
    for force in [false, true] {
        rig.world.progress.forget_position();
        let told = terminal(run(&rig, Task::RedeployMachine, WORKER, force).await);
        assert_eq!(told, "VM 'worker-1' has an Ephemeral Disk OS and cannot be redeployed.");
    }
    assert_eq!(rig.azure_writes(), [] as [&str; 0]);
}

#[tokio::test]
async fn an_error_of_azure_after_the_drain_keeps_the_cordon_for_the_next_attempt() {
    let rig = Rig::start().await;
    let path = "virtualMachines/worker-1/powerOff".to_owned();
    let answer = FaultResponse::status(503, "Away");
    rig.cloud.control.fail(Fault { method: Some(Method::POST), path, times: Some(3), answer });
    let ended = run(&rig, Task::RestartMachine, WORKER, false).await;
    assert!(matches!(ended, Err(TaskFailure::Transient(_))), "{ended:?}");
    assert!(is_cordoned(&rig, WORKER));
    run(&rig, Task::RestartMachine, WORKER, false).await.unwrap();
    assert!(!is_cordoned(&rig, WORKER));
    assert_no_notes(&rig, WORKER);
}
