//! Conditions in the cluster that the plans wait for (`contract/cluster.md` §6.10). What cannot be read is "not yet".

use rp_api::CloudError;
use serde_json::Value;

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, condition, reason};
use crate::step::ConditionStatus;

const OPERATORS: &str = "/apis/config.openshift.io/v1/clusteroperators";
const MACHINES: &str = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines";
/// Workers that the platform's own components need at least.
const LEAST_WORKERS: u64 = 2;

/// Available, not progressing, and not degraded; else what is missing.
fn operator_status(name: &str, operator: Option<&Value>) -> ConditionStatus {
    let Some(operator) = operator else {
        return ConditionStatus::not_yet(format!("there is no ClusterOperator {name} yet"));
    };
    let is = |kind, wanted| condition(operator, kind) == Some(wanted);
    let missing = if !is("Available", "True") {
        format!("not available: {}", reason(operator, "Available"))
    } else if !is("Progressing", "False") {
        format!("progressing: {}", reason(operator, "Progressing"))
    } else if condition(operator, "Degraded").is_some_and(|status| status != "False") {
        format!("degraded: {}", reason(operator, "Degraded"))
    } else {
        return ConditionStatus::Yes;
    };
    ConditionStatus::not_yet(format!("{name} is {missing}"))
}

async fn operator(context: &Context, name: &str) -> ConditionStatus {
    let found = async { Kube::connect(context)?.get(&format!("{OPERATORS}/{name}")).await }.await;
    found.map_or_else(|error| not_yet_readable(&error), |found| operator_status(name, found.as_ref()))
}

fn not_yet_readable(error: &StepError) -> ConditionStatus {
    ConditionStatus::not_yet(error.to_string())
}

/// The API servers of the control plane run as they are to.
pub(crate) async fn api_servers_ready(context: &Context) -> Result<ConditionStatus, StepError> {
    Ok(operator(context, "kube-apiserver").await)
}

/// The console runs.
pub(crate) async fn operator_console_ready(context: &Context) -> Result<ConditionStatus, StepError> {
    Ok(operator(context, "console").await)
}

/// The ingress runs.
pub(crate) async fn ingress_controller_ready(context: &Context) -> Result<ConditionStatus, StepError> {
    Ok(operator(context, "ingress").await)
}

/// The operators that the last changes restart run again. A missing one has not settled
/// (`contract/cluster.md` "Do better" 22).
pub(crate) async fn cluster_operators_have_settled(context: &Context) -> Result<ConditionStatus, StepError> {
    for name in ["kube-controller-manager", "kube-apiserver", "kube-scheduler", "console", "authentication"] {
        let seen = operator(context, name).await;
        if seen != ConditionStatus::Yes {
            return Ok(seen);
        }
    }
    Ok(ConditionStatus::Yes)
}

/// The console can be configured.
pub(crate) async fn operator_console_exists(context: &Context) -> Result<ConditionStatus, StepError> {
    let path = "/apis/operator.openshift.io/v1/consoles/cluster";
    let found = async { Kube::connect(context)?.get(path).await }.await;
    Ok(match found {
        Ok(Some(_)) => ConditionStatus::Yes,
        Ok(None) => ConditionStatus::not_yet("there is no Console yet"),
        Err(error) => not_yet_readable(&error),
    })
}

/// The release is complete.
pub(crate) async fn cluster_version_ready(context: &Context) -> Result<ConditionStatus, StepError> {
    let path = "/apis/config.openshift.io/v1/clusterversions/version";
    let found = async { Kube::connect(context)?.get(path).await }.await;
    Ok(match found {
        Ok(Some(version)) if condition(&version, "Available") == Some("True") => ConditionStatus::Yes,
        Ok(Some(version)) => {
            ConditionStatus::not_yet(format!("ClusterVersion: {}", reason(&version, "Progressing")))
        }
        Ok(None) => ConditionStatus::not_yet("there is no ClusterVersion yet"),
        Err(error) => not_yet_readable(&error),
    })
}

/// Enough workers run. Fewer than two are enough where fewer were asked for; a machine that Azure refuses for its
/// quota ends the wait only when the others are too few (`contract/cluster.md` "Do better" 21).
///
/// # Errors
/// 500 `QuotaExceeded`.
pub(crate) async fn minimum_worker_nodes_ready(context: &Context) -> Result<ConditionStatus, StepError> {
    let found = async {
        let kube = Kube::connect(context)?;
        let machines = kube.list(MACHINES, "machine.openshift.io/cluster-api-machine-role=worker").await?;
        let nodes = kube.list("/api/v1/nodes", "node-role.kubernetes.io/worker").await?;
        Ok::<_, StepError>((machines, nodes))
    };
    let (machines, nodes) = match found.await {
        Ok(found) => found,
        Err(error) => return Ok(not_yet_readable(&error)),
    };
    let needed = minimum_workers(context);
    let phase =
        |wanted: &str| machines.iter().filter(|machine| machine["status"]["phase"] == wanted).count() as u64;
    let running = phase("Running");
    if running < needed {
        let refused: Vec<&Value> = machines.iter().filter(|machine| is_refused(machine)).collect();
        let hopeful = machines.len() as u64 - phase("Failed");
        if let Some(machine) = refused.first()
            && hopeful < needed
        {
            return Err(quota(machine).into());
        }
    }
    let ready = nodes.iter().filter(|node| condition(node, "Ready") == Some("True")).count() as u64;
    if running >= needed && ready >= needed {
        return Ok(ConditionStatus::Yes);
    }
    Ok(ConditionStatus::not_yet(format!(
        "{running} of {needed} worker machines run, {ready} worker nodes are ready"
    )))
}

fn minimum_workers(context: &Context) -> u64 {
    let document = context.document();
    let counts = document.worker_profiles().iter().filter_map(|profile| profile.count.get());
    let counts: Vec<u64> = counts.filter_map(|count| u64::try_from(*count).ok()).collect();
    if counts.is_empty() { LEAST_WORKERS } else { LEAST_WORKERS.min(counts.iter().sum()) }
}

/// Azure has no room for it, or the subscription none left.
fn is_refused(machine: &Value) -> bool {
    if machine["status"]["phase"] != "Failed" {
        return false;
    }
    let told = machine["status"]["providerStatus"].to_string();
    let any = |words: &[&str]| words.iter().any(|word| told.contains(word));
    any(&["SkuNotAvailable", "NotAvailableForSubscription", "QuotaExceeded"])
        || any(&["OperationNotAllowed"]) && any(&["quota", "cores", "current limit", "new limit required"])
}

fn quota(machine: &Value) -> CloudError {
    let name = machine.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let message = format!(
        "Worker VM quota or capacity error detected on machine {name}. Please retry with a different VM size, and if \
         the issue persists, raise an Azure support ticket."
    );
    CloudError::new(500, "QuotaExceeded", "properties.workerProfiles[0].VMSize", message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(conditions: &[(&str, &str)]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status, "reason": "Why", "message": "because"}))
            .collect();
        json!({"status": {"conditions": conditions}})
    }

    #[test]
    fn an_operator_is_settled_by_its_types() {
        let good = with(&[("Progressing", "False"), ("Degraded", "False"), ("Available", "True")]);
        assert_eq!(operator_status("x", Some(&good)), ConditionStatus::Yes);
        let young = with(&[("Available", "True"), ("Progressing", "False")]);
        assert_eq!(operator_status("x", Some(&young)), ConditionStatus::Yes);
        for (conditions, said) in [
            (vec![("Available", "False"), ("Progressing", "False")], "x is not available: Why: because"),
            (vec![("Available", "True"), ("Progressing", "True")], "x is progressing: Why: because"),
            (vec![("Available", "True")], "x is progressing: "),
            (
                vec![("Available", "True"), ("Progressing", "False"), ("Degraded", "Unknown")],
                "x is degraded: Why: because",
            ),
        ] {
            assert_eq!(operator_status("x", Some(&with(&conditions))), ConditionStatus::not_yet(said));
        }
        assert_ne!(operator_status("x", None), ConditionStatus::Yes);
    }

    #[test]
    fn only_failures_of_quota_are_hopeless() {
        let machine = |phase: &str, told: &str| json!({"status": {"phase": phase, "providerStatus": {"conditions": [{"message": told}]}}});
        assert!(is_refused(&machine("Failed", "Code=\"SkuNotAvailable\"")));
        assert!(is_refused(&machine("Failed", "OperationNotAllowed: exceeding approved cores quota")));
        assert!(!is_refused(&machine("Failed", "OperationNotAllowed: the disk is in use")));
        assert!(!is_refused(&machine("Provisioning", "SkuNotAvailable")));
    }
}
