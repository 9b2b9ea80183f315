//! The canned series of a cluster. Each is a function of time, so that graphs have a shape, rates are exact and
//! the same instant always gives the same value.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use rp_simulator::fleet::Dice;
use rp_simulator::objects::View;
use rp_simulator::objects::nodes::{Node, nodes};
use rp_simulator::objects::pod_names;
use serde_json::{Value, json};

use super::alerts;

/// One series.
#[derive(Debug, Clone)]
pub(super) struct Canned {
    pub(super) name: &'static str,
    pub(super) labels: Vec<(&'static str, String)>,
    curve: Curve,
}

/// How a value changes over time.
#[derive(Debug, Clone, Copy)]
enum Curve {
    Flat(f64),
    /// Around a base, by a day's wave and a faster one.
    Wave {
        base: f64,
        swing: f64,
        phase: f64,
    },
    /// What a wave adds up to since a beginning: a counter.
    Count {
        rate: f64,
        swing: f64,
        phase: f64,
        since: f64,
    },
}

const DAY: f64 = 86_400.0;
const FAST: f64 = 1700.0;

impl Canned {
    /// The value at Unix seconds; `None` before there was any.
    pub(super) fn at(&self, time: f64) -> Option<f64> {
        match self.curve {
            Curve::Flat(value) => Some(value),
            Curve::Wave { base, swing, phase } => {
                let day = (TAU * (time / DAY + phase)).sin();
                let fast = (TAU * (time / FAST + 3.0 * phase)).sin();
                Some((base + swing * (0.7 * day + 0.3 * fast)).max(0.0))
            }
            Curve::Count { rate, swing, phase, since } => {
                let grown = |time: f64, period: f64, phase: f64| {
                    -(period / TAU) * (TAU * (time / period + phase)).cos()
                };
                let sum = |time: f64| rate * time + swing * grown(time, DAY, phase);
                (time >= since).then(|| sum(time) - sum(since))
            }
        }
    }

    /// Its labels with its name.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let mut labels: BTreeMap<String, String> =
            self.labels.iter().map(|(label, value)| ((*label).to_owned(), value.clone())).collect();
        labels.insert("__name__".to_owned(), self.name.to_owned());
        labels
    }
}

/// A family of series.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
}

const fn family(name: &'static str, kind: &'static str, help: &'static str) -> Family {
    Family { name, kind, help }
}

const FAMILIES: [Family; 32] = [
    family("up", "gauge", "1 when the last scrape of a target went well."),
    family("scrape_duration_seconds", "gauge", "How long a scrape took."),
    family("apiserver_request_total", "counter", "Requests to the API server by verb and code."),
    family("process_cpu_seconds_total", "counter", "CPU time of a process."),
    family("process_resident_memory_bytes", "gauge", "Resident memory of a process."),
    family("rest_client_requests_total", "counter", "Requests of a client to the API server."),
    family("coredns_dns_responses_total", "counter", "DNS answers by code."),
    family("coredns_dns_request_duration_seconds_bucket", "histogram", "Time to answer a DNS query."),
    family("coredns_health_request_duration_seconds_bucket", "histogram", "Time of the DNS health check."),
    family("coredns_forward_request_duration_seconds_bucket", "histogram", "Time of forwarded DNS queries."),
    family("ingress_controller_conditions", "gauge", "Conditions of ingress controllers."),
    family("node_cpu_seconds_total", "counter", "CPU time of a node by mode."),
    family("node_load1", "gauge", "Load of a node over a minute."),
    family("node_memory_MemTotal_bytes", "gauge", "Memory of a node."),
    family("node_memory_MemAvailable_bytes", "gauge", "Memory of a node that can be had."),
    family("node_filesystem_size_bytes", "gauge", "Size of a file system."),
    family("node_filesystem_avail_bytes", "gauge", "Free bytes of a file system."),
    family("node_network_receive_bytes_total", "counter", "Bytes received by a node."),
    family("node_network_transmit_bytes_total", "counter", "Bytes sent by a node."),
    family("container_cpu_usage_seconds_total", "counter", "CPU time of a container."),
    family("container_memory_working_set_bytes", "gauge", "Working set of a container."),
    family("kube_pod_container_status_restarts_total", "counter", "Restarts of a container."),
    family("kube_node_status_condition", "gauge", "Conditions of nodes."),
    family("kube_node_info", "gauge", "Versions of a node."),
    family("cluster_version", "gauge", "Versions of the cluster."),
    family("cluster_operator_up", "gauge", "1 when a cluster operator is available."),
    family("cluster_operator_conditions", "gauge", "Conditions of cluster operators."),
    family("etcd_server_has_leader", "gauge", "1 when a member has a leader."),
    family("etcd_disk_wal_fsync_duration_seconds_bucket", "histogram", "Time of a WAL fsync."),
    family("prometheus_build_info", "gauge", "Version of Prometheus."),
    family("ALERTS", "gauge", "Alerts that are pending or firing."),
    family("ALERTS_FOR_STATE", "gauge", "When an alert became active."),
];

/// Names of all families, in their order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}

/// Every series of a cluster.
pub(super) fn all(view: &View<'_>) -> Vec<Canned> {
    names().flat_map(|name| canned(view, name)).collect()
}

/// `/api/v1/metadata`.
pub(super) fn metadata(metric: Option<&str>) -> Value {
    let wanted =
        FAMILIES.iter().filter(|family| metric.is_none_or(|name| name.is_empty() || name == family.name));
    wanted
        .map(|family| {
            let name = family.name.trim_end_matches("_bucket").to_owned();
            (name, json!([{"type": family.kind, "help": family.help, "unit": ""}]))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// `/api/v1/targets`.
pub(super) fn targets(view: &View<'_>) -> Value {
    let active: Vec<Value> = canned(view, "up")
        .iter()
        .map(|up| {
            let good = up.at(0.0) == Some(1.0);
            json!({"labels": up.labels(), "discoveredLabels": {}, "scrapePool": "simulated", "scrapeUrl": "https://simulated.invalid/metrics",
                "lastError": if good { "" } else { "context deadline exceeded" }, "health": if good { "up" } else { "down" },
                "lastScrape": view.now, "lastScrapeDuration": 0.02, "scrapeInterval": "30s", "scrapeTimeout": "10s"})
        })
        .collect();
    json!({"activeTargets": active, "droppedTargets": []})
}

struct Maker<'a> {
    view: &'a View<'a>,
    name: &'static str,
    made: Vec<Canned>,
}

impl Maker<'_> {
    fn dice(&self, labels: &[(&'static str, String)]) -> Dice {
        let text: String = labels.iter().map(|(label, value)| format!("{label}={value},")).collect();
        self.view.cluster.dice(&format!("{}{{{text}}}", self.name))
    }

    fn push(&mut self, labels: Vec<(&'static str, String)>, curve: Curve) {
        self.made.push(Canned { name: self.name, labels, curve });
    }

    fn flat(&mut self, labels: Vec<(&'static str, String)>, value: f64) {
        self.push(labels, Curve::Flat(value));
    }

    fn wave(&mut self, labels: Vec<(&'static str, String)>, base: f64, swing: f64) {
        let mut dice = self.dice(&labels);
        let base = base * between(&mut dice, 0.8, 1.2);
        let phase = between(&mut dice, 0.0, 1.0);
        self.push(labels, Curve::Wave { base, swing: swing * base, phase });
    }

    /// A counter of so many a second.
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
    fn count(&mut self, labels: Vec<(&'static str, String)>, rate: f64) {
        let mut dice = self.dice(&labels);
        let rate = rate * between(&mut dice, 0.7, 1.3);
        let phase = between(&mut dice, 0.0, 1.0);
        let since = self.view.cluster.created.seconds() as f64;
        self.push(labels, Curve::Count { rate, swing: 0.6 * rate, phase, since });
    }

    /// A histogram's buckets around a typical value, seconds.
    fn buckets(&mut self, labels: &[(&'static str, String)], rate: f64, typical: f64) {
        const BOUNDS: [f64; 12] =
            [0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 1.0];
        let mut dice = self.dice(labels);
        let typical = typical * between(&mut dice, 0.7, 1.4);
        for bound in BOUNDS.into_iter().chain([f64::INFINITY]) {
            // The share that is at most so long: a smooth step around the typical value.
            let share = if bound.is_finite() { 1.0 / (1.0 + (typical / bound).powi(2)) } else { 1.0 };
            let mut labels = labels.to_vec();
            labels.push(("le", if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() }));
            #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
            let since = self.view.cluster.created.seconds() as f64;
            // One phase for all: buckets must not cross.
            self.push(labels, Curve::Count { rate: rate * share, swing: 0.0, phase: 0.0, since });
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "thousandths")]
fn between(dice: &mut Dice, least: f64, most: f64) -> f64 {
    least + (most - least) * (dice.below(1000) as f64 / 1000.0)
}

/// Every series of a name.
pub(super) fn canned(view: &View<'_>, name: &str) -> Vec<Canned> {
    let Some(name) = names().find(|known| *known == name) else { return Vec::new() };
    let mut maker = Maker { view, name, made: Vec::new() };
    let nodes = nodes(view);
    let masters: Vec<&Node> = nodes.iter().take(3).collect();
    match name {
        "up" | "scrape_duration_seconds" => scrapes(&mut maker, &nodes),
        "apiserver_request_total" => {
            for node in &masters {
                for (verb, code, rate) in [
                    ("GET", "200", 42.0),
                    ("LIST", "200", 9.0),
                    ("WATCH", "200", 2.0),
                    ("PUT", "200", 6.0),
                    ("POST", "201", 4.0),
                    ("PATCH", "200", 5.0),
                    ("GET", "404", 1.4),
                    ("PUT", "409", 0.3),
                    ("POST", "422", 0.02),
                    ("LIST", "403", 0.05),
                    ("GET", "500", 0.004),
                    ("PATCH", "504", 0.002),
                ] {
                    let labels = vec![("code", code.to_owned()), ("verb", verb.to_owned())];
                    maker.count(job("apiserver", node, labels), rate);
                }
            }
        }
        "process_cpu_seconds_total" | "process_resident_memory_bytes" => processes(&mut maker, &masters),
        "rest_client_requests_total" => {
            for node in &masters {
                for (code, rate) in [("200", 14.0), ("201", 1.1), ("404", 0.2), ("409", 0.06)] {
                    let labels = vec![("code", code.to_owned()), ("method", "GET".to_owned())];
                    maker.count(job("kube-controller-manager", node, labels), rate);
                }
            }
        }
        name if name.starts_with("coredns_") => dns(&mut maker, name, &nodes),
        "ingress_controller_conditions" => {
            let troubled = view.cluster.troubles().iter().any(|trouble| trouble.operator == "ingress");
            for (condition, good) in [
                ("Available", true),
                ("Admitted", true),
                ("Degraded", false),
                ("DeploymentReplicasAllAvailable", true),
            ] {
                let value = if condition == "Degraded" {
                    troubled
                } else {
                    good && !(troubled && condition.starts_with("Deployment"))
                };
                maker.flat(
                    vec![("condition", condition.to_owned()), ("name", "default".to_owned())],
                    f64::from(u8::from(value)),
                );
            }
        }
        name if name.starts_with("node_") => of_nodes(&mut maker, name, &nodes),
        name if name.starts_with("container_") || name.starts_with("kube_pod_") => {
            containers(&mut maker, name);
        }
        "kube_node_status_condition" => {
            for node in &nodes {
                for (condition, good) in
                    [("Ready", node.ready), ("MemoryPressure", false), ("DiskPressure", false)]
                {
                    for (status, holds) in [("true", good), ("false", !good)] {
                        let labels = vec![
                            ("node", node.name.clone()),
                            ("condition", condition.to_owned()),
                            ("status", status.to_owned()),
                        ];
                        maker.flat(labels, f64::from(u8::from(holds)));
                    }
                }
            }
        }
        "kube_node_info" => {
            for node in &nodes {
                maker.flat(
                    vec![
                        ("node", node.name.clone()),
                        ("kubelet_version", view.cluster.kubernetes.to_owned()),
                    ],
                    1.0,
                );
            }
        }
        "cluster_version" => {
            let cluster = view.cluster;
            #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
            let since = cluster.created.seconds() as f64;
            maker.flat(vec![("type", "current".to_owned()), ("version", cluster.version.clone())], since);
            maker.flat(vec![("type", "desired".to_owned()), ("version", cluster.wanted.clone())], since);
        }
        "cluster_operator_up" | "cluster_operator_conditions" => operators(&mut maker, name),
        "etcd_server_has_leader" => {
            masters.iter().for_each(|node| maker.flat(job("etcd", node, Vec::new()), 1.0));
        }
        "etcd_disk_wal_fsync_duration_seconds_bucket" => {
            masters.iter().for_each(|node| maker.buckets(&job("etcd", node, Vec::new()), 30.0, 0.004));
        }
        "prometheus_build_info" => maker.flat(vec![("version", "2.55.1+simulated".to_owned())], 1.0),
        "ALERTS" | "ALERTS_FOR_STATE" => {
            for (labels, state, since) in alerts::series(view) {
                let mut labels = labels;
                if name == "ALERTS" {
                    labels.push(("alertstate", state.to_owned()));
                    maker.flat(labels, 1.0);
                } else {
                    maker.flat(labels, since);
                }
            }
        }
        _ => {}
    }
    maker.made
}

fn job(job: &str, node: &Node, mut labels: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    labels.push(("job", job.to_owned()));
    labels.push(("instance", format!("{}:{}", node.ip, if job == "etcd" { 9979 } else { 6443 })));
    labels
}

fn scrapes(maker: &mut Maker<'_>, nodes: &[Node]) {
    for (number, node) in nodes.iter().enumerate() {
        let mut jobs = vec![("kubelet", 10250), ("node-exporter", 9100), ("dns-default", 9154)];
        if number < 3 {
            jobs.extend([("apiserver", 6443), ("etcd", 9979), ("kube-controller-manager", 10257)]);
        }
        for (job, port) in jobs {
            let labels = vec![
                ("job", job.to_owned()),
                ("instance", format!("{}:{port}", node.ip)),
                ("node", node.name.clone()),
            ];
            if maker.name == "up" {
                maker.flat(labels, f64::from(u8::from(node.ready)));
            } else {
                maker.wave(labels, 0.02, 0.4);
            }
        }
    }
}

fn processes(maker: &mut Maker<'_>, masters: &[&Node]) {
    let jobs = [
        ("apiserver", 0.9, 2.6e9),
        ("kube-controller-manager", 0.08, 2.1e8),
        ("etcd", 0.3, 9e8),
        ("kubelet", 0.15, 1.6e8),
    ];
    for node in masters {
        for (name, cores, bytes) in jobs {
            let labels = job(name, node, Vec::new());
            if maker.name == "process_cpu_seconds_total" {
                maker.count(labels, cores);
            } else {
                maker.wave(labels, bytes, 0.15);
            }
        }
    }
}

fn dns(maker: &mut Maker<'_>, name: &str, nodes: &[Node]) {
    let pods: Vec<String> = pod_names(maker.view, "dns-default");
    for (pod, node) in pods.iter().zip(nodes) {
        let labels = vec![("pod", pod.clone()), ("instance", format!("{}:9154", node.ip))];
        match name {
            "coredns_dns_responses_total" => {
                for (code, rate) in
                    [("NOERROR", 38.0), ("NXDOMAIN", 11.0), ("SERVFAIL", 0.03), ("REFUSED", 0.001)]
                {
                    let mut labels = labels.clone();
                    labels.push(("rcode", code.to_owned()));
                    maker.count(labels, rate);
                }
            }
            "coredns_dns_request_duration_seconds_bucket" => maker.buckets(&labels, 49.0, 0.0009),
            "coredns_health_request_duration_seconds_bucket" => maker.buckets(&labels, 1.0, 0.0004),
            _ => maker.buckets(&labels, 6.0, 0.003),
        }
    }
}

fn of_nodes(maker: &mut Maker<'_>, name: &str, nodes: &[Node]) {
    for node in nodes {
        let labels = vec![("instance", node.name.clone()), ("job", "node-exporter".to_owned())];
        let with = |label: &'static str, value: String| {
            let mut labels = labels.clone();
            labels.push((label, value));
            labels
        };
        match name {
            "node_cpu_seconds_total" => {
                for cpu in 0..4 {
                    for (mode, share) in [
                        ("idle", 0.71),
                        ("user", 0.17),
                        ("system", 0.08),
                        ("iowait", 0.01),
                        ("softirq", 0.02),
                    ] {
                        let mut labels = with("cpu", cpu.to_string());
                        labels.push(("mode", mode.to_owned()));
                        maker.count(labels, share);
                    }
                }
            }
            "node_load1" => maker.wave(labels.clone(), 2.2, 0.5),
            "node_memory_MemTotal_bytes" => maker.flat(labels.clone(), 34_359_738_368.0),
            "node_memory_MemAvailable_bytes" => maker.wave(labels.clone(), 1.7e10, 0.2),
            "node_filesystem_size_bytes" => maker.flat(with("mountpoint", "/var".to_owned()), 1.37e11),
            "node_filesystem_avail_bytes" => maker.wave(with("mountpoint", "/var".to_owned()), 8e10, 0.1),
            _ => maker.count(with("device", "ens3".to_owned()), 2.4e6),
        }
    }
}

fn containers(maker: &mut Maker<'_>, name: &str) {
    for (namespace, pod, container) in rp_simulator::objects::containers(maker.view) {
        let labels = vec![("namespace", namespace), ("pod", pod), ("container", container)];
        match name {
            "container_cpu_usage_seconds_total" => maker.count(labels, 0.03),
            "container_memory_working_set_bytes" => maker.wave(labels, 1.4e8, 0.2),
            _ => {
                let restarts = maker.dice(&labels).below(3);
                maker.flat(labels, f64::from(u8::try_from(restarts).unwrap_or(0)));
            }
        }
    }
}

fn operators(maker: &mut Maker<'_>, name: &str) {
    let troubles = maker.view.cluster.troubles();
    for operator in [
        "authentication",
        "console",
        "dns",
        "etcd",
        "image-registry",
        "ingress",
        "kube-apiserver",
        "kube-controller-manager",
        "machine-api",
        "machine-config",
        "monitoring",
        "network",
        "storage",
    ] {
        let bad = troubles.iter().any(|trouble| trouble.operator == operator);
        let labels = vec![("name", operator.to_owned()), ("version", maker.view.cluster.version.clone())];
        if name == "cluster_operator_up" {
            maker.flat(labels, f64::from(u8::from(!bad)));
            continue;
        }
        for (condition, holds) in [("Available", !bad), ("Degraded", bad), ("Progressing", false)] {
            let mut labels = labels.clone();
            labels.push(("condition", condition.to_owned()));
            maker.flat(labels, f64::from(u8::from(holds)));
        }
    }
}
