//! Kinds, objects, network, and the question for a reason.

use crate::cluster::{harbor, lab};
use crate::workloads::{away, events, odd};
use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, SUBSCRIPTION, Sample, ended, endless, frame, hostile, no_rights, path,
    viewer,
};
use web::Condition;
use web::{
    Badge, DiffRow, Failure, IngressRow, KindGroup, KindQuery, KindRow, LastDial, Link, NavItem,
    NetworkObject, NetworkPage, Node, Notice, ObjectBody, ObjectDescription, ObjectHead, ObjectPage,
    ObjectQuery, ObjectRevision, ObjectRow, ObjectView, ObjectsPage, ReasonPage, ResourcesPage, Side, Step,
    StepState, Tab, Tone,
};

fn at(rest: &str) -> String {
    format!("{}{rest}", path("rg-harbor-prod", "harbor-prod-weu-01"))
}

fn kind(kind: &str, plural: &str, namespaced: bool) -> KindRow {
    KindRow {
        kind: kind.into(),
        plural: plural.into(),
        version: "v1".into(),
        namespaced,
        href: at(&format!("/resources/config.openshift.io/v1/{plural}")),
        ..KindRow::default()
    }
}

fn kinds() -> ResourcesPage {
    ResourcesPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        groups: vec![
            KindGroup {
                name: "config.openshift.io".into(),
                kinds: vec![
                    KindRow {
                        short: vec!["co".into()],
                        count: Some("34".into()),
                        ..kind("ClusterOperator", "clusteroperators", false)
                    },
                    kind("ClusterVersion", "clusterversions", false),
                ],
            },
            KindGroup {
                name: String::new(),
                kinds: vec![
                    KindRow { short: vec!["po".into()], ..kind("Pod", "pods", true) },
                    KindRow { locked: true, href: String::new(), ..kind("Secret", "secrets", true) },
                    KindRow { href: String::new(), ..kind("Binding", "bindings", true) },
                ],
            },
        ],
        total: 212,
        ..ResourcesPage::default()
    }
}

impl Sample for ResourcesPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let part = Notice {
            tone: Tone::Warn,
            lead: "metrics.k8s.io did not answer.".into(),
            text: "Its kinds are missing here.".into(),
            action: None,
        };
        let strange = KindGroup {
            name: HOSTILE.into(),
            kinds: vec![KindRow {
                short: vec![HOSTILE.into()],
                count: Some("more than 500".into()),
                ..kind(HOSTILE, HOSTILE, true)
            }],
        };
        vec![
            ("some", kinds()),
            (
                "partial",
                Self {
                    notices: vec![part],
                    query: KindQuery { q: "cluster".into(), count: "1".into() },
                    ..kinds()
                },
            ),
            (
                "nothing-found",
                Self {
                    groups: Vec::new(),
                    query: KindQuery { q: "machinehealthcheck".into(), ..KindQuery::default() },
                    ..kinds()
                },
            ),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    groups: vec![strange],
                    query: KindQuery { q: HOSTILE.into(), ..KindQuery::default() },
                    ..kinds()
                },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("look into the cluster", "sre")),
                    ..kinds()
                },
            ),
            ("error", Self { failure: Some(away()), ..kinds() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/resources"), ..kinds() }),
        ]
    }
}

fn objects() -> ObjectsPage {
    let row = |name: &str, cells: [&str; 4]| ObjectRow {
        name: name.into(),
        namespace: String::new(),
        href: at(&format!("/resources/config.openshift.io/v1/clusteroperators/{name}")),
        cells: cells.map(Into::into).to_vec(),
    };
    ObjectsPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        kind: kind("ClusterOperator", "clusteroperators", false),
        group: "config.openshift.io".into(),
        base: at("/resources/config.openshift.io/v1/clusteroperators"),
        columns: [("Version", false), ("Available", false), ("Degraded", false), ("Since", true)]
            .map(|(w, l)| (w.to_owned(), l))
            .to_vec(),
        rows: vec![
            row("authentication", ["4.18.22", "False", "True", "41m"]),
            row("dns", ["4.18.22", "True", "False", "411d"]),
        ],
        ..ObjectsPage::default()
    }
}

fn secret() -> Failure {
    Failure {
        status: 403,
        what: "Secrets are not shown here".into(),
        why: "A read-only access never opens them. Who must read one takes a kubeconfig with admin rights, under an elevation.".into(),
        side: Side::You,
        actions: vec![Link::new("All kinds", at("/resources"))],
        request_id: "01JD7M2N-08RA".into(),
    }
}

impl Sample for ObjectsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let none = || Self { rows: Vec::new(), ..objects() };
        let pods: Vec<ObjectRow> = (0..100)
            .map(|n| ObjectRow {
                namespace: "openshift-dns".into(),
                name: format!("dns-default-{n:05}"),
                cells: vec!["1/1".into(), "Running".into(), "0".into(), "12d".into()],
                ..ObjectRow::default()
            })
            .collect();
        let missing = Failure {
            status: 404,
            what: "The cluster does not serve this kind".into(),
            why: "It may be of another version of OpenShift.".into(),
            side: Side::Cluster,
            actions: vec![Link::new("All kinds", at("/resources"))],
            request_id: String::new(),
        };
        let strange = ObjectRow {
            name: HOSTILE.into(),
            namespace: HOSTILE.into(),
            cells: vec![HOSTILE.into(), endless(), String::new(), HOSTILE.into()],
            ..ObjectRow::default()
        };
        vec![
            ("some", objects()),
            (
                "many",
                Self {
                    kind: kind("Pod", "pods", true),
                    rows: pods,
                    next: "abc".into(),
                    remaining: Some(812),
                    ..objects()
                },
            ),
            ("empty", none()),
            (
                "nothing-found",
                Self { query: ObjectQuery { q: "zzz".into(), ..ObjectQuery::default() }, ..none() },
            ),
            ("secret", Self { failure: Some(secret()), kind: kind("Secret", "secrets", true), ..none() }),
            ("missing", Self { failure: Some(missing), ..none() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    kind: kind(HOSTILE, HOSTILE, true),
                    group: HOSTILE.into(),
                    columns: [HOSTILE; 4].map(|w| (w.to_owned(), false)).to_vec(),
                    rows: vec![strange],
                    query: ObjectQuery { q: HOSTILE.into(), label: HOSTILE.into(), ..ObjectQuery::default() },
                    next: HOSTILE.into(),
                    ..objects()
                },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("look into the cluster", "sre")),
                    ..none()
                },
            ),
            ("error", Self { failure: Some(away()), ..none() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/resources"), ..objects() }),
        ]
    }
}

fn leaf(text: &str) -> Node {
    Node::Leaf(text.into())
}

fn spec() -> Node {
    let pair = |name: &str, node| (name.to_owned(), node);
    Node::Map(vec![
        pair("managementState", leaf("Managed")),
        pair("replicas", leaf("3")),
        pair("tuningOptions", Node::Map(Vec::new())),
        pair(
            "ports",
            Node::List(vec![
                Node::Map(vec![pair("name", leaf("https")), pair("port", leaf("443"))]),
                leaf("80"),
            ]),
        ),
    ])
}

fn object() -> ObjectPage {
    let condition = |kind: &str, tone, word: &str, message: &str| Condition {
        kind: kind.into(),
        status: Badge::new(tone, if tone == Tone::Bad { "failed" } else { "info" }, word, tone != Tone::Bad),
        reason: "OAuthServerRouteEndpointAccessibleController_SyncError".into(),
        since: Some(NOW - 41 * MINUTE),
        message: message.into(),
    };
    let described = ObjectDescription {
        created: Some(NOW - 411 * DAY),
        resource_version: "81123311".into(),
        uid: "8fd0b3c5-2b5c-4b8e-9b1a-0d2a6a9f5f11".into(),
        generation: "1".into(),
        owners: vec![Link::new(
            "ClusterVersion version",
            at("/resources/config.openshift.io/v1/clusterversions/version"),
        )],
        labels: vec![("app".into(), "oauth".into()), ("openshift.io/role".into(), "control-plane".into())],
        annotations: vec![(
            "include.release.openshift.io/self-managed-high-availability".into(),
            "true".into(),
        )],
        conditions: vec![
            condition("Available", Tone::Bad, "False", "Get \"https://oauth-openshift.apps.harbor\": EOF"),
            condition("Progressing", Tone::Mute, "False", ""),
        ],
        members: vec![("spec".into(), spec()), ("status".into(), spec())],
        events: events(),
        ..ObjectDescription::default()
    };
    ObjectPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        object: ObjectHead {
            kind: "ClusterOperator".into(),
            group: "config.openshift.io".into(),
            version: "v1".into(),
            name: "authentication".into(),
            namespace: String::new(),
            path: at("/resources/config.openshift.io/v1/clusteroperators/authentication"),
            list: at("/resources/config.openshift.io/v1/clusteroperators"),
            raw: format!(
                "/api/v1/clusters{}",
                at("/objects/config.openshift.io/v1/clusteroperators/authentication?as=yaml")
            ),
            page: Some(Link::new("Operator", at("/operators/authentication"))),
            acts: Vec::new(),
        },
        body: ObjectBody::Described(Box::new(described)),
        read_at: NOW - 1,
        ..ObjectPage::default()
    }
}

fn text(folded: u64) -> ObjectBody {
    let lines = [
        "apiVersion: config.openshift.io/v1",
        "kind: ClusterOperator",
        "metadata:",
        "  name: authentication",
        "spec: {}",
        "status:",
        "  conditions:",
        "  - lastTransitionTime: \"2026-11-21T02:31:00Z\"",
        "    status: \"False\"",
        "    type: Available",
    ];
    ObjectBody::Text { lines: lines.map(Into::into).to_vec(), folded }
}

fn moments() -> Vec<ObjectRevision> {
    vec![
        ObjectRevision { version: "81123311".into(), at: NOW - 1, chosen: false },
        ObjectRevision { version: "81120007".into(), at: NOW - 9 * MINUTE, chosen: true },
        ObjectRevision { version: "81110001".into(), at: NOW - 2 * HOUR, chosen: false },
    ]
}

fn diff(rows: Vec<DiffRow>) -> ObjectBody {
    let [after, before, _] = <[ObjectRevision; 3]>::try_from(moments()).unwrap_or_default();
    ObjectBody::Diff { before, after, rows, cut: false }
}

impl Sample for ObjectPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let rows = vec![
            DiffRow::Gap(12),
            DiffRow::Same(13, 13, "  conditions:".into()),
            DiffRow::Changed(14, "    status: \"True\"".into(), 14, "    status: \"False\"".into()),
            DiffRow::Removed(15, "    reason: AsExpected".into()),
            DiffRow::Added(15, format!("    message: {}", "oauth route is not reachable ".repeat(9))),
            DiffRow::Same(16, 16, "    type: Available".into()),
            DiffRow::Gap(1),
        ];
        let in_diff =
            |rows| Self { view: ObjectView::Diff, body: diff(rows), moments: moments(), ..object() };
        let strange = ObjectDescription {
            labels: vec![(HOSTILE.into(), HOSTILE.into())],
            annotations: vec![(HOSTILE.into(), "y".repeat(1_048_576))],
            owners: vec![Link::new(HOSTILE, "/x")],
            finalizers: vec![HOSTILE.into()],
            deleting: Some(NOW + DAY),
            left_out: 4_900,
            members: vec![(HOSTILE.into(), Node::Map(vec![(HOSTILE.into(), leaf(&endless()))]))],
            events_missing: HOSTILE.into(),
            ..ObjectDescription::default()
        };
        vec![
            ("described", object()),
            ("yaml", Self { view: ObjectView::Yaml, body: text(0), ..object() }),
            ("json", Self { view: ObjectView::Json, body: text(2), managed: true, ..object() }),
            ("diff", in_diff(rows)),
            ("diff-same", in_diff(Vec::new())),
            ("diff-one", Self { view: ObjectView::Diff, body: ObjectBody::OneMoment, ..object() }),
            ("secret", Self { failure: Some(secret()), ..object() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    object: ObjectHead {
                        kind: HOSTILE.into(),
                        name: HOSTILE.into(),
                        namespace: HOSTILE.into(),
                        ..object().object
                    },
                    body: ObjectBody::Described(Box::new(strange)),
                    ..object()
                },
            ),
            (
                "hostile-text",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    view: ObjectView::Yaml,
                    body: ObjectBody::Text { lines: vec![HOSTILE.into(), endless()], folded: 1 },
                    ..object()
                },
            ),
            (
                "hostile-diff",
                Self { cluster: odd(), ..in_diff(vec![DiffRow::Changed(1, HOSTILE.into(), 1, endless())]) },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("look into the cluster", "sre")),
                    ..object()
                },
            ),
            ("error", Self { failure: Some(away()), ..object() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/resources"), ..object() }),
        ]
    }
}

fn network() -> NetworkPage {
    let subnet = |name: &str| {
        format!(
            "/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/{name}"
        )
    };
    NetworkPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        way: vec![
            ("Way", "Private endpoint, directly".into()),
            ("Private endpoint", "10.0.4.19".into()),
            ("Port", "6443".into()),
            ("Server name", "api.harbor-prod-weu-01.example.net".into()),
        ],
        last: Some(LastDial { at: NOW - 40, took_ms: 12, error: String::new() }),
        check_href: "?reach=1".into(),
        document: vec![
            ("API visibility", "Private".into()),
            ("API URL", "https://api.harbor-prod-weu-01.example.net:6443/".into()),
            ("Pod network", "10.128.0.0/14".into()),
            ("Service network", "172.30.0.0/16".into()),
            ("Outbound", "Loadbalancer".into()),
            ("Own network security groups", String::new()),
        ],
        subnets: vec![
            ("Masters' subnet".into(), subnet("master")),
            ("Subnet of worker".into(), subnet("worker")),
        ],
        ingress: vec![IngressRow {
            name: "default".into(),
            visibility: "Public".into(),
            ip: "20.101.4.7".into(),
        }],
        objects: vec![
            NetworkObject {
                title: "Network".into(),
                link: Link::new("cluster", at("/resources/config.openshift.io/v1/networks/cluster")),
                spec: Ok(spec()),
            },
            NetworkObject {
                title: "DNS".into(),
                link: Link::default(),
                spec: Err("The cluster does not serve this kind.".into()),
            },
        ],
        ..NetworkPage::default()
    }
}

impl Sample for NetworkPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let step = |state, text: &str, note: &str, hint: &str| Step {
            state,
            text: text.into(),
            note: note.into(),
            hint: hint.into(),
            since: None,
        };
        let check = vec![
            step(StepState::Done, "Address", "1 ms", ""),
            step(StepState::Failed, "Connection", "30 s", "It did not accept a connection in time."),
            step(StepState::Waiting, "TLS", "", ""),
            step(StepState::Waiting, "Answer", "", ""),
        ];
        let failed = LastDial {
            at: NOW - 9,
            took_ms: 30_000,
            error: "It did not accept a connection in time.".into(),
        };
        vec![
            ("full", network()),
            (
                "bare",
                Self {
                    last: None,
                    ingress: Vec::new(),
                    objects: Vec::new(),
                    objects_href: "?objects=1".into(),
                    ..network()
                },
            ),
            ("reach", Self { last: Some(failed), check, ..network() }),
            ("imported", Self { cluster: lab(), ingress: Vec::new(), subnets: Vec::new(), ..network() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    way: vec![("Way", HOSTILE.into())],
                    document: vec![("API URL", HOSTILE.into())],
                    subnets: vec![(HOSTILE.into(), HOSTILE.into())],
                    ingress: vec![IngressRow {
                        name: HOSTILE.into(),
                        visibility: endless(),
                        ip: HOSTILE.into(),
                    }],
                    objects: vec![NetworkObject {
                        title: HOSTILE.into(),
                        link: Link::new(HOSTILE, "/x"),
                        spec: Err(HOSTILE.into()),
                    }],
                    ..network()
                },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    check_href: String::new(),
                    objects: Vec::new(),
                    ..network()
                },
            ),
            ("error", Self { failure: Some(crate::store_away()), ..network() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/network"), ..network() }),
        ]
    }
}

fn reason() -> ReasonPage {
    ReasonPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        tab: Tab::Pods,
        what: "the log of etcd-2".into(),
        back: at("/pods/openshift-etcd/etcd-2/log"),
        out: Link::new("Back to the pod", at("/pods/openshift-etcd/etcd-2")),
        ..ReasonPage::default()
    }
}

impl Sample for ReasonPage {
    fn samples() -> Vec<(&'static str, Self)> {
        vec![
            ("asked", reason()),
            (
                "wrong",
                Self {
                    reason: "look".into(),
                    reason_error: Some(
                        "Too short: say in at least 10 characters what you are going to do.".into(),
                    ),
                    ticket_error: Some("A ticket has at most 100 characters.".into()),
                    ..reason()
                },
            ),
            ("revoked", Self { revoked: true, ..reason() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    what: HOSTILE.into(),
                    reason: format!("</textarea>{HOSTILE}"),
                    ticket: HOSTILE.into(),
                    out: Link::new(HOSTILE, "/"),
                    ..reason()
                },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("look into the cluster", "sre")),
                    ..reason()
                },
            ),
            ("error", Self { failure: Some(Failure { side: Side::Us, ..crate::store_away() }), ..reason() }),
            ("expired", Self { frame: ended(NavItem::Clusters, "/look"), ..reason() }),
        ]
    }
}
