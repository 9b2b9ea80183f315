//! What the real cluster of the story has.

use std::time::Duration;

use rp_base::{Clock as _, SystemClock};
use serde_json::{Value, json};

const MACHINES: &str = "openshift-machine-api";

/// Run-books.
pub(super) fn settings() -> Vec<(String, String)> {
    let books = "etcd=https://books.example/lost-member,*=https://books.example/operators/{name}";
    vec![("ARO_PORTAL__RUNBOOKS".to_owned(), books.to_owned())]
}

/// So many minutes ago, by the clock of this machine; below zero: still to come.
fn ago(minutes: i64) -> String {
    let (now, by) = (SystemClock.now(), Duration::from_mins(minutes.unsigned_abs()));
    if minutes < 0 { now + by } else { now - by }.to_string()
}

fn object(version: &str, kind: &str, namespace: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    for (key, value) in rest.as_object().into_iter().flatten() {
        match (key.as_str(), object["metadata"].as_object_mut(), value.as_object()) {
            ("metadata", Some(metadata), Some(more)) => metadata.extend(more.clone()),
            _ => object[key] = value.clone(),
        }
    }
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

fn condition(kind: &str, status: &str, minutes: i64, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "lastTransitionTime": ago(minutes), "reason": reason, "message": message})
}

/// Everything, each with its status.
pub(super) fn all() -> Vec<Value> {
    let mut all: Vec<Value> = [MACHINES, "openshift-etcd"]
        .iter()
        .map(|name| object("v1", "Namespace", "", name, &json!({})))
        .collect();
    all.push(version());
    all.extend(operators());
    all.extend(nodes());
    all.extend(machines());
    all.extend(pools());
    all.push(warning());
    all.extend(hostile());
    all
}

fn version() -> Value {
    let done = |version: &str, days: i64| {
        json!({"state": "Completed", "version": version, "image": "image", "startedTime": ago(days * 1440 + 60),
            "completionTime": ago(days * 1440), "verified": true})
    };
    let now = json!({"state": "Partial", "version": "4.19.9", "image": "image", "startedTime": ago(134),
        "completionTime": null, "verified": true});
    object(
        "config.openshift.io/v1",
        "ClusterVersion",
        "",
        "version",
        &json!({
            "spec": {"clusterID": "00000000-0000-4000-8000-000000000001", "channel": "stable-4.19"},
            "status": {
                "desired": {"version": "4.19.9", "image": "image"}, "observedGeneration": 1, "versionHash": "hash",
                "availableUpdates": null, "history": [now, done("4.18.22", 70), done("4.17.30", 200)],
                "conditions": [
                    condition("Available", "True", 100_000, "", "Done applying 4.18.22"),
                    condition("Progressing", "True", 134, "", "Working towards 4.19.9: 549 of 880 done (62% complete)"),
                ],
            },
        }),
    )
}

fn operators() -> Vec<Value> {
    let operator = |name: &str, available: Value, degraded: Value| {
        let progressing = condition("Progressing", "False", 9_000, "AsExpected", "");
        object(
            "config.openshift.io/v1",
            "ClusterOperator",
            "",
            name,
            &json!({"spec": {}, "status": {
                // Degraded stands first: nothing is found by its place.
                "conditions": [degraded, progressing, available],
                "versions": [{"name": "operator", "version": "4.18.22"}],
                "relatedObjects": [
                    {"group": "", "resource": "namespaces", "name": format!("openshift-{name}")},
                    {"group": "operator.openshift.io", "resource": format!("{name}s"), "name": "cluster"},
                ],
            }}),
        )
    };
    let fine = || condition("Available", "True", 9_000, "AsExpected", "");
    let sound = || condition("Degraded", "False", 9_000, "AsExpected", "");
    vec![
        operator("dns", fine(), sound()),
        operator(
            "authentication",
            condition("Available", "False", 41, "OAuthServer", "no route to it"),
            sound(),
        ),
        operator(
            "etcd",
            fine(),
            condition("Degraded", "True", 47, "EtcdMembersDegraded", "2 of 3 members are available"),
        ),
    ]
}

fn nodes() -> Vec<Value> {
    let node = |name: &str, machine: &str, spec: Value, conditions: Value| {
        object(
            "v1",
            "Node",
            "",
            name,
            &json!({
                "metadata": {
                    "labels": {"node-role.kubernetes.io/worker": "", "node.kubernetes.io/instance-type": "Standard_D4s_v5"},
                    "annotations": {"machine.openshift.io/machine": format!("{MACHINES}/{machine}")},
                },
                "spec": spec,
                "status": {
                    "conditions": conditions,
                    "capacity": {"cpu": "4", "memory": "16Gi", "pods": "250", "ephemeral-storage": "128Gi"},
                    "allocatable": {"cpu": "3500m", "memory": "14Gi", "pods": "250", "ephemeral-storage": "100Gi"},
                    "nodeInfo": {"kubeletVersion": "v1.31.9", "osImage": "CoreOS", "kernelVersion": "5.14", "machineID": "", "systemUUID": "",
                        "bootID": "", "containerRuntimeVersion": "cri-o://1.31", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"},
                },
            }),
        )
    };
    let beat = |mut condition: Value| {
        condition["lastHeartbeatTime"] = json!(ago(1));
        condition
    };
    let ready = || beat(condition("Ready", "True", 9_000, "KubeletReady", "kubelet is posting ready status"));
    let calm = |kind: &str| beat(condition(kind, "False", 9_000, "KubeletHasEnough", ""));
    let full =
        beat(condition("DiskPressure", "True", 268, "KubeletHasDiskPressure", "4.1 GiB left of 128 GiB"));
    let dead =
        beat(condition("Ready", "Unknown", 47, "NodeStatusUnknown", "Kubelet stopped posting node status."));
    let unreachable = json!({"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]});
    let other = json!({"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]});
    vec![
        node("node-1", "machine-1", other, json!([calm("MemoryPressure"), calm("DiskPressure"), ready()])),
        node("node-dead", "machine-dead", unreachable, json!([dead])),
        node("node-full", "machine-full", json!({}), json!([full, ready()])),
        node("node-cordoned", "machine-cordoned", json!({"unschedulable": true}), json!([ready()])),
        node("node-fine", "machine-fine", json!({}), json!([ready()])),
    ]
}

fn machines() -> Vec<Value> {
    let provider = json!({"apiVersion": "machine.openshift.io/v1beta1", "kind": "AzureMachineProviderSpec",
        "vmSize": "Standard_D4s_v5", "zone": "1", "vnet": "vnet-harbor", "subnet": "worker-subnet",
        "publicLoadBalancer": "lb", "osDisk": {"diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}}});
    let machine = |name: &str, node: &str, status: Value| {
        let mut status = status;
        if !node.is_empty() {
            status["nodeRef"] = json!({"kind": "Node", "name": node});
        }
        status["lastUpdated"] = json!(ago(30));
        object(
            "machine.openshift.io/v1beta1",
            "Machine",
            MACHINES,
            name,
            &json!({
                "metadata": {"labels": {
                    "machine.openshift.io/cluster-api-machineset": "workers-a",
                    "machine.openshift.io/cluster-api-machine-role": "worker",
                }},
                "spec": {"providerSpec": {"value": provider}}, "status": status,
            }),
        )
    };
    let set = object(
        "machine.openshift.io/v1beta1",
        "MachineSet",
        MACHINES,
        "workers-a",
        &json!({
            "metadata": {"labels": {"machine.openshift.io/cluster-api-machine-type": "worker"}},
            "spec": {"replicas": 6, "selector": {"matchLabels": {"set": "workers-a"}}, "template": {
                "metadata": {"labels": {"set": "workers-a"}}, "spec": {"providerSpec": {"value": provider}}}},
            "status": {"replicas": 5, "readyReplicas": 5, "availableReplicas": 5},
        }),
    );
    vec![
        machine("machine-1", "node-1", json!({"phase": "Running"})),
        machine("machine-dead", "node-dead", json!({"phase": "Running"})),
        machine(
            "machine-failed",
            "",
            json!({"phase": "Failed", "errorReason": "CreateError", "errorMessage": "SkuNotAvailable in zone 3"}),
        ),
        set,
    ]
}

fn pools() -> Vec<Value> {
    let pool = |name: &str, degraded: u64| {
        object(
            "machineconfiguration.openshift.io/v1",
            "MachineConfigPool",
            "",
            name,
            &json!({"spec": {"configuration": {"name": format!("rendered-{name}-1")}}, "status": {
                "conditions": [condition("Updated", "True", 900, "", "")],
                "configuration": {"name": format!("rendered-{name}-1")},
                "machineCount": 3, "readyMachineCount": 3, "updatedMachineCount": 3, "unavailableMachineCount": 0,
                "degradedMachineCount": degraded, "observedGeneration": 1,
            }}),
        )
    };
    vec![pool("master", 1), pool("worker", 0)]
}

fn warning() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "etcd.1", "namespace": "openshift-etcd"},
        "involvedObject": {"kind": "Pod", "namespace": "openshift-etcd", "name": "etcd-master-2"},
        "type": "Warning", "reason": "FailedMount", "message": "MountVolume.SetUp failed", "count": 38,
        "firstTimestamp": ago(40), "lastTimestamp": ago(1), "source": {"component": "kubelet", "host": "node-dead"},
    })
}

/// Names must be names; everything else may be anything.
fn hostile() -> Vec<Value> {
    let nasty = "\"'><script>alert(1)</script>\u{202e}gnp.exe {{7*7}}";
    let long = "lighthouse ".repeat(3_000);
    let mut conditions = vec![
        condition("Available", "False", -5_000_000, "Bad", &format!("{nasty} {long}")),
        condition("Degraded", "Perhaps", 5, "Bad", nasty),
    ];
    conditions.extend((0..600).map(|i| condition(&format!("Kind{i}"), "True", 5, "Many", nasty)));
    let operator = object(
        "config.openshift.io/v1",
        "ClusterOperator",
        "",
        "hostile",
        &json!({"spec": {}, "status": {"conditions": conditions}}),
    );
    let huge = "x".repeat(200_000);
    let odd = object(
        "v1",
        "Node",
        "",
        "node-odd",
        &json!({"metadata": {"annotations": {"huge": huge, "nasty": nasty, "machine.openshift.io/machine": nasty}}}),
    );
    vec![operator, odd]
}
