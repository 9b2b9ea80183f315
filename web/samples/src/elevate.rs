use crate::{HOSTILE, Sample, ended, frame, hostile, no_rights, store_away, viewer};
use web::{ElevateChoice, ElevateErrors, ElevateForm, ElevatePage, Failure, Link, NavItem, Rights, Side};

fn choices(alone: bool) -> Vec<ElevateChoice> {
    vec![
        ElevateChoice { rights: Rights::Write, alone },
        ElevateChoice { rights: Rights::Admin, alone: false },
    ]
}

fn full() -> ElevatePage {
    ElevatePage {
        frame: frame(NavItem::Elevations),
        form: ElevateForm { cluster: "quarry-batch-neu-03".into(), ..ElevateForm::default() },
        choices: choices(true),
        lives: vec![1800, 3600, 7200, 14_400],
        break_glass: true,
        request_minutes: 60,
        ..ElevatePage::default()
    }
}

fn typed() -> ElevateForm {
    ElevateForm {
        cluster: "quary-batch".into(),
        rights: "admin".into(),
        life: "14400".into(),
        reason: "logs".into(),
        ticket: "INC-48213".into(),
        ..ElevateForm::default()
    }
}

fn glass() -> ElevatePage {
    ElevatePage {
        form: ElevateForm {
            way: "break-glass".into(),
            reason: "API is down, nobody of the approvers answers the phone".into(),
            ..full().form
        },
        ..full()
    }
}

impl Sample for ElevatePage {
    fn samples() -> Vec<(&'static str, Self)> {
        let wrong = |text: &str| {
            let text = || Some(text.to_owned());
            ElevateErrors {
                cluster: text(),
                rights: text(),
                life: text(),
                reason: text(),
                ticket: text(),
                understood: text(),
                form: None,
            }
        };
        let mistakes = ElevateErrors {
            cluster: Some("No cluster of this region has this name or resource ID, or several do. Nearest: quarry-batch-neu-03.".into()),
            reason: Some("Too short: say in at least 10 characters what you are going to do.".into()),
            ..ElevateErrors::default()
        };
        let away = ElevateErrors { form: Some(store_away()), ..ElevateErrors::default() };
        let held = Failure {
            status: 409,
            what: "You have asked for this already".into(),
            why: "Your request of 3 min ago waits for an approver.".into(),
            side: Side::You,
            actions: vec![Link::new("Your elevations", "/elevations")],
            request_id: "01JD7M2R-0KQ8".into(),
        };
        let again = Link::new("Sign in again", "/api/login?fresh=1&redirect_uri=/elevate");
        let text = || HOSTILE.to_owned();
        vec![
            ("form", full()),
            ("first", Self { form: ElevateForm::default(), ..full() }),
            ("asks", Self { choices: choices(false), break_glass: false, ..full() }),
            ("mistake", Self { form: typed(), errors: mistakes, ..full() }),
            ("mistakes", Self { form: typed(), errors: wrong("That does not fit."), ..full() }),
            ("store-away", Self { form: typed(), errors: away, ..full() }),
            (
                "asked-already",
                Self { errors: ElevateErrors { form: Some(held), ..ElevateErrors::default() }, ..full() },
            ),
            ("break-glass", glass()),
            (
                "break-glass-mistake",
                Self {
                    errors: ElevateErrors {
                        understood: Some("Tick it, or ask for approval.".into()),
                        ..ElevateErrors::default()
                    },
                    ..glass()
                },
            ),
            ("break-glass-sign-in", Self { sign_in_again: Some(again.clone()), ..glass() }),
            ("error", Self { failure: Some(store_away()), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Elevations),
                    failure: Some(no_rights("Elevations need the role elevated", "elevated")),
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Elevations, "/elevate"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Elevations),
                    form: ElevateForm {
                        back: HOSTILE.into(),
                        cluster: text(),
                        scope: text(),
                        rights: text(),
                        life: text(),
                        reason: format!("{HOSTILE}</textarea>"),
                        ticket: text(),
                        way: "break-glass".into(),
                        understood: text(),
                        turn: text(),
                    },
                    errors: ElevateErrors {
                        form: Some(Failure { what: text(), why: text(), ..store_away() }),
                        ..wrong(HOSTILE)
                    },
                    sign_in_again: Some(again),
                    ..full()
                },
            ),
        ]
    }
}
