//! Conditions in the cluster that the plans wait for (`contract/cluster.md` §6.10). What cannot be read is "not yet".

use rp_actions::control_plane::MACHINES;
use rp_api::CloudError;
use rp_openshift::lenient::object;
use rp_openshift::{ClusterOperator, ClusterVersion, Condition, Machine, Node, Whole, condition};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;
use crate::step::ConditionStatus;

const OPERATORS: &str = "/apis/config.openshift.io/v1/clusteroperators";
pub(crate) const CLUSTER_VERSION: &str = "/apis/config.openshift.io/v1/clusterversions/version";
/// Workers that the platform's own components need at least.
const LEAST_WORKERS: u64 = 2;

/// The status of the condition of this type; `None`: there is no such condition, or it has none.
pub(crate) fn status<'a>(conditions: &'a [Condition<Whole>], kind: &str) -> Option<&'a str> {
    condition(conditions, kind).map(|found| found.status.as_str()).filter(|status| !status.is_empty())
}

/// Why the condition of this type is as it is, for people.
fn reason(conditions: &[Condition<Whole>], kind: &str) -> String {
    let found = condition(conditions, kind);
    match found.map(|found| (found.reason.as_str(), found.message.as_str())).unwrap_or_default() {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// Available, not progressing, and not degraded; else what is missing.
fn operator_status(name: &str, operator: Option<&ClusterOperator<Whole>>) -> ConditionStatus {
    let Some(operator) = operator else {
        return ConditionStatus::not_yet(format!("there is no ClusterOperator {name} yet"));
    };
    let conditions = &operator.status.conditions;
    let is = |kind, wanted| status(conditions, kind) == Some(wanted);
    let missing = if !is("Available", "True") {
        format!("not available: {}", reason(conditions, "Available"))
    } else if !is("Progressing", "False") {
        format!("progressing: {}", reason(conditions, "Progressing"))
    } else if status(conditions, "Degraded").is_some_and(|status| status != "False") {
        format!("degraded: {}", reason(conditions, "Degraded"))
    } else {
        return ConditionStatus::Yes;
    };
    ConditionStatus::not_yet(format!("{name} is {missing}"))
}

async fn operator(context: &Context, name: &str) -> ConditionStatus {
    let path = format!("{OPERATORS}/{name}");
    let found = async { Kube::connect(context)?.get::<ClusterOperator<Whole>>(&path).await }.await;
    found.map_or_else(|error| not_yet_readable(&error), |found| operator_status(name, found.as_ref()))
}

/// What cannot be read counts as not met.
pub(crate) fn not_yet_readable(error: &StepError) -> ConditionStatus {
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
    let found = async { Kube::connect(context)?.exists(path).await }.await;
    Ok(match found {
        Ok(true) => ConditionStatus::Yes,
        Ok(false) => ConditionStatus::not_yet("there is no Console yet"),
        Err(error) => not_yet_readable(&error),
    })
}

/// The release is complete.
pub(crate) async fn cluster_version_ready(context: &Context) -> Result<ConditionStatus, StepError> {
    let found = async { Kube::connect(context)?.get::<ClusterVersion<Whole>>(CLUSTER_VERSION).await }.await;
    let found = found.map(|version| version.map(|version| version.status.conditions));
    Ok(match found {
        Ok(Some(conditions)) if status(&conditions, "Available") == Some("True") => ConditionStatus::Yes,
        Ok(Some(conditions)) => {
            ConditionStatus::not_yet(format!("ClusterVersion: {}", reason(&conditions, "Progressing")))
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
        let workers = "machine.openshift.io/cluster-api-machine-role=worker";
        let machines: Vec<WorkerMachine> = kube.list(MACHINES, workers).await?;
        let nodes: Vec<Node<Whole>> = kube.list("/api/v1/nodes", "node-role.kubernetes.io/worker").await?;
        Ok::<_, StepError>((machines, nodes))
    };
    let (machines, nodes) = match found.await {
        Ok(found) => found,
        Err(error) => return Ok(not_yet_readable(&error)),
    };
    let needed = minimum_workers(context);
    let phase = |wanted: &str| machines.iter().filter(|worker| worker.is_in(wanted)).count() as u64;
    let running = phase("Running");
    if running < needed {
        let hopeful = machines.len() as u64 - phase("Failed");
        if let Some(worker) = machines.iter().find(|worker| worker.is_refused())
            && hopeful < needed
        {
            return Err(quota(&worker.machine).into());
        }
    }
    let ready = nodes.iter().filter(|node| node.ready().is_true()).count() as u64;
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

/// A machine of a worker, with all of `status.providerStatus` as JSON text: a refusal of Azure counts wherever it
/// stands in it (`contract/cluster.md` §6.10).
#[derive(Debug)]
struct WorkerMachine {
    machine: Machine<Whole>,
    provider_status: String,
}

impl<'de> Deserialize<'de> for WorkerMachine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Value::deserialize(deserializer)?;
        let told = found.pointer("/status/providerStatus");
        let provider_status = told.map(Value::to_string).unwrap_or_default();
        Ok(Self { machine: object(&found).map_err(D::Error::custom)?, provider_status })
    }
}

impl WorkerMachine {
    fn is_in(&self, phase: &str) -> bool {
        self.machine.status.phase.as_str() == phase
    }

    /// Azure has no room for it, or the subscription none left.
    fn is_refused(&self) -> bool {
        if !self.is_in("Failed") {
            return false;
        }
        let any = |words: &[&str]| words.iter().any(|word| self.provider_status.contains(word));
        any(&["SkuNotAvailable", "NotAvailableForSubscription", "QuotaExceeded"])
            || any(&["OperationNotAllowed"])
                && any(&["quota", "cores", "current limit", "new limit required"])
    }
}

fn quota(machine: &Machine<Whole>) -> CloudError {
    let name = machine.metadata.name.as_str();
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

    fn with(conditions: &[(&str, &str)]) -> ClusterOperator<Whole> {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status, "reason": "Why", "message": "because"}))
            .collect();
        serde_json::from_value(json!({"status": {"conditions": conditions}})).unwrap()
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
    fn a_condition_without_a_status_is_none() {
        let odd = with(&[("Available", "True"), ("Progressing", "False"), ("Degraded", "")]);
        assert_eq!(operator_status("x", Some(&odd)), ConditionStatus::Yes);
        assert_eq!(status(&odd.status.conditions, "Upgradeable"), None);
    }

    #[test]
    fn only_failures_of_quota_are_hopeless() {
        let refused = |phase: &str, told: &str| {
            let status = json!({"conditions": [{"message": told}]});
            worker(phase, &status).is_refused()
        };
        assert!(refused("Failed", "Code=\"SkuNotAvailable\""));
        assert!(refused("Failed", "OperationNotAllowed: exceeding approved cores quota"));
        assert!(!refused("Failed", "OperationNotAllowed: the disk is in use"));
        assert!(!refused("Provisioning", "SkuNotAvailable"));
    }

    #[test]
    fn a_refusal_counts_wherever_the_provider_status_has_it() {
        for told in [
            json!({"vmState": "QuotaExceeded"}),
            json!({"errorMessage": "QuotaExceeded"}),
            json!({"details": {"codes": ["x", {"code": "SkuNotAvailable"}]}}),
            json!({"code": "OperationNotAllowed", "conditions": [{"type": "x", "message": "the new limit required is 8"}]}),
            json!("NotAvailableForSubscription"),
        ] {
            assert!(worker("Failed", &told).is_refused(), "{told}");
        }
        let elsewhere = json!({"status": {"phase": "Failed", "errorMessage": "QuotaExceeded"}});
        let elsewhere: WorkerMachine = serde_json::from_value(elsewhere).unwrap();
        assert!(!elsewhere.is_refused(), "only the provider status is read");
    }

    fn worker(phase: &str, provider_status: &Value) -> WorkerMachine {
        let object = json!({"status": {"phase": phase, "providerStatus": provider_status}});
        serde_json::from_value(object).unwrap()
    }
}
