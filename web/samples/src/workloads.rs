//! Pods, workloads, logs and events.

use crate::cluster::{harbor, lab};
use crate::{DAY, HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, path, viewer};
use web::Condition;
use web::{
    Badge, Cluster, ContainerRow, EventLine, EventQuery, EventsPage, Failure, Link, LiveBar, LiveState,
    LogLine, LogPage, LogQuery, NavItem, Notice, Pod, PodPage, PodQuery, PodRow, PodsPage, Side, Tone,
    WorkloadPage, WorkloadQuery, WorkloadRow, WorkloadsPage, ansi, levels,
};

fn at(rest: &str) -> String {
    format!("{}{rest}", path("rg-harbor-prod", "harbor-prod-weu-01"))
}

pub(super) fn odd() -> Cluster {
    Cluster { name: HOSTILE.into(), path: "/subscriptions/x".into(), resource_id: HOSTILE.into(), ..harbor() }
}

pub(super) fn away() -> Failure {
    Failure {
        status: 504,
        what: "The cluster did not answer".into(),
        why: "It did not accept a connection in time.".into(),
        side: Side::Cluster,
        actions: vec![Link::new("Try again", "?")],
        request_id: "01JD7M2N-08RA".into(),
    }
}

fn live() -> LiveBar {
    LiveBar { state: LiveState::Live, as_of: Some(NOW - 3), ..LiveBar::default() }
}

fn stale() -> LiveBar {
    LiveBar {
        state: LiveState::Stale,
        as_of: Some(NOW - 26 * MINUTE),
        why: "The cluster does not answer: it did not accept a connection in time.".into(),
        ..live()
    }
}

fn awaited() -> LiveBar {
    LiveBar { state: LiveState::Loading, as_of: None, ..live() }
}

fn well() -> Badge {
    Badge::new(Tone::Ok, "ok", "Running", true)
}

fn pod(namespace: &str, name: &str, badge: Badge, restarts: u64) -> PodRow {
    PodRow {
        name: name.into(),
        namespace: namespace.into(),
        href: at(&format!("/pods/{namespace}/{name}")),
        log: at(&format!("/pods/{namespace}/{name}/log")),
        badge,
        why: String::new(),
        since: Some(NOW - 3 * DAY),
        ready: (4, 4),
        restarts,
        last_restart: (restarts > 0).then_some(NOW - 9 * MINUTE),
        node: Some(Link::new(
            "harbor-prod-weu-01-x7k2p-master-2",
            at("/nodes/harbor-prod-weu-01-x7k2p-master-2"),
        )),
        owner: Some(Link::new(
            "DaemonSet node-exporter",
            at("/workloads/daemonset/openshift-monitoring/node-exporter"),
        )),
        created: Some(NOW - 12 * DAY),
    }
}

fn pod_rows() -> Vec<PodRow> {
    let bad = |word: &str| Badge::new(Tone::Bad, "failed", word, false);
    vec![
        PodRow {
            why: "back-off 5m0s restarting failed container=etcd".into(),
            ready: (3, 4),
            owner: Some(Link::new("Node master-2", "")),
            ..pod("openshift-etcd", "etcd-harbor-prod-weu-01-x7k2p-master-2", bad("CrashLoopBackOff"), 41)
        },
        PodRow {
            why: "0/9 nodes are available: 1 node had untolerated taint".into(),
            ready: (0, 1),
            node: None,
            ..pod(
                "openshift-authentication",
                "oauth-openshift-6b9c7d5f7c-4zkqp",
                Badge::new(Tone::Warn, "wait", "Pending", false),
                0,
            )
        },
        pod("openshift-monitoring", "node-exporter-8xk2j", well(), 2),
        pod("openshift-dns", "dns-default-p9v4s", well(), 0),
    ]
}

fn pods() -> PodsPage {
    PodsPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        live: live(),
        namespaces: ["openshift-authentication", "openshift-dns", "openshift-etcd"].map(Into::into).to_vec(),
        nodes: vec!["harbor-prod-weu-01-x7k2p-master-2".into()],
        rows: pod_rows(),
        matched: 4,
        problems: 2,
        total: 4,
        per_page: 100,
        ..PodsPage::default()
    }
}

fn strange_pod() -> PodRow {
    PodRow {
        why: endless(),
        node: Some(Link::new(HOSTILE, "/x")),
        owner: Some(Link::new(HOSTILE, "")),
        since: Some(NOW + 40 * DAY),
        ..pod("ns", HOSTILE, Badge::new(Tone::Bad, "failed", HOSTILE, false), u64::MAX)
    }
}

impl Sample for PodsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let all: Vec<PodRow> =
            (0..100).map(|n| pod("openshift-dns", &format!("dns-default-{n:05}"), well(), n % 3)).collect();
        let crowd = Self { rows: all, matched: 20_000, total: 20_000, problems: 0, ..pods() };
        let more = Notice {
            tone: Tone::Warn,
            lead: "1,204 pods are not shown.".into(),
            text: "Only the first 20,000 of a cluster are followed.".into(),
            action: None,
        };
        vec![
            ("problems", pods()),
            (
                "many",
                Self { query: PodQuery { page: 3, ..PodQuery::default() }, notices: vec![more], ..crowd },
            ),
            ("empty", Self { rows: Vec::new(), matched: 0, total: 0, problems: 0, ..pods() }),
            (
                "nothing-found",
                Self {
                    query: PodQuery {
                        q: "etcd-9".into(),
                        state: "problem".into(),
                        owner: "DaemonSet/x".into(),
                        ..PodQuery::default()
                    },
                    rows: Vec::new(),
                    matched: 0,
                    ..pods()
                },
            ),
            ("loading", Self { rows: Vec::new(), live: awaited(), ..pods() }),
            ("stale", Self { live: stale(), ..pods() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    rows: vec![strange_pod()],
                    namespaces: vec![HOSTILE.into()],
                    nodes: vec![endless()],
                    query: PodQuery { q: HOSTILE.into(), owner: HOSTILE.into(), ..PodQuery::default() },
                    ..pods()
                },
            ),
            ("no-rights", Self { frame: viewer(NavItem::Clusters), ..pods() }),
            ("error", Self { failure: Some(away()), ..pods() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/pods"), ..pods() }),
        ]
    }
}

fn condition(kind: &str, good: bool, reason: &str, message: &str) -> Condition {
    Condition {
        kind: kind.into(),
        status: if good {
            Badge::new(Tone::Ok, "ok", "True", true)
        } else {
            Badge::new(Tone::Bad, "failed", "False", false)
        },
        reason: reason.into(),
        since: Some(NOW - 47 * MINUTE),
        message: message.into(),
    }
}

pub(super) fn events() -> Vec<EventLine> {
    let event = |warning, kind: &str, name: &str, reason: &str, message: &str, count| EventLine {
        at: Some(NOW - 2 * MINUTE),
        first: (count > 1).then_some(NOW - 3 * HOUR),
        count,
        warning,
        kind: kind.into(),
        object: Link::new(name, at("/pods/openshift-etcd/etcd-2")),
        namespace: "openshift-etcd".into(),
        reason: reason.into(),
        message: message.into(),
        source: "kubelet".into(),
    };
    vec![
        event(
            true,
            "Pod",
            "etcd-2",
            "BackOff",
            "Back-off restarting failed container etcd in pod etcd-2",
            214,
        ),
        event(true, "Node", "master-2", "NodeNotReady", "Node master-2 status is now: NodeNotReady", 1),
        event(false, "Pod", "etcd-2", "Pulled", "Container image already present on machine", 3),
    ]
}

fn containers() -> Vec<ContainerRow> {
    let row = |name: &str, badge: Badge, restarts| ContainerRow {
        name: name.into(),
        badge,
        since: Some(NOW - 9 * MINUTE),
        restarts,
        image: "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:5f1e9b0c2d".into(),
        log: at("/pods/openshift-etcd/etcd-2/log?container=etcd"),
        ..ContainerRow::default()
    };
    vec![
        ContainerRow {
            init: true,
            last: Some(("Completed, exit code 0".into(), Some(NOW - 12 * DAY))),
            ..row("setup", Badge::new(Tone::Mute, "check", "Completed", true), 0)
        },
        ContainerRow {
            why: "back-off 5m0s restarting failed container=etcd".into(),
            last: Some(("Error, exit code 2".into(), Some(NOW - 9 * MINUTE))),
            previous: at("/pods/openshift-etcd/etcd-2/log?container=etcd&previous=1"),
            ..row("etcd", Badge::new(Tone::Bad, "failed", "CrashLoopBackOff", false), 41)
        },
        row("etcd-metrics", well(), 0),
    ]
}

fn one_pod() -> PodPage {
    let row = pod_rows().into_iter().next().unwrap_or_default();
    let pod = Pod {
        object: at("/resources/core/v1/pods/openshift-etcd/etcd-2"),
        row,
        phase: "Running".into(),
        ip: "10.0.2.8".into(),
        containers: containers(),
        conditions: vec![
            condition("Ready", false, "ContainersNotReady", "containers with unready status: [etcd]"),
            condition("PodScheduled", true, "", ""),
        ],
        events: events(),
        siblings: Some(Link::new("3 of the same owner", at("/pods?owner=Node/master-2"))),
        message: String::new(),
    };
    PodPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        live: live(),
        pod,
        acts: vec![Link::new("Delete…", at("/act?do=delete&namespace=openshift-etcd&name=etcd-2"))],
        failure: None,
    }
}

impl Sample for PodPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let bare = Pod {
            row: PodRow { node: None, owner: None, ..pod("openshift-dns", "dns-default-p9v4s", well(), 0) },
            ..Pod::default()
        };
        let strange = Pod {
            row: strange_pod(),
            phase: HOSTILE.into(),
            ip: HOSTILE.into(),
            message: endless(),
            containers: vec![ContainerRow {
                name: HOSTILE.into(),
                why: HOSTILE.into(),
                image: endless(),
                last: Some((HOSTILE.into(), None)),
                badge: Badge::new(Tone::Bad, "failed", HOSTILE, false),
                ..ContainerRow::default()
            }],
            conditions: vec![condition(HOSTILE, false, HOSTILE, &endless())],
            events: vec![EventLine {
                object: Link::new(HOSTILE, ""),
                reason: HOSTILE.into(),
                message: endless(),
                kind: HOSTILE.into(),
                ..EventLine::default()
            }],
            ..Pod::default()
        };
        vec![
            ("problem", one_pod()),
            ("loading", Self { live: awaited(), ..one_pod() }),
            ("bare", Self { pod: bare, ..one_pod() }),
            ("stale", Self { live: stale(), ..one_pod() }),
            (
                "hostile",
                Self { frame: hostile(NavItem::Clusters), cluster: odd(), pod: strange, ..one_pod() },
            ),
            ("no-rights", Self { frame: viewer(NavItem::Clusters), ..one_pod() }),
            ("error", Self { failure: Some(away()), ..one_pod() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/pods"), ..one_pod() }),
        ]
    }
}

fn workload(kind: &str, namespace: &str, name: &str, ready: (u64, u64)) -> WorkloadRow {
    let badge = if ready.0 < ready.1 {
        Badge::new(Tone::Warn, "degraded", "Not all ready", false)
    } else {
        Badge::new(Tone::Ok, "ok", "Ready", true)
    };
    WorkloadRow {
        name: name.into(),
        namespace: namespace.into(),
        kind: kind.into(),
        href: at(&format!("/workloads/{}/{namespace}/{name}", kind.to_lowercase())),
        pods: at(&format!("/pods?owner={kind}%2F{name}")),
        object: at(&format!("/resources/apps/v1/deployments/{namespace}/{name}")),
        badge,
        why: String::new(),
        ready,
        updated: ready.1,
        available: ready.0,
        created: Some(NOW - 411 * DAY),
    }
}

fn workloads() -> WorkloadsPage {
    WorkloadsPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        live: live(),
        namespaces: vec!["openshift-authentication".into(), "openshift-dns".into()],
        rows: vec![
            workload("Deployment", "openshift-authentication", "oauth-openshift", (1, 3)),
            workload("DaemonSet", "openshift-dns", "dns-default", (9, 9)),
            workload("StatefulSet", "openshift-monitoring", "prometheus-k8s", (2, 2)),
        ],
        matched: 3,
        problems: 1,
        total: 3,
        ..WorkloadsPage::default()
    }
}

impl Sample for WorkloadsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let strange = WorkloadRow {
            why: endless(),
            badge: Badge::new(Tone::Bad, "failed", HOSTILE, false),
            ..workload("Deployment", HOSTILE, HOSTILE, (0, u64::MAX))
        };
        vec![
            ("problems", workloads()),
            ("empty", Self { rows: Vec::new(), matched: 0, total: 0, problems: 0, ..workloads() }),
            (
                "nothing-found",
                Self {
                    query: WorkloadQuery {
                        kind: "daemonset".into(),
                        state: "problem".into(),
                        ..WorkloadQuery::default()
                    },
                    rows: Vec::new(),
                    matched: 0,
                    ..workloads()
                },
            ),
            ("loading", Self { rows: Vec::new(), live: awaited(), ..workloads() }),
            ("stale", Self { live: stale(), ..workloads() }),
            ("imported", Self { cluster: lab(), ..workloads() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    rows: vec![strange],
                    query: WorkloadQuery { q: HOSTILE.into(), ..WorkloadQuery::default() },
                    ..workloads()
                },
            ),
            ("no-rights", Self { frame: viewer(NavItem::Clusters), ..workloads() }),
            ("error", Self { failure: Some(away()), ..workloads() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/workloads"), ..workloads() }),
        ]
    }
}

fn one_workload() -> WorkloadPage {
    WorkloadPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        live: live(),
        row: workload("Deployment", "openshift-authentication", "oauth-openshift", (1, 3)),
        acts: [("Restart…", "restart"), ("Scale…", "scale")]
            .map(|(words, action)| {
                let about = "kind=deployment&namespace=openshift-authentication&name=oauth-openshift";
                Link::new(words, at(&format!("/act?do={action}&{about}")))
            })
            .into(),
        conditions: vec![condition(
            "Available",
            false,
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )],
        pods: pod_rows(),
        events: events(),
        failure: None,
    }
}

impl Sample for WorkloadPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let strange = workload("Deployment", HOSTILE, HOSTILE, (0, 1));
        vec![
            ("problem", one_workload()),
            (
                "empty",
                Self { pods: Vec::new(), events: Vec::new(), conditions: Vec::new(), ..one_workload() },
            ),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    row: strange,
                    pods: vec![strange_pod()],
                    ..one_workload()
                },
            ),
            ("no-rights", Self { frame: viewer(NavItem::Clusters), ..one_workload() }),
            ("error", Self { failure: Some(away()), ..one_workload() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/workloads"), ..one_workload() }),
        ]
    }
}

fn all_events() -> EventsPage {
    EventsPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        live: live(),
        namespaces: vec!["openshift-etcd".into()],
        kinds: vec!["Node".into(), "Pod".into()],
        rows: events(),
        matched: 3,
        total: 3,
        ..EventsPage::default()
    }
}

impl Sample for EventsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let crowd: Vec<EventLine> = (0..60).flat_map(|_| events()).collect();
        let odd_event = EventLine {
            object: Link::new(HOSTILE, "/x"),
            reason: HOSTILE.into(),
            message: endless(),
            kind: HOSTILE.into(),
            namespace: HOSTILE.into(),
            source: HOSTILE.into(),
            count: u64::MAX,
            at: Some(NOW + 9 * DAY),
            ..EventLine::default()
        };
        vec![
            ("some", all_events()),
            ("many", Self { rows: crowd, matched: 2_961, total: 3_000, ..all_events() }),
            ("empty", Self { rows: Vec::new(), matched: 0, total: 0, ..all_events() }),
            (
                "nothing-found",
                Self {
                    query: EventQuery { kind_of: "Warning".into(), q: "oom".into(), ..EventQuery::default() },
                    rows: Vec::new(),
                    matched: 0,
                    ..all_events()
                },
            ),
            ("loading", Self { rows: Vec::new(), live: awaited(), ..all_events() }),
            ("stale", Self { live: stale(), ..all_events() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    rows: vec![odd_event],
                    query: EventQuery { q: HOSTILE.into(), ..EventQuery::default() },
                    ..all_events()
                },
            ),
            ("no-rights", Self { frame: viewer(NavItem::Clusters), ..all_events() }),
            ("error", Self { failure: Some(away()), ..all_events() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/events"), ..all_events() }),
        ]
    }
}

fn log_lines(lines: &[&str]) -> Vec<LogLine> {
    let levels = levels(lines.iter().copied());
    lines.iter().zip(levels).map(|(line, level)| LogLine { level, spans: ansi(line) }).collect()
}

fn log() -> LogPage {
    let lines = [
        "{\"level\":\"info\",\"ts\":\"2026-11-21T03:11:12.114Z\",\"msg\":\"starting etcd\",\"version\":\"3.5.18\"}",
        "\u{1b}[33mWARN\u{1b}[0m  member 8e9e05c52164694d is unhealthy: dial tcp 10.0.2.8:2380: connect: connection refused",
        "\u{1b}[1;31mERROR\u{1b}[0m lost leader, election in progress",
        "\u{1b}]0;own the title\u{7}panic: runtime error \u{1b}[2J\u{1b}[H",
        "W1121 03:11:13.004211       1 clientconn.go:1331] connection refused, retrying",
        "E1121 03:11:14.201118       1 leaderelection.go:330] error retrieving resource lock",
        "goroutine 1 [running]:",
    ];
    LogPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        pod: "etcd-harbor-prod-weu-01-x7k2p-master-2".into(),
        namespace: "openshift-etcd".into(),
        pod_href: at("/pods/openshift-etcd/etcd-2"),
        containers: vec![
            ("etcd".into(), "41 restarts".into()),
            ("etcd-metrics".into(), String::new()),
            ("setup".into(), "init".into()),
        ],
        query: LogQuery { tail: "500".into(), container: "etcd".into(), ..LogQuery::default() },
        stream: format!("/api/v1/clusters{}", at("/pods/openshift-etcd/etcd-2/log")),
        lines: log_lines(&lines),
        cut: true,
        failure: None,
    }
}

impl Sample for LogPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let long: Vec<String> = (0..500).map(|n| format!("line {n} {}", "x".repeat(n % 300))).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let refused = Failure {
            status: 403,
            what: "The cluster does not allow it".into(),
            why: "pods \"etcd-2\" is forbidden: User \"system:aro-sre\" cannot get resource \"pods/log\""
                .into(),
            side: Side::Cluster,
            actions: Vec::new(),
            request_id: "01JD7M2N-08RA".into(),
        };
        vec![
            ("lines", log()),
            ("long", Self { lines: log_lines(&long), ..log() }),
            ("empty", Self { lines: Vec::new(), cut: false, ..log() }),
            (
                "nothing-found",
                Self { lines: Vec::new(), query: LogQuery { q: "panic".into(), ..log().query }, ..log() },
            ),
            ("errors", Self { query: LogQuery { level: "error".into(), ..log().query }, ..log() }),
            ("refused", Self { failure: Some(refused), ..log() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    pod: HOSTILE.into(),
                    namespace: HOSTILE.into(),
                    containers: vec![(HOSTILE.into(), HOSTILE.into())],
                    query: LogQuery { q: HOSTILE.into(), ..LogQuery::default() },
                    lines: log_lines(&[HOSTILE, &endless()]),
                    ..log()
                },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(crate::no_rights("open logs", "sre")),
                    ..log()
                },
            ),
            ("error", Self { failure: Some(away()), ..log() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/pods"), ..log() }),
        ]
    }
}
