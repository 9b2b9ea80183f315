//! A fleet in every state: each place that shows a number shows the same one.

use std::collections::HashSet;
use std::time::Duration;

use rp_base::Timestamp;
use rp_documents::{ClusterDocument, ClusterHealth};
use serde_json::{Value, json};
use web::{ListQuery, ListView, Summary};

use super::*;

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T12:00:00Z").unwrap()
}

fn entry(name: &str, state: &str, properties: &Value, health: Option<Value>) -> Arc<Entry> {
    let id = format!(
        "/subscriptions/0000aaaa-0000-0000-0000-00000000000f/resourceGroups/rg/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}"
    );
    let mut document = json!({
        "id": name, "key": id.to_lowercase(), "partitionKey": "p", "bucket": 1,
        "openShiftCluster": {
            "id": id, "name": name, "type": "Microsoft.RedHatOpenShift/openShiftClusters",
            "location": "westeurope",
            "systemData": { "lastModifiedAt": "2026-11-10T12:00:00Z" },
            "properties": { "provisioningState": state },
        },
    });
    let own = document["openShiftCluster"]["properties"].as_object_mut().unwrap();
    own.extend(properties.as_object().unwrap().clone());
    let document: ClusterDocument = serde_json::from_value(document).unwrap();
    let health = health.map(|rest| {
        let mut record = json!({ "id": name, "looked_at": "2026-11-21T11:59:00Z" });
        record.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let record: ClusterHealth = serde_json::from_value(record).unwrap();
        Arc::new(Health::from_record(&record))
    });
    Arc::new(Entry::from_cluster(&document).finished(health.as_ref(), None, None, None))
}

/// Every state, and what used to be counted twice.
fn fleet() -> Snapshot {
    let none = json!({});
    let install = |phase: &str| json!({ "install": { "phase": phase } });
    let failed = |what: &str| json!({ "failedProvisioningState": what, "install": { "phase": "InstallPhaseBootstrap" } });
    let well = || Some(json!({ "healthz": 200 }));
    let ends = || Some(json!({ "healthz": 200, "certificate_expiry": "2026-12-01T00:00:00Z" }));
    let since = |hours: &str| json!({ "healthz": 0, "since": hours });
    let mut entries = vec![
        entry("failed-creation", "Failed", &failed("Creating"), None),
        entry("failed-update", "Failed", &failed("Updating"), ends()),
        entry("no-answer", "Succeeded", &none, Some(since("2026-11-18T12:00:00Z"))),
        entry("no-answer-lately", "Succeeded", &none, Some(since("2026-11-21T11:00:00Z"))),
        entry(
            "degraded",
            "Succeeded",
            &none,
            Some(
                json!({ "operators_degraded": ["etcd"], "certificate_expiry": "2026-12-01T00:00:00Z", "since": "2026-11-19T12:00:00Z" }),
            ),
        ),
        entry("canceled", "Canceled", &none, None),
        entry("creating", "Creating", &install("InstallPhaseBootstrap"), None),
        entry("creating-too", "Creating", &install("InstallPhaseRemoveBootstrap"), None),
        entry("updating", "Updating", &none, ends()),
        entry("admin-updating", "AdminUpdating", &install("InstallPhaseBootstrap"), well()),
        entry("deleting", "Deleting", &none, None),
        entry("certificate", "Succeeded", &none, ends()),
        entry("unchecked", "Succeeded", &none, None),
        entry("unchecked-lately", "Succeeded", &none, Some(json!({ "looked_at": "2026-11-21T11:00:00Z" }))),
        entry("healthy", "Succeeded", &none, well()),
        entry("maintenance", "Maintenance", &none, well()),
    ];
    entries.sort_by(|a, b| a.id.key().cmp(b.id.key()));
    Snapshot { entries, views: Vec::new(), requests: Vec::new(), generation: 1 }
}

/// The clusters that a link of the strip lists.
fn listed(snapshot: &Snapshot, href: &str) -> Vec<String> {
    let query = href.strip_prefix("/?").unwrap();
    let mut list = ListQuery::default();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "view" => list.view = ListView::EVERY.into_iter().find(|view| view.name() == value).unwrap(),
            "sort" => {}
            name => *list.field_mut(name).unwrap() = value.into_owned(),
        }
    }
    let found = Selection::new(&list, now()).unwrap().matching(snapshot);
    found.iter().map(|entry| entry.id.name().to_owned()).collect()
}

#[test]
fn every_number_of_the_strip_is_that_of_the_list_it_opens() {
    let snapshot = fleet();
    let summary = summarize(&snapshot, now());
    let (looks, work) = (summary.looks(), summary.work());
    let mut all = HashSet::new();
    for line in looks.iter().chain(&work) {
        let names = listed(&snapshot, line.href);
        assert_eq!(names.len() as u64, line.count, "{}: {names:?}", line.words);
        for name in names {
            assert!(all.insert(name.clone()), "{name} is counted twice");
        }
    }
    for (href, count) in [("/?view=healthy", summary.healthy), ("/?view=other", summary.other)] {
        let names = listed(&snapshot, href);
        assert_eq!(names.len() as u64, count, "{href}: {names:?}");
        all.extend(names);
    }
    assert_eq!(all.len(), snapshot.entries.len(), "the parts are the whole");
    let sum = Summary::sum(&looks) + Summary::sum(&work) + summary.healthy + summary.other;
    assert_eq!(sum, snapshot.entries.len() as u64);
    assert_eq!((summary.failed, summary.unchecked, summary.other), (2, 2, 1));
}

#[test]
fn tabs_phases_and_the_long_broken_agree_with_the_strip() {
    let snapshot = fleet();
    let summary = summarize(&snapshot, now());
    for (view, count) in views(&snapshot, now()) {
        let expected = match view {
            ListView::All => snapshot.entries.len() as u64,
            ListView::Attention => Summary::sum(&summary.looks()),
            ListView::InProgress => Summary::sum(&summary.work()),
            ListView::Failed => summary.failed,
            _ => 0,
        };
        assert_eq!(count, Some(expected), "{}", view.words());
    }
    // A failed creation and an admin update have a phase, and are no installations that run.
    let running: u64 = summary.phases.iter().map(|(_, count)| count).sum();
    assert_eq!((running, summary.creating), (2, 2));
    for (phase, count) in &summary.phases {
        assert_eq!(listed(&snapshot, &format!("/?state=creating&phase={phase}")).len() as u64, *count);
    }
    let long = listed(&snapshot, Summary::LONG_BROKEN);
    assert_eq!(long.len() as u64, summary.long_broken, "{long:?}");
    assert!(!long.contains(&"no-answer-lately".to_owned()) && long.contains(&"degraded".to_owned()));
    assert!(summary.longest.iter().all(|broken| long.contains(&broken.name)));
}

#[test]
fn a_whole_name_opens_its_page() {
    let infra = json!({ "infraId": "harbor-x7k2p" });
    let entries = vec![
        entry("harbor", "Succeeded", &infra, None),
        entry("harbor-two", "Succeeded", &json!({ "infraId": "harbor-two-b91c4" }), None),
    ];
    let snapshot = Snapshot { entries, ..Snapshot::default() };
    let path = snapshot.entries[0].path();
    assert_eq!(open("harbor", &snapshot), Some(path.clone()));
    assert_eq!(open(" Harbor-X7K2P ", &snapshot), Some(path.clone()));
    assert_eq!(open(&path, &snapshot), Some(path.clone()));
    let node = "harbor-x7k2p-worker-westeurope1-abcde";
    assert_eq!(open(node, &snapshot), Some(format!("{path}/nodes/{node}")));
    for nothing in ["", "harb", "harbor-x7k2p-", "harbor-x9"] {
        assert_eq!(open(nothing, &snapshot), None, "{nothing:?}");
    }
}

#[test]
fn a_mistyped_name_finds_the_nearest() {
    let none = json!({});
    let names = ["harbor-prod-weu-01", "harbor-prod-weu-02", "quarry-batch-neu-03"];
    let entries = names.iter().map(|name| entry(name, "Succeeded", &none, None)).collect();
    let snapshot = Snapshot { entries, ..Snapshot::default() };
    let found = |text: &str, limit: usize| -> Vec<String> {
        nearest(text, &snapshot, limit).iter().map(|entry| entry.id.name().to_owned()).collect()
    };
    assert_eq!(found("quarry-bacth-neu-03", 3), ["quarry-batch-neu-03"]);
    assert_eq!(found("qaurry", 3), ["quarry-batch-neu-03"], "a part of a name");
    assert_eq!(
        found("harbor-prod-weu-11", 3),
        ["harbor-prod-weu-01", "harbor-prod-weu-02"],
        "the closest first"
    );
    assert_eq!(found("harbor-prod-weu-11", 1), ["harbor-prod-weu-01"]);
    assert_eq!(found("quarry-and-more", 3), ["quarry-batch-neu-03"], "a common beginning");
    assert_eq!(found("zzzzzzzz", 3), [""; 0]);
    assert_eq!(found("ha", 3), [""; 0], "too short to say anything");
    assert_eq!(found(&"harbor".repeat(40), 3), [""; 0], "too long for a name");
}

#[test]
fn a_request_waits_for_others_until_it_lapses() {
    let lapses = now() + Duration::from_secs(60);
    let requests = vec![OpenRequest { owner: "ana".to_owned(), lapses }];
    let snapshot = Snapshot { requests, ..Snapshot::default() };
    assert_eq!(snapshot.waiting_for("ben", now()), 1);
    assert_eq!(snapshot.waiting_for("ana", now()), 0, "nobody decides on their own request");
    assert_eq!(snapshot.waiting_for("ben", lapses), 0);
}

#[test]
fn a_state_began_when_the_monitor_stored_it_not_when_this_process_started() {
    let snapshot = fleet();
    let since = |name: &str| {
        snapshot.entries.iter().find(|entry| entry.id.name() == name).and_then(|entry| entry.since)
    };
    assert_eq!(since("degraded"), Some(now() - Duration::from_secs(48 * 3600)));
    assert_eq!(since("no-answer"), Some(now() - Duration::from_secs(72 * 3600)));
    // Worst first, and among equals what has lasted longest.
    let query = ListQuery { state: "noanswer".to_owned(), ..ListQuery::default() };
    let found = Selection::new(&query, now()).unwrap().matching(&snapshot);
    let names: Vec<&str> = found.iter().map(|entry| entry.id.name()).collect();
    assert_eq!(names, ["no-answer", "no-answer-lately"]);
}
