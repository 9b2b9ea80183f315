//! Alerts of the cluster's Alertmanager (`contract/monitor.md` §9.7).

use std::collections::BTreeMap;

use super::operators::count;
use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;
use crate::objects::Alert;
use rp_openshift::namespaces::is_openshift;

/// Maximum number of alert names per cluster; more can only come from hostile rules.
const MOST_NAMES: usize = 500;

pub(super) fn alerts(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let alerts = seen.alerts()?;
    told.int(&cluster::ALERTS_COUNT, count(alerts.len()), []);
    // Number, and severity of the last one.
    let mut plain: BTreeMap<&str, (i64, &str)> = BTreeMap::new();
    let mut targeted: BTreeMap<(&str, &str, &str), (i64, &str)> = BTreeMap::new();
    for alert in alerts.iter().filter(|alert| is_platform(alert)) {
        let labels = &alert.labels;
        let (name, severity) = (labels.alertname.as_str(), labels.severity.as_str());
        let (target, secondary) = (labels.target.as_str(), labels.secondary_target.as_str());
        let entry = if target.is_empty() || secondary.is_empty() {
            plain.entry(name).or_default()
        } else {
            targeted.entry((name, target, secondary)).or_default()
        };
        *entry = (entry.0 + 1, severity);
    }
    for (name, (number, severity)) in plain.into_iter().take(MOST_NAMES) {
        told.int(&cluster::ALERTS, number, [owned_text(name), owned_text(severity)]);
    }
    for ((name, target, secondary), (number, severity)) in targeted.into_iter().take(MOST_NAMES) {
        let dims = [owned_text(name), owned_text(severity), owned_text(target), owned_text(secondary)];
        told.int(&cluster::TARGETED_ALERTS, number, dims);
    }
    Ok(())
}

/// Whether the alert belongs to the platform and is reported.
pub(crate) fn is_platform(alert: &Alert) -> bool {
    let name = alert.labels.alertname.as_str();
    let noise = name.starts_with("UsingDeprecatedAPI")
        || name.starts_with("APIRemovedInNext")
        || matches!(name, "ImagePruningDisabled" | "InsightsDisabled");
    is_openshift(alert.labels.namespace.as_str()) && !noise
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, aro, named};
    use crate::cluster_objects::Resource;

    fn told(alerts: Value) -> Vec<String> {
        CollectorBench::new(aro()).with(&Resource::Alerts, alerts).run(named("emitPrometheusAlerts"))
    }

    fn alert(name: &str, severity: &str, namespace: &str) -> Value {
        json!({"labels": {"alertname": name, "severity": severity, "namespace": namespace}, "status": {"state": "active"}})
    }

    #[test]
    fn alerts_are_counted_by_name_with_the_last_severity() {
        let alerts = json!([
            alert("A", "warning", "openshift-etcd"),
            alert("A", "critical", "openshift-dns"),
            alert("B", "info", "")
        ]);
        assert_eq!(
            told(alerts),
            [
                "prometheus.alerts 1 alert=B severity=info",
                "prometheus.alerts 2 alert=A severity=critical",
                "prometheus.alerts.count 3"
            ]
        );
    }

    #[test]
    fn other_namespaces_and_noise_are_counted_and_not_told() {
        let alerts = json!([
            alert("A", "warning", "mine"), alert("UsingDeprecatedAPIExtensions", "info", ""), alert("APIRemovedInNextReleaseInUse", "info", ""),
            alert("ImagePruningDisabled", "info", ""), alert("InsightsDisabled", "info", ""), {"labels": {"alertname": "NoNamespace"}},
        ]);
        assert_eq!(
            told(alerts),
            ["prometheus.alerts 1 alert=NoNamespace severity=", "prometheus.alerts.count 6"]
        );
    }

    #[test]
    fn alerts_with_both_targets_are_told_by_them() {
        let with = |target: &str, secondary: &str| json!({"labels": {"alertname": "T", "severity": "warning", "target": target, "secondary_target": secondary}});
        assert_eq!(
            told(json!([with("a", "b"), with("a", "b"), with("a", "c"), with("a", ""), with("", "b")])),
            [
                "prometheus.alerts 2 alert=T severity=warning",
                "prometheus.alerts.count 5",
                "prometheus.targeted.alerts 1 alert=T severity=warning target=a secondary_target=c",
                "prometheus.targeted.alerts 2 alert=T severity=warning target=a secondary_target=b",
            ]
        );
    }

    #[test]
    fn an_alertmanager_that_is_away_is_an_error() {
        let fed = CollectorBench::new(aro()).failed(&Resource::Alerts, 503);
        assert!(fed.told(named("emitPrometheusAlerts")).is_err());
    }
}
