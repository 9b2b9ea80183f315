//! Malformed objects: nothing panics, everything is bounded.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn project_all(object: &Value) {
    fn one<T: Project>(object: &Value) {
        if let Some(item) = T::from_json(object) {
            let (namespace, name) = item.key();
            assert!(!name.is_empty());
            assert!(name.chars().count() <= MOST_NAME && namespace.chars().count() <= MOST_NAME);
            assert!(serde_json::to_vec(&item).unwrap().len() < 2_000_000);
        }
    }
    one::<Node>(object);
    one::<Machine>(object);
    one::<MachineSet>(object);
    one::<ControlPlaneMachineSet>(object);
    one::<Pool>(object);
    one::<Operator>(object);
    one::<Version>(object);
    one::<Pod>(object);
    one::<Workload>(object);
    one::<Event>(object);
    one::<Etcd>(object);
    one::<Infrastructure>(object);
    one::<Network>(object);
    one::<Proxy>(object);
    one::<IngressController>(object);
    one::<AroCluster>(object);
}

/// Any JSON whose keys are mostly those that are read.
fn any_json() -> impl Strategy<Value = Value> {
    let words = [
        "metadata",
        "name",
        "namespace",
        "spec",
        "status",
        "conditions",
        "type",
        "labels",
        "annotations",
        "taints",
        "containers",
        "containerStatuses",
        "state",
        "waiting",
        "terminated",
        "running",
        "providerSpec",
        "value",
        "osDisk",
        "capacity",
        "allocatable",
        "cpu",
        "memory",
        "history",
        "versions",
        "relatedObjects",
        "replicas",
        "ownerReferences",
        "kind",
        "lastTransitionTime",
        "message",
        "reason",
        "involvedObject",
        "httpProxy",
        "template",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
        proptest::sample::select(vec![
            "openshift-etcd",
            "True",
            "Ready",
            "9e999",
            "12Ki",
            "2026-01-01T00:00:00Z"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 120, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(words.to_vec()), inner), 0..10)
                .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_objects_never_panic(object in any_json(), spec in any_json(), status in any_json()) {
        project_all(&object);
        project_all(&json!({"metadata": {"name": "a", "namespace": "openshift-etcd"}, "spec": spec, "status": status}));
        project_all(&json!({"metadata": object, "spec": {"template": spec}, "status": {"conditions": status}}));
    }
}

#[test]
fn readiness_is_of_the_condition_and_not_of_its_place() {
    let node = |conditions: Value, unschedulable: Value| {
        let object = json!({"metadata": {"name": "n"}, "spec": {"unschedulable": unschedulable},
            "status": {"conditions": conditions}});
        Node::from_json(&object).unwrap()
    };
    let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"});
    let pressure = json!({"type": "MemoryPressure", "status": "True", "message": "little left"});
    let first = node(json!([ready, pressure]), Value::Null);
    let last = node(json!([pressure, ready]), json!(true));
    assert!(first.ready.is_true() && last.ready.is_true());
    assert!(first.schedulable && !last.schedulable);
    assert_eq!(first.pressures.len(), 1);
    assert_eq!(node(json!([]), Value::Null).ready, Status::Unknown);
    assert_eq!(node(json!("none"), json!("yes")).ready, Status::Unknown);
}

#[test]
fn huge_and_hostile_members_are_bounded() {
    let conditions: Vec<_> = (0..5_000)
        .map(|n| json!({"type": format!("C{n}"), "status": "True", "message": "m".repeat(5_000)}))
        .collect();
    let annotations: Map<String, Value> =
        (0..1_000).map(|n| (format!("a{n}"), Value::from("x".repeat(1_000_000 / 1_000)))).collect();
    let object = json!({
        "metadata": {"name": "<script>alert(1)</script>\u{202e}\n".repeat(100), "annotations": annotations,
            "labels": {"big": "y".repeat(1_000_000)}, "creationTimestamp": "9999-01-01T00:00:00Z"},
        "status": {"conditions": conditions},
    });
    let node = Node::from_json(&object).unwrap();
    assert_eq!(node.meta.name.chars().count(), MOST_NAME);
    assert!(!node.meta.name.contains(['\u{202e}', '\n']));
    assert_eq!(node.conditions.len(), MOST_CONDITIONS);
    assert!(node.conditions.iter().all(|condition| condition.message.chars().count() <= MOST_MESSAGE));
    assert_eq!(node.annotations.len(), MOST_LABELS);
    assert!(node.labels["big"].ends_with('…') && node.labels["big"].chars().count() <= MOST_VALUE + 1);
    assert!(node.meta.created.is_some(), "a time in the future is a time");
    assert!(serde_json::to_vec(&node).unwrap().len() < 1_000_000);
}

#[test]
fn pods_are_shown_in_one_word() {
    let pod = |status: Value| {
        let object = json!({"metadata": {"name": "p", "namespace": "openshift-dns"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "initContainers": [{"name": "i"}]}, "status": status});
        Pod::from_json(&object).unwrap()
    };
    let loops = pod(json!({"phase": "Running",
        "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}],
        "containerStatuses": [{"name": "c", "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"reason": "Error", "exitCode": 1}}}]}));
    assert_eq!((loops.status.as_str(), loops.restarts()), ("CrashLoopBackOff", 7));
    assert_eq!(loops.containers[0].last, Some(("Error".to_owned(), 1, None)));
    let pulls = pod(json!({"phase": "Pending",
        "initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "ErrImagePull"}}}]}));
    assert_eq!(pulls.status, "Init:ErrImagePull");
    let evicted = pod(json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}));
    assert_eq!(evicted.status, "Evicted");
    let customer = json!({"metadata": {"name": "p", "namespace": "shop"}});
    assert!(Pod::from_json(&customer).is_none());
}

#[test]
fn provider_specs_are_read_in_any_case() {
    let object = json!({"metadata": {"name": "s", "namespace": "openshift-machine-api"}, "spec": {"template": {"spec":
        {"providerSpec": {"value": {"VMSize": "Standard_D4s_v5", "vnet": "v", "OSDisk": {"managedDisk":
            {"StorageAccountType": "Premium_LRS"}, "diskSizeGB": 128}}}}}}});
    let set = MachineSet::from_json(&object).unwrap();
    assert_eq!(
        (set.vm_size.as_str(), set.disk_type.as_str(), set.disk_gb),
        ("Standard_D4s_v5", "Premium_LRS", Some(128))
    );
    assert_eq!(set.desired, 1, "unset means one");
    let odd = json!({"metadata": {"name": "s"}, "spec": {"template": {"spec": {"providerSpec": {"value": "text"}}}}});
    assert_eq!(MachineSet::from_json(&odd).unwrap().vm_size, "");
}

#[test]
fn a_proxys_password_is_not_kept() {
    let object = json!({"metadata": {"name": "cluster"}, "status": {"httpProxy": "http://u:secret@proxy:3128",
        "noProxy": ".svc, localhost,"}});
    let proxy = Proxy::from_json(&object).unwrap();
    assert_eq!(proxy.http, "http://proxy:3128");
    assert_eq!(proxy.no_proxy, [".svc", "localhost"]);
}

#[test]
fn progress_is_read_from_the_words() {
    let version = |words: &str| Version {
        current: "4.18.1".into(),
        desired: "4.19.9".into(),
        updating: Some(words.into()),
        ..Version::default()
    };
    let told = version("Working towards 4.19.9: 543 of 880 done (61% complete), waiting on etcd");
    assert_eq!((told.percent(), told.moving_to()), (Some(61), Some("4.19.9")));
    for odd in ["", "%", "999999999999% done", "101%", "٣%"] {
        assert_eq!(version(odd).percent(), None, "{odd}");
    }
    assert_eq!(Version::default().moving_to(), None);
}
