use crate::{HOSTILE, Sample, endless, frame, hostile, no_rights, store_away};
use web::{Frame, Group, NavItem, SoloPage};

fn group(name: &str, id: &str, allows: &str) -> Group {
    Group {
        name: name.into(),
        id: id.into(),
        allows: allows.into(),
        ask: "https://groups.example.com/join".into(),
    }
}

fn groups() -> Vec<Group> {
    vec![
        group("aro-portal-viewers", "5d0c1f7e-0000-4000-8000-0000000000a1", "Look at clusters"),
        group("aro-portal-sre", "5d0c1f7e-0000-4000-8000-0000000000a2", "Also take read-only access"),
        Group {
            ask: String::new(),
            ..group(
                "5d0c1f7e-0000-4000-8000-0000000000a3",
                "5d0c1f7e-0000-4000-8000-0000000000a3",
                "Also write, with a reason",
            )
        },
    ]
}

fn before() -> Frame {
    Frame {
        person: None,
        path: "/subscriptions/0b6f3c1e/resourcegroups/rg-harbor-prod".into(),
        ..frame(NavItem::Elsewhere)
    }
}

impl Sample for SoloPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let account = "juno.aaltonen@example.com";
        let mut samples = vec![
            ("no-group", Self::no_group(before(), account, 14, groups())),
            ("too-many-groups", Self::too_many_groups(before(), account, groups())),
            ("not-fresh", Self::not_fresh(before())),
            ("program-let-in", Self::program_let_in(frame(NavItem::Elsewhere))),
            ("program-refused", Self::program_refused(frame(NavItem::Elsewhere))),
            ("provider-away", Self::provider_away(before(), 504, "https://login.example.com/tenant/v2.0")),
            ("clock-off", Self::clock_off(before(), 431)),
            ("sign-in-lost", Self::sign_in_lost(before())),
            (
                "refused",
                Self::refused(
                    before(),
                    "access_denied",
                    "AADSTS65004: the user declined to consent to access the app.",
                ),
            ),
            ("signed-out", Self::signed_out(before(), 3)),
            ("signed-out-simulated", Self::signed_out(Frame { simulated: true, ..before() }, 0)),
            ("store-away", Self::failure(frame(NavItem::Elsewhere), store_away())),
            (
                "no-rights",
                Self::failure(
                    frame(NavItem::Elsewhere),
                    no_rights("The audit needs the role auditor", "auditor"),
                ),
            ),
            (
                "hostile",
                Self {
                    facts: vec![(HOSTILE.into(), HOSTILE.into())],
                    ..Self::refused(
                        Frame { path: HOSTILE.into(), ..hostile(NavItem::Elsewhere) },
                        HOSTILE,
                        &format!("{HOSTILE}{}", endless()),
                    )
                },
            ),
            (
                "hostile-group",
                Self::no_group(
                    hostile(NavItem::Elsewhere),
                    HOSTILE,
                    usize::MAX,
                    vec![group(HOSTILE, HOSTILE, HOSTILE)],
                ),
            ),
        ];
        let names = ["400", "401", "403", "404", "405", "413", "422", "429", "500", "502", "503", "504"];
        samples.extend(names.iter().filter_map(|name| {
            let status = name.parse().ok()?;
            Some((*name, Self::status(frame(NavItem::Elsewhere), status)))
        }));
        samples
    }
}
