//! The health check of machines (`contract/operator.md` §8.18): a worker machine whose node is not ready for 15 minutes is
//! replaced, one at a time, and none while the cluster upgrades.

use rp_operator_api::Managed;
use serde_json::{Value, json};

use crate::{Change, ObjectRef, Plan};

const NAMESPACE: &str = "openshift-machine-api";
const NAME: &str = "aro-machinehealthcheck";
const API: &str = "machine.openshift.io/v1beta1";
const KIND: &str = "MachineHealthCheck";
/// The alert of earlier versions of the operator.
const OLD_RULE: &str = "mhc-remediation-alert";

/// What is to be done. `upgrading`: the newest entry of the version's history is not complete.
pub fn plan(managed: Managed, upgrading: bool) -> Plan {
    match managed {
        Managed::Leave => Plan::nothing(),
        Managed::Remove => Plan::delete([ObjectRef::in_namespace(API, KIND, NAMESPACE, NAME)]),
        Managed::Deploy => {
            let old =
                ObjectRef::in_namespace("monitoring.coreos.com/v1", "PrometheusRule", NAMESPACE, OLD_RULE);
            [Change::Delete(old), Change::Apply(object(upgrading))].into_iter().collect()
        }
    }
}

fn object(paused: bool) -> Value {
    let unhealthy = |status: &str| json!({ "type": "Ready", "status": status, "timeout": "15m" });
    let mut object = json!({
        "apiVersion": API,
        "kind": KIND,
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": {
            "maxUnhealthy": 1,
            "nodeStartupTimeout": "25m",
            "selector": { "matchExpressions": [
                { "key": "machine.openshift.io/cluster-api-machine-role", "operator": "NotIn", "values": ["master"] },
                { "key": "machine.openshift.io/cluster-api-machineset", "operator": "Exists" },
            ] },
            "unhealthyConditions": [unhealthy("False"), unhealthy("Unknown")],
        },
    });
    if paused {
        object["metadata"]["annotations"] = json!({ "cluster.x-k8s.io/paused": "" });
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn the_health_check_is_stable_and_pauses_in_upgrades() {
        let running = golden::applied(&plan(Managed::Deploy, false));
        golden::check("machine-health-check.json", &running);
        let upgrading = golden::applied(&plan(Managed::Deploy, true));
        assert_eq!(upgrading[0]["metadata"]["annotations"], json!({ "cluster.x-k8s.io/paused": "" }));
        assert_eq!(running[0]["metadata"].get("annotations"), None);
    }

    #[test]
    fn managed_says_whether_it_is_there() {
        let text = |managed| format!("{:?}", plan(managed, false).changes);
        assert_eq!(
            text(Managed::Remove),
            "[Delete MachineHealthCheck openshift-machine-api/aro-machinehealthcheck]"
        );
        assert_eq!(
            text(Managed::Deploy),
            "[Delete PrometheusRule openshift-machine-api/mhc-remediation-alert, \
             Apply MachineHealthCheck openshift-machine-api/aro-machinehealthcheck]"
        );
        assert!(plan(Managed::Leave, false).is_empty());
    }
}
