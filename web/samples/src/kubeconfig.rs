use crate::{HOSTILE, ended, frame, hostile, no_rights, path, store_away, viewer};
use web::{
    AccessDialog, AccessDialogKind, AccessErrors, AccessForm, AccessQuestion, Failure, Frame,
    KubeconfigChoices, Link, NavItem, Rights, RightsChoice, Side,
};

const NAME: &str = "harbor-prod-weu-01";

fn rights(write: Option<&str>, admin: Option<&str>) -> Vec<RightsChoice> {
    let choice = |rights, barred: Option<&str>| RightsChoice {
        rights,
        barred: barred.map(str::to_owned),
        way: barred.map(|_| Link::new("Elevate first", "/elevate?cluster=harbor-prod-weu-01")),
        note: String::new(),
    };
    vec![choice(Rights::Read, None), choice(Rights::Write, write), choice(Rights::Admin, admin)]
}

fn elevated() -> Vec<RightsChoice> {
    let mut all = rights(None, Some("Your elevation gives write."));
    if let Some(write) = all.get_mut(1) {
        write.note = "Your elevation ends at 03:36 UTC; from then on it only reads.".into();
    }
    all
}

fn kind(rights: Vec<RightsChoice>, held: u64, identity: &str) -> AccessDialogKind {
    AccessDialogKind::Kubeconfig(KubeconfigChoices { rights, held, identity: identity.into() })
}

fn not_elevated(held: u64, identity: &str) -> AccessDialogKind {
    let needed = Some("You are not elevated.");
    kind(rights(needed, needed), held, identity)
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
        kind: not_elevated(2, "system:aro-sre"),
        ..AccessDialog::default()
    }
}

fn mistaken(errors: AccessErrors) -> AccessDialog {
    let form = AccessForm {
        rights: "write".into(),
        life: "28800".into(),
        reason: "etcd".into(),
        ticket: "INC-48213".into(),
        ..AccessForm::default()
    };
    AccessDialog {
        question: asked(form, errors),
        kind: kind(rights(None, None), 1, "system:aro-sre"),
        ..full()
    }
}

fn failed(failure: Failure) -> AccessDialog {
    let errors = AccessErrors { form: Some(failure), ..AccessErrors::default() };
    AccessDialog { question: asked(AccessForm::default(), errors), ..full() }
}

fn limit() -> Failure {
    Failure {
        status: 422,
        what: "You hold 20 grants, the most there are".into(),
        why: "Revoke one that you no longer need, then try again.".into(),
        side: Side::You,
        actions: vec![Link::new("My access", "/access")],
        request_id: "01JD7M2R-0KQ8".into(),
    }
}

fn odd() -> AccessDialog {
    let errors = AccessErrors {
        rights: Some(HOSTILE.into()),
        life: Some(HOSTILE.into()),
        reason: Some(HOSTILE.into()),
        ticket: Some(HOSTILE.into()),
        form: Some(Failure {
            what: HOSTILE.into(),
            why: HOSTILE.into(),
            request_id: HOSTILE.into(),
            ..limit()
        }),
        ..AccessErrors::default()
    };
    let form = AccessForm {
        rights: HOSTILE.into(),
        life: HOSTILE.into(),
        reason: format!("{HOSTILE}</textarea>"),
        ticket: HOSTILE.into(),
        ..AccessForm::default()
    };
    AccessDialog {
        frame: hostile(NavItem::Clusters),
        cluster: HOSTILE.into(),
        path: format!("/{}", web::text::encode(HOSTILE)),
        question: asked(form, errors),
        kind: not_elevated(2, HOSTILE),
        ..full()
    }
}

pub(super) fn samples() -> Vec<(&'static str, AccessDialog)> {
    let short = AccessErrors {
        reason: Some("Too short: say in at least 10 characters what you are going to do.".into()),
        ..AccessErrors::default()
    };
    let wrong = AccessErrors {
        rights: Some("Write needs the role elevated. Read-only is yours.".into()),
        life: Some("At most 8 h.".into()),
        reason: Some("Missing: say in at least 10 characters what you are going to do.".into()),
        ticket: Some("At most 100 characters.".into()),
        ..AccessErrors::default()
    };
    vec![
        ("kubeconfig-first", AccessDialog { kind: not_elevated(0, "system:aro-sre"), ..full() }),
        ("kubeconfig-form", full()),
        (
            "kubeconfig-elevated",
            AccessDialog {
                frame: Frame { elevations: vec![crate::elevation()], ..frame(NavItem::Clusters) },
                kind: kind(elevated(), 2, "system:aro-sre"),
                ..full()
            },
        ),
        ("kubeconfig-mistake", mistaken(short)),
        ("kubeconfig-mistakes", mistaken(wrong)),
        ("kubeconfig-limit", failed(limit())),
        ("kubeconfig-store-away", failed(store_away())),
        ("kubeconfig-error", AccessDialog { failure: Some(store_away()), ..full() }),
        (
            "kubeconfig-no-rights",
            AccessDialog {
                frame: viewer(NavItem::Clusters),
                failure: Some(no_rights("A kubeconfig needs the role sre", "sre")),
                ..full()
            },
        ),
        ("kubeconfig-expired", AccessDialog { frame: ended(NavItem::Clusters, "/"), ..full() }),
        ("kubeconfig-hostile", odd()),
    ]
}
