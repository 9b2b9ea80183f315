use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, Sample, elevation, ended, endless, frame, hostile, no_rights, path,
    store_away, viewer,
};
use web::{
    AccessPage, Frame, GrantEnd, GrantKind, GrantQuery, GrantRow, GrantState, Link, NavItem, Notice, Rights,
    Tone,
};

pub(super) fn grant(kind: GrantKind, name: &str, rights: Rights, reason: &str, ends: i64) -> GrantRow {
    GrantRow {
        id: format!("g-{:04}", ends / MINUTE),
        kind,
        cluster: Link::new(name, path("rg-harbor-prod", name)),
        owner: "Juno Aaltonen".into(),
        rights,
        reason: reason.into(),
        created: NOW - 45 * MINUTE,
        ends: NOW + ends,
        may_revoke: true,
        may_extend: ends > 0,
        ..GrantRow::default()
    }
}

pub(super) fn active() -> Vec<GrantRow> {
    let cluster = "harbor-prod-weu-01";
    let long = "lighthouse-payments-settlement-production-westeurope-primary-0007";
    vec![
        GrantRow {
            last_used: Some(NOW - MINUTE),
            ..grant(
                GrantKind::Metrics,
                "kiln-analytics-weu-11",
                Rights::Read,
                "Router saturation",
                6 * MINUTE,
            )
        },
        GrantRow {
            ticket: "INC-48213".into(),
            machine: "master-0".into(),
            last_used: Some(NOW),
            streams: 1,
            ..grant(GrantKind::Terminal, cluster, Rights::Write, "Replace a lost etcd member", 24 * MINUTE)
        },
        GrantRow {
            ticket: "INC-48213".into(),
            last_used: Some(NOW - 4),
            streams: 2,
            ..grant(
                GrantKind::Kubeconfig,
                cluster,
                Rights::Read,
                "Watch etcd while the member is replaced",
                195 * MINUTE,
            )
        },
        GrantRow {
            ticket: "CASE-0047-1193-EU".into(),
            ..grant(
                GrantKind::Kubeconfig,
                long,
                Rights::Admin,
                "Subnet exhaustion, with the customer on the phone: free addresses by hand",
                468 * MINUTE,
            )
        },
    ]
}

pub(super) fn over() -> Vec<GrantRow> {
    let revoked = GrantState::Revoked {
        at: NOW - 4 * HOUR - 20 * MINUTE,
        by: "Mirela Kask".into(),
        why: "wrong cluster".into(),
    };
    let mine = GrantState::Revoked { at: NOW - 25 * HOUR, by: "you".into(), why: String::new() };
    vec![
        GrantRow {
            state: GrantState::Expired,
            ..grant(
                GrantKind::Kubeconfig,
                "osprey-core-weu-02",
                Rights::Read,
                "Look at pending pods after the update",
                -95 * MINUTE,
            )
        },
        GrantRow {
            state: revoked,
            ..grant(GrantKind::Ssh, "saltmarsh-int", Rights::Write, "Disk pressure on master-1", 3 * HOUR)
        },
        GrantRow {
            state: mine,
            ..grant(
                GrantKind::Kubeconfig,
                "fennel-prod-04",
                Rights::Admin,
                "Remove a finaliser that blocks the deletion",
                -DAY,
            )
        },
        GrantRow {
            state: GrantState::Ended { reason: GrantEnd::ElevationOver, at: Some(NOW - 2 * HOUR) },
            ..grant(
                GrantKind::Terminal,
                "saltmarsh-int",
                Rights::Write,
                "Disk pressure on master-2",
                121 * MINUTE,
            )
        },
        GrantRow {
            state: GrantState::Ended { reason: GrantEnd::RightsLost, at: None },
            ..grant(
                GrantKind::Kubeconfig,
                "fennel-prod-04",
                Rights::Read,
                "Why the router restarts",
                122 * MINUTE,
            )
        },
    ]
}

pub(super) fn strange() -> GrantRow {
    GrantRow {
        id: HOSTILE.into(),
        cluster: Link::new(HOSTILE, format!("/{HOSTILE}")),
        machine: HOSTILE.into(),
        owner: HOSTILE.into(),
        ticket: HOSTILE.into(),
        streams: u64::MAX,
        ..grant(GrantKind::Kubeconfig, "", Rights::Admin, &format!("{HOSTILE}{}", endless()), HOUR)
    }
}

fn full() -> AccessPage {
    AccessPage {
        frame: frame(NavItem::Access),
        grants: active(),
        ended: over(),
        held: 4,
        limit: 20,
        live: "/access?seen=abc".into(),
        ..AccessPage::default()
    }
}

fn all() -> AccessPage {
    AccessPage {
        query: GrantQuery { view: "all".into(), person: "juno".into(), ..GrantQuery::default() },
        next: Some("g-0042".into()),
        ended: Vec::new(),
        ..full()
    }
}

fn by_cluster(name: &str, grants: Vec<GrantRow>) -> AccessPage {
    AccessPage {
        query: GrantQuery { view: "cluster".into(), cluster: name.into(), ..GrantQuery::default() },
        grants,
        ended: Vec::new(),
        ..full()
    }
}

impl Sample for AccessPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let done = Notice {
            tone: Tone::Ok,
            lead: "Revoked.".into(),
            text: "The kubeconfig for harbor-prod-weu-01 no longer works; 2 streams were cut.".into(),
            action: None,
        };
        let many = |n: i64| -> Vec<GrantRow> {
            (1..=n)
                .map(|i| {
                    grant(
                        GrantKind::Kubeconfig,
                        &format!("pebble-edge-{i:04}"),
                        Rights::Read,
                        "Collect versions of all edge clusters",
                        i * MINUTE,
                    )
                })
                .collect()
        };
        let state = GrantState::Revoked { at: i64::MIN, by: HOSTILE.into(), why: HOSTILE.into() };
        vec![
            ("few", full()),
            (
                "one",
                Self {
                    grants: active().split_off(2).into_iter().take(1).collect(),
                    ended: Vec::new(),
                    held: 1,
                    limit: 0,
                    ..full()
                },
            ),
            (
                "elevated",
                Self {
                    frame: Frame {
                        elevations: vec![
                            elevation(),
                            web::Elevation {
                                cluster: None,
                                break_glass: true,
                                approved_by: String::new(),
                                ..elevation()
                            },
                        ],
                        ..frame(NavItem::Access)
                    },
                    ..full()
                },
            ),
            (
                "fallen",
                Self {
                    grants: active()
                        .into_iter()
                        .map(|row| match row.rights {
                            Rights::Read => row,
                            _ => GrantRow { fell_to: Some(Rights::Read), ..row },
                        })
                        .collect(),
                    ..full()
                },
            ),
            ("all", all()),
            (
                "all-ended",
                Self { query: GrantQuery { state: "ended".into(), ..all().query }, grants: over(), ..all() },
            ),
            ("cluster", by_cluster("harbor-prod-weu-01", active())),
            ("cluster-which", by_cluster("", Vec::new())),
            ("cluster-empty", by_cluster("harbor-prod-weu-01", Vec::new())),
            (
                "nothing-found",
                Self {
                    query: GrantQuery { q: "disk".into(), ..GrantQuery::default() },
                    grants: Vec::new(),
                    ended: Vec::new(),
                    ..full()
                },
            ),
            ("many", Self { grants: many(50), held: 212, next: Some("g-0050".into()), limit: 0, ..full() }),
            ("empty", Self { grants: Vec::new(), ended: Vec::new(), held: 0, ..full() }),
            ("revoked", Self { notice: Some(done), ..full() }),
            ("error", Self { failure: Some(store_away()), grants: Vec::new(), ended: Vec::new(), ..full() }),
            ("expired", Self { frame: ended(NavItem::Access, "/access"), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Access),
                    failure: Some(no_rights("Grants need the role sre", "sre")),
                    grants: Vec::new(),
                    ended: Vec::new(),
                    ..full()
                },
            ),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Access),
                    grants: vec![strange()],
                    ended: vec![GrantRow { state, ..strange() }],
                    query: GrantQuery {
                        view: HOSTILE.into(),
                        kind: HOSTILE.into(),
                        state: HOSTILE.into(),
                        person: HOSTILE.into(),
                        cluster: HOSTILE.into(),
                        q: HOSTILE.into(),
                        after: HOSTILE.into(),
                        seen: HOSTILE.into(),
                    },
                    next: Some(HOSTILE.into()),
                    live: format!("/{HOSTILE}"),
                    ..full()
                },
            ),
        ]
    }
}
