use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, SUBSCRIPTION, Sample, ended, endless, frame, hostile, imported_path,
    no_rights, path, resource_id, store_away, viewer,
};
use web::{
    BrokenCluster, ClusterRow, ClustersPage, Column, Facets, Frame, LastLook, Link, ListQuery, ListView,
    MissingPart, NavItem, Notice, SavedLink, State, Summary, Tone, VersionCount,
};

type Line = (&'static str, &'static str, State, i64, &'static str, &'static str, &'static str);

/// Name, group, state, since, what is wrong, version, note of the version.
fn lines() -> Vec<Line> {
    let failed = |what: &str| State::Failed(what.to_owned());
    vec![
        (
            "quarry-batch-neu-03",
            "rg-quarry",
            failed("Creating"),
            72 * MINUTE,
            "Install stopped in phase 3 of 6: bootstrap did not complete within 60 min",
            "4.19.9",
            "",
        ),
        (
            "lighthouse-payments-settlement-production-westeurope-primary-0007",
            "rg-lighthouse-payments-settlement-production-westeurope-shared-services",
            failed("Updating"),
            76 * HOUR,
            "Subnet snet-workers-a has no free address for 3 new workers",
            "4.17.31",
            "",
        ),
        (
            "saltmarsh-int",
            "rg-saltmarsh-int",
            State::NoAnswer,
            6 * MINUTE,
            "No answer on the private link since 03:05; before that all was well",
            "4.18.20",
            "",
        ),
        (
            "harbor-prod-weu-01",
            "rg-harbor-prod",
            State::Degraded,
            47 * MINUTE,
            "etcd, authentication degraded; 1 node not ready; 4 alerts",
            "4.18.22",
            "to 4.19.9, 62 %",
        ),
        (
            "kiln-analytics-weu-11",
            "rg-kiln-analytics",
            State::Degraded,
            5 * HOUR + 22 * MINUTE,
            "ingress degraded: 1 of 2 routers unavailable; 2 alerts",
            "4.16.48",
            "",
        ),
        (
            "fjord-ledger-weu-01",
            "rg-größe-λ-Ж",
            State::Canceled,
            3 * HOUR,
            "The update to 4.19.9 was cancelled by its owner",
            "4.18.22",
            "",
        ),
        (
            "tern-dev-22",
            "rg-tern-dev",
            State::Creating,
            31 * MINUTE,
            "Phase 4 of 6, cluster operators: 21 of 33 available",
            "4.20.2",
            "",
        ),
        (
            "osprey-core-weu-02",
            "rg-osprey",
            State::Updating(Some(48)),
            22 * MINUTE,
            "4 of 9 nodes on the new version; nothing degraded",
            "4.17.31",
            "to 4.18.22",
        ),
        ("moss-legacy-prod", "rg-moss", State::AdminUpdate, 12 * MINUTE, "Step 11 of 27", "4.15.36", ""),
        (
            "fennel-prod-04",
            "rg-fennel",
            State::Deleting,
            12 * MINUTE,
            "Removing 14 of 61 resources",
            "4.16.44",
            "",
        ),
        (
            "gannet-hr-weu-03",
            "rg-gannet",
            State::Maintenance,
            2 * DAY,
            "Planned for 22 Nov, 01:00 UTC",
            "4.18.22",
            "",
        ),
        ("basalt-claims-prod", "rg-basalt-claims", State::Healthy, 70 * DAY, "", "4.19.9", ""),
        ("copper-kettle-staging", "rg-copper-kettle", State::Succeeded, 70 * DAY, "", "4.20.2", ""),
        ("thistle-api-weu-02", "rg-thistle", State::Unknown, 6 * DAY, "", "", ""),
    ]
}

fn row(line: Line) -> ClusterRow {
    let (name, group, state, since, wrong, version, note) = line;
    ClusterRow {
        name: name.into(),
        path: path(group, name),
        resource_id: resource_id(group, name),
        group: group.into(),
        subscription: SUBSCRIPTION.into(),
        state,
        since: Some(NOW - since),
        wrong: wrong.into(),
        version: version.into(),
        version_note: note.into(),
        created: Some(NOW - 411 * DAY),
        modified: Some(NOW - since),
        pick: name.into(),
        region: "westeurope".into(),
        operators: if note.is_empty() {
            Vec::new()
        } else {
            vec!["etcd".into(), "authentication".into(), "dns".into()]
        },
        nodes: Some((if wrong.is_empty() { 9 } else { 8 }, 9)),
        alerts: if wrong.is_empty() {
            Vec::new()
        } else {
            vec!["KubeNodeNotReady".into(), "etcdMembersDown".into()]
        },
        certificate: Some(NOW + since * 20),
        look: Some(look(since)),
        api: "Private".into(),
        architecture: "2".into(),
        phase: if note.is_empty() { String::new() } else { "InstallPhaseBootstrap".into() },
        infra: format!("{name}-x7k2p"),
        provisioned: "9f4c2e81b7d05a3c".into(),
        ..ClusterRow::default()
    }
}

/// Of what has lasted for less than an hour something failed, and less than ten minutes it is overdue.
fn look(since: i64) -> LastLook {
    let failed = if since < HOUR {
        vec![MissingPart { what: "alerts".into(), why: "no answer within 10 s".into() }]
    } else {
        Vec::new()
    };
    let overdue = since < 10 * MINUTE;
    LastLook { at: NOW - if overdue { since } else { since % 60 + 3 }, took_ms: 840, failed, overdue }
}

fn imported() -> ClusterRow {
    ClusterRow {
        name: "kind-lab".into(),
        path: imported_path("kind-lab"),
        resource_id: imported_path("kind-lab"),
        state: State::Imported,
        version: "1.36.3".into(),
        version_note: "Kubernetes".into(),
        created: Some(NOW - 2 * DAY),
        imported: true,
        imported_by: "Sefa Moreau".into(),
        ..ClusterRow::default()
    }
}

fn many() -> Vec<ClusterRow> {
    let mut rows: Vec<ClusterRow> = lines().into_iter().map(row).collect();
    rows.insert(5, imported());
    while rows.len() < 50 {
        let name = format!("pebble-edge-{:04}", rows.len());
        let line = row(("", "rg-pebble", State::Healthy, 30 * DAY, "", "4.19.9", ""));
        rows.push(ClusterRow {
            path: path("rg-pebble", &name),
            resource_id: resource_id("rg-pebble", &name),
            name,
            ..line
        });
    }
    rows
}

fn summary() -> Summary {
    let version = |label: &str, filter: &str, count, old| VersionCount {
        label: label.into(),
        filter: filter.into(),
        count,
        old,
    };
    let broken = |name: &str, state, since| BrokenCluster {
        name: name.into(),
        href: path("rg", name),
        state,
        since: NOW - since,
    };
    Summary {
        failed: 37,
        no_answer: 14,
        degraded: 93,
        certificates: 23,
        creating: 9,
        updating: 37,
        admin_updating: 4,
        deleting: 6,
        oldest: Some(NOW - 72 * MINUTE),
        versions: vec![
            version("≤ 4.15", "<4.16", 133, true),
            version("4.16", "4.16", 688, false),
            version("4.17", "4.17", 1411, false),
            version("4.18", "4.18", 3266, false),
            version("4.19", "4.19", 3904, false),
            version("4.20", "4.20", 812, false),
        ],
        longest: vec![
            broken("gannet-hr-weu-03", State::Failed("Updating".into()), 14 * DAY),
            broken("moss-legacy-prod", State::Failed("Creating".into()), 8 * DAY),
            broken(
                "lighthouse-payments-settlement-production-westeurope-primary-0007",
                State::Degraded,
                6 * DAY,
            ),
        ],
        long_broken: 17,
        phases: vec![("InstallPhaseBootstrap".into(), 6), ("InstallPhaseRemoveBootstrap".into(), 3)],
        healthy: 9_902,
        unchecked: 4,
        canceled: 1,
        other: 84,
    }
}

fn views() -> Vec<(ListView, Option<u64>)> {
    let counts = [10_214, 223, 56, 37, 3];
    ListView::TABS.into_iter().zip(counts.map(Some)).collect()
}

fn saved() -> Vec<SavedLink> {
    let link = |name: &str, query: &str, mine, shared| SavedLink {
        id: format!("id-{query}"),
        name: name.into(),
        href: format!("/?{query}"),
        current: false,
        mine,
        shared,
        owner: "Juno Aaltonen".into(),
    };
    vec![
        link("etcd today", "operator=etcd", true, false),
        link("Certificates, all teams", "expires=30", false, true),
    ]
}

fn full() -> ClustersPage {
    ClustersPage {
        frame: frame(NavItem::Clusters),
        summary: Some(summary()),
        views: views(),
        rows: many(),
        first: 1,
        around: (None, Some("eyJrIjoxfQ".into())),
        columns: Column::USUAL.to_vec(),
        saved: saved(),
        facets: Facets {
            operators: vec![("etcd".into(), 41), ("authentication".into(), 12)],
            alerts: vec![("KubeNodeNotReady".into(), 30)],
            collectors: vec![("alerts".into(), 7)],
            regions: vec![("westeurope".into(), 10_211)],
        },
        seen: "41".into(),
        matched: 10_214,
        total: 10_214,
        updated: Some(NOW - 4),
        ..ClustersPage::default()
    }
}

/// Of a service without a monitor: only what the documents say.
fn bare() -> Summary {
    Summary {
        longest: Vec::new(),
        versions: Vec::new(),
        oldest: None,
        failed: 0,
        creating: 0,
        updating: 0,
        admin_updating: 0,
        deleting: 0,
        ..Summary::default()
    }
}

fn all_hostile() -> ClustersPage {
    let mut rows = many();
    rows.truncate(2);
    let strange = ClusterRow {
        name: HOSTILE.into(),
        path: format!("/{}", web::text::encode(HOSTILE)),
        resource_id: HOSTILE.into(),
        group: HOSTILE.into(),
        subscription: HOSTILE.into(),
        state: State::Failed(HOSTILE.into()),
        since: Some(NOW + 9 * MINUTE),
        wrong: HOSTILE.into(),
        version: HOSTILE.into(),
        version_note: HOSTILE.into(),
        created: Some(i64::MAX),
        modified: Some(i64::MIN),
        pick: HOSTILE.into(),
        operators: vec![HOSTILE.into(), HOSTILE.into(), HOSTILE.into()],
        alerts: vec![HOSTILE.into()],
        look: Some(LastLook {
            at: i64::MIN,
            took_ms: u64::MAX,
            failed: vec![MissingPart { what: HOSTILE.into(), why: HOSTILE.into() }],
            overdue: true,
        }),
        region: HOSTILE.into(),
        infra: HOSTILE.into(),
        maintenance: HOSTILE.into(),
        ..ClusterRow::default()
    };
    let long = ClusterRow {
        name: endless(),
        group: endless(),
        wrong: endless(),
        version: endless(),
        ..strange.clone()
    };
    rows.insert(0, strange);
    rows.insert(1, long);
    let version = VersionCount { label: HOSTILE.into(), filter: HOSTILE.into(), count: u64::MAX, old: true };
    let broken = BrokenCluster {
        name: HOSTILE.into(),
        href: format!("/{HOSTILE}"),
        state: State::Failed(HOSTILE.into()),
        since: NOW,
    };
    ClustersPage {
        frame: hostile(NavItem::Clusters),
        query: ListQuery {
            q: HOSTILE.into(),
            state: HOSTILE.into(),
            version: HOSTILE.into(),
            ..ListQuery::default()
        },
        summary: Some(Summary {
            versions: vec![version],
            longest: vec![broken],
            phases: vec![(HOSTILE.into(), 1)],
            ..summary()
        }),
        saved: saved()
            .into_iter()
            .map(|view| SavedLink { name: HOSTILE.into(), owner: HOSTILE.into(), ..view })
            .collect(),
        facets: Facets { operators: vec![(HOSTILE.into(), u64::MAX)], ..Facets::default() },
        columns: Column::EVERY.to_vec(),
        rows,
        around: (None, None),
        matched: 4,
        ..full()
    }
}

fn third_page() -> ClustersPage {
    let query = ListQuery {
        sort: Column::Created,
        reverse: true,
        after: "eyJrIjoxfQ".into(),
        ..ListQuery::default()
    };
    ClustersPage { query, first: 101, around: (Some("eyJ".into()), Some("eyK".into())), ..full() }
}

impl Sample for ClustersPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let notice = Notice {
            tone: Tone::Warn,
            lead: "Our store is read-only.".into(),
            text: "You can look and use what you hold; new access has to wait. We know and are on it.".into(),
            action: None,
        };
        let searched = ListQuery { q: "harbr-prod".into(), ..ListQuery::default() };
        let filtered = ListQuery {
            q: "prod".into(),
            view: ListView::Failed,
            version: "4.18".into(),
            source: "aro".into(),
            ..ListQuery::default()
        };
        let one = || vec![row(lines().remove(3))];
        vec![
            ("many", full()),
            (
                "simulated",
                Self {
                    frame: Frame { simulated: true, regions: Vec::new(), ..frame(NavItem::Clusters) },
                    ..full()
                },
            ),
            (
                "elevated",
                Self {
                    frame: Frame { elevations: vec![crate::elevation()], ..frame(NavItem::Clusters) },
                    ..full()
                },
            ),
            ("page-3", third_page()),
            ("all-columns", Self { columns: Column::EVERY.to_vec(), ..full() }),
            (
                "saved-view",
                Self {
                    query: ListQuery { operator: "etcd".into(), age: "7d".into(), ..ListQuery::default() },
                    saved: saved().into_iter().map(|view| SavedLink { current: view.mine, ..view }).collect(),
                    ..full()
                },
            ),
            (
                "filtered",
                Self { query: filtered, rows: many().into_iter().take(7).collect(), matched: 7, ..full() },
            ),
            (
                "one",
                Self {
                    rows: one(),
                    matched: 1,
                    total: 1,
                    summary: Some(bare()),
                    views: Vec::new(),
                    ..full()
                },
            ),
            (
                "empty",
                Self { rows: Vec::new(), matched: 0, total: 0, summary: None, views: Vec::new(), ..full() },
            ),
            (
                "nothing-found",
                Self {
                    query: searched,
                    rows: Vec::new(),
                    matched: 0,
                    nearest: Some(Link::new(
                        "harbor-prod-weu-01",
                        path("rg-harbor-prod", "harbor-prod-weu-01"),
                    )),
                    ..full()
                },
            ),
            (
                "stale",
                Self {
                    stale: Some(NOW - 3 * MINUTE),
                    updated: Some(NOW - 3 * MINUTE),
                    frame: Frame { notices: vec![notice], ..frame(NavItem::Clusters) },
                    ..full()
                },
            ),
            (
                "error",
                Self {
                    failure: Some(store_away()),
                    rows: Vec::new(),
                    summary: None,
                    views: Vec::new(),
                    updated: None,
                    frame: Frame { clusters: None, ..frame(NavItem::Clusters) },
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Clusters, "/?q=harbor"), ..full() }),
            ("viewer", Self { frame: viewer(NavItem::Clusters), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("You may not list clusters", "viewer")),
                    rows: Vec::new(),
                    summary: None,
                    views: Vec::new(),
                    updated: None,
                    ..full()
                },
            ),
            ("hostile", all_hostile()),
        ]
    }
}
