use crate::{HOSTILE, HOUR, NOW, ended, frame, hostile, no_rights, path, store_away, viewer};
use web::{
    AccessDialog, AccessDialogKind, AccessErrors, AccessForm, AccessGiven, AccessQuestion, Frame,
    MetricsToken, NavItem,
};

const NAME: &str = "harbor-prod-weu-01";

fn asked(form: AccessForm, errors: AccessErrors) -> AccessQuestion {
    AccessQuestion { lives: vec![3600, 4 * 3600, 8 * 3600], form, errors, ..AccessQuestion::default() }
}

fn full() -> AccessDialog {
    AccessDialog {
        frame: frame(NavItem::Clusters),
        cluster: NAME.into(),
        path: path("rg-harbor-prod", NAME),
        question: asked(AccessForm::default(), AccessErrors::default()),
        kind: AccessDialogKind::Metrics,
        ..AccessDialog::default()
    }
}

fn form(text: &str) -> AccessForm {
    AccessForm { reason: text.into(), ticket: text.into(), ..AccessForm::default() }
}

pub(super) fn samples() -> Vec<(&'static str, AccessDialog)> {
    let given = AccessGiven::Token(MetricsToken {
        token: "aro_grant_01JD7M2N08RAexample".into(),
        address: format!("https://proxy.weu.example.net{}/prometheus", path("rg-harbor-prod", NAME)),
        ends: NOW + 8 * HOUR,
        own_ca: true,
    });
    let errors = AccessErrors {
        reason: Some("Too short: say in at least 10 characters what you are going to do.".into()),
        life: Some("At most 8 h.".into()),
        ticket: Some("At most 100 characters.".into()),
        ..AccessErrors::default()
    };
    let within = |frame: Frame| AccessDialog { frame, ..full() };
    vec![
        ("metrics-empty", full()),
        ("metrics-given", AccessDialog { given: Some(given), ..full() }),
        ("metrics-mistake", AccessDialog { question: asked(form("look"), errors), ..full() }),
        (
            "metrics-hostile",
            AccessDialog {
                cluster: HOSTILE.into(),
                path: "/x".into(),
                question: asked(form(HOSTILE), AccessErrors::default()),
                ..within(hostile(NavItem::Clusters))
            },
        ),
        (
            "metrics-no-rights",
            AccessDialog {
                failure: Some(no_rights("You may not take metrics access", "sre")),
                ..within(viewer(NavItem::Clusters))
            },
        ),
        ("metrics-error", AccessDialog { failure: Some(store_away()), ..full() }),
        ("metrics-expired", within(ended(NavItem::Clusters, "/metrics"))),
    ]
}
