//! What the pages of a cluster are rendered from: Azure's words about machines, and the parts that a stream sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use portal_model::index::Entry;
use portal_model::vms::VmSource;
use portal_pages::live::TabInput;
use portal_pages::objects;
use portal_session::user::CurrentUser;
use rp_access::{Caller, Via};
use rp_azure::{AzureError, ErrorKind, PowerState, VmState, VmStates};
use rp_base::Id;
use rp_documents::{Person, ResourceId};
use rp_observe::{ClusterSnapshot, Slice};
use rp_rows::{Machine, Node, Operator, Project};
use serde_json::{Value, json};
use web::objects::Vm;
use web::{Frame, Tab};

use super::kit::{Kit, RES, until};

/// Azure, as it would answer.
#[derive(Default)]
struct Azure {
    asked: AtomicUsize,
    away: AtomicBool,
}

#[async_trait]
impl VmStates for Azure {
    async fn states(&self, group: &str) -> Result<Vec<VmState>, AzureError> {
        assert_eq!(group, "/subscriptions/s/resourceGroups/aro-harbor");
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.away.load(Ordering::SeqCst) {
            return Err(AzureError {
                operation: "list virtual machines",
                kind: ErrorKind::Timeout,
                status: None,
                code: String::new(),
                message: "no answer".to_owned(),
                request_id: String::new(),
                retry_after: None,
                more: None,
            });
        }
        Ok(vec![VmState {
            id: "/x".to_owned(),
            name: "Master-2".to_owned(),
            size: "Standard_D8s_v5".to_owned(),
            provisioning_state: "Succeeded".to_owned(),
            power: PowerState::Deallocated,
            troubles: vec!["Error: AllocationFailed".to_owned()],
        }])
    }
}

fn entry(kit: &Kit) -> Arc<Entry> {
    let id = ResourceId::parse(RES).unwrap();
    Arc::clone(kit.state.index().snapshot().get(&id).unwrap())
}

#[tokio::test]
async fn azure_is_asked_once_a_minute_and_pages_do_not_wait_for_it() {
    let azure = Arc::new(Azure::default());
    let source = VmSource::new(Arc::clone(&azure) as _);
    let kit = Kit::with(|parts| parts.vm_states = Some(source)).await;
    let (entry, vms) = (entry(&kit), &kit.state.model.vms);
    assert_eq!(vms.state_of(&entry, "master-2"), Vm::NotAsked("Waiting for Azure's answer.".to_owned()));
    vms.look(&entry);
    vms.look(&entry);
    until("Azure has answered", async || matches!(vms.state_of(&entry, "master-2"), Vm::Known { .. })).await;
    let Vm::Known { power, message, .. } = vms.state_of(&entry, "master-2") else { panic!("known") };
    assert_eq!((power.as_str(), message.as_str()), ("deallocated", "Error: AllocationFailed"));
    assert!(vms.state_of(&entry, "master-9").wrong(), "a machine without a virtual machine is wrong");
    assert_eq!(azure.asked.load(Ordering::SeqCst), 1);
    azure.away.store(true, Ordering::SeqCst);
    kit.clock.advance(Duration::from_secs(61));
    vms.look(&entry);
    until("its silence is told", async || matches!(vms.state_of(&entry, "master-2"), Vm::Failed(_))).await;
    assert_eq!(azure.asked.load(Ordering::SeqCst), 2);
}

fn user() -> CurrentUser {
    let person = Person { sub: "s".to_owned(), name: "s@example.com".to_owned(), groups: Vec::new() };
    let caller = Caller {
        roles: rp_documents::Roles::NONE,
        person,
        from: String::new(),
        request_id: Id::random(&rp_base::SystemRandom),
        via: Via::default(),
    };
    CurrentUser { caller, csrf: String::new(), session_ends: None, session: None, auth_time: None }
}

fn slice<T: Project>(kit: &Kit, objects: &[Value]) -> Slice<T> {
    let items = objects.iter().filter_map(T::from_json).collect();
    Slice::live(items, kit.state.session.clock.now())
}

fn snapshot(kit: &Kit) -> ClusterSnapshot {
    let ready = json!({"type": "Ready", "status": "False", "reason": "KubeletDown", "message": "<b>down</b>",
        "lastTransitionTime": "2026-11-21T11:00:00Z"});
    let mut seen = ClusterSnapshot::empty(kit.state.session.clock.now());
    seen.nodes = slice::<Node>(
        kit,
        &[
            json!({"metadata": {"name": "master-2", "annotations": {"machine.openshift.io/machine": "openshift-machine-api/master-2"}},
                "status": {"conditions": [{"type": "MemoryPressure", "status": "False"}, ready]}}),
            json!({"metadata": {"name": "odd"}, "spec": {"unschedulable": "yes"}, "status": {"conditions": "none"}}),
        ],
    );
    seen.machines = slice::<Machine>(
        kit,
        &[
            json!({"metadata": {"name": "master-2", "namespace": "openshift-machine-api"}, "status": {"phase": "Running",
            "nodeRef": {"name": "master-2"}}}),
        ],
    );
    seen.operators =
        slice::<Operator>(kit, &[json!({"metadata": {"name": "dns"}, "status": {"conditions": []}})]);
    seen
}

#[tokio::test]
async fn what_is_unchanged_gives_the_same_bytes_and_each_part_has_its_element() {
    let kit = Kit::new().await;
    let (entry, user) = (entry(&kit), user());
    let frame =
        Frame { now: kit.state.session.clock.now().seconds(), region: "weu".into(), ..Frame::default() };
    let later =
        Frame { request_id: "another".into(), csrf: "another".into(), path: "/x".into(), ..frame.clone() };
    let seen = Arc::new(snapshot(&kit));
    let input = |frame| TabInput {
        state: &kit.state,
        entry: &entry,
        user: &user,
        frame,
        snapshot: Arc::clone(&seen),
        item: "",
        query: "q=master&sort=-name",
    };
    for tab in [Tab::Overview, Tab::Nodes, Tab::Machines, Tab::Operators, Tab::MachineSets, Tab::ControlPlane]
    {
        let parts = objects::fragments(tab, &input(&frame));
        assert_eq!(parts, objects::fragments(tab, &input(&later)), "{tab:?}");
        assert!(!parts.is_empty(), "{tab:?}");
        for part in parts {
            assert!(part.html.contains(&format!("id=\"{}\"", part.id)), "{tab:?}: {}", part.id);
            assert!(!part.html.contains("<b>down"), "{tab:?}: markup of the cluster's");
        }
    }
    let nodes = objects::fragments(Tab::Nodes, &input(&frame));
    let table = nodes.iter().find(|part| part.id == "panel-nodes").unwrap();
    assert!(table.html.contains("Not ready") && !table.html.contains(">odd<"), "{}", table.html);
    let one = TabInput { item: "master-2", ..input(&frame) };
    let about = objects::fragments(Tab::Nodes, &one);
    let about = &about.iter().find(|part| part.id == "panel-object").unwrap().html;
    assert!(about.contains("KubeletDown") && about.contains("Azure is not configured here"), "{about}");
}
