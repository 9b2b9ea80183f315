//! Pods of the platform's workloads.

use serde_json::{Value, json};

use super::nodes::{Node, nodes};
use super::workloads::{WORKLOADS, Workload, WorkloadKind};
use super::{AGE, Cell, Column, Kind, NAME, View, column, condition, instant, metadata, wide};
use crate::fleet::Dice;

pub(super) const PODS: Kind = Kind {
    group: "",
    version: "v1",
    plural: "pods",
    singular: "pod",
    kind: "Pod",
    namespaced: true,
    short: &["po"],
    categories: &["all"],
    list,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Ready", Cell::Of(ready)),
    column("Status", Cell::Of(state)),
    column("Restarts", Cell::Of(restarts)),
    AGE,
    wide("IP", Cell::At("/status/podIP")),
    wide("Node", Cell::At("/spec/nodeName")),
];

fn ready(pod: &Value) -> Value {
    let statuses = pod["status"]["containerStatuses"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ready = statuses.iter().filter(|status| status["ready"] == true).count();
    json!(format!("{ready}/{}", statuses.len()))
}

/// Of all its containers, as an API server counts them.
fn restarts(pod: &Value) -> Value {
    let statuses = pod["status"]["containerStatuses"].as_array().map(Vec::as_slice).unwrap_or_default();
    let counts = statuses.iter().filter_map(|status| status["restartCount"].as_u64());
    json!(counts.fold(0, u64::saturating_add))
}

fn state(pod: &Value) -> Value {
    let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"];
    if waiting.is_string() { waiting.clone() } else { pod["status"]["phase"].clone() }
}

/// One pod, before it is JSON.
struct Pod<'a> {
    workload: &'static Workload,
    name: String,
    node: &'a Node,
    /// Restarts repeatedly, as its operator reports.
    crashing: bool,
}

fn list(view: &View<'_>) -> Vec<Value> {
    let nodes = nodes(view);
    let troubles = view.cluster.troubles();
    let mut all = Vec::new();
    for workload in &WORKLOADS {
        let troubled = troubles.iter().any(|trouble| trouble.operator == workload.operator);
        pods(view, workload, &nodes, troubled, &mut all);
    }
    all.iter().map(|pod| object(view, pod)).collect()
}

/// Names of a workload's pods.
pub fn pod_names(view: &View<'_>, name: &str) -> Vec<String> {
    let nodes = nodes(view);
    let mut made = Vec::new();
    for workload in WORKLOADS.iter().filter(|workload| workload.name == name) {
        pods(view, workload, &nodes, false, &mut made);
    }
    made.into_iter().map(|pod| pod.name).collect()
}

/// Namespace, pod and container of what runs.
pub fn containers(view: &View<'_>) -> Vec<(String, String, String)> {
    let nodes = nodes(view);
    let mut made = Vec::new();
    for workload in &WORKLOADS {
        pods(view, workload, &nodes, false, &mut made);
    }
    made.into_iter()
        .map(|pod| (pod.workload.namespace.to_owned(), pod.name, container_name(pod.workload).to_owned()))
        .collect()
}

/// The first container of a workload's pods.
fn container_name(workload: &'static Workload) -> &'static str {
    if workload.operator == "aro" { "aro-operator" } else { workload.name }
}

/// The image of the first container: that of the operator which the service deployed, else an invented one.
fn image(view: &View<'_>, workload: &Workload) -> String {
    let key = || ("deployments.apps".to_owned(), workload.namespace.to_owned(), workload.name.to_owned());
    let written = view.cluster.written().filter(|_| workload.operator == "aro");
    let deployed = written.and_then(|written| written.get(&key()));
    let image =
        deployed.as_ref().and_then(|one| one["spec"]["template"]["spec"]["containers"][0]["image"].as_str());
    image.map_or_else(
        || format!("quay.invalid/simulated/{}:{}", workload.name, view.cluster.version),
        str::to_owned,
    )
}

fn pods<'a>(
    view: &View<'_>,
    workload: &'static Workload,
    nodes: &'a [Node],
    troubled: bool,
    into: &mut Vec<Pod<'a>>,
) {
    let mut dice = view.cluster.dice(workload.name);
    let hash = dice.letters(9);
    let count = match workload.form {
        WorkloadKind::Deployment(count) | WorkloadKind::StatefulSet(count) => count,
        WorkloadKind::Static => 3,
        WorkloadKind::DaemonSet => nodes.len(),
    };
    for number in 0..count {
        let at = match workload.form {
            WorkloadKind::StatefulSet(_) | WorkloadKind::Deployment(_)
                if matches!(workload.operator, "ingress" | "monitoring") =>
            {
                3 + number
            }
            _ => number,
        };
        let Some(node) = nodes.get(at % nodes.len().max(1)) else { continue };
        let name = match workload.form {
            WorkloadKind::StatefulSet(_) => format!("{}-{number}", workload.name),
            WorkloadKind::Static => format!("{}-{}", workload.name, node.name),
            WorkloadKind::DaemonSet => format!("{}-{}", workload.name, dice.letters(5)),
            WorkloadKind::Deployment(_) => format!("{}-{hash}-{}", workload.name, dice.letters(5)),
        };
        into.push(Pod { workload, name, node, crashing: troubled && number + 1 == count });
    }
}

/// 64 hexadecimal digits, as ids of containers and digests of images have.
fn hexadecimal(dice: &mut Dice) -> String {
    (0..4).map(|_| format!("{:016x}", dice.next())).collect()
}

fn object(view: &View<'_>, pod: &Pod<'_>) -> Value {
    let workload = pod.workload;
    let namespace = workload.namespace;
    let component = match workload.name {
        "thanos-querier" => "thanos-query",
        "prometheus-k8s" => "prometheus",
        "alertmanager-main" => "alertmanager",
        name => name,
    };
    let application = match workload.name {
        "kube-apiserver" => "openshift-kube-apiserver",
        name => name,
    };
    let mut labels = json!({"app": application, "k8s-app": workload.name, "app.kubernetes.io/name": component,
        "app.kubernetes.io/part-of": workload.operator});
    if workload.name == "router-default" {
        labels["ingresscontroller.operator.openshift.io/deployment-ingresscontroller"] = json!("default");
    }
    let mut metadata = metadata(view, "pods", Some(namespace), &pod.name, &labels);
    if workload.form == WorkloadKind::Static {
        // The kubelet runs it from a file; the API server has its mirror, which no drain moves away.
        metadata["annotations"]["kubernetes.io/config.mirror"] =
            json!(hexadecimal(&mut view.cluster.dice(&pod.name)));
    }
    let image = image(view, workload);
    let mut dice = view.cluster.dice(&pod.name);
    let ready = pod.node.ready && !pod.crashing;
    let started = metadata["creationTimestamp"].clone();
    let running = json!({"running": {"startedAt": started}});
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff",
        "message": "back-off 5m0s restarting failed container"}});
    let digest = hexadecimal(&mut view.cluster.dice(&image));
    let image_id = format!("quay.invalid/simulated/{}@sha256:{digest}", workload.name);
    let names = [container_name(workload), "kube-rbac-proxy"];
    let statuses: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let bad = pod.crashing && number == 0;
            let container = format!("cri-o://{}", hexadecimal(&mut view.cluster.dice(&format!("{}/{name}", pod.name))));
            let ended = json!({"terminated": {"exitCode": 1, "reason": "Error", "containerID": container,
                "startedAt": instant(view.cluster.troubled_since()), "finishedAt": instant(view.cluster.troubled_since())}});
            json!({"name": name, "ready": pod.node.ready && !bad, "started": !bad, "image": image,
                "imageID": image_id, "containerID": container,
                "restartCount": if bad { 40 + dice.below(300) } else { dice.below(3) },
                "state": if bad { &waiting } else { &running }, "lastState": if bad { ended } else { json!({}) }})
        })
        .collect();
    let containers: Vec<Value> = names
        .iter()
        .map(|name| {
            json!({"name": name, "image": image,
        "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}}})
        })
        .collect();
    let ip = format!("10.{}.{}.{}", 128 + pod.node.zone, dice.below(250), 2 + dice.below(250));
    let (why, since) = if ready {
        ("", view.cluster.created)
    } else {
        ("ContainersNotReady", view.cluster.troubled_since())
    };
    json!({
        "kind": "Pod", "apiVersion": "v1", "metadata": metadata,
        "spec": {"nodeName": pod.node.name, "containers": containers, "serviceAccountName": workload.name,
            "restartPolicy": "Always", "priorityClassName": "system-cluster-critical"},
        "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "hostIP": pod.node.ip, "hostIPs": [{"ip": pod.node.ip}], "startTime": started,
            "qosClass": "Burstable", "containerStatuses": statuses,
            "conditions": [
                condition("Initialized", true, "", "", view.cluster.created),
                condition("Ready", ready, why, "", since),
                condition("ContainersReady", ready, why, "", since),
                condition("PodScheduled", true, "", "", view.cluster.created),
            ]},
    })
}
