use crate::{
    DAY, HOSTILE, NOW, Sample, ended, endless, frame, hostile, imported_path, no_rights, store_away, viewer,
};
use web::{
    Failure, ImportErrors, ImportForm, ImportedPage, ImportedRow, NavItem, Notice, Side, State, Step,
    StepState, Tone,
};

fn row(name: &str, server: &str, groups: &[&str]) -> ImportedRow {
    ImportedRow {
        name: name.into(),
        path: imported_path(name),
        server: server.into(),
        credential: "client certificate".into(),
        credential_ends: Some(NOW + 300 * DAY),
        as_groups: groups.iter().map(|&g| g.to_owned()).collect(),
        state: State::Imported,
        at: NOW - 2 * DAY,
        by: "Sefa Moreau".into(),
        grants: 2,
    }
}

fn rows() -> Vec<ImportedRow> {
    vec![
        row("kind-lab", "https://10.20.0.4:6443", &["view", "sre"]),
        ImportedRow {
            credential: "token".into(),
            credential_ends: None,
            state: State::NoAnswer,
            grants: 0,
            ..row("rack-07", "https://api.rack-07.lab.example:6443", &[])
        },
        ImportedRow {
            credential_ends: Some(NOW - DAY),
            ..row("edge-(old)", "https://[2001:db8::17]:6443", &["system:masters"])
        },
    ]
}

fn step(state: StepState, text: &str, hint: &str) -> Step {
    Step { state, text: text.into(), note: String::new(), hint: hint.into(), since: None }
}

fn full() -> ImportedPage {
    ImportedPage {
        frame: frame(NavItem::Imported),
        clusters: rows(),
        may_import: true,
        networks: vec!["10.0.0.0/8".into(), "192.168.0.0/16".into()],
        ..ImportedPage::default()
    }
}

fn refused() -> ImportedPage {
    ImportedPage {
        form: ImportForm { name: "rack-08".into(), context: "admin@rack-08".into(), as_groups: "view".into(), ..ImportForm::default() },
        errors: ImportErrors {
            kubeconfig: Some("Its user runs a program (exec: kubelogin), which we do not. Make one with a client certificate or a token.".into()),
            name: Some("An import of that name is there already.".into()),
            ..ImportErrors::default()
        },
        steps: vec![
            step(StepState::Done, "Read: 1 cluster, 1 user, 2 contexts", ""),
            step(StepState::Done, "CA: lab-root, ends in 9 years", ""),
            step(StepState::Failed, "Credential", "exec: kubelogin"),
            step(StepState::Waiting, "Address allowed", ""),
            step(StepState::Waiting, "Answer of the cluster", ""),
        ],
        contexts: vec!["admin@rack-08".into(), "view@rack-08".into()],
        ..full()
    }
}

impl Sample for ImportedPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let done = Notice {
            tone: Tone::Ok,
            lead: "Imported.".into(),
            text: "kind-lab answers as 1.36.3. Its kubeconfig was sealed; nobody will see it again.".into(),
            action: None,
        };
        let away = Failure {
            status: 422,
            what: "The cluster did not answer".into(),
            why: "10.20.0.9:6443 did not accept a connection within 10 s. Nothing was saved.".into(),
            side: Side::You,
            request_id: "01JD7M2N-08RA".into(),
            ..Failure::default()
        };
        let text = || HOSTILE.to_owned();
        let strange = ImportedRow {
            name: text(),
            server: text(),
            credential: text(),
            as_groups: vec![text()],
            by: endless(),
            ..row("x", "", &[])
        };
        let wrong = ImportErrors {
            kubeconfig: Some(text()),
            name: Some(text()),
            context: Some(text()),
            as_groups: Some(text()),
            ssh: Some(text()),
            form: Some(Failure { what: text(), why: text(), ..away.clone() }),
        };
        let form = ImportForm {
            kubeconfig: "never shown".into(),
            name: text(),
            context: text(),
            as_groups: text(),
            ssh: "never shown".into(),
        };
        let many =
            (0..50).map(|i| row(&format!("edge-{i:03}"), "https://10.20.0.4:6443", &["view"])).collect();
        vec![
            ("few", full()),
            ("one", Self { clusters: rows().into_iter().take(1).collect(), networks: Vec::new(), ..full() }),
            ("many", Self { clusters: many, ..full() }),
            ("empty", Self { clusters: Vec::new(), ..full() }),
            ("done", Self { notice: Some(done), ..full() }),
            ("refused", refused()),
            (
                "unreachable",
                Self { errors: ImportErrors { form: Some(away), ..ImportErrors::default() }, ..refused() },
            ),
            ("error", Self { failure: Some(store_away()), clusters: Vec::new(), ..full() }),
            ("viewer", Self { frame: viewer(NavItem::Imported), may_import: false, ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Imported),
                    may_import: false,
                    failure: Some(no_rights("Imported clusters need the role admin", "admin")),
                    clusters: Vec::new(),
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Imported, "/imported"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Imported),
                    clusters: vec![strange],
                    form,
                    errors: wrong,
                    steps: vec![step(StepState::Held, HOSTILE, HOSTILE)],
                    contexts: vec![text()],
                    networks: vec![text()],
                    ..full()
                },
            ),
        ]
    }
}
