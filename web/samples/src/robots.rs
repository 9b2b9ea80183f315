use crate::{
    DAY, HOSTILE, MINUTE, NOW, Sample, ended, endless, frame, hostile, no_rights, store_away, viewer,
};
use web::{
    Failure, GrantKind, NavItem, NewToken, Rights, RobotErrors, RobotForm, RobotRow, RobotState, RobotsPage,
};

fn row(name: &str, clusters: &[&str], reason: &str) -> RobotRow {
    RobotRow {
        name: name.into(),
        clusters: clusters.iter().map(|&c| c.to_owned()).collect(),
        kinds: vec![GrantKind::Metrics, GrantKind::Kubeconfig],
        rights: Rights::Read,
        reason: reason.into(),
        by: "Sefa Moreau".into(),
        created: NOW - 12 * DAY,
        ends: NOW + 18 * DAY,
        last_used: Some(NOW - 3 * MINUTE),
        tokens: 1,
        most_grants: 10,
        state: RobotState::Active,
    }
}

fn rows() -> Vec<RobotRow> {
    vec![
        row(
            "capacity-report",
            &[],
            "Collects node counts for the weekly capacity report, looked after by team fleet",
        ),
        RobotRow {
            rights: Rights::Write,
            tokens: 2,
            ..row(
                "drain-helper",
                &["harbor-prod-weu-01", "osprey-core-weu-02"],
                "Drains nodes that the hardware watch names",
            )
        },
        RobotRow {
            last_used: None,
            tokens: 0,
            state: RobotState::Revoked("Mirela Kask".into()),
            ..row("trial", &["kind-lab"], "Trial of the new exporter")
        },
        RobotRow {
            state: RobotState::Expired,
            ends: NOW - DAY,
            ..row("old-report", &["kind-lab"], "Replaced by capacity-report")
        },
    ]
}

fn full() -> RobotsPage {
    RobotsPage {
        frame: frame(NavItem::Robots),
        robots: rows(),
        kinds: vec![GrantKind::Kubeconfig, GrantKind::Metrics],
        most_days: 90,
        ..RobotsPage::default()
    }
}

fn typed() -> RobotForm {
    RobotForm {
        name: "Capacity Report".into(),
        clusters: "harbor-prod\nno-such".into(),
        kinds: vec!["metrics".into()],
        rights: "write".into(),
        days: "400".into(),
        reason: "report".into(),
    }
}

impl Sample for RobotsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let text = || HOSTILE.to_owned();
        let token = |older_end| NewToken {
            robot: "capacity-report".into(),
            token:
                "aro1_robot_5h0n3xq9c1v7b2k8m4t6_0123456789abcdefghjkmnpqrstvwxyz01234567_89abcdefghjkmnpq"
                    .into(),
            ends: NOW + 30 * DAY,
            older_end,
            portal: "https://westeurope.portal.example.net".into(),
        };
        let mistakes = RobotErrors {
            name: Some("Lower-case letters, digits and dashes only, e.g. capacity-report.".into()),
            clusters: Some("No cluster of this region is called no-such.".into()),
            days: Some("Between 1 and 90.".into()),
            reason: Some("Too short: say in at least 10 characters what it does.".into()),
            ..RobotErrors::default()
        };
        let strange = RobotRow {
            name: text(),
            clusters: vec![text(), endless()],
            reason: endless(),
            by: text(),
            tokens: u64::MAX,
            most_grants: u64::MAX,
            ..row("", &[], "")
        };
        let many = (0..50).map(|i| row(&format!("robot-{i:02}"), &["kind-lab"], "One of many")).collect();
        vec![
            ("few", full()),
            ("one", Self { robots: rows().into_iter().take(1).collect(), ..full() }),
            ("many", Self { robots: many, ..full() }),
            ("empty", Self { robots: Vec::new(), ..full() }),
            ("made", Self { token: Some(token(None)), ..full() }),
            ("rotated", Self { token: Some(token(Some(NOW + DAY))), ..full() }),
            ("mistakes", Self { form: typed(), errors: mistakes, ..full() }),
            (
                "store-away",
                Self {
                    form: typed(),
                    errors: RobotErrors { form: Some(store_away()), ..RobotErrors::default() },
                    ..full()
                },
            ),
            ("error", Self { failure: Some(store_away()), robots: Vec::new(), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Robots),
                    failure: Some(no_rights("Robots need the role admin", "admin")),
                    robots: Vec::new(),
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Robots, "/robots"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Robots),
                    robots: vec![strange],
                    token: Some(NewToken {
                        robot: text(),
                        token: text(),
                        portal: text(),
                        ..token(Some(i64::MIN))
                    }),
                    form: RobotForm {
                        name: text(),
                        clusters: format!("{HOSTILE}</textarea>"),
                        kinds: vec![text()],
                        rights: text(),
                        days: text(),
                        reason: text(),
                    },
                    errors: RobotErrors {
                        name: Some(text()),
                        clusters: Some(text()),
                        kinds: Some(text()),
                        rights: Some(text()),
                        days: Some(text()),
                        reason: Some(text()),
                        form: Some(Failure { what: text(), why: text(), ..store_away() }),
                    },
                    ..full()
                },
            ),
        ]
    }
}
