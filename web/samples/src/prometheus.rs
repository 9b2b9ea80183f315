//! Explorer, statistics, alerts and fleet query.

use crate::cluster::{harbor, lab};
use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, no_rights, path, viewer,
};
use web::{
    AccessDecision, AlertGroup, AlertRow, AlertSilence, Alerts, AlertsPage, AlertsState, Cluster,
    ExplorePage, ExploreQuery, Failure, FleetFault, FleetOutcome, FleetPage, FleetRow, FleetTable, Link,
    NavItem, Notice, QueryResult, ResultRow, ResultTable, Side, StatisticChart, StatisticGroup,
    StatisticsPage, Tone, explore_href, sparkline,
};

const LATENCY: &str =
    "histogram_quantile(0.99, sum by (le, verb) (rate(apiserver_request_duration_seconds_bucket[5m])))";

fn cluster_away() -> Failure {
    Failure {
        status: 504,
        what: "The cluster did not answer".into(),
        why: "It accepted no connection on its private link within 10 s. Other clusters answer, so the fault is likely on its side.".into(),
        side: Side::Cluster,
        actions: vec![Link::new("Try again", "?")],
        request_id: "01JD7M2N-08RA".into(),
    }
}

fn no_role() -> AccessDecision {
    AccessDecision::No("You need the sre role to connect; your groups do not include it.".into())
}

fn strange() -> Cluster {
    Cluster { name: HOSTILE.into(), path: "/subscriptions/x".into(), resource_id: HOSTILE.into(), ..harbor() }
}

fn row(verb: &str, height: f64) -> ResultRow {
    let wave = |at: u32| (at != 20 && at != 21).then(|| height * (1.0 + (f64::from(at) / 5.0).sin() / 3.0));
    ResultRow {
        metric: String::new(),
        labels: vec![("verb".into(), verb.into())],
        last: format!("{:.0} ms", height * 1000.0),
        spread: Some(["74 ms".into(), "351 ms".into(), "1.05 s".into()]),
        line: sparkline(&(0..60).map(wave).collect::<Vec<_>>()),
    }
}

fn table() -> ResultTable {
    ResultTable {
        rows: vec![row("LIST", 0.814), row("POST", 0.233), row("GET", 0.137)],
        series: 3,
        step: 15,
        source: "prometheus-k8s-0".into(),
        warnings: Vec::new(),
    }
}

fn explorer() -> ExplorePage {
    ExplorePage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        range: "1h".into(),
        end: String::new(),
        source: String::new(),
        sources: [
            ("prometheus-k8s-0", "Prometheus, first replica"),
            ("prometheus-k8s-1", "Prometheus, second replica"),
            ("thanos-querier", "Thanos querier"),
            ("user-workload", "User workload"),
        ]
        .map(|(id, name)| (id.to_owned(), name.to_owned()))
        .to_vec(),
        queries: vec![ExploreQuery::default()],
        may_ask: AccessDecision::Yes,
        failure: None,
    }
}

fn asked(result: QueryResult) -> Vec<ExploreQuery> {
    vec![ExploreQuery { text: LATENCY.into(), instant: false, result }]
}

impl Sample for ExplorePage {
    fn samples() -> Vec<(&'static str, Self)> {
        let rows = |table| asked(QueryResult::Rows(table));
        let wrong = QueryResult::Wrong {
            line: 1,
            column: 27,
            words: "parse error: unexpected end of input in aggregation".into(),
        };
        let crowd = ResultTable {
            rows: (0..40).map(|n| row(&format!("pod-{n}"), 0.5 - f64::from(n) / 100.0)).collect(),
            series: 10_000,
            ..table()
        };
        let partial = ResultTable {
            warnings: vec![
                "results truncated: 1,000 of 4,212 series. Ask for fewer: sum by (…), topk, or more labels."
                    .into(),
            ],
            ..table()
        };
        let odd = ResultTable {
            rows: vec![ResultRow {
                metric: HOSTILE.into(),
                labels: vec![(HOSTILE.into(), endless()), ("a".into(), HOSTILE.into())],
                last: "+Inf".into(),
                ..ResultRow::default()
            }],
            warnings: vec![HOSTILE.into()],
            source: HOSTILE.into(),
            ..table()
        };
        let instant = ResultTable {
            rows: vec![ResultRow { metric: "up".into(), last: "1".into(), ..ResultRow::default() }],
            series: 1,
            step: 0,
            ..table()
        };
        let two = vec![
            ExploreQuery { text: LATENCY.into(), instant: false, result: QueryResult::Rows(table()) },
            ExploreQuery { text: "up".into(), instant: true, result: QueryResult::Rows(instant) },
        ];
        vec![
            ("empty", explorer()),
            ("query", Self { queries: asked(QueryResult::None), range: "37m".into(), ..explorer() }),
            ("rows", Self { queries: rows(table()), ..explorer() }),
            ("two", Self { queries: two, source: "thanos-querier".into(), ..explorer() }),
            (
                "none",
                Self { queries: rows(ResultTable { rows: Vec::new(), series: 0, ..table() }), ..explorer() },
            ),
            ("syntax", Self { queries: asked(wrong), ..explorer() }),
            ("partial", Self { queries: rows(partial), ..explorer() }),
            ("many", Self { queries: rows(crowd), ..explorer() }),
            ("away", Self { queries: asked(QueryResult::Failed(cluster_away())), ..explorer() }),
            ("imported", Self { cluster: lab(), ..explorer() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: strange(),
                    range: HOSTILE.into(),
                    end: HOSTILE.into(),
                    queries: vec![ExploreQuery {
                        text: format!("</textarea>{HOSTILE}"),
                        instant: true,
                        result: QueryResult::Rows(odd),
                    }],
                    ..explorer()
                },
            ),
            ("no-rights", Self { frame: viewer(NavItem::Clusters), may_ask: no_role(), ..explorer() }),
            ("error", Self { failure: Some(crate::store_away()), ..explorer() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/explore"), ..explorer() }),
        ]
    }
}

fn statistics() -> StatisticsPage {
    let at = path("rg-harbor-prod", "harbor-prod-weu-01");
    let chart = |name: &str, title: &str, unit: &str, query: &str| StatisticChart {
        name: name.into(),
        title: title.into(),
        unit: unit.into(),
        query: query.into(),
        href: explore_href(&at, query, false, "1h"),
    };
    StatisticsPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        api: "/api/0b6f3c1e-4f1d-4b7a-9a55-6d1f2a3bc0de/rg-harbor-prod/harbor-prod-weu-01/statistics".into(),
        range: "1h".into(),
        end: String::new(),
        groups: vec![
            StatisticGroup {
                id: "apistatistics".into(),
                title: "API server".into(),
                charts: vec![
                    chart(
                        "kubeapicodes",
                        "Requests answered with an error, by code and verb",
                        "requests/s",
                        "sum(rate(apiserver_request_total{job=\"apiserver\",code=~\"[45]..\"}[10m])) by (code, verb)",
                    ),
                    chart(
                        "kubeapicpu",
                        "CPU by instance",
                        "cores",
                        "rate(process_cpu_seconds_total{job=\"apiserver\"}[5m])",
                    ),
                    chart(
                        "kubeapimemory",
                        "Memory by instance",
                        "bytes",
                        "process_resident_memory_bytes{job=\"apiserver\"}",
                    ),
                ],
            },
            StatisticGroup {
                id: "ingressstatistics".into(),
                title: "Ingress".into(),
                charts: vec![chart(
                    "ingresscontrollercondition",
                    "Ingress controllers by condition",
                    "",
                    "sum(ingress_controller_conditions) by (condition)",
                )],
            },
        ],
        may_ask: AccessDecision::Yes,
        failure: None,
    }
}

impl Sample for StatisticsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let odd = StatisticChart {
            name: "odd".into(),
            title: format!("chart {HOSTILE}"),
            unit: HOSTILE.into(),
            query: HOSTILE.into(),
            href: explore_href("/x", HOSTILE, true, HOSTILE),
        };
        let group = StatisticGroup { id: "odd-group".into(), title: HOSTILE.into(), charts: vec![odd] };
        let away = AccessDecision::No(
            "The cluster has no private endpoint yet, so nothing can reach its Prometheus.".into(),
        );
        vec![
            ("loading", statistics()),
            ("range", Self { range: "8w".into(), end: "2026-11-20 12:00".into(), ..statistics() }),
            ("no-prometheus", Self { may_ask: away, ..statistics() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: strange(),
                    range: HOSTILE.into(),
                    groups: vec![group],
                    ..statistics()
                },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("You may not see statistics", "viewer")),
                    ..statistics()
                },
            ),
            ("error", Self { failure: Some(crate::store_away()), ..statistics() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/statistics"), ..statistics() }),
        ]
    }
}

fn alert(firing: bool, age: i64, pod: &str) -> AlertRow {
    AlertRow {
        firing,
        since: Some(NOW - age),
        value: "1.4".into(),
        labels: vec![("namespace".into(), "openshift-etcd".into()), ("pod".into(), pod.into())],
        description: format!("Member {pod} loses its leader more often than once in 5 min."),
        ..AlertRow::default()
    }
}

fn known() -> Alerts {
    let at = path("rg-harbor-prod", "harbor-prod-weu-01");
    let silence = AlertSilence {
        by: "mirela.kask@example.com".into(),
        comment: "disk is being replaced, INC-48213".into(),
        ends: Some(NOW + 5 * HOUR),
    };
    Alerts {
        at: NOW - 4,
        silences: 1,
        source: "prometheus-k8s-0".into(),
        notices: Vec::new(),
        groups: vec![
            AlertGroup {
                name: "etcdMemberCommunicationSlow".into(),
                severity: "critical".into(),
                summary: "etcd members wait for each other".into(),
                since: Some(NOW - 47 * MINUTE),
                runbook: "https://runbooks.example.net/etcd".into(),
                explore: explore_href(
                    &at,
                    "histogram_quantile(0.99, rate(etcd_network_peer_round_trip_time_seconds_bucket[5m])) > 0.15",
                    true,
                    "1h",
                ),
                alerts: vec![
                    alert(true, 47 * MINUTE, "etcd-master-2"),
                    alert(false, 3 * MINUTE, "etcd-master-0"),
                ],
                count: 2,
            },
            AlertGroup {
                name: "NodeFilesystemAlmostOutOfSpace".into(),
                severity: "warning".into(),
                since: Some(NOW - 2 * DAY),
                alerts: vec![AlertRow {
                    silences: vec![silence],
                    ..alert(true, 2 * DAY, "node-exporter-x7")
                }],
                count: 1,
                ..AlertGroup::default()
            },
            AlertGroup {
                name: "Watchdog".into(),
                severity: "none".into(),
                summary: "Always fires: it shows that alerts work".into(),
                alerts: vec![AlertRow { firing: true, since: Some(NOW - 70 * DAY), ..AlertRow::default() }],
                count: 1,
                ..AlertGroup::default()
            },
        ],
    }
}

fn alerts() -> AlertsPage {
    AlertsPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        state: AlertsState::Known(known()),
        failure: None,
    }
}

impl Sample for AlertsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let state = |known| Self { state: AlertsState::Known(known), ..alerts() };
        let missing = Notice {
            tone: Tone::Warn,
            lead: "Alertmanager did not answer.".into(),
            text: "Silences are not known; what is below comes from Prometheus alone.".into(),
            action: None,
        };
        let many = AlertGroup {
            name: "KubePodNotReady".into(),
            severity: "warning".into(),
            explore: "/x/explore?query=up".into(),
            alerts: (0..60).map(|n| alert(true, n * MINUTE, &format!("pod-{n}"))).collect(),
            count: 812,
            ..AlertGroup::default()
        };
        let odd = AlertGroup {
            name: HOSTILE.into(),
            severity: HOSTILE.into(),
            summary: HOSTILE.into(),
            alerts: vec![AlertRow {
                labels: vec![(HOSTILE.into(), endless())],
                description: HOSTILE.into(),
                value: HOSTILE.into(),
                silences: vec![AlertSilence { by: HOSTILE.into(), comment: endless(), ends: None }],
                ..AlertRow::default()
            }],
            count: 1,
            ..AlertGroup::default()
        };
        vec![
            ("firing", alerts()),
            ("empty", state(Alerts { groups: Vec::new(), silences: 0, ..known() })),
            ("loading", Self { state: AlertsState::Loading, ..alerts() }),
            ("partial", state(Alerts { notices: vec![missing], silences: 0, ..known() })),
            ("many", state(Alerts { groups: vec![many], ..known() })),
            ("away", Self { state: AlertsState::Failed(cluster_away()), ..alerts() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: strange(),
                    state: AlertsState::Known(Alerts {
                        groups: vec![odd],
                        source: HOSTILE.into(),
                        ..known()
                    }),
                    ..alerts()
                },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("You may not see alerts", "viewer")),
                    ..alerts()
                },
            ),
            ("error", Self { failure: Some(crate::store_away()), ..alerts() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/alerts"), ..alerts() }),
        ]
    }
}

fn fleet() -> FleetPage {
    FleetPage {
        frame: frame(NavItem::Fleet),
        clusters: "state:failed".into(),
        query: "max(etcd_server_has_leader)".into(),
        instant: true,
        range: "1h".into(),
        aggregate: String::new(),
        by: String::new(),
        k: 10,
        total: 10_214,
        may_ask: AccessDecision::Yes,
        outcome: FleetOutcome::None,
        failure: None,
    }
}

fn gathered() -> FleetTable {
    let one = |cluster: &str, last: &str| FleetRow {
        cluster: cluster.into(),
        path: path("rg", cluster),
        row: ResultRow { last: last.into(), ..ResultRow::default() },
    };
    FleetTable {
        rows: vec![one("kiln-analytics-weu-11", "212 ms"), one("harbor-prod-weu-01", "9 ms")],
        series: 2,
        clusters: 3,
        answered: 2,
        faults: vec![FleetFault {
            cluster: "saltmarsh-int".into(),
            path: path("rg", "saltmarsh-int"),
            what: "No answer in 10 s".into(),
        }],
    }
}

impl Sample for FleetPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let done = |table| FleetOutcome::Done(table);
        let whole = FleetTable { clusters: 2, faults: Vec::new(), ..gathered() };
        let odd = FleetTable {
            rows: vec![FleetRow {
                cluster: HOSTILE.into(),
                path: "/x".into(),
                row: ResultRow {
                    metric: HOSTILE.into(),
                    labels: vec![("a".into(), endless())],
                    last: "NaN".into(),
                    ..ResultRow::default()
                },
            }],
            faults: vec![FleetFault { cluster: HOSTILE.into(), path: "/x".into(), what: endless() }],
            ..gathered()
        };
        let wrong =
            FleetOutcome::Wrong { line: 1, column: 4, words: "parse error: unexpected end of input".into() };
        vec![
            ("empty", fleet()),
            ("answers", Self { outcome: done(whole), ..fleet() }),
            ("partial", Self { outcome: done(gathered()), ..fleet() }),
            (
                "none",
                Self { outcome: done(FleetTable { rows: Vec::new(), series: 0, ..gathered() }), ..fleet() },
            ),
            ("no-cluster", Self { outcome: done(FleetTable::default()), ..fleet() }),
            ("syntax", Self { outcome: wrong, ..fleet() }),
            ("away", Self { outcome: FleetOutcome::Failed(crate::store_away()), ..fleet() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Fleet),
                    clusters: HOSTILE.into(),
                    query: format!("</textarea>{HOSTILE}"),
                    range: HOSTILE.into(),
                    by: HOSTILE.into(),
                    outcome: done(odd),
                    ..fleet()
                },
            ),
            ("no-rights", Self { frame: viewer(NavItem::Fleet), may_ask: no_role(), ..fleet() }),
            ("error", Self { failure: Some(crate::store_away()), ..fleet() }),
            ("expired", Self { frame: ended(NavItem::Fleet, "/fleet"), ..fleet() }),
        ]
    }
}
