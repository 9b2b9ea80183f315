use crate::elevations::{active as elevated, strange as strange_elevation};
use crate::grants::{active, over, strange};
use crate::{
    HOSTILE, HOUR, MINUTE, NOW, Sample, audit, ended, endless, frame, hostile, no_rights, store_away, viewer,
};
use web::{GrantPage, GrantRow, GrantState, Link, NavItem, Rights, Section, StreamRow};

fn terminal() -> GrantRow {
    GrantRow { may_extend: true, ..active().swap_remove(1) }
}

fn streams() -> Vec<StreamRow> {
    vec![
        StreamRow {
            replica: "portal-7c9d5b".into(),
            count: 2,
            since: NOW - 31 * MINUTE,
            what: vec![
                "watch pods openshift-etcd".into(),
                "get pods/log openshift-etcd/etcd-master-0".into(),
            ],
        },
        StreamRow { replica: "portal-5f8a11".into(), count: 41, since: NOW - 4 * MINUTE, what: Vec::new() },
    ]
}

fn full() -> GrantPage {
    let entries = audit::entries();
    GrantPage {
        frame: frame(NavItem::Access),
        grant: terminal(),
        subject: "4f0e4cf0-7a0a-4b0e-a1d5-0c57a5bb5c11".into(),
        last_from: "192.0.2.44".into(),
        elevation: Some(elevated()),
        recordings: "/recordings?grant=g-0024".into(),
        streams: streams(),
        audit: Section::Rows(entries, 7),
        live: "/access/g-0024?seen=abc".into(),
        ..GrantPage::default()
    }
}

impl Sample for GrantPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let fell = GrantRow { fell_to: Some(Rights::Read), ..terminal() };
        let revoked = over().swap_remove(1);
        let state = GrantState::Revoked { at: i64::MIN, by: HOSTILE.into(), why: HOSTILE.into() };
        vec![
            ("used", full()),
            (
                "unused",
                Self {
                    streams: Vec::new(),
                    elevation: None,
                    audit: Section::default(),
                    grant: active().swap_remove(3),
                    ..full()
                },
            ),
            (
                "child",
                Self {
                    parent: Some(Link::new("g-0195", "/access/g-0195")),
                    destinations: vec!["console.apps".into(), "thanos:9091".into()],
                    ..full()
                },
            ),
            ("fallen", Self { grant: fell, ..full() }),
            (
                "revoked",
                Self {
                    grant: GrantRow { may_revoke: false, ..revoked },
                    streams: Vec::new(),
                    live: String::new(),
                    ..full()
                },
            ),
            (
                "others",
                Self {
                    frame: viewer(NavItem::Access),
                    audit: Section::Hidden("Auditors see what was done with it.".into()),
                    ..full()
                },
            ),
            ("audit-failed", Self { audit: Section::Failed(store_away()), ..full() }),
            ("error", Self { failure: Some(store_away()), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Access),
                    failure: Some(no_rights("This grant is somebody else’s", "auditor")),
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Access, "/access/g-0024"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Access),
                    grant: GrantRow { state, fell_to: Some(Rights::Read), ends: NOW + HOUR, ..strange() },
                    subject: HOSTILE.into(),
                    last_from: HOSTILE.into(),
                    elevation: Some(strange_elevation()),
                    parent: Some(Link::new(HOSTILE, format!("/{HOSTILE}"))),
                    destinations: vec![HOSTILE.into(), endless()],
                    streams: vec![StreamRow {
                        replica: HOSTILE.into(),
                        count: u64::MAX,
                        since: NOW,
                        what: vec![HOSTILE.into(), endless()],
                    }],
                    audit: Section::Rows(vec![audit::strange()], 1),
                    live: format!("/{HOSTILE}"),
                    recordings: format!("/{HOSTILE}"),
                    failure: None,
                },
            ),
        ]
    }
}
