use crate::workloads::away;
use crate::{HOSTILE, frame, hostile, no_rights, path};
use web::{
    AccessDialog, AccessDialogKind, AccessErrors, AccessForm, AccessGiven, AccessQuestion, Link, NavItem,
    TunnelChoices, TunnelCommands,
};

const NAME: &str = "harbor-prod-weu-01";
const DOMAIN: &str = "apps.k3x9.westeurope.aroapp.io";

fn choices() -> TunnelChoices {
    TunnelChoices {
        usual: vec![
            format!("console-openshift-console.{DOMAIN}:443"),
            format!("oauth-openshift.{DOMAIN}:443"),
        ],
        domain: DOMAIN.into(),
    }
}

fn asked(form: AccessForm, errors: AccessErrors) -> AccessQuestion {
    AccessQuestion { lives: vec![3600, 14_400, 28_800], form, errors, ..AccessQuestion::default() }
}

fn full() -> AccessDialog {
    AccessDialog {
        frame: frame(NavItem::Clusters),
        cluster: NAME.into(),
        path: path("rg-harbor-prod", NAME),
        question: asked(AccessForm::default(), AccessErrors::default()),
        kind: AccessDialogKind::Tunnel(choices()),
        ..AccessDialog::default()
    }
}

fn form(text: &str) -> AccessForm {
    AccessForm {
        destinations: text.into(),
        reason: text.into(),
        ticket: text.into(),
        ..AccessForm::default()
    }
}

fn wrong(text: &str) -> AccessErrors {
    let text = || Some(text.to_owned());
    AccessErrors {
        destinations: text(),
        life: text(),
        reason: text(),
        ticket: text(),
        ..AccessErrors::default()
    }
}

fn given() -> AccessGiven {
    AccessGiven::Commands(TunnelCommands {
        console: format!(
            "aro console {NAME} --reason 'Look at the pipelines page' --ticket INC-48213 --life 4h"
        ),
        tunnel: format!(
            "aro tunnel {NAME} --to console-openshift-console.{DOMAIN}:443 --to grafana.{DOMAIN}:443 --reason 'Look at the pipelines page' --ticket INC-48213 --life 4h"
        ),
        places: vec![format!("console-openshift-console.{DOMAIN}:443"), format!("grafana.{DOMAIN}:443")],
    })
}

pub(super) fn samples() -> Vec<(&'static str, AccessDialog)> {
    let kind = |choices| AccessDialog { kind: AccessDialogKind::Tunnel(choices), ..full() };
    let barred = (
        "You are not elevated to write on this cluster.".to_owned(),
        Some(Link::new("Elevate first", "/elevate?rights=write")),
    );
    let barred = AccessQuestion { barred: Some(barred), ..AccessQuestion::default() };
    let odd = AccessGiven::Commands(TunnelCommands {
        console: HOSTILE.into(),
        tunnel: HOSTILE.repeat(20),
        places: vec![HOSTILE.into()],
    });
    let odd_choices = TunnelChoices { usual: vec![HOSTILE.into()], domain: HOSTILE.into() };
    let within = |dialog: AccessDialog| AccessDialog {
        frame: hostile(NavItem::Clusters),
        cluster: HOSTILE.into(),
        ..dialog
    };
    vec![
        ("tunnel-form", full()),
        ("tunnel-given", AccessDialog { given: Some(given()), ..full() }),
        ("tunnel-imported", kind(TunnelChoices { domain: String::new(), ..choices() })),
        ("tunnel-no-console", kind(TunnelChoices { usual: Vec::new(), ..choices() })),
        (
            "tunnel-wrong",
            AccessDialog {
                question: asked(form("look"), wrong("At least 10 characters: what are you going to do?")),
                ..full()
            },
        ),
        ("tunnel-barred", AccessDialog { question: barred, ..full() }),
        (
            "tunnel-refused",
            AccessDialog { failure: Some(no_rights("This needs the role sre", "sre")), ..full() },
        ),
        ("tunnel-away", AccessDialog { failure: Some(away()), ..full() }),
        (
            "tunnel-hostile",
            AccessDialog { question: asked(form(HOSTILE), wrong(HOSTILE)), ..within(kind(odd_choices)) },
        ),
        ("tunnel-hostile-given", AccessDialog { given: Some(odd), ..within(full()) }),
    ]
}
