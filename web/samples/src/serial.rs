//! A machine's serial console.

use crate::cluster::harbor;
use crate::workloads::{away, odd};
use crate::{HOSTILE, Sample, endless, frame, hostile, path};
use web::{NavItem, SerialPage, SerialQuery};

fn page() -> SerialPage {
    let machine = "harbor-prod-weu-01-x7k2p-master-2";
    let base = format!("{}/machines/{machine}", path("rg-harbor-prod", "harbor-prod-weu-01"));
    let lines = [
        "[    0.000000] Linux version 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC",
        "[   12.345678] ignition[731]: Ignition finished successfully",
        "[  OK  ] Started Kubernetes Kubelet.",
        "[   41.102334] EXT4-fs error (device sda4): ext4_find_entry: reading directory lblock 0",
        "harbor-prod-weu-01-x7k2p-master-2 login: ",
    ];
    SerialPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        active: 3,
        machine: machine.into(),
        text: format!("/api/v1/clusters{base}/serial?as=text"),
        screen: String::new(),
        machine_href: base,
        query: SerialQuery::default(),
        size: 48_213,
        cut: false,
        total: 842,
        matches: 842,
        lines: (838..).zip(lines).map(|(n, line)| (n, line.to_owned())).collect(),
        older: Some(838),
        newer: None,
        failure: None,
    }
}

impl Sample for SerialPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let q = |q: &str| SerialQuery { q: q.into(), ..SerialQuery::default() };
        let long =
            (1..=500).map(|n| (n, format!("line {n} {}", "x".repeat(usize::try_from(n % 300).unwrap_or(0)))));
        let long = long.collect();
        vec![
            ("lines", page()),
            (
                "found",
                Self {
                    query: q("error"),
                    matches: 1,
                    lines: page().lines.split_off(3),
                    older: None,
                    ..page()
                },
            ),
            (
                "nothing-found",
                Self { query: q("panic"), matches: 0, lines: Vec::new(), older: None, ..page() },
            ),
            ("empty", Self { size: 0, total: 0, matches: 0, lines: Vec::new(), older: None, ..page() }),
            (
                "cut",
                Self { size: 9_000_000, cut: true, total: 90_000, lines: long, newer: Some(500), ..page() },
            ),
            ("failed", Self { failure: Some(away()), lines: Vec::new(), ..page() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    machine: HOSTILE.into(),
                    query: q(HOSTILE),
                    lines: vec![(1, HOSTILE.into()), (2, endless())],
                    ..page()
                },
            ),
        ]
    }
}
