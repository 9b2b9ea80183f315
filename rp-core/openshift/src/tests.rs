//! Facts about objects, and objects that are not what they should be.

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

/// A reader that skips what only some keep.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Brief;

impl Reader for Brief {
    const LABELS: Option<&'static [&'static str]> = Some(&["node-role.kubernetes.io/worker", "os"]);
    type Text<const MOST: usize> = Text<MOST>;
    type More<T: Member> = Skipped;
}

#[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
fn read<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_str(&object.to_string()).unwrap()
}

#[test]
fn a_reader_keeps_its_labels_and_texts() {
    let object = json!({"metadata": {"name": "ü".repeat(400), "labels": {"os": "x", "other": "y"}},
        "spec": {"taints": [{"key": "a", "timeAdded": "2026-01-02T03:04:05Z"}], "unschedulable": true}});
    let brief: Node<Brief> = read(object.clone());
    assert_eq!(brief.metadata.name.as_str().len(), 252, "cut at a character");
    assert_eq!((brief.metadata.labels.get("os"), brief.metadata.labels.get("other")), (Some("x"), None));
    let whole: Node<Whole> = read(object);
    assert_eq!(whole.metadata.name.as_str().len(), 800);
    assert_eq!(whole.metadata.labels.iter().count(), 2);
    assert!(whole.spec.unschedulable && whole.spec.taints[0].time_added.0.is_some());
}

#[test]
fn nodes_have_readiness_roles_pressures_and_a_machine() {
    let node: Node<Whole> = read(json!({
        "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": ""},
            "annotations": {"machine.openshift.io/machine": "openshift-machine-api/w-0"}},
        "status": {"conditions": [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": "True"}]}}));
    assert!(node.ready().is_true());
    assert_eq!(node.roles().collect::<Vec<_>>(), ["infra", "worker"]);
    assert_eq!(node.main_role(), Some(MainRole::Worker));
    assert_eq!(node.pressures().count(), 1);
    assert_eq!(node.machine(), Some("openshift-machine-api/w-0"));
    let bare: Node<Whole> = read(json!({"status": {"conditions": "none"}}));
    assert_eq!((bare.ready(), bare.main_role(), bare.machine()), (Status::Unknown, None, None));
}

#[test]
fn an_operator_is_bad_when_it_says_so() {
    let is_bad = |available: &str, degraded: &str| {
        let conditions =
            json!([{"type": "Degraded", "status": degraded}, {"type": "Available", "status": available}]);
        let operator: ClusterOperator<Whole> = read(json!({"status": {"conditions": conditions,
            "versions": [{"name": "operand", "version": "1"}, {"name": "operator", "version": "4.16.9"}]}}));
        assert_eq!(operator.own_versions().collect::<Vec<_>>(), ["4.16.9"]);
        operator.state().is_bad()
    };
    assert!(is_bad("True", "True") && is_bad("False", "False"));
    assert!(!is_bad("True", "False") && !is_bad("True", "Unknown"));
}

#[test]
fn a_version_is_current_wanted_and_being_installed() {
    let entry = |version: &str, state: &str| json!({"version": version, "state": state});
    let version: ClusterVersion<Whole> = read(json!({"spec": {"desiredUpdate": {"version": "4.17.1"}},
        "status": {"desired": {"version": "4.17.0"},
            "history": [entry("4.17.0", "Partial"), entry("4.16.9", "Completed"), entry("4.15.1", "Completed")]}}));
    assert_eq!(version.current(), Some("4.16.9"));
    assert_eq!(version.wanted(), Some("4.17.1"));
    assert_eq!(version.installing(), Some("4.17.0"));
    let progressing = json!([{"type": "Progressing", "status": "True"}]);
    let version: ClusterVersion<Whole> = read(json!({"status": {"desired": {"version": "4.17.0"},
        "history": [entry("4.16.9", "Completed")], "conditions": progressing}}));
    assert_eq!((version.wanted(), version.installing()), (Some("4.17.0"), Some("4.17.0")));
    let empty: ClusterVersion<Whole> = read(json!({}));
    assert_eq!((empty.current(), empty.wanted(), empty.installing()), (None, None, None));
}

fn pod(status: &Value) -> Pod<Whole> {
    read(
        json!({"spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}, "status": status}),
    )
}

#[test]
fn pods_have_one_word_for_their_status() {
    let init = |state: Value| json!([{"name": "i", "state": state}]);
    let containers = |state: Value| json!([{"name": "c", "state": state}]);
    let word = |phase: &str, reason: &str, inits: Value, all: Value| {
        let status = json!({"phase": phase, "reason": reason, "initContainerStatuses": inits, "containerStatuses": all});
        pod(&status).word()
    };
    let done = || init(json!({"terminated": {"exitCode": 0, "reason": "Completed"}}));
    let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
    assert_eq!(word("Running", "", done(), containers(waiting("CrashLoopBackOff"))), "CrashLoopBackOff");
    assert_eq!(word("Pending", "", init(waiting("ErrImagePull")), json!([])), "Init:ErrImagePull");
    assert_eq!(word("Pending", "", init(waiting("PodInitializing")), json!([])), "Init");
    assert_eq!(
        word("Pending", "", init(json!({"running": {}})), containers(waiting("ErrImagePull"))),
        "ErrImagePull"
    );
    assert_eq!(
        word("Pending", "", init(json!({"terminated": {"exitCode": 3}})), json!([])),
        "Init:ExitCode:3"
    );
    assert_eq!(word("Failed", "Evicted", json!([]), json!([])), "Evicted");
    assert_eq!(
        word("Succeeded", "", done(), containers(json!({"terminated": {"exitCode": 0}}))),
        "Succeeded"
    );
    assert_eq!(word("Running", "", done(), containers(json!({"terminated": {"exitCode": 0}}))), "ExitCode:0");
    assert_eq!(word("Running", "", done(), containers(json!({"running": {}}))), "Running");
    let leaving: Pod<Whole> = read(json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}}));
    assert_eq!(leaving.word(), "Terminating");
}

#[test]
fn containers_say_why_they_wait_and_ended() {
    let pod: Pod<Brief> = read(json!({"status": {"containerStatuses": [
        {"restartCount": i64::MAX, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
            "lastState": {"terminated": {"reason": "Error"}}},
        {"restartCount": 1, "state": {"running": {}}}]}}));
    let [first, second] = pod.status.container_statuses.as_slice() else { unreachable!() };
    assert_eq!((first.waiting(), first.last_end()), (Some(("CrashLoopBackOff", "back-off")), "Error"));
    assert_eq!((second.waiting(), second.last_end()), (None, ""));
    assert_eq!(pod.restarts(), i64::MAX);
}

#[test]
fn provider_specs_are_read_in_any_case() {
    let machine: Machine<Whole> = read(json!({
        "metadata": {"labels": {"machine.openshift.io/cluster-api-machineset": "l"},
            "ownerReferences": [{"kind": "Other", "name": "x"}, {"kind": "MachineSet", "name": "s"}]},
        "spec": {"providerSpec": {"value": {"VMSize": "Standard_D4s_v5", "vnet": "v", "spotVMOptions": {}, "tags": {"a": [1]},
            "OSDisk": {"managedDisk": {"StorageAccountType": "Premium_LRS"}, "diskSizeGB": 128}, "osdisk2": null}}}}));
    let provider = machine.spec.provider_spec.value.as_ref().unwrap();
    assert_eq!(
        (provider.vm_size.as_str(), provider.vnet.as_str(), provider.spot.0),
        ("Standard_D4s_v5", "v", true)
    );
    assert_eq!(provider.os_disk.managed_disk.storage_account_type.as_str(), "Premium_LRS");
    assert_eq!(provider.os_disk.size_gb.0, Some(128));
    assert_eq!((machine.set(), machine.labelled_set()), ("s", "l"));
    let twice: Machine<Whole> =
        read(json!({"spec": {"providerSpec": {"value": {"vmSize": "a", "VMSIZE": "b"}}}}));
    assert!(twice.spec.provider_spec.value.is_some(), "no error");
    let odd: Machine<Brief> = read(json!({"spec": {"providerSpec": {"value": "text"}}}));
    assert!(odd.spec.provider_spec.value.is_none());
}

#[test]
fn sets_have_a_role_and_bounds() {
    let set: MachineSet<Whole> = read(json!({
        "metadata": {"labels": {"machine.openshift.io/cluster-api-machine-type": ""},
            "annotations": {"machine.openshift.io/cluster-api-autoscaler-node-group-min-size": "1",
            "machine.openshift.io/cluster-api-autoscaler-node-group-max-size": "9"}},
        "spec": {"template": {"metadata": {"labels": {"machine.openshift.io/cluster-api-machine-type": "infra"}}}}}));
    assert_eq!((set.role(), set.desired(), set.autoscaled()), ("infra", 1, Some((1, 9))));
}

#[test]
fn workloads_are_told_apart_and_counted() {
    let deployment: Workload<Brief> = read(json!({"metadata": {"generation": 3}, "spec": {"replicas": 2},
        "status": {"replicas": 2, "availableReplicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "observedGeneration": 3}}));
    assert_eq!(deployment.kind(), WorkloadKind::Deployment);
    assert!(deployment.is_rolled_out() && deployment.is_observed());
    assert_eq!((deployment.desired(), deployment.ready(), deployment.available()), (2, 2, 2));
    let set: Workload<Brief> = read(json!({"metadata": {"generation": 3},
        "status": {"desiredNumberScheduled": 6, "numberReady": 5, "numberAvailable": 4, "updatedNumberScheduled": 3}}));
    assert_eq!(set.kind(), WorkloadKind::DaemonSet);
    assert_eq!((set.desired(), set.ready(), set.available(), set.updated()), (6, 5, 4, 3));
    assert!(!set.is_observed());
    let stateful: Workload<Brief> = read(json!({"spec": {"serviceName": "s"}}));
    assert_eq!((stateful.kind(), stateful.desired()), (WorkloadKind::StatefulSet, 1));
}

#[test]
fn events_have_a_first_and_a_last_time() {
    let event: Event<Whole> = read(json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "lastTimestamp": "2026-01-02T00:00:00Z", "series": {"lastObservedTime": "2026-01-03T00:00:00Z", "count": 7},
        "count": 2, "reportingComponent": "kubelet"}));
    assert!(event.first().unwrap() < event.last().unwrap());
    assert_eq!(event.last().unwrap().to_string().get(..10), Some("2026-01-03"));
    assert_eq!((event.times(), event.reporter()), (7, "kubelet"));
}

#[test]
fn quantities_are_those_of_kubernetes() {
    for (text, millis) in [
        ("4", Some(4_000)),
        ("3500m", Some(3_500)),
        ("16Ki", Some(16_384_000)),
        ("1e3", Some(1_000_000)),
        ("0.5", Some(500)),
        ("", None),
        ("4 cores", None),
        ("1e99", None),
    ] {
        assert_eq!(Quantity::parse(text).millis, millis, "{text}");
    }
    let capacity: Capacity<Whole> =
        read(json!({"memory": "16393244Ki", "pods": "250", "cpu": 7, "ephemeral-storage": ["x"]}));
    let of = |text: &WholeText| Quantity::parse(text.as_str());
    assert_eq!(of(&capacity.memory).units, Some(16_393_244 * 1024));
    assert_eq!(
        (of(&capacity.pods).units, of(&capacity.cpu).units, of(&capacity.cpu).millis),
        (Some(250), Some(7), Some(7_000))
    );
    assert_eq!(of(&capacity.ephemeral_storage), Quantity::default());
}

#[test]
fn members_of_wrong_types_count_as_absent() {
    let node: Node<Whole> = read(
        json!({"metadata": {"name": 7, "labels": [], "generation": "12", "creationTimestamp": 3},
        "spec": "none", "status": {"conditions": [null, 3, {"type": true, "status": null}], "nodeInfo": 3, "capacity": []}}),
    );
    assert_eq!((node.metadata.name.as_str(), node.metadata.generation.0), ("7", Some(12)));
    assert_eq!((node.status.conditions.len(), node.status.conditions[0].kind.as_str()), (1, "true"));
    assert!(node.metadata.creation_timestamp.0.is_none());
}

#[test]
fn a_list_needs_items_and_says_where_it_goes_on() {
    let list: List<Object<Whole>> = read(
        json!({"metadata": {"continue": "next", "remainingItemCount": 7}, "items": [3,
        {"metadata": {"uid": "u", "resourceVersion": "9", "finalizers": ["f", ""]}, "status": {"conditions": [{"type": "A"}]}}]}),
    );
    assert_eq!((list.metadata.token.as_str(), list.metadata.remaining_item_count.0), ("next", Some(7)));
    let [object] = list.items.as_slice() else { unreachable!() };
    let meta = &object.metadata;
    assert_eq!((meta.uid.as_str(), meta.resource_version.as_str(), meta.finalizers.len()), ("u", "9", 1));
    assert_eq!(object.status.conditions.as_ref().map(Vec::len), Some(1));
    assert!(read::<List<Object<Brief>>>(json!({"items": null})).items.is_empty());
    assert!(serde_json::from_str::<List<Object<Brief>>>("{}").is_err());
}

#[test]
fn a_list_that_is_looked_at_may_lack_its_items() {
    for empty in [json!({}), json!({"kind": "ThingList", "metadata": {}}), json!({"items": null})] {
        assert!(read::<LenientList<Value>>(empty).items.is_empty());
    }
    let page: LenientList<Value> =
        read(json!({"metadata": {"continue": "next"}, "items": [{"a": 1}, 7, "text"]}));
    assert_eq!(page.metadata.token.as_str(), "next");
    assert_eq!(page.items, [json!({"a": 1})], "elements that are no objects are left out");
    assert!(serde_json::from_str::<LenientList<Value>>("\"text\"").is_err());
}

#[test]
fn values_of_secrets_never_print_and_may_be_of_another_type() {
    let pull: PullSecret<Whole> = read(json!({"type": "x", "data": {".dockerconfigjson": "e30="}}));
    assert_eq!(pull.data.config.as_ref().map(|config| config.expose().as_str()), Some("e30="));
    assert!(!format!("{pull:?}").contains("e30="));
    let odd: PullSecret<Whole> = read(json!({"immutable": true, "data": {".dockerconfigjson": [1]}}));
    assert!(odd.immutable && odd.data.config.is_none());
    let cloud: CloudProvider<Whole> = read(json!({"data": {"cloud-config": 7}}));
    assert!(cloud.data.config.is_none());
}

fn read_any(object: &Value) {
    fn one<T: DeserializeOwned>(text: &str) {
        let read = serde_json::from_str::<Option<T>>(text);
        assert!(read.is_ok() || !text.starts_with('{'), "{text}");
    }
    let text = object.to_string();
    one::<Node<Whole>>(&text);
    one::<Node<Brief>>(&text);
    one::<Pod<Whole>>(&text);
    one::<Machine<Whole>>(&text);
    one::<MachineSet<Whole>>(&text);
    one::<ControlPlaneMachineSet<Whole>>(&text);
    one::<Pool<Whole>>(&text);
    one::<ClusterOperator<Whole>>(&text);
    one::<ClusterVersion<Whole>>(&text);
    one::<Workload<Whole>>(&text);
    one::<Event<Whole>>(&text);
    one::<AroCluster<Whole>>(&text);
    one::<IngressController<Whole>>(&text);
    one::<Proxy<Whole>>(&text);
    one::<Network<Whole>>(&text);
}

const WORDS: &[&str] = &[
    "metadata",
    "name",
    "labels",
    "annotations",
    "spec",
    "status",
    "conditions",
    "type",
    "taints",
    "containers",
    "containerStatuses",
    "state",
    "waiting",
    "terminated",
    "providerSpec",
    "value",
    "osDisk",
    "OSDISK",
    "capacity",
    "cpu",
    "history",
    "versions",
    "replicas",
    "template",
    "series",
    "operatorflags",
    "servers",
];

/// Any JSON whose keys are mostly those that are read.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 120, 8, |inner| {
        let pairs = proptest::collection::vec((proptest::sample::select(WORDS), inner.clone()), 0..10);
        prop_oneof![
            proptest::collection::vec(inner, 0..8).prop_map(Value::from),
            pairs
                .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_objects_are_read(object in any_json(), spec in any_json(), status in any_json()) {
        read_any(&json!({"metadata": {"name": "a", "labels": object}, "spec": spec, "status": status}));
        read_any(&json!({"metadata": object, "spec": {"template": spec}, "status": {"conditions": status}}));
    }

    #[test]
    fn arbitrary_quantities_never_panic(text in "[-+0-9.eEkKMGTPimun]{0,45}") {
        let _ = Quantity::parse(&text);
    }
}
