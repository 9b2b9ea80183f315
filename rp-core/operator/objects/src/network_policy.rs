//! The policy that closes the profiler of the cloud credential operator to pods (`contract/operator.md` §8.22).

use serde_json::{Value, json};

use crate::{ObjectRef, Plan, Version};

const API: &str = "policy.networking.k8s.io/v1alpha1";
const KIND: &str = "AdminNetworkPolicy";
const NAME: &str = "aro-cco-deny-pprof";

/// What is to be done. Versions before 4.17 do not have the kind. The flag off removes the policy
/// (`contract/operator.md` "Do better" 8).
pub fn plan(enabled: bool, version: Version) -> Plan {
    if !version.is_at_least(4, 17) {
        return Plan::nothing();
    }
    match enabled {
        true => Plan::apply([object()]),
        false => Plan::delete([ObjectRef::of_cluster(API, KIND, NAME)]),
    }
}

fn object() -> Value {
    let namespace = json!({ "kubernetes.io/metadata.name": "openshift-cloud-credential-operator" });
    json!({
        "apiVersion": API,
        "kind": KIND,
        "metadata": { "name": NAME },
        "spec": {
            "priority": 50,
            "subject": { "namespaces": { "matchLabels": namespace } },
            "ingress": [{
                "name": "deny-pprof",
                "action": "Deny",
                "from": [{ "namespaces": {} }],
                "ports": [{ "portNumber": { "protocol": "TCP", "port": 6060 } }],
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn the_policy_is_there_from_4_17_on() {
        golden::check("network-policy.json", &golden::applied(&plan(true, Version::new(4, 17, 0))));
        assert!(plan(true, Version::new(4, 16, 60)).is_empty());
        assert!(plan(false, Version::new(4, 16, 60)).is_empty());
        let off = plan(false, Version::new(4, 18, 1));
        assert_eq!(format!("{:?}", off.changes), "[Delete AdminNetworkPolicy aro-cco-deny-pprof]");
    }
}
