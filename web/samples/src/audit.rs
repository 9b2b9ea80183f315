use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, no_rights, path, store_away,
    viewer,
};
use web::{AuditPage, AuditQuery, AuditResult, AuditRow, Chain, Link, NavItem};

fn entry(seq: i64, verb: &str, what: &str, result: AuditResult, status: &str) -> AuditRow {
    let name = "harbor-prod-weu-01";
    let field = |n: &str, v: &str| (n.to_owned(), v.to_owned());
    AuditRow {
        id: format!("portal-7c9d5b/{}", 48_213 - seq),
        at: NOW - seq * 41,
        person: "juno.aaltonen@example.com".into(),
        cluster: Some(Link::new(name, path("rg-harbor-prod", name))),
        verb: verb.into(),
        what: what.into(),
        phase: "single".into(),
        result,
        status: status.into(),
        fields: vec![
            field("request_id", "01JD7M2K-Q4ZX"),
            field("grant", "g-7Q2M"),
            field("identity_used", "system:aro-sre"),
            field("group", ""),
            field("resource", "pods"),
            field("subresource", ""),
            field("namespace", "openshift-etcd"),
            field("bytes_out", "412,883"),
            field("from", "192.0.2.44, kubectl 1.36.3"),
            field("prev", "9f2c7a41d0b6e5832a1f4c9977e0d3b1c6a85f20e4b7d9183c5a6e7f80912b3d"),
        ],
    }
}

pub(super) fn entries() -> Vec<AuditRow> {
    vec![
        entry(1, "watch", "pods openshift-etcd", AuditResult::Open, ""),
        entry(2, "get", "pods/log openshift-etcd/etcd-master-0 -c etcd", AuditResult::Done, "200"),
        entry(
            3,
            "create",
            "pods/exec openshift-etcd/etcd-master-0: sh -c etcdctl member list",
            AuditResult::Refused,
            "403",
        ),
        entry(4, "list", "nodes", AuditResult::Done, "200"),
        entry(
            9,
            "grant.issue",
            "kubeconfig, read-only, 4 h: “Watch etcd while the member is replaced”",
            AuditResult::Done,
            "",
        ),
        entry(14, "list", "clusteroperators.config.openshift.io", AuditResult::Failed, "504"),
        AuditRow {
            cluster: None,
            fields: Vec::new(),
            ..entry(20, "session.sign-in", "", AuditResult::Done, "")
        },
    ]
}

pub(super) fn strange() -> AuditRow {
    AuditRow {
        id: HOSTILE.into(),
        person: HOSTILE.into(),
        cluster: Some(Link::new(HOSTILE, format!("/{HOSTILE}"))),
        phase: HOSTILE.into(),
        status: HOSTILE.into(),
        fields: vec![(HOSTILE.into(), HOSTILE.into()), ("command".into(), endless())],
        ..entry(1, HOSTILE, &format!("{HOSTILE}{}", endless()), AuditResult::Refused, "")
    }
}

fn full() -> AuditPage {
    AuditPage {
        frame: frame(NavItem::Audit),
        entries: entries(),
        next: Some("portal-7c9d5b/48193".into()),
        matched: Some(48_213),
        chain: Chain::Proven { up_to: NOW - 17, entries: Some(48_190) },
        ..AuditPage::default()
    }
}

impl Sample for AuditPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let asked = AuditQuery {
            person: "juno".into(),
            verb: "exec".into(),
            before: "portal-7c9d5b/48000".into(),
            ..AuditQuery::default()
        };
        let broken = Chain::Broken {
            at: "portal-7c9d5b/40112".into(),
            why: "Its hash names another predecessor than the entry before it.".into(),
        };
        let many = (0..50)
            .map(|i| {
                entry(
                    i * 7,
                    "get",
                    "configmaps kube-system/extension-apiserver-authentication",
                    AuditResult::Done,
                    "200",
                )
            })
            .collect();
        vec![
            ("few", full()),
            (
                "one",
                Self {
                    entries: entries().into_iter().take(1).collect(),
                    next: None,
                    matched: Some(1),
                    chain: Chain::Unknown,
                    ..full()
                },
            ),
            ("many", Self { entries: many, query: asked.clone(), matched: None, ..full() }),
            ("empty", Self { entries: Vec::new(), next: None, chain: Chain::Unknown, ..full() }),
            ("nothing-found", Self { entries: Vec::new(), next: None, query: asked, ..full() }),
            (
                "nothing-yet",
                Self {
                    entries: Vec::new(),
                    query: AuditQuery { verb: "exec".into(), ..AuditQuery::default() },
                    ..full()
                },
            ),
            (
                "mistake",
                Self {
                    query: AuditQuery {
                        from: "2026-11-21T03:00".into(),
                        to: "2026-11-20T03:00".into(),
                        ..AuditQuery::default()
                    },
                    range_error: Some("The end lies before the start.".into()),
                    entries: Vec::new(),
                    next: None,
                    ..full()
                },
            ),
            ("late", Self { chain: Chain::Late { up_to: NOW - 3 * HOUR - 5 * MINUTE }, ..full() }),
            ("broken", Self { chain: broken, ..full() }),
            (
                "error",
                Self {
                    failure: Some(store_away()),
                    entries: Vec::new(),
                    chain: Chain::Proven { up_to: NOW - DAY, entries: None },
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Audit, "/audit?person=juno"), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Audit),
                    failure: Some(no_rights("The audit needs the role auditor", "auditor")),
                    entries: Vec::new(),
                    ..full()
                },
            ),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Audit),
                    entries: vec![strange()],
                    query: AuditQuery {
                        show: HOSTILE.into(),
                        person: HOSTILE.into(),
                        cluster: HOSTILE.into(),
                        verb: HOSTILE.into(),
                        grant: HOSTILE.into(),
                        from: HOSTILE.into(),
                        to: HOSTILE.into(),
                        q: HOSTILE.into(),
                        before: HOSTILE.into(),
                    },
                    next: Some(HOSTILE.into()),
                    range_error: Some(HOSTILE.into()),
                    chain: Chain::Broken { at: HOSTILE.into(), why: HOSTILE.into() },
                    ..full()
                },
            ),
        ]
    }
}
