//! Recorded sessions and their player.

use crate::{HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, path, store_away};
use web::{Link, NavItem, RecordingPage, RecordingRow, RecordingState, RecordingsPage, RecordingsQuery};

fn row(n: i64, kind: &'static str, place: &str, command: &str, state: RecordingState) -> RecordingRow {
    let name = "harbor-prod-weu-01";
    RecordingRow {
        id: format!("7zzzq{n:020}"),
        kind,
        person: "juno.aaltonen@example.com".into(),
        cluster: Link::new(name, path("rg-harbor-prod", name)),
        place: place.into(),
        command: command.into(),
        started: NOW - n * HOUR - 7 * MINUTE,
        took: (state == RecordingState::Ended).then_some(n * 431 + 12),
        state,
        outcome: if state == RecordingState::Ended { "exit 0".into() } else { String::new() },
        bytes: usize::try_from(n * 48_213).unwrap_or_default(),
        hits: Vec::new(),
    }
}

fn rows() -> Vec<RecordingRow> {
    vec![
        row(0, "ssh", "harbor-prod-weu-01-x7k2p-master-2", "", RecordingState::Running),
        row(
            1,
            "exec",
            "openshift-etcd/etcd-master-0/etcd",
            "sh -c etcdctl member list -w table",
            RecordingState::Ended,
        ),
        row(5, "terminal", "harbor-prod-weu-01-x7k2p-worker-1", "", RecordingState::BrokenOff),
        row(
            30,
            "ssh",
            "harbor-prod-weu-01-x7k2p-master-0",
            "journalctl -u kubelet -n 200",
            RecordingState::Ended,
        ),
    ]
}

fn list() -> RecordingsPage {
    RecordingsPage {
        frame: frame(NavItem::Recordings),
        everybody: true,
        policy: "required".into(),
        rows: rows(),
        next: Some("7zzzq30".into()),
        ..RecordingsPage::default()
    }
}

fn strange() -> RecordingRow {
    RecordingRow {
        id: HOSTILE.into(),
        person: HOSTILE.into(),
        cluster: Link::new(HOSTILE, format!("/{HOSTILE}")),
        outcome: HOSTILE.into(),
        hits: vec![(3_723_000, HOSTILE.into()), (1, endless())],
        ..row(1, "ssh", HOSTILE, &endless(), RecordingState::Ended)
    }
}

impl Sample for RecordingsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let q = |q: &str| RecordingsQuery { q: q.into(), ..RecordingsQuery::default() };
        let mut found = rows();
        found.truncate(2);
        found[1].hits =
            vec![(61_000, "member 8e9e05c52164694d is healthy".into()), (75_400, "member removed".into())];
        vec![
            ("few", list()),
            ("own", Self { everybody: false, policy: "wanted".into(), next: None, ..list() }),
            ("found", Self { rows: found, query: q("member"), searched: Some((120, 1)), ..list() }),
            (
                "of-access",
                Self {
                    query: RecordingsQuery { grant: "g-0024".into(), ..RecordingsQuery::default() },
                    next: None,
                    ..list()
                },
            ),
            (
                "many",
                Self {
                    rows: (1..=100)
                        .map(|n| row(n, "exec", "default/web-0/web", "sh", RecordingState::Ended))
                        .collect(),
                    ..list()
                },
            ),
            ("empty", Self { rows: Vec::new(), next: None, ..list() }),
            ("not-kept", Self { rows: Vec::new(), next: None, policy: "".into(), ..list() }),
            (
                "nothing-found",
                Self {
                    rows: Vec::new(),
                    next: None,
                    query: q("absent"),
                    searched: Some((31, 0)),
                    policy: "off".into(),
                    ..list()
                },
            ),
            (
                "not-yet-found",
                Self { rows: Vec::new(), query: q("absent"), searched: Some((500, 0)), ..list() },
            ),
            (
                "mistake",
                Self {
                    range_error: Some("The end lies before the start.".into()),
                    rows: Vec::new(),
                    next: None,
                    ..list()
                },
            ),
            ("error", Self { failure: Some(store_away()), rows: Vec::new(), ..list() }),
            ("expired", Self { frame: ended(NavItem::Recordings, "/recordings"), ..list() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Recordings),
                    rows: vec![strange()],
                    query: RecordingsQuery { grant: HOSTILE.into(), ..q(HOSTILE) },
                    next: Some(HOSTILE.into()),
                    ..list()
                },
            ),
        ]
    }
}

fn player() -> RecordingPage {
    RecordingPage {
        frame: frame(NavItem::Recordings),
        row: row(1, "ssh", "harbor-prod-weu-01-x7k2p-master-2", "", RecordingState::Ended),
        grant: "g7q2m".into(),
        keep_until: NOW + 300 * 24 * HOUR,
        cast: String::new(),
        ..RecordingPage::default()
    }
}

impl Sample for RecordingPage {
    fn samples() -> Vec<(&'static str, Self)> {
        vec![
            ("player", player()),
            ("failed", Self { failure: Some(store_away()), ..player() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Recordings),
                    row: strange(),
                    grant: HOSTILE.into(),
                    find: HOSTILE.into(),
                    ..player()
                },
            ),
        ]
    }
}
