//! Alerts and operations of all clusters, in every state.

use crate::{HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, path, store_away, viewer};
use web::{
    FleetAlertRow, FleetAlertsPage, FleetOperationRow, FleetOperations, FleetOperationsPage, Link, NavItem,
};

fn alert(name: &str, clusters: &[&str], all: u64) -> FleetAlertRow {
    let link = |name: &&str| Link::new(*name, format!("{}/alerts", path("rg-fleet", name)));
    FleetAlertRow {
        name: name.into(),
        clusters: clusters.iter().map(link).collect(),
        all,
        list: format!("/?q={name}"),
    }
}

fn alerts() -> FleetAlertsPage {
    FleetAlertsPage {
        frame: frame(NavItem::Alerts),
        rows: vec![
            alert(
                "KubePodCrashLooping",
                &["harbor-prod-weu-01", "gannet-hr-weu-03", "orchid-lab-weu-02"],
                14,
            ),
            alert("etcdMembersDown", &["harbor-prod-weu-01"], 1),
            alert("KubeNodeNotReady", &["quarry-batch-neu-03"], 1),
        ],
        names: 3,
        clusters: 15,
        unknown: 4,
        ..FleetAlertsPage::default()
    }
}

impl Sample for FleetAlertsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let none = || Self { rows: Vec::new(), names: 0, clusters: 0, unknown: 0, ..alerts() };
        let odd = FleetAlertRow {
            clusters: vec![Link::new(HOSTILE, format!("/{HOSTILE}")); 3],
            list: format!("/?q={HOSTILE}"),
            ..alert(&endless(), &[], u64::MAX)
        };
        vec![
            ("list", alerts()),
            ("none", none()),
            ("nothing-found", Self { q: "nowhere".into(), ..none() }),
            ("viewer", Self { frame: viewer(NavItem::Alerts), ..alerts() }),
            ("error", Self { failure: Some(store_away()), ..none() }),
            ("expired", Self { frame: ended(NavItem::Alerts, "/alerts"), ..alerts() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Alerts),
                    q: HOSTILE.into(),
                    rows: vec![odd],
                    names: u64::MAX,
                    ..alerts()
                },
            ),
        ]
    }
}

fn operation(cluster: &str, kind: &str, progress: &str, error: &str, at: i64) -> FleetOperationRow {
    FleetOperationRow {
        cluster: Link::new(cluster, format!("{}/operations/7d1b3c52", path("rg-fleet", cluster))),
        kind: kind.into(),
        progress: progress.into(),
        error: error.into(),
        at,
        by: "juno.aaltonen@example.com".into(),
    }
}

fn list(rows: Vec<FleetOperationRow>) -> FleetOperations {
    FleetOperations { all: u64::try_from(rows.len()).unwrap_or(u64::MAX), rows }
}

fn operations() -> FleetOperationsPage {
    let quota = "The quota of Standard_D8s_v5 in westeurope is used up: 96 of 100 cores.";
    FleetOperationsPage {
        frame: frame(NavItem::Operations),
        failed: list(vec![
            operation(
                "quarry-batch-neu-03",
                "Creating",
                "Bootstrap, step 14 of 49: Create machines",
                quota,
                NOW - HOUR,
            ),
            operation(
                "gone-weu-09",
                "Deleting",
                "Step 2 of 9: Delete load balancer",
                "timed out",
                NOW - 30 * HOUR,
            ),
        ]),
        running: list(vec![operation(
            "gannet-hr-weu-03",
            "Updating",
            "Step 3 of 12: Wait: API servers ready",
            "",
            NOW - 41 * MINUTE,
        )]),
        days: 7,
        ..FleetOperationsPage::default()
    }
}

impl Sample for FleetOperationsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let none = || Self {
            failed: FleetOperations::default(),
            running: FleetOperations::default(),
            ..operations()
        };
        let odd = |at| FleetOperationRow {
            cluster: Link::new(HOSTILE, format!("/{HOSTILE}")),
            by: HOSTILE.into(),
            ..operation("", HOSTILE, &endless(), &endless(), at)
        };
        let row = |n: i64| operation(&format!("cluster-{n:04}-weu"), "Creating", "Step 1 of 49", "", NOW - n);
        vec![
            ("list", operations()),
            ("none", none()),
            ("nothing-found", Self { q: "nowhere".into(), ..none() }),
            (
                "many",
                Self {
                    running: FleetOperations { rows: (0..200).map(row).collect(), all: 2_214 },
                    ..operations()
                },
            ),
            ("viewer", Self { frame: viewer(NavItem::Operations), ..operations() }),
            ("error", Self { failure: Some(store_away()), ..none() }),
            ("expired", Self { frame: ended(NavItem::Operations, "/operations"), ..operations() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Operations),
                    q: HOSTILE.into(),
                    failed: list(vec![odd(i64::MAX)]),
                    running: list(vec![odd(i64::MIN)]),
                    ..operations()
                },
            ),
        ]
    }
}
