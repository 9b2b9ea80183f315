use crate::{HOSTILE, HOUR, MINUTE, NOW, Sample, ended, frame, hostile, no_rights, path, store_away, viewer};
use web::{
    AccessDialog, AccessDialogKind, AccessErrors, AccessForm, AccessGiven, AccessQuestion, HostKeyRow,
    HostKeysPage, Link, NavItem, RefusedKeyRow, SshChoices, SshCredentials, SshMachineRow,
};

const NAME: &str = "harbor-prod-weu-01";

fn machine(name: &str, control_plane: bool, ready: bool) -> SshMachineRow {
    let way = if control_plane { "" } else { "through a master" };
    SshMachineRow { name: format!("{NAME}-x7k2p-{name}"), control_plane, ready, way: way.into() }
}

fn kind(machines: Vec<SshMachineRow>, note: &str) -> AccessDialogKind {
    AccessDialogKind::Ssh(SshChoices { machines, machines_note: note.into() })
}

fn asked(form: AccessForm, errors: AccessErrors) -> AccessQuestion {
    AccessQuestion { lives: vec![1800, 3600, 14_400], form, errors, ..AccessQuestion::default() }
}

fn full() -> AccessDialog {
    let machines = vec![
        machine("master-0", true, true),
        machine("master-1", true, false),
        machine("master-2", true, true),
        machine("worker-westeurope1-7q4hd", false, true),
    ];
    AccessDialog {
        frame: frame(NavItem::Clusters),
        cluster: NAME.into(),
        path: path("rg-harbor-prod", NAME),
        question: asked(AccessForm::default(), AccessErrors::default()),
        kind: kind(machines, ""),
        ..AccessDialog::default()
    }
}

fn form(text: &str) -> AccessForm {
    AccessForm {
        reason: text.into(),
        ticket: text.into(),
        destinations: text.into(),
        agent_forwarding: "on".into(),
        ..AccessForm::default()
    }
}

fn wrong(text: &str) -> AccessErrors {
    AccessErrors {
        machine: Some(text.into()),
        reason: Some(text.into()),
        life: Some(text.into()),
        ticket: Some(text.into()),
        destinations: Some(text.into()),
        ..AccessErrors::default()
    }
}

fn given() -> AccessGiven {
    AccessGiven::Shell(SshCredentials {
        machine: format!("{NAME}-x7k2p-master-0"),
        command: "echo '[ssh.weu.example.net]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqM0example' > \
                  ssh.weu.example.net_known_host ; ssh -o UserKnownHostsFile=ssh.weu.example.net_known_host -p 2222 \
                  juno.aaltonen@ssh.weu.example.net"
            .into(),
        password: "aro1_ssh_01JD7M2N08RAexample".into(),
        password_until: NOW + 2 * MINUTE,
        ends: NOW + HOUR,
        grant: "/access/01JD7M2N08RA".into(),
    })
}

fn odd() -> AccessDialog {
    let machine = SshMachineRow { name: HOSTILE.into(), way: HOSTILE.into(), ..SshMachineRow::default() };
    AccessDialog {
        frame: hostile(NavItem::Clusters),
        cluster: HOSTILE.into(),
        path: "/x".into(),
        question: asked(form(HOSTILE), wrong(HOSTILE)),
        kind: kind(vec![machine], HOSTILE),
        ..full()
    }
}

pub(super) fn samples() -> Vec<(&'static str, AccessDialog)> {
    let barred =
        ("You are not elevated for this cluster.".to_owned(), Some(Link::new("Elevate first", "/elevate")));
    let barred = AccessQuestion { barred: Some(barred), ..AccessQuestion::default() };
    let mistake = AccessErrors {
        reason: Some("Too short: say in at least 10 characters what you are going to do.".into()),
        destinations: Some("9090 is no host:port.".into()),
        ..AccessErrors::default()
    };
    let away = AccessErrors { form: Some(store_away()), ..AccessErrors::default() };
    vec![
        ("ssh-form", full()),
        ("ssh-given", AccessDialog { given: Some(given()), ..full() }),
        ("ssh-barred", AccessDialog { question: barred, ..full() }),
        (
            "ssh-no-list",
            AccessDialog {
                kind: kind(Vec::new(), "The cluster did not tell its machines: name one."),
                ..full()
            },
        ),
        ("ssh-mistake", AccessDialog { question: asked(form("9090"), mistake), ..full() }),
        ("ssh-store-away", AccessDialog { question: asked(AccessForm::default(), away), ..full() }),
        ("ssh-error", AccessDialog { failure: Some(store_away()), ..full() }),
        (
            "ssh-no-rights",
            AccessDialog {
                frame: viewer(NavItem::Clusters),
                failure: Some(no_rights("SSH needs the role sre", "sre")),
                ..full()
            },
        ),
        ("ssh-expired", AccessDialog { frame: ended(NavItem::Clusters, "/"), ..full() }),
        ("ssh-hostile", odd()),
    ]
}

fn keys() -> HostKeysPage {
    let row = |name: &str, refused| HostKeyRow {
        machine: format!("{NAME}-x7k2p-{name}"),
        uid: format!("uid-{name}"),
        keys: vec![
            ("ssh-ed25519".into(), "SHA256:Xq0dYjvO0uE6q8mY0u1TjC2s9Zc0n5b3h1r7k4f2a9w".into()),
            ("ecdsa-sha2-nistp256".into(), "SHA256:p1vY0u1TjC2s9Zc0n5b3h1r7k4f2a9wXq0dYjvO0uE6".into()),
        ],
        learned: "read by the cluster's API".into(),
        at: NOW - 3 * HOUR,
        refused,
    };
    let refused = RefusedKeyRow {
        algorithm: "ssh-ed25519".into(),
        fingerprint: "SHA256:8mY0u1TjC2s9Zc0n5b3h1r7k4f2a9wXq0dYjvO0uE6q".into(),
        at: NOW - 4 * MINUTE,
    };
    HostKeysPage {
        frame: frame(NavItem::Clusters),
        cluster: NAME.into(),
        path: path("rg-harbor-prod", NAME),
        rows: vec![row("master-0", None), row("master-1", Some(refused))],
        may_trust: true,
        failure: None,
    }
}

impl Sample for HostKeysPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let mut first = keys();
        first.rows.iter_mut().for_each(|row| row.keys.clear());
        let mut strange = keys();
        for row in &mut strange.rows {
            row.machine = HOSTILE.into();
            row.uid = HOSTILE.into();
            row.learned = HOSTILE.into();
            row.keys = vec![(HOSTILE.into(), HOSTILE.into())];
            row.refused =
                row.refused.take().map(|refused| RefusedKeyRow { fingerprint: HOSTILE.into(), ..refused });
        }
        vec![
            ("list", keys()),
            ("first-sight", first),
            ("may-look", Self { may_trust: false, ..keys() }),
            ("empty", Self { rows: Vec::new(), ..keys() }),
            ("error", Self { failure: Some(store_away()), ..keys() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: HOSTILE.into(),
                    path: "/x".into(),
                    ..strange
                },
            ),
        ]
    }
}
