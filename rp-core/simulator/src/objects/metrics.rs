//! `metrics.k8s.io/v1beta1`: what nodes and containers use at an instant, as `kubectl top` reads it.

use serde_json::{Value, json};

use super::nodes::{Node, nodes};
use super::pods::containers;
use super::{Cell, Column, Kind, NAME, View, column, instant};

pub(super) const NODES: Kind = metrics("nodes", "", "NodeMetrics", false, list_nodes);
pub(super) const PODS: Kind = metrics("pods", "", "PodMetrics", true, list_pods);

const COLUMNS: &[Column] = &[NAME, column("Window", Cell::At("/window"))];
/// The label of everything here.
const SIMULATED: &str = "aro.openshift.io/simulated";
/// Values change that often, seconds.
const WINDOW: i64 = 30;

const fn metrics(
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    namespaced: bool,
    list: fn(&View<'_>) -> Vec<Value>,
) -> Kind {
    Kind {
        group: "metrics.k8s.io",
        version: "v1beta1",
        plural,
        singular,
        kind,
        namespaced,
        short: &[],
        categories: &[],
        list,
        columns: COLUMNS,
    }
}

/// Between a low and a high value: the same for a name within a window.
fn usage(view: &View<'_>, name: &str, low: usize, high: usize) -> usize {
    let window = view.now.seconds() / WINDOW;
    let steady = view.cluster.dice(&format!("usage {name}")).below((high - low) * 3 / 4);
    low + steady + view.cluster.dice(&format!("usage {name} {window}")).below((high - low) / 4)
}

fn object(view: &View<'_>, kind: &Kind, metadata: &Value) -> Value {
    json!({"kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata,
        "timestamp": instant(view.now), "window": format!("{WINDOW}.0s")})
}

/// CPU in millicores and memory in KiB.
fn values(view: &View<'_>, name: &str, cpu: (usize, usize), memory: (usize, usize)) -> Value {
    json!({"cpu": format!("{}m", usage(view, &format!("cpu {name}"), cpu.0, cpu.1)),
        "memory": format!("{}Ki", usage(view, &format!("memory {name}"), memory.0, memory.1))})
}

fn list_nodes(view: &View<'_>) -> Vec<Value> {
    // A node that does not answer is not measured.
    nodes(view).iter().filter(|node| node.ready).map(|node| node_metrics(view, node)).collect()
}

fn node_metrics(view: &View<'_>, node: &Node) -> Value {
    let (cpu, memory) = match node.master {
        true => ((1200, 3600), (12_000_000, 24_000_000)),
        false => ((300, 2400), (4_000_000, 12_000_000)),
    };
    let role = if node.master { "node-role.kubernetes.io/master" } else { "node-role.kubernetes.io/worker" };
    let metadata = json!({"name": node.name, "creationTimestamp": instant(view.now),
        "labels": {"kubernetes.io/hostname": node.name, role: "", SIMULATED: "true"}});
    let mut object = object(view, &NODES, &metadata);
    object["usage"] = values(view, &node.name, cpu, memory);
    object
}

fn list_pods(view: &View<'_>) -> Vec<Value> {
    let pods = containers(view).into_iter().map(|(namespace, pod, container)| {
        let metadata = json!({"name": pod, "namespace": namespace, "creationTimestamp": instant(view.now),
            "labels": {"app": container, "k8s-app": container, SIMULATED: "true"}});
        let mut object = object(view, &PODS, &metadata);
        let usage = |name: &str, cpu, memory| {
            json!({"name": name, "usage": values(view, &format!("{pod}/{name}"), cpu, memory)})
        };
        object["containers"] = json!([
            usage(&container, (3, 240), (40_000, 800_000)),
            usage("kube-rbac-proxy", (1, 9), (20_000, 40_000)),
        ]);
        object
    });
    pods.collect()
}

#[cfg(test)]
mod tests {
    use rp_base::Timestamp;

    use super::*;
    use crate::fleet::Fleet;

    #[test]
    fn every_ready_node_and_every_pod_is_measured_within_its_capacity() {
        let now = Timestamp::from_seconds(1_795_000_000);
        let fleet = Fleet::new(7, 60, Vec::new(), now);
        let cluster = fleet.cluster(0).unwrap();
        let view = View { cluster: &cluster, now };
        let measured = list_nodes(&view);
        assert_eq!(measured.len(), nodes(&view).iter().filter(|node| node.ready).count());
        for node in &measured {
            let cpu = node["usage"]["cpu"].as_str().unwrap().trim_end_matches('m').parse::<usize>().unwrap();
            assert!((1..=7500).contains(&cpu), "{node}");
        }
        let pods = list_pods(&view);
        assert_eq!(pods.len(), containers(&view).len());
        assert!(pods[0]["containers"][1]["usage"]["memory"].as_str().unwrap().ends_with("Ki"));
        // The same at the same instant.
        assert_eq!(list_pods(&view), pods);
    }
}
