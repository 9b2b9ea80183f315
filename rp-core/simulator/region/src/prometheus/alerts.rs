//! What fires in a simulated cluster: what its operators and nodes say, and the Watchdog.

use hyper::StatusCode;
use rp_base::Timestamp;
use rp_simulator::fleet::{Episode, TransientFault};
use rp_simulator::objects::View;
use rp_simulator::objects::nodes::nodes;
use serde_json::{Value, json};

use super::engine::Refusal;

/// One alert.
struct Alert {
    name: &'static str,
    expr: &'static str,
    severity: &'static str,
    labels: Vec<(&'static str, String)>,
    summary: String,
    pending: bool,
    silenced: bool,
    since: Timestamp,
}

fn alerts(view: &View<'_>) -> Vec<Alert> {
    let cluster = view.cluster;
    let mut all = vec![Alert {
        name: "Watchdog",
        expr: "vector(1)",
        severity: "none",
        labels: vec![("namespace", "openshift-monitoring".to_owned())],
        summary: "An alert that should always be firing to certify that Alertmanager is working properly."
            .to_owned(),
        pending: false,
        silenced: false,
        since: cluster.created,
    }];
    for (number, trouble) in cluster.troubles().into_iter().enumerate() {
        all.push(Alert {
            name: "ClusterOperatorDegraded",
            expr: "max by (name, reason) (cluster_operator_conditions{condition=\"Degraded\"} == 1)",
            severity: "warning",
            labels: vec![("name", trouble.operator.to_owned()), ("reason", trouble.reason.to_owned())],
            summary: trouble.message.chars().take(2000).collect(),
            pending: false,
            silenced: number == 1,
            since: cluster.troubled_since(),
        });
    }
    for node in nodes(view).into_iter().filter(|node| !node.ready) {
        all.push(Alert {
            name: "KubeNodeNotReady",
            expr: "kube_node_status_condition{condition=\"Ready\",status=\"true\"} == 0",
            severity: "critical",
            labels: vec![("node", node.name.clone())],
            summary: format!("Node {} is not ready.", node.name),
            pending: false,
            silenced: false,
            since: cluster.troubled_since(),
        });
    }
    if let Some(episode) = cluster.lasting().filter(|episode| episode.what == TransientFault::Alert) {
        all.push(passing(episode));
    }
    if cluster.index.is_multiple_of(5) {
        all.push(Alert {
            name: "HighOverallControlPlaneCPU",
            expr: "sum(rate(node_cpu_seconds_total{mode!=\"idle\"}[5m])) / count(node_cpu_seconds_total{mode=\"idle\"}) > 0.6",
            severity: "warning",
            labels: vec![("namespace", "openshift-kube-apiserver".to_owned())],
            summary: "CPU utilization across all control plane nodes is high.".to_owned(),
            pending: true,
            silenced: false,
            since: view.now - std::time::Duration::from_mins(3),
        });
    }
    all
}

/// An alert without anything else that could be seen.
fn passing(episode: Episode) -> Alert {
    let (name, severity, namespace, summary) = match episode.number % 3 {
        0 => (
            "KubeAPIErrorBudgetBurn",
            "critical",
            "openshift-kube-apiserver",
            "The API server is burning too much error budget.",
        ),
        1 => (
            "etcdHighFsyncDurations",
            "warning",
            "openshift-etcd",
            "etcd cluster 99th percentile fsync durations are too high.",
        ),
        _ => (
            "KubePersistentVolumeFillingUp",
            "warning",
            "openshift-monitoring",
            "PersistentVolume is filling up.",
        ),
    };
    Alert {
        name,
        expr: "vector(1)",
        severity,
        labels: vec![("namespace", namespace.to_owned())],
        summary: summary.to_owned(),
        pending: false,
        silenced: false,
        since: episode.began,
    }
}

impl Alert {
    fn labels(&self) -> Value {
        let mut labels = json!({"alertname": self.name, "severity": self.severity});
        for (label, value) in &self.labels {
            labels[*label] = json!(value);
        }
        labels
    }

    fn annotations(&self) -> Value {
        json!({"summary": self.summary, "runbook_url": format!("https://runbooks.invalid/{}.md", self.name)})
    }

    const fn state(&self) -> &'static str {
        if self.pending { "pending" } else { "firing" }
    }

    fn told(&self) -> Value {
        json!({"labels": self.labels(), "annotations": self.annotations(), "state": self.state(),
            "activeAt": self.since, "value": "1e+00"})
    }
}

type Labels = Vec<(&'static str, String)>;

/// Labels, state and beginning (Unix seconds) of each, for ALERTS.
#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
pub(super) fn series(view: &View<'_>) -> Vec<(Labels, &'static str, f64)> {
    alerts(view)
        .into_iter()
        .map(|alert| {
            let mut labels = alert.labels.clone();
            labels.push(("alertname", alert.name.to_owned()));
            labels.push(("severity", alert.severity.to_owned()));
            (labels, alert.state(), alert.since.seconds() as f64)
        })
        .collect()
}

/// `/api/v1/alerts`.
pub(super) fn firing(view: &View<'_>) -> Vec<Value> {
    alerts(view).iter().map(Alert::told).collect()
}

/// `/api/v1/rules`.
pub(super) fn rules(view: &View<'_>) -> Value {
    let alerts = alerts(view);
    let mut rules: Vec<Value> = Vec::new();
    for alert in &alerts {
        match rules.iter_mut().find(|rule| rule["name"] == alert.name) {
            Some(rule) => {
                if let Some(list) = rule["alerts"].as_array_mut() {
                    list.push(alert.told());
                }
            }
            None => rules.push(json!({
                "name": alert.name, "query": alert.expr, "duration": 900, "type": "alerting", "state": alert.state(),
                "health": "ok", "labels": {"severity": alert.severity}, "annotations": alert.annotations(),
                "alerts": [alert.told()], "lastEvaluation": view.now, "evaluationTime": 0.001,
            })),
        }
    }
    json!({"groups": [{"name": "simulated", "file": "simulated.yaml", "interval": 30, "rules": rules}]})
}

/// Alertmanager's API.
pub(super) fn alertmanager(view: &View<'_>, path: &str) -> Result<Value, Refusal> {
    let ends = view.now + std::time::Duration::from_hours(20);
    match path {
        "/api/v2/alerts" => {
            let firing: Vec<Value> = alerts(view)
                .iter()
                .filter(|alert| !alert.pending)
                .map(|alert| {
                    let mut labels = alert.labels();
                    labels["prometheus"] = json!("openshift-monitoring/k8s");
                    let silenced = if alert.silenced { vec!["11111111-2222-4333-8444-555555555555"] } else { Vec::new() };
                    json!({"labels": labels, "annotations": alert.annotations(), "startsAt": alert.since, "endsAt": ends,
                        "fingerprint": "", "receivers": [{"name": "default"}],
                        "status": {"state": if alert.silenced { "suppressed" } else { "active" }, "silencedBy": silenced, "inhibitedBy": []}})
                })
                .collect();
            Ok(json!(firing))
        }
        "/api/v2/silences" => {
            let any = alerts(view).iter().any(|alert| alert.silenced);
            let silence = json!({"id": "11111111-2222-4333-8444-555555555555", "createdBy": "oncall@example.com",
                "comment": "Known; the fix is on its way.", "startsAt": view.cluster.since, "endsAt": ends,
                "status": {"state": "active"}, "matchers": []});
            Ok(if any { json!([silence]) } else { json!([]) })
        }
        "/api/v2/status" => Ok(json!({"versionInfo": {"version": "0.27.0+simulated"}})),
        _ => Err(Refusal {
            status: StatusCode::NOT_FOUND,
            kind: "not_found",
            message: "path not simulated".to_owned(),
        }),
    }
}
