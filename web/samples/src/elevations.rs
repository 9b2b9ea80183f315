use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, no_rights, path, store_away,
    viewer,
};
use web::{
    ElevationMethod, ElevationRow, ElevationState, ElevationsPage, Frame, Link, NavItem, Notice, Person,
    Rights, Tone,
};

fn row(id: &str, person: &str, rights: Rights, name: &str, reason: &str) -> ElevationRow {
    ElevationRow {
        id: id.into(),
        person: person.into(),
        rights,
        cluster: Some(Link::new(name, path("rg-harbor-prod", name))),
        reason: reason.into(),
        asked: NOW - 2 * MINUTE,
        life: 3600,
        lapses: NOW + 58 * MINUTE,
        ..ElevationRow::default()
    }
}

fn waiting() -> Vec<ElevationRow> {
    vec![
        ElevationRow {
            ticket: "INC-48190".into(),
            may_decide: true,
            ..row(
                "e-1a",
                "Tobias Onyeka",
                Rights::Write,
                "gannet-hr-weu-03",
                "Delete 3 stuck volume attachments",
            )
        },
        ElevationRow {
            ticket: "CASE-0045-8821".into(),
            life: 7200,
            asked: NOW - 11 * MINUTE,
            lapses: NOW + 49 * MINUTE,
            cluster: None,
            may_decide: true,
            ..row(
                "e-1b",
                "Sefa Moreau",
                Rights::Admin,
                "",
                "Rotate the signer by hand on every cluster that the faulty release reached",
            )
        },
        ElevationRow {
            mine: true,
            may_end: true,
            asked: NOW - MINUTE,
            ..row(
                "e-1c",
                "Juno Aaltonen",
                Rights::Write,
                "quarry-batch-neu-03",
                "Collect bootstrap logs from the failed install",
            )
        },
    ]
}

pub(super) fn active() -> ElevationRow {
    ElevationRow {
        mine: true,
        state: ElevationState::Active,
        ticket: "INC-48213".into(),
        asked: NOW - 40 * MINUTE,
        ends: Some(NOW + 24 * MINUTE),
        decided: Some(("Mirela Kask".into(), "I watch along".into())),
        may_end: true,
        ..row("e-3xq9", "Juno Aaltonen", Rights::Write, "harbor-prod-weu-01", "Replace a lost etcd member")
    }
}

fn broken() -> ElevationRow {
    ElevationRow {
        way: ElevationMethod::BreakGlass,
        state: ElevationState::Expired,
        ticket: "INC-48101".into(),
        asked: NOW - 9 * HOUR,
        ends: Some(NOW - 8 * HOUR),
        may_review: true,
        ..row(
            "e-0b",
            "Sefa Moreau",
            Rights::Admin,
            "moss-legacy-prod",
            "API is down, nobody of the approvers answers the phone",
        )
    }
}

fn mine() -> Vec<ElevationRow> {
    let own =
        |e: ElevationRow| ElevationRow { mine: true, person: "Juno Aaltonen".into(), may_review: false, ..e };
    vec![
        active(),
        own(ElevationRow {
            state: ElevationState::Refused,
            asked: NOW - 5 * HOUR,
            decided: Some(("Mirela Kask".into(), "take a metrics grant instead".into())),
            ..row("e-0c", "", Rights::Admin, "fennel-prod-04", "See which finaliser blocks the deletion")
        }),
        own(ElevationRow {
            state: ElevationState::Lapsed,
            asked: NOW - DAY,
            ..row("e-0d", "", Rights::Write, "fennel-prod-04", "Restart the ingress operator")
        }),
        own(ElevationRow {
            state: ElevationState::Ended,
            way: ElevationMethod::SelfService,
            asked: NOW - 3 * DAY,
            ended: Some(("you".into(), "done".into())),
            ..row("e-0e", "", Rights::Write, "osprey-core-weu-02", "Drain a node with a bad disk")
        }),
        own(ElevationRow {
            review: Some(("Mirela Kask".into(), true, "matches the incident".into())),
            ..broken()
        }),
    ]
}

pub(super) fn strange() -> ElevationRow {
    let text = || HOSTILE.to_owned();
    ElevationRow {
        id: text(),
        person: text(),
        cluster: Some(Link::new(text(), format!("/{HOSTILE}"))),
        ticket: text(),
        reason: format!("{HOSTILE}{}", endless()),
        way: ElevationMethod::BreakGlass,
        state: ElevationState::Active,
        life: u64::MAX,
        ends: Some(i64::MAX),
        decided: Some((text(), text())),
        ended: Some((text(), text())),
        review: Some((text(), false, text())),
        may_decide: true,
        may_end: true,
        may_review: true,
        ..row("", "", Rights::Admin, "", "")
    }
}

fn full() -> ElevationsPage {
    ElevationsPage {
        frame: Frame { waiting: Some(2), elevations: vec![crate::elevation()], ..frame(NavItem::Elevations) },
        waiting: waiting(),
        unreviewed: vec![broken()],
        others: vec![ElevationRow {
            mine: false,
            person: "Ines Vidal".into(),
            way: ElevationMethod::SelfService,
            decided: None,
            ..active()
        }],
        mine: mine(),
        live: "/elevations?seen=abc".into(),
        ..ElevationsPage::default()
    }
}

fn plain(roles: &[&str]) -> Frame {
    let person = Person {
        name: "Tobias Onyeka".into(),
        account: "tobias.onyeka@example.com".into(),
        roles: roles.iter().map(|&r| r.to_owned()).collect(),
        may_take: true,
        may_elevate: true,
        ..Person::default()
    };
    Frame { person: Some(person), ..frame(NavItem::Elevations) }
}

impl Sample for ElevationsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let none = || Self { waiting: Vec::new(), unreviewed: Vec::new(), others: Vec::new(), ..full() };
        let many =
            (0..50).map(|i| ElevationRow { id: format!("e-{i}"), ..waiting().swap_remove(0) }).collect();
        let sent = Notice {
            tone: Tone::Busy,
            lead: "Asked.".into(),
            text: "6 people can approve. This page tells you when somebody has.".into(),
            action: None,
        };
        vec![
            ("approver", full()),
            ("one", Self { waiting: waiting().into_iter().take(1).collect(), mine: Vec::new(), ..none() }),
            ("many", Self { waiting: many, ..none() }),
            ("empty", Self { frame: frame(NavItem::Elevations), mine: Vec::new(), ..none() }),
            (
                "asked",
                Self {
                    frame: plain(&["sre", "elevated"]),
                    mine: waiting().split_off(2),
                    notice: Some(sent),
                    ..none()
                },
            ),
            ("mine", Self { frame: plain(&["sre", "elevated"]), ..none() }),
            ("error", Self { failure: Some(store_away()), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Elevations),
                    failure: Some(no_rights("Elevations need the role elevated", "elevated")),
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Elevations, "/elevations"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Elevations),
                    waiting: vec![strange()],
                    unreviewed: vec![ElevationRow { id: "u".into(), ..strange() }],
                    others: vec![ElevationRow { id: "o".into(), ..strange() }],
                    mine: vec![ElevationRow { id: "m".into(), mine: true, ..strange() }],
                    live: format!("/{HOSTILE}"),
                    ..full()
                },
            ),
        ]
    }
}
