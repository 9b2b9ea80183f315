//! Resizes over a simulated Azure and an API server in memory.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use rp_documents::maintenance::MasterResize;
use rp_simulator_azure::{Fault, FaultResponse};
use serde_json::json;
use tests_kit::{GENEROUS, until};

use super::super::TaskOrder;
use super::super::tests::rig::{self, BEFORE, Rig, terminal};
use super::*;
use crate::harness::Api;

const WANTED: &str = "Standard_D16s_v3";

struct ResizeRig {
    rig: Rig,
    order: Resize,
}

impl std::ops::Deref for ResizeRig {
    type Target = Rig;

    fn deref(&self) -> &Rig {
        &self.rig
    }
}

fn node_path(n: usize) -> String {
    rig::node_path(&format!("master-{n}"))
}

fn machine_path(n: usize) -> String {
    rig::machine_path(&format!("master-{n}"))
}

/// The kubelet of a master reports so.
fn set_ready(api: &Api, n: usize, status: &str) {
    rig::set_ready(api, &format!("master-{n}"), status);
}

impl ResizeRig {
    /// Three masters of the old size that serve.
    async fn start() -> Self {
        let rig = Rig::start().await;
        let master = |n| {
            let name = format!("master-{n}");
            let (node, vm_size) = (name.clone(), BEFORE.to_owned());
            MasterResize { machine: name, node, vm_size, ..MasterResize::default() }
        };
        let masters = (0..3).rev().map(master).collect();
        let order = Resize { vm_size: WANTED.to_owned(), deallocate: true, masters, ..Resize::default() };
        Self { rig, order }
    }

    fn vm(&self, n: usize) -> String {
        self.rig.vm_id(&format!("master-{n}"))
    }

    async fn run(&self) -> Result<(), TaskFailure> {
        let resize = Resize { cause: self.world.progress.cause(), ..self.order.clone() };
        let order = TaskOrder { resize: Some(resize), ..TaskOrder::default() };
        self.rig.run(Task::ResizeControlPlane, order).await
    }

    /// Azure refuses to change the size of that master, so many times.
    fn refuse_size(&self, n: usize, times: Option<u32>) {
        let path = format!("virtualMachines/master-{n}");
        let answer = FaultResponse::status(409, "AllocationFailed");
        self.cloud.control.fail(Fault { method: Some(Method::PATCH), path, times, answer });
    }

    /// All that is written of a master has that size; it runs and takes pods.
    fn assert_masters_have(&self, size: &str) {
        for n in 0..3 {
            let vm = self.cloud.control.get(&self.vm(n)).unwrap();
            assert_eq!(vm["properties"]["hardwareProfile"]["vmSize"], size, "VM {n}");
            let machine = self.world.api.get(&machine_path(n)).unwrap();
            assert_eq!(machine["spec"]["providerSpec"]["value"], json!({"vmSize": size, "zone": "1"}), "{n}");
            assert_eq!(machine["metadata"]["labels"]["machine.openshift.io/instance-type"], size, "{n}");
            let node = self.world.api.get(&node_path(n)).unwrap();
            for label in ["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"] {
                assert_eq!(node["metadata"]["labels"][label], size, "node {n}");
            }
            assert_ne!(node["spec"]["unschedulable"], true, "node {n}");
        }
    }
}

#[tokio::test]
async fn masters_get_the_size_one_after_the_other() {
    let rig = ResizeRig::start().await;
    rig.run().await.unwrap();
    rig.assert_masters_have(WANTED);
    let of = |n: usize| {
        [format!("deallocate master-{n}"), format!("PATCH master-{n}"), format!("start master-{n}")]
    };
    assert_eq!(rig.azure_writes(), [of(2), of(1), of(0)].concat());
}

#[tokio::test]
async fn a_machine_keeps_its_host_when_that_is_wanted() {
    let mut rig = ResizeRig::start().await;
    rig.order.deallocate = false;
    rig.order.masters.truncate(1);
    rig.run().await.unwrap();
    assert_eq!(rig.azure_writes(), ["powerOff master-2", "PATCH master-2", "start master-2"]);
}

#[tokio::test]
async fn a_failure_on_the_second_master_gives_both_their_sizes_back() {
    let rig = ResizeRig::start().await;
    rig.refuse_size(1, None);
    let cause = terminal(rig.run().await);
    assert!(cause.contains("AllocationFailed") && !cause.contains("Rollback errors"), "{cause}");
    rig.assert_masters_have(BEFORE);
    let writes = rig.azure_writes();
    let back = writes.iter().rposition(|write| write == "PATCH master-1").unwrap();
    // Its size was never another; it only runs again. Then the one before it.
    let expected = ["start master-1", "deallocate master-2", "PATCH master-2", "start master-2"];
    assert_eq!(writes[back + 1..], expected, "{writes:?}");
    assert!(!writes.iter().any(|write| write.ends_with("master-0")), "{writes:?}");
}

#[tokio::test]
async fn an_error_that_passes_is_no_reason_to_go_back() {
    let rig = ResizeRig::start().await;
    rig.refuse_size(2, Some(2));
    rig.run().await.unwrap();
    rig.assert_masters_have(WANTED);
}

#[tokio::test]
async fn nothing_is_touched_while_the_control_plane_is_not_whole() {
    let rig = ResizeRig::start().await;
    rig.put_etcd("True");
    let told = terminal(rig.run().await);
    assert!(told.starts_with("etcd is not healthy: etcd Available=True, Progressing=True"), "{told}");
    rig.put_etcd("False");
    let mut node = rig.world.api.get(&node_path(0)).unwrap();
    node["spec"]["unschedulable"] = json!(true);
    rig.world.api.put(&node_path(0), node.clone());
    assert_eq!(
        terminal(rig.run().await),
        "Control plane node master-0 is unschedulable. Uncordon and verify the node before resizing another master."
    );
    node["status"]["conditions"][0]["status"] = json!("Unknown");
    rig.world.api.put(&node_path(0), node);
    assert!(terminal(rig.run().await).starts_with("Control plane node master-0 is not Ready. "));
    assert_eq!(rig.azure_writes(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_machine_that_got_another_size_meanwhile_is_left_alone() {
    let rig = ResizeRig::start().await;
    let other =
        json!({"location": "eastus", "properties": {"hardwareProfile": {"vmSize": "Standard_D32s_v3"}}});
    rig.cloud.control.put(&rig.vm(2), other);
    let told = terminal(rig.run().await);
    assert!(told.starts_with("VM master-2 has the size Standard_D32s_v3; it had Standard_D8s_v3 "), "{told}");
    assert_eq!(rig.azure_writes(), [] as [&str; 0]);
}

/// The worker that does that step of a way dies after it, before it has said so.
fn die_after(rig: &ResizeRig, step: usize, is_back: bool) {
    let progress = Arc::downgrade(&rig.world.progress);
    rig.world.progress.on_start(move |name, at| {
        if let Some(progress) = progress.upgrade()
            && at == step
            && name.contains(".rollback") == is_back
        {
            progress.forget_on_start();
            progress.refuse_next_save();
        }
    });
}

#[tokio::test]
async fn a_worker_that_dies_after_any_step_is_followed_by_one_that_repeats_no_call() {
    for step in 0..32 {
        let rig = ResizeRig::start().await;
        die_after(&rig, step, false);
        assert_eq!(rig.run().await, Err(TaskFailure::Lost), "step {step}");
        rig.run().await.unwrap();
        rig.assert_masters_have(WANTED);
        assert_eq!(rig.azure_writes().len(), 9, "step {step}: {:?}", rig.azure_writes());
    }
}

#[tokio::test]
async fn a_worker_that_dies_on_the_way_back_is_followed_by_one_that_goes_on_back() {
    // The way back begins with the second master: the nine steps of the third are left out.
    for step in 9..26 {
        let rig = ResizeRig::start().await;
        rig.refuse_size(1, None);
        die_after(&rig, step, true);
        assert_eq!(rig.run().await, Err(TaskFailure::Lost), "step {step}");
        let cause = terminal(rig.run().await);
        assert!(cause.contains("AllocationFailed"), "step {step}: {cause}");
        rig.assert_masters_have(BEFORE);
        let back = rig.azure_writes().iter().filter(|write| *write == "PATCH master-2").count();
        assert_eq!(back, 2, "step {step}: {:?}", rig.azure_writes());
    }
}

#[tokio::test]
async fn a_way_back_that_fails_says_why_both_ways_and_is_tried_again() {
    let rig = ResizeRig::start().await;
    rig.refuse_size(1, None);
    let rollback = Fault {
        method: Some(Method::POST),
        path: "virtualMachines/master-2/deallocate".to_owned(),
        times: Some(3),
        answer: FaultResponse::status(503, "Away"),
    };
    // Once the second master is back: the first deallocation of the third is that of the way there.
    let control = rig.cloud.control.clone();
    rig.world.progress.on_start(move |name, at| {
        if name == "action.rollbackStop" && at == 10 {
            control.fail(rollback.clone());
        }
    });
    let ended = rig.run().await;
    let Err(TaskFailure::Transient(told)) = ended else { panic!("it may pass: {ended:?}") };
    assert!(told.contains("AllocationFailed") && told.contains(". Rollback errors: "), "{told}");
    rig.world.progress.forget_on_start();
    assert!(terminal(rig.run().await).contains("AllocationFailed"));
    rig.assert_masters_have(BEFORE);
}

#[tokio::test]
async fn no_master_is_stopped_on_the_way_back_while_another_is_away() {
    let rig = ResizeRig::start().await;
    // The first of the order has its size by then.
    let away = rig.world.api.clone();
    rig.world.progress.on_start(move |name, at| {
        if name == "action.checkMasters" && at == 11 {
            set_ready(&away, 0, "False");
        }
    });
    let comes_back = async {
        let waits = "waiting condition.rollbackCheckMasters: node master-0 is not Ready";
        until("the way back waits", GENEROUS, || async {
            let events = rig.world.progress.events();
            anyhow::ensure!(events.iter().any(|event| event == waits), "{events:?}");
            Ok(())
        })
        .await
        .unwrap();
        let writes = rig.azure_writes();
        set_ready(&rig.world.api, 0, "True");
        writes
    };
    let (ended, writes) = tokio::join!(rig.run(), comes_back);
    assert!(terminal(ended).starts_with("Control plane node master-0 is not Ready. "));
    assert_eq!(writes, ["deallocate master-2", "PATCH master-2", "start master-2"], "none of the way back");
    rig.assert_masters_have(BEFORE);
}

#[tokio::test]
async fn a_position_of_another_release_leads_back() {
    let rig = ResizeRig::start().await;
    die_after(&rig, 3, false);
    assert_eq!(rig.run().await, Err(TaskFailure::Lost));
    rig.world.progress.set_position("action.ofAnotherRelease");
    let told = terminal(rig.run().await);
    assert!(told.contains("Uncordon and verify the node"), "{told}");
    rig.assert_masters_have(BEFORE);
}

#[tokio::test]
async fn pods_are_evicted_and_those_of_a_blocking_budget_deleted_at_last() {
    let rig = ResizeRig::start().await;
    for (name, is_blocked) in [("free", false), ("held", true)] {
        rig.world.api.put_pod(name, "master-2", is_blocked);
    }
    rig.run().await.unwrap();
    for name in ["free", "held"] {
        assert_eq!(rig.world.api.get(&format!("/api/v1/namespaces/apps/pods/{name}")), None, "{name}");
    }
    let lines = rig.world.progress.events();
    let told = "warning master-2: not evicted in time, deleted: apps/held";
    assert!(lines.iter().any(|line| line == told), "{lines:?}");
}

/// Three masters, by their nodes.
fn order() -> Resize {
    let master = |node: &str| MasterResize { node: node.to_owned(), ..MasterResize::default() };
    Resize { masters: vec![master("c"), master("b"), master("a")], ..Resize::default() }
}

#[test]
fn every_position_names_its_step_and_its_node() {
    let order = order();
    for (direction, nodes, of_master) in [(Direction::There, "cba", 11), (Direction::Back, "abc", 9)] {
        let plan = plan(&order, direction);
        assert_eq!(plan.len(), 3 * of_master);
        for (at, stored) in engine::positions(&plan).iter().enumerate() {
            let node = &nodes[at / of_master..][..1];
            assert_eq!(order.step(stored), (plan[at].name, node), "{stored}");
        }
    }
}

#[test]
fn the_task_has_more_time_than_all_its_steps() {
    let order = order();
    let all = [Direction::There, Direction::Back].map(|direction| plan(&order, direction)).concat();
    let limits: Duration = all.iter().map(|step| step.limit).sum();
    assert!(limits < Task::ResizeControlPlane.least_limit(), "{limits:?}");
}

#[test]
fn the_way_back_begins_with_the_master_that_failed() {
    let order = order();
    let first = |failed: usize| first_step_back(&order, failed);
    assert_eq!(first(0), None, "the first look at the first master");
    assert_eq!(first(1).as_deref(), Some("condition.rollbackCheckMasters#3"));
    assert_eq!(first(11).as_deref(), Some("condition.rollbackCheckMasters#3"), "only the first was changed");
    assert_eq!(first(12).as_deref(), Some("condition.rollbackCheckMasters#2"));
    assert_eq!(first(32).as_deref(), Some("condition.rollbackCheckMasters"));
    assert_eq!(first(33).as_deref(), Some("condition.rollbackCheckMasters"), "a position of another release");
}
