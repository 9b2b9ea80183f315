use super::grants::{active, over, strange};
use super::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, audit, ended, endless, frame, hostile, no_rights, path, resource_id,
    store_away, viewer,
};
use crate::{
    AuditResult, AuditRow, Chain, GrantRow, Place, ReportAction, ReportGrant, ReportPage, ReportPerson,
    ReportQuery, Sample,
};

fn action(verb: &str, what: &str, count: u64, weighty: bool) -> ReportAction {
    let entry = AuditRow {
        verb: verb.into(),
        what: what.into(),
        at: NOW - 40 * MINUTE,
        status: "200".into(),
        result: AuditResult::Done,
        ..audit::entries().swap_remove(1)
    };
    ReportAction { entry, last: NOW - 3 * MINUTE, count, weighty }
}

fn people() -> Vec<ReportPerson> {
    let grants = active();
    let refused = audit::entries().swap_remove(2);
    let actions = vec![
        action("list", "pods openshift-etcd", 212, false),
        action("watch", "pods openshift-etcd", 2, false),
        action("delete", "pods openshift-etcd/etcd-master-0", 1, true),
        action("create", "pods/exec openshift-etcd/etcd-master-1: sh -c etcdctl member list", 1, true),
    ];
    let first = ReportGrant {
        grant: grants[1].clone(),
        elevation: "approved by Mirela Kask: “I watch along”".into(),
        actions,
    };
    let reading = ReportGrant {
        grant: grants[2].clone(),
        elevation: String::new(),
        actions: vec![ReportAction { last: refused.at, entry: refused, count: 1, weighty: false }],
    };
    let unused = ReportGrant { grant: over().swap_remove(1), ..ReportGrant::default() };
    vec![
        ReportPerson {
            name: "juno.aaltonen@example.com".into(),
            subject: "4f0e4cf0-7a0a-4b0e-a1d5-0c57a5bb5c11".into(),
            grants: vec![first, reading],
            beside: vec![action("cluster.view", "/overview", 14, false)],
        },
        ReportPerson {
            name: "robot capacity-report".into(),
            subject: "robot:capacity-report".into(),
            grants: vec![unused],
            beside: Vec::new(),
        },
    ]
}

fn full() -> ReportPage {
    let name = "harbor-prod-weu-01";
    ReportPage {
        frame: frame(Place::Clusters),
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
        let odd = ReportAction { entry: audit::strange(), last: i64::MAX, count: u64::MAX, weighty: true };
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
                    frame: viewer(Place::Clusters),
                    failure: Some(no_rights("The report needs the role auditor", "auditor")),
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(Place::Clusters, "/"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(Place::Clusters),
                    cluster: text(),
                    path: format!("/{}", crate::text::encode(HOSTILE)),
                    resource_id: text(),
                    query: ReportQuery { from: text(), to: text() },
                    range_error: Some(text()),
                    from: i64::MIN,
                    to: i64::MAX,
                    people: vec![ReportPerson {
                        name: text(),
                        subject: endless(),
                        grants: vec![ReportGrant {
                            grant: GrantRow { ..strange() },
                            elevation: text(),
                            actions: vec![odd.clone()],
                        }],
                        beside: vec![odd],
                    }],
                    chain: Chain::Broken { at: text(), why: text() },
                    ..full()
                },
            ),
        ]
    }
}
