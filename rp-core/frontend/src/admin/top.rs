//! What pods and nodes of a cluster use now (`contract/frontend.md` §11.1), as its metrics API says.

use std::collections::HashMap;
use std::time::Duration;

use rp_api::CloudError;
use rp_openshift::Quantity;
use serde::Serialize;
use serde_json::Value;

use super::cluster_api::ClusterApi;
use super::context::{ActionContext, within};
use super::object_writes::flag;
use super::rules;
use crate::fault::Fault;
use crate::response::{HttpResponse, compact_json};

/// Time limit for all requests to the cluster.
const WITHIN: Duration = Duration::from_secs(60);
/// Largest list, bytes.
const MOST: usize = 32 << 20;
/// Namespaces whose pods are shown.
const PREFIX: &str = "openshift-";

#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct TopPod {
    namespace: String,
    pod_name: String,
    node_name: String,
    cpu_usage: String,
    memory_usage: String,
    cpu_percentage: f64,
    memory_percentage: f64,
}

#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct TopNode {
    node_name: String,
    cpu_usage: String,
    memory_usage: String,
    cpu_percentage: f64,
    memory_percentage: f64,
}

/// CPU in thousandths of a core, memory in bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Usage {
    cpu: i64,
    memory: i64,
}

impl Usage {
    /// Of an object with the members `cpu` and `memory`; `None`: it has neither.
    fn read(of: &Value) -> Option<Self> {
        let quantity = |name: &str| of[name].as_str().map(Quantity::parse);
        let cpu = quantity("cpu").and_then(|told| told.millis);
        let memory = quantity("memory").and_then(|told| told.units);
        (cpu.is_some() || memory.is_some())
            .then(|| Self { cpu: cpu.unwrap_or_default(), memory: memory.unwrap_or_default() })
    }

    const fn plus(self, other: Self) -> Self {
        Self { cpu: self.cpu.saturating_add(other.cpu), memory: self.memory.saturating_add(other.memory) }
    }

    fn cpu_text(self) -> String {
        format!("{}m", self.cpu)
    }

    /// As Kubernetes writes it: the largest binary unit without a rest.
    fn memory_text(self) -> String {
        let units = ["", "Ki", "Mi", "Gi", "Ti"];
        let mut left = self.memory;
        let mut at = 0;
        while left != 0 && left % 1024 == 0 && at + 1 < units.len() {
            left /= 1024;
            at += 1;
        }
        format!("{left}{}", units.get(at).copied().unwrap_or_default())
    }
}

/// Per cent of a whole, with two decimals; 0 of an unknown whole.
#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn percent(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { (part as f64 / whole as f64 * 10_000.0).round() / 100.0 }
}

/// Pods of the platform, of all its namespaces or of the one in `namespace` (`contract/frontend.md` "Do better" 27).
pub(super) async fn pods(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await.map_err(not_found)?;
    let namespace = of.text("namespace");
    let all = of.call.parameter("allNamespaces").map_or(Ok(true), |text| flag(text, "allNamespaces"))?;
    if !namespace.is_empty() {
        rules::platform_namespace(namespace, |name| format!("The provided namespace '{name}' is invalid."))?;
    } else if !all {
        let message = "The namespace parameter is required with allNamespaces=false.";
        return Err(CloudError::invalid("namespace", message).into());
    }
    within(WITHIN, async {
        let api = of.api().await?;
        let scope = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
        let used = list(&api, &format!("/apis/metrics.k8s.io/v1beta1{scope}/pods")).await?;
        let placed = list(&api, &format!("/api/v1{scope}/pods")).await?;
        let nodes = capacities(&api).await?;
        Ok(compact_json(&rank_pods(&used, &placed, &nodes)))
    })
    .await
}

/// Nodes.
pub(super) async fn nodes(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await.map_err(not_found)?;
    within(WITHIN, async {
        let api = of.api().await?;
        let used = list(&api, "/apis/metrics.k8s.io/v1beta1/nodes").await?;
        Ok(compact_json(&rank_nodes(&used, &capacities(&api).await?)))
    })
    .await
}

/// These two routes name a missing cluster by the code `NotFound`.
fn not_found(fault: Fault) -> Fault {
    match fault {
        Fault::Refused(error) if error.status == 404 => {
            CloudError::new(404, "NotFound", "", error.body.message).into()
        }
        other => other,
    }
}

async fn list(api: &ClusterApi, path: &str) -> Result<Vec<Value>, CloudError> {
    let mut told: Value = api.get_as(path, MOST).await?;
    match told["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}

async fn capacities(api: &ClusterApi) -> Result<HashMap<String, Usage>, CloudError> {
    let nodes = list(api, "/api/v1/nodes").await?;
    let capacity = |node: &Value| Some((text(node, "name"), Usage::read(&node["status"]["capacity"])?));
    Ok(nodes.iter().filter_map(capacity).collect())
}

fn text(object: &Value, name: &str) -> String {
    object["metadata"][name].as_str().unwrap_or_default().to_owned()
}

/// By memory, most first; `None`: there is nothing to show.
fn rank_pods(used: &[Value], placed: &[Value], nodes: &HashMap<String, Usage>) -> Option<Vec<TopPod>> {
    // By namespace and name: pods of two namespaces may have the same name (`contract/frontend.md` "Do better" 27).
    let places: HashMap<(String, String), &str> = placed
        .iter()
        .filter_map(|pod| {
            Some(((text(pod, "namespace"), text(pod, "name")), pod["spec"]["nodeName"].as_str()?))
        })
        .collect();
    let row = |pod: &Value| {
        let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
        let containers = pod["containers"].as_array().into_iter().flatten();
        let usage = containers.filter_map(|one| Usage::read(&one["usage"])).reduce(Usage::plus)?;
        let node = places.get(&(namespace.clone(), name.clone())).copied().unwrap_or_default();
        let whole = nodes.get(node).copied().unwrap_or_default();
        namespace.starts_with(PREFIX).then(|| TopPod {
            namespace,
            pod_name: name,
            node_name: node.to_owned(),
            cpu_usage: usage.cpu_text(),
            memory_usage: usage.memory_text(),
            cpu_percentage: percent(usage.cpu, whole.cpu),
            memory_percentage: percent(usage.memory, whole.memory),
        })
    };
    let mut rows: Vec<TopPod> = used.iter().filter_map(row).collect();
    rows.sort_by(|a, b| {
        let names = || (&a.namespace, &a.pod_name).cmp(&(&b.namespace, &b.pod_name));
        b.memory_percentage.total_cmp(&a.memory_percentage).then_with(names)
    });
    (!rows.is_empty()).then_some(rows)
}

/// By CPU, most first.
fn rank_nodes(used: &[Value], nodes: &HashMap<String, Usage>) -> Option<Vec<TopNode>> {
    let row = |node: &Value| {
        let (name, usage) = (text(node, "name"), Usage::read(&node["usage"])?);
        let whole = nodes.get(&name).copied().unwrap_or_default();
        Some(TopNode {
            node_name: name,
            cpu_usage: usage.cpu_text(),
            memory_usage: usage.memory_text(),
            cpu_percentage: percent(usage.cpu, whole.cpu),
            memory_percentage: percent(usage.memory, whole.memory),
        })
    };
    let mut rows: Vec<TopNode> = used.iter().filter_map(row).collect();
    rows.sort_by(|a, b| {
        b.cpu_percentage.total_cmp(&a.cpu_percentage).then_with(|| a.node_name.cmp(&b.node_name))
    });
    (!rows.is_empty()).then_some(rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn used(namespace: &str, name: &str, usages: &Value) -> Value {
        json!({"metadata": {"namespace": namespace, "name": name}, "containers": usages})
    }

    #[test]
    fn pods_are_ranked_by_memory_of_their_own_node() {
        let nodes = HashMap::from([
            ("a".to_owned(), Usage { cpu: 4000, memory: 1 << 30 }),
            ("b".to_owned(), Usage { cpu: 8000, memory: 4 << 30 }),
        ]);
        let on = |namespace: &str, node: &str| json!({"metadata": {"namespace": namespace, "name": "same"}, "spec": {"nodeName": node}});
        let two = json!([{"usage": {"cpu": "1500000n", "memory": "512Mi"}}, {"usage": {"cpu": "10m", "memory": "0"}}]);
        let all = [
            used("openshift-b", "same", &two),
            used("openshift-a", "same", &two),
            used("default", "same", &json!([{"usage": {"cpu": "1", "memory": "1Gi"}}])),
            used("openshift-c", "idle", &json!([{"usage": {}}])),
        ];
        let placed = [on("openshift-a", "a"), on("openshift-b", "b"), on("default", "a")];
        let rows = rank_pods(&all, &placed, &nodes).unwrap();
        let told = serde_json::to_value(&rows).unwrap();
        assert_eq!(
            told,
            json!([
                {"namespace": "openshift-a", "podName": "same", "nodeName": "a", "cpuUsage": "12m",
                    "memoryUsage": "512Mi", "cpuPercentage": 0.3, "memoryPercentage": 50.0},
                {"namespace": "openshift-b", "podName": "same", "nodeName": "b", "cpuUsage": "12m",
                    "memoryUsage": "512Mi", "cpuPercentage": 0.15, "memoryPercentage": 12.5},
            ])
        );
        assert_eq!(rank_pods(&all[2..], &placed, &nodes), None);
    }

    #[test]
    fn memory_is_written_as_kubernetes_does() {
        let of = |memory| Usage { cpu: 0, memory }.memory_text();
        assert_eq!(
            (of(34 << 10), of(3 << 30), of(1025), of(0)),
            ("34Ki".into(), "3Gi".into(), "1025".into(), "0".into())
        );
    }
}
