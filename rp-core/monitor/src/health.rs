//! Derives the fields of [`ClusterHealth`] from a look.

use std::collections::BTreeSet;
use std::time::Duration;

use rp_base::Timestamp;
use rp_documents::ClusterHealth;

use crate::cluster_objects::ClusterObjects;
use crate::collect::{self, Version};
use crate::objects::ClusterVersion;
use crate::runner::CollectorOutcome;

/// Maximum number of names kept per kind.
const MOST_NAMES: usize = 100;

/// The health that a look found. A field that could not be read keeps its value of the look before; the error of its
/// collector shows that it is old.
pub fn health(
    seen: &ClusterObjects,
    collectors: &[CollectorOutcome],
    took: Duration,
    previous: Option<&ClusterHealth>,
) -> ClusterHealth {
    let mut health = previous.cloned().unwrap_or_else(|| ClusterHealth {
        id: String::new(),
        looked_at: seen.now(),
        took_ms: 0,
        collectors: Vec::new(),
        operators_degraded: Vec::new(),
        nodes_not_ready: 0,
        nodes: 0,
        alerts: Vec::new(),
        certificate_expiry: None,
        version: String::new(),
        updating_to: String::new(),
        healthz: None,
        since: None,
        unknown: Default::default(),
    });
    health.id.clone_from(&seen.cluster().document);
    health.looked_at = seen.now();
    health.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    health.collectors = collectors.iter().map(CollectorOutcome::result).collect();
    health.healthz = seen.healthz_code();
    versions(seen, &mut health);
    if let Ok(operators) = seen.operators() {
        let bad = operators.iter().filter(|operator| operator.state().is_bad());
        health.operators_degraded = names(bad.map(|operator| operator.metadata.name.as_str()));
    }
    if let Ok(nodes) = seen.nodes() {
        health.nodes = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        health.nodes_not_ready =
            u32::try_from(nodes.iter().filter(|node| !node.ready().is_true()).count()).unwrap_or(u32::MAX);
    }
    if let Ok(alerts) = seen.alerts() {
        let firing = alerts.iter().filter(|alert| {
            // Watchdog alerts fire to show that alerting works; a silenced alert is already being handled.
            collect::is_platform(alert)
                && alert.labels.severity.as_str() != "none"
                && alert.status.state.as_str() != "suppressed"
        });
        health.alerts = names(firing.map(|alert| alert.labels.alertname.as_str()));
    }
    if let Some(end) = collect::earliest(seen) {
        health.certificate_expiry = Some(end);
    }
    health.since = Some(began(&health, previous));
    health
}

/// Since when checks find what this one found. It is stored, so it outlives this process and its lease.
fn began(health: &ClusterHealth, previous: Option<&ClusterHealth>) -> Timestamp {
    let same = previous.filter(|previous| previous.standing() == health.standing());
    same.map_or(health.looked_at, |previous| previous.since.unwrap_or(previous.looked_at))
}

fn versions(seen: &ClusterObjects, health: &mut ClusterHealth) {
    let Ok(Some(version)) = seen.version() else {
        if health.version.is_empty() {
            health.version.clone_from(&seen.cluster().version);
        }
        return;
    };
    let text = |version: &Option<Version>| version.as_ref().map(ToString::to_string);
    let known = seen.versions();
    let running = text(&known.actual).or_else(|| text(&known.desired));
    health.version = running.unwrap_or_else(|| seen.cluster().version.clone());
    health.updating_to = updating_to(&version, &health.version);
}

/// The version that is being installed; empty: none.
fn updating_to(version: &ClusterVersion, running: &str) -> String {
    version.installing().filter(|to| *to != running).unwrap_or_default().to_owned()
}

/// Sorted and without duplicates, so that equal health gives an equal document.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: BTreeSet<&str> = all.filter(|name| !name.is_empty()).collect();
    names.into_iter().take(MOST_NAMES).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster_objects::Resource;
    use crate::collect::tests::{CollectorBench, aro};

    fn fed() -> CollectorBench {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        let operator = |name: &str, kind: &str, status: &str| json!({"metadata": {"name": name}, "status": {"conditions": [condition(kind, status)]}});
        let node = |status: &str| json!({"status": {"conditions": [condition("Ready", status)]}});
        let alert = |name: &str, severity: &str, namespace: &str, state: &str| json!({"labels": {"alertname": name, "severity": severity, "namespace": namespace}, "status": {"state": state}});
        let fed = CollectorBench::new(aro())
            .with(
                &Resource::ClusterVersion,
                json!({"status": {"desired": {"version": "4.16.9"}, "history": [
                {"state": "Partial", "version": "4.16.9"}, {"state": "Completed", "version": "4.16.3"}]}}),
            )
            .with_items(
                &Resource::ClusterOperators,
                json!([
                    operator("ok", "Available", "True"),
                    operator("gone", "Available", "False"),
                    operator("bad", "Degraded", "True"),
                    operator("asking", "Degraded", "Unknown"),
                ]),
            )
            .with_items(&Resource::Nodes, json!([node("True"), node("False"), node("Unknown"), {}]))
            .with(
                &Resource::Alerts,
                json!([
                    alert("Z", "critical", "openshift-etcd", "active"),
                    alert("Z", "critical", "openshift-dns", "active"),
                    alert("A", "warning", "", "active"),
                    alert("Watchdog", "none", "", "active"),
                    alert("Silenced", "critical", "", "suppressed"),
                    alert("Mine", "critical", "mine", "active"),
                ]),
            );
        fed.seen.healthz(200);
        fed
    }

    #[test]
    fn a_look_becomes_health() {
        let outcome =
            CollectorOutcome { name: "emitSummary", error: None, took: Some(Duration::from_millis(3)) };
        let health = health(&fed().seen, &[outcome], Duration::from_secs(2), None);
        assert_eq!((health.id.as_str(), health.took_ms, health.healthz), ("x", 2000, Some(200)));
        assert_eq!((health.version.as_str(), health.updating_to.as_str()), ("4.16.3", "4.16.9"));
        assert_eq!(health.operators_degraded, ["bad", "gone"]);
        assert_eq!((health.nodes, health.nodes_not_ready), (4, 3));
        assert_eq!(health.alerts, ["A", "Z"]);
        assert_eq!(health.collectors[0].took_ms, Some(3));
    }

    #[test]
    fn what_was_not_seen_keeps_its_value() {
        let before = health(&fed().seen, &[], Duration::ZERO, None);
        let away =
            CollectorBench::new(aro()).failed(&Resource::Nodes, 500).failed(&Resource::ClusterVersion, 500);
        away.seen.healthz(0);
        let after = health(&away.seen, &[], Duration::ZERO, Some(&before));
        assert_eq!(after.healthz, Some(0));
        assert_eq!((after.nodes, after.alerts.len(), after.version.as_str()), (4, 2, "4.16.3"));
        assert_eq!(after.operators_degraded, before.operators_degraded);
    }

    #[test]
    fn a_state_keeps_its_begin_until_it_changes() {
        let at = Timestamp::from_seconds;
        let first = health(&fed().seen, &[], Duration::ZERO, None);
        assert_eq!(first.since, Some(first.looked_at));
        // Checks of an earlier process found the same: what they stored stands.
        let before = ClusterHealth { since: Some(at(100)), looked_at: at(200), ..first };
        assert_eq!(health(&fed().seen, &[], Duration::ZERO, Some(&before)).since, Some(at(100)));
        // An earlier version did not store it.
        let older = ClusterHealth { since: None, ..before.clone() };
        assert_eq!(health(&fed().seen, &[], Duration::ZERO, Some(&older)).since, Some(at(200)));
        let away = CollectorBench::new(aro());
        away.seen.healthz(0);
        let after = health(&away.seen, &[], Duration::ZERO, Some(&before));
        assert_eq!(after.since, Some(after.looked_at));
    }

    #[test]
    fn an_update_is_over_when_it_is_complete() {
        let version = |value| {
            health(
                &CollectorBench::new(aro()).with(&Resource::ClusterVersion, value).seen,
                &[],
                Duration::ZERO,
                None,
            )
        };
        let done = version(
            json!({"status": {"desired": {"version": "4.16.9"}, "history": [{"state": "Completed", "version": "4.16.9"}]}}),
        );
        assert_eq!((done.version.as_str(), done.updating_to.as_str()), ("4.16.9", ""));
        let same = version(
            json!({"status": {"desired": {"version": "4.16.9"}, "conditions": [{"type": "Progressing", "status": "True"}],
            "history": [{"state": "Completed", "version": "4.16.9"}]}}),
        );
        assert_eq!(same.updating_to, "", "operators settle, no version changes");
        let first = version(
            json!({"status": {"desired": {"version": "4.16.9"}, "history": [{"state": "Partial", "version": "4.16.9"}]}}),
        );
        assert_eq!((first.version.as_str(), first.updating_to.as_str()), ("4.16.9", ""));
    }
}
