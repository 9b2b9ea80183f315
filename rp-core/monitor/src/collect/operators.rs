//! Cluster operators (`contract/monitor.md` §9.4).

use super::conditions::{CERTAIN_OPERATORS, OPERATORS, is_known};
use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;
use crate::objects::Condition;
use crate::sample::Sample;

pub(super) fn conditions(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let operators = seen.operators()?;
    for operator in operators.iter() {
        let name = operator.metadata.name.as_str();
        for condition in operator.status.conditions.iter().filter(|it| !is_silent(name, it)) {
            let dims = [
                owned_text(name),
                owned_text(condition.kind.as_str()),
                owned_text(condition.status.as_str()),
            ];
            told.logged(Sample::one(&cluster::OPERATOR_CONDITIONS, dims), condition.message.as_str());
        }
    }
    told.int(&cluster::OPERATOR_COUNT, count(operators.len()), []);
    Ok(())
}

/// Ignored conditions are checked first, so that this also covers the types that are decided by their status.
fn is_silent(name: &str, condition: &Condition) -> bool {
    let (kind, status) = (condition.kind.as_str(), condition.status.as_str());
    is_ignored(name, kind, status)
        || CERTAIN_OPERATORS.contains(&(name, kind, status))
        || is_known(OPERATORS, condition)
}

fn is_ignored(name: &str, kind: &str, status: &str) -> bool {
    let any = |of: &[&str]| of.iter().any(|part| kind.contains(part));
    let capi = ["CapiInstaller", "SecretSync", "InfraCluster"];
    (any(&["EvaluationConditionsDetected", "Upgradeable"]) && status.contains("Unknown"))
        || (name.contains("etcd") && kind.contains("RecentBackup"))
        || name.contains("insights")
        || (name.contains("cluster-api")
            && capi.iter().any(|part| kind.contains(&format!("{part}ControllerAvailable"))))
}

pub(super) fn versions(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let operators = seen.operators()?;
    // Without a desired version nothing differs.
    let Some(desired) = seen.versions().desired else { return Ok(()) };
    let desired = desired.to_string();
    for operator in operators.iter() {
        for version in operator.own_versions().filter(|version| *version != desired) {
            let dims = [operator.metadata.name.as_str(), version].map(owned_text);
            told.push(Sample::one(&cluster::OPERATOR_VERSIONS, dims));
        }
    }
    Ok(())
}

/// A length as a value.
pub(super) fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, aro, named};
    use crate::cluster_objects::Resource;

    fn operator(name: &str, conditions: &[(&str, &str)]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status, "message": "why"}))
            .collect();
        json!({"metadata": {"name": name}, "status": {"conditions": conditions}})
    }

    fn told(items: &[Value]) -> Vec<String> {
        let fed = CollectorBench::new(aro()).with_items(&Resource::ClusterOperators, json!(items));
        let mut lines = fed.run(named("emitClusterOperatorConditions"));
        assert!(lines.contains(&format!("clusteroperator.count {}", items.len())), "{lines:?}");
        lines.retain(|line| !line.starts_with("clusteroperator.count"));
        lines.iter().map(|line| line.trim_start_matches("clusteroperator.conditions 1 ").to_owned()).collect()
    }

    #[test]
    fn types_with_a_known_status_are_silent_when_equal() {
        let good = [
            ("Available", "True"),
            ("Degraded", "False"),
            ("Progressing", "False"),
            ("Upgradeable", "True"),
            ("EvaluationConditionsDetected", "False"),
        ];
        assert!(told(&[operator("dns", &good)]).is_empty());
        assert_eq!(
            told(&[operator(
                "dns",
                &[("Available", "False"), ("Degraded", "Unknown"), ("Upgradeable", "False")]
            )]),
            [
                "name=dns type=Available status=False",
                "name=dns type=Degraded status=Unknown",
                "name=dns type=Upgradeable status=False"
            ]
        );
    }

    #[test]
    fn an_unknown_upgradeable_is_silent() {
        assert!(
            told(&[operator(
                "dns",
                &[("Upgradeable", "Unknown"), ("EvaluationConditionsDetected", "Unknown")]
            )])
            .is_empty()
        );
    }

    #[test]
    fn certain_operators_have_conditions_of_their_own() {
        let fine = [
            operator(
                "cloud-controller-manager",
                &[
                    ("TrustedCABundleControllerControllerDegraded", "False"),
                    ("TrustedCABundleControllerControllerAvailable", "True"),
                    ("CloudConfigControllerDegraded", "False"),
                    ("CloudConfigControllerUpgradeable", "True"),
                    ("CloudControllerOwner", "True"),
                ],
            ),
            operator("baremetal", &[("Disabled", "True")]),
            operator("network", &[("ManagementStateDegraded", "False")]),
        ];
        assert!(told(&fine).is_empty());
        assert_eq!(
            told(&[operator("storage", &[("Disabled", "True")])]),
            ["name=storage type=Disabled status=True"]
        );
        assert_eq!(
            told(&[operator("network", &[("ManagementStateDegraded", "True")])]),
            ["name=network type=ManagementStateDegraded status=True"]
        );
    }

    #[test]
    fn some_are_never_told() {
        let silent = [
            operator("etcd", &[("RecentBackup", "Unknown"), ("RecentBackup", "False")]),
            operator("insights", &[("Degraded", "True"), ("Whatever", "x")]),
            operator(
                "cluster-api",
                &[
                    ("CapiInstallerControllerAvailable", "False"),
                    ("SecretSyncControllerAvailable", "False"),
                    ("InfraClusterControllerAvailable", "Unknown"),
                ],
            ),
        ];
        assert!(told(&silent).is_empty());
        assert_eq!(
            told(&[operator("dns", &[("RecentBackup", "False")])]),
            ["name=dns type=RecentBackup status=False"]
        );
        assert_eq!(
            told(&[operator("cluster-api", &[("SecretSyncControllerDegraded", "True")])]),
            ["name=cluster-api type=SecretSyncControllerDegraded status=True"]
        );
    }

    #[test]
    fn hourly_rounds_log_the_message() {
        let fed = CollectorBench::new(aro())
            .hourly()
            .with_items(&Resource::ClusterOperators, json!([operator("dns", &[("Degraded", "True")])]));
        let lines = fed.told(named("emitClusterOperatorConditions")).unwrap().lines;
        let expected = [
            ("metric", "clusteroperator.conditions"),
            ("name", "dns"),
            ("type", "Degraded"),
            ("status", "True"),
            ("message", "why"),
        ];
        assert_eq!(lines[0].fields, expected.map(|(key, value)| (key.into(), value.into())));
    }

    #[test]
    fn versions_that_differ_from_the_desired_one_are_told() {
        let versions = |name: &str, operator: &str| {
            json!({"metadata": {"name": name}, "status": {"versions": [
                {"name": "operator", "version": operator}, {"name": "operand", "version": "1"}]}})
        };
        let items = json!([versions("dns", "4.16.9"), versions("etcd", "4.16.3")]);
        let fed = CollectorBench::new(aro())
            .with(&Resource::ClusterVersion, json!({"status": {"desired": {"version": "4.16.9"}}}))
            .with_items(&Resource::ClusterOperators, items);
        assert_eq!(
            fed.run(named("emitClusterOperatorVersions")),
            ["clusteroperator.versions 1 name=etcd version=4.16.3"]
        );
    }
}
