//! The managed upgrade operator (`contract/operator.md` §8.21).

use std::time::Duration;

use rp_operator_api::{Flag, Managed};
use rp_operator_objects::upgrade_operator::{NAME, NAMESPACE, Settings, plan};
use serde_json::Value;

use crate::controller::{Outcome, Reconciled, Run};
use crate::gate::{cluster_version, installed};
use crate::kinds::{DEPLOYMENT, ObjectName};
use crate::plan::carry_out;

/// How often its deployment is read while it starts. The queue is not held meanwhile (`contract/operator.md` "Do
/// better" 29).
const STARTING: Duration = Duration::from_secs(30);

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let managed = run.flags.managed(Flag::MuoManaged);
    let version = installed(&cluster_version(run.api()).await?)?;
    let plan = plan(managed, &Settings::of(&run.cluster.spec, run.flags, version));
    carry_out(run.api(), &plan, Some(&run.owner())).await?;
    if managed != Managed::Deploy {
        return Ok(Outcome::done());
    }
    let deployment = run.api().get(ObjectName::in_namespace(&DEPLOYMENT, NAMESPACE, NAME)).await?;
    let requeue = (!deployment.is_some_and(|deployment| is_ready(&deployment))).then_some(STARTING);
    if requeue.is_some() {
        tracing::debug!(deployment = NAME, "not ready yet");
    }
    Ok(Outcome { requeue, ..Outcome::done() })
}

fn is_ready(deployment: &Value) -> bool {
    let number = |at: &str| deployment.pointer(at).and_then(Value::as_i64);
    let wanted = number("/spec/replicas").unwrap_or(1);
    let counts = ["replicas", "updatedReplicas", "availableReplicas"];
    counts.iter().all(|count| number(&format!("/status/{count}")).unwrap_or(0) == wanted)
        && number("/status/observedGeneration") == number("/metadata/generation")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deployment_is_ready_when_all_its_pods_are_new_and_available() {
        let of = |available: i64, observed: i64| {
            json!({
                "metadata": { "generation": 2 }, "spec": { "replicas": 1 },
                "status": { "replicas": 1, "updatedReplicas": 1, "availableReplicas": available, "observedGeneration": observed },
            })
        };
        assert!(is_ready(&of(1, 2)));
        assert!(!is_ready(&of(0, 2)));
        assert!(!is_ready(&of(1, 1)));
        assert!(!is_ready(&json!({})));
    }
}
