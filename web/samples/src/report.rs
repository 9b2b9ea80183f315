use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, no_rights, path, resource_id,
    store_away, viewer,
};
use web::{
    Chain, NavItem, ReportAction, ReportElevation, ReportGrant, ReportPage, ReportPerson, ReportQuery, Rights,
};

fn action(verb: &str, what: &str, ok: u64, weighty: bool) -> ReportAction {
    ReportAction {
        first: NOW - 40 * MINUTE,
        last: NOW - 3 * MINUTE,
        verb: verb.into(),
        what: what.into(),
        ok,
        weighty,
        ..ReportAction::default()
    }
}

fn people() -> Vec<ReportPerson> {
    let actions = vec![
        action("list", "pods in openshift-etcd", 212, false),
        ReportAction { refused: 2, ..action("get", "secrets in openshift-etcd", 0, false) },
        ReportAction {
            details: vec!["etcd-master-0".into()],
            ..action("delete", "pods in openshift-etcd", 1, true)
        },
        ReportAction {
            details: vec!["etcd-master-1".into(), "sh -c etcdctl member list".into()],
            failed: 1,
            ..action("create", "pods/exec in openshift-etcd", 3, true)
        },
    ];
    let first = ReportGrant {
        id: "g-0024".into(),
        kind: "Terminal".into(),
        rights: Some(Rights::Write),
        reason: "Replace a lost etcd member".into(),
        issued: Some(NOW - 45 * MINUTE),
        until: "2026-11-21 03:36:00 UTC".into(),
        actions,
        ..ReportGrant::default()
    };
    let reading = ReportGrant {
        id: "g-0195".into(),
        kind: "Kubeconfig".into(),
        rights: Some(Rights::Read),
        reason: "Watch etcd while the member is replaced".into(),
        issued: None,
        ended: Some((NOW - 5 * MINUTE, "Mirela Kask".into(), "wrong cluster".into())),
        actions: vec![action("watch", "pods in openshift-etcd", 2, false)],
        ..ReportGrant::default()
    };
    let pages =
        ReportGrant { actions: vec![action("cluster.view", "", 14, false)], ..ReportGrant::default() };
    let step = |what: &str, by: &str, reason: &str| ReportElevation {
        at: NOW - 50 * MINUTE,
        what: what.into(),
        rights: "write".into(),
        by: by.into(),
        reason: reason.into(),
    };
    vec![
        ReportPerson {
            name: "juno.aaltonen@example.com".into(),
            subject: "4f0e4cf0-7a0a-4b0e-a1d5-0c57a5bb5c11".into(),
            from: vec!["192.0.2.44".into(), "2001:db8::17".into()],
            elevations: vec![
                step("asked for", "", "Replace a lost etcd member"),
                step("approved", "Mirela Kask", "I watch along"),
            ],
            grants: vec![first.clone(), reading, pages],
        },
        ReportPerson {
            name: "robot capacity-report".into(),
            subject: "robot:capacity-report".into(),
            grants: vec![ReportGrant { actions: Vec::new(), ..first }],
            ..ReportPerson::default()
        },
    ]
}

fn full() -> ReportPage {
    let name = "harbor-prod-weu-01";
    ReportPage {
        frame: frame(NavItem::Clusters),
        cluster: name.into(),
        path: path("rg-harbor-prod", name),
        resource_id: resource_id("rg-harbor-prod", name),
        query: ReportQuery { from: "2026-11-20T00:00".into(), to: "2026-11-21T03:12".into() },
        from: NOW - DAY - 3 * HOUR,
        to: NOW,
        people: people(),
        entries: 231,
        chain: Chain::Proven { up_to: NOW - 17, entries: Some(48_190) },
        ..ReportPage::default()
    }
}

impl Sample for ReportPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let text = || HOSTILE.to_owned();
        let broken = Chain::Broken { at: "portal-7c9d5b/40112".into(), why: "Its hash does not fit.".into() };
        let many = (0..50u64)
            .map(|i| ReportPerson { name: format!("person-{i:02}@example.com"), ..people().swap_remove(0) });
        let odd = ReportAction {
            details: vec![text(), endless()],
            refused: u64::MAX,
            ..action(HOSTILE, HOSTILE, u64::MAX, true)
        };
        vec![
            ("few", full()),
            ("one", Self { people: people().split_off(1), ..full() }),
            ("many", Self { people: many.collect(), cut_at: Some(NOW - HOUR), ..full() }),
            ("empty", Self { people: Vec::new(), entries: 0, ..full() }),
            ("late", Self { chain: Chain::Late { up_to: NOW - DAY }, ..full() }),
            ("broken", Self { chain: broken, ..full() }),
            ("mistake", Self { range_error: Some("The end lies before the start.".into()), ..full() }),
            ("error", Self { failure: Some(store_away()), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("The report needs the role auditor", "auditor")),
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Clusters, "/"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: text(),
                    path: format!("/{}", web::text::encode(HOSTILE)),
                    resource_id: text(),
                    query: ReportQuery { from: text(), to: text() },
                    range_error: Some(text()),
                    from: i64::MIN,
                    to: i64::MAX,
                    people: vec![ReportPerson {
                        name: text(),
                        subject: endless(),
                        from: vec![text(), endless()],
                        elevations: vec![ReportElevation {
                            at: i64::MAX,
                            what: text(),
                            rights: text(),
                            by: text(),
                            reason: endless(),
                        }],
                        grants: vec![ReportGrant {
                            id: text(),
                            kind: text(),
                            rights: Some(Rights::Admin),
                            reason: endless(),
                            issued: Some(i64::MIN),
                            until: text(),
                            ended: Some((i64::MAX, text(), text())),
                            actions: vec![odd],
                        }],
                    }],
                    chain: Chain::Broken { at: text(), why: text() },
                    ..full()
                },
            ),
        ]
    }
}
