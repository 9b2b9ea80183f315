//! The ARO operator (`contract/monitor.md` §9.3).

use std::time::Duration;

use rp_base::Timestamp;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::conditions::{ARO_CONTROLLERS, ARO_OPERATOR, is_known};
use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;
use crate::objects::{Condition, Workload};
use crate::sample::Sample;

/// When the operator last repaired a subnet.
const RECONCILED: &str = "aro.openshift.io/lastSubnetReconcileTimestamp";
/// How long a repair is reported: long enough for one or two looks.
const RECENT: Duration = Duration::from_secs(70);

pub(super) fn heartbeat(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let deployments = seen.operator_deployments()?;
    if seen.is_imported() && deployments.is_empty() {
        return Ok(());
    }
    for name in ["aro-operator-master", "aro-operator-worker"] {
        let deployment = deployments.iter().find(|deployment| deployment.metadata.name.as_str() == name);
        told.int(
            &cluster::ARO_OPERATOR_HEARTBEAT,
            i64::from(deployment.is_some_and(Workload::is_rolled_out)),
            [name.into()],
        );
    }
    Ok(())
}

pub(super) fn conditions(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let Some(cluster) = seen.aro_cluster()? else { return Ok(()) };
    for condition in cluster.status.conditions.iter().filter(|it| !is_fine(it)) {
        let dims = [owned_text(condition.kind.as_str()), owned_text(condition.status.as_str())];
        let sample = Sample::one(&cluster::ARO_OPERATOR_CONDITIONS, dims);
        // The contract logs conditions with status `False` only.
        if condition.status.as_str() == "False" {
            told.logged(sample, condition.message.as_str());
        } else {
            told.push(sample);
        }
    }
    Ok(())
}

fn is_fine(condition: &Condition) -> bool {
    let (kind, status) = (condition.kind.as_str(), condition.status.as_str());
    is_known(ARO_OPERATOR, condition)
        || ARO_CONTROLLERS.iter().any(|(end, fine)| kind.ends_with(end) && status == *fine)
}

pub(super) fn nsg_reconciliation(
    seen: &ClusterObjects,
    told: &mut CollectorOutput,
) -> Result<(), CollectError> {
    let Some(cluster) = seen.aro_cluster()? else { return Ok(()) };
    // Absent: never repaired, or an operator that does not record it. Nothing is reported.
    let Some(at) = cluster.metadata.annotations.get(RECONCILED) else { return Ok(()) };
    let at = rfc1123(at)
        .ok_or(CollectError::Object("the time of the last subnet repair cannot be read".into()))?;
    if seen.now().since(at) < RECENT {
        told.one(&cluster::NSG_RECONCILIATIONS, []);
    }
    Ok(())
}

/// `Mon, 02 Jan 2006 15:04:05 MST`, with the names of zero offset.
fn rfc1123(text: &str) -> Option<Timestamp> {
    const FORMAT: &[BorrowedFormatItem<'_>] =
        format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second]");
    let text = ["UTC", "GMT", "+0000"].iter().find_map(|zone| text.strip_suffix(zone))?.trim_end();
    let at = time::PrimitiveDateTime::parse(text, FORMAT).ok()?.assume_utc();
    Some(Timestamp::from_seconds(OffsetDateTime::unix_timestamp(at)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, NOW, aro, named};
    use super::*;
    use crate::cluster_objects::Resource;

    fn deployment(name: &str, spec: &Value, status: &Value, generation: i64) -> Value {
        json!({"metadata": {"name": name, "generation": generation}, "spec": spec, "status": status})
    }

    fn heartbeats(items: Value) -> Vec<String> {
        CollectorBench::new(aro())
            .with_items(&Resource::OperatorDeployments, items)
            .run(named("emitAroOperatorHeartbeat"))
    }

    const BEATS: [&str; 2] = [
        "arooperator.heartbeat 1 name=aro-operator-master",
        "arooperator.heartbeat 0 name=aro-operator-worker",
    ];

    #[test]
    fn ready_is_all_replicas_of_the_observed_generation() {
        let status =
            json!({"replicas": 2, "availableReplicas": 2, "updatedReplicas": 2, "observedGeneration": 3});
        let good = deployment("aro-operator-master", &json!({"replicas": 2}), &status, 3);
        let stale = deployment("aro-operator-worker", &json!({"replicas": 2}), &status, 4);
        let other = deployment("other", &json!({}), &status, 3);
        let mut expected = BEATS.to_vec();
        expected.sort_unstable();
        assert_eq!(heartbeats(json!([good, stale, other])), expected);
    }

    #[test]
    fn replicas_default_to_1_and_a_missing_deployment_is_0() {
        let status = json!({"replicas": 1, "availableReplicas": 1, "updatedReplicas": 1});
        let good = deployment("aro-operator-master", &json!({}), &status, 0);
        let mut expected = BEATS.to_vec();
        expected.sort_unstable();
        assert_eq!(heartbeats(json!([good])), expected);
        let short = json!({"replicas": 1, "availableReplicas": 1, "updatedReplicas": 0});
        let short = deployment("aro-operator-master", &json!({}), &short, 0);
        assert!(heartbeats(json!([short])).iter().all(|line| line.contains("heartbeat 0")));
    }

    fn cluster(value: Value) -> CollectorBench {
        CollectorBench::new(aro()).with(&Resource::AroCluster, value)
    }

    #[test]
    fn known_conditions_and_controllers_are_silent() {
        let conditions: Vec<Value> = [
            ("InternetReachableFromMaster", "True"),
            ("InternetReachableFromWorker", "False"),
            ("ServicePrincipalValid", "True"),
            ("DefaultIngressCertificate", "True"),
            ("MachineValid", "Unknown"),
            ("DefaultClusterDNS", "True"),
            ("DefaultClusterDNS", "False"),
            ("RBACControllerAvailable", "True"),
            ("RBACControllerProgressing", "False"),
            ("RBACControllerDegraded", "False"),
            ("NodeControllerDegraded", "True"),
            ("NodeControllerAvailable", "False"),
            ("Whatever", "True"),
        ]
        .map(|(kind, status)| json!({"type": kind, "status": status, "message": "m"}))
        .to_vec();
        let fed = cluster(json!({"status": {"conditions": conditions}})).hourly();
        let expected = [
            "DefaultClusterDNS status=False",
            "InternetReachableFromWorker status=False",
            "MachineValid status=Unknown",
            "NodeControllerAvailable status=False",
            "NodeControllerDegraded status=True",
            "Whatever status=True",
        ]
        .map(|text| format!("arooperator.conditions 1 type={text}"));
        assert_eq!(fed.run(named("emitAroOperatorConditions")), expected);
        let lines = fed.told(named("emitAroOperatorConditions")).unwrap().lines;
        assert_eq!(lines.len(), 3, "only what is false is logged: {lines:?}");
        assert!(lines[0].fields.contains(&("message".into(), "m".into())));
    }

    #[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
    fn reconciled(annotations: Value) -> Vec<String> {
        cluster(json!({"metadata": {"annotations": annotations}})).run(named("emitNSGReconciliation"))
    }

    #[test]
    fn a_repair_is_told_for_70_s() {
        // NOW is Sat, 21 Nov 2026 12:00:00.
        assert_eq!(NOW.seconds(), 1_795_262_400);
        let at = |text: &str| reconciled(json!({RECONCILED: text}));
        assert_eq!(at("Sat, 21 Nov 2026 11:58:51 UTC"), ["nsg.reconciliations 1"]);
        assert!(at("Sat, 21 Nov 2026 11:58:50 UTC").is_empty());
        assert_eq!(at("yesterday"), ["the time of the last subnet repair cannot be read"]);
    }

    #[test]
    fn without_its_annotation_nothing_was_repaired() {
        assert!(reconciled(json!(null)).is_empty());
        assert!(reconciled(json!({"other": "x"})).is_empty());
    }
}
