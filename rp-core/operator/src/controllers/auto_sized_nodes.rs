//! Memory that nodes reserve for the system, by their size (`contract/operator.md` §8.2). The KubeletConfig restarts nodes,
//! so it changes only through the gate ("Do better" 9).

use serde_json::{Value, json};

use crate::apply::ensure;
use crate::controller::{Outcome, Reconciled, Run};
use crate::gate::may_restart_nodes;
use crate::kinds::{KUBELET_CONFIG, ObjectName};

const NAME: &str = "dynamic-node";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    if !may_restart_nodes(run.api(), run.flags).await? {
        return Ok(Outcome::done());
    }
    if run.enabled {
        ensure(run.api(), &kubelet_config(), Some(&run.owner())).await?;
    } else {
        run.api().delete(ObjectName::of_cluster(&KUBELET_CONFIG, NAME)).await?;
    }
    Ok(Outcome::done())
}

pub(super) fn kubelet_config() -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "KubeletConfig",
        "metadata": { "name": NAME },
        "spec": {
            "autoSizingReserved": true,
            "machineConfigPoolSelector": {
                "matchExpressions": [{ "key": "machineconfiguration.openshift.io/mco-built-in", "operator": "Exists" }],
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_selects_the_pools_of_the_platform() {
        let spec = &kubelet_config()["spec"];
        assert_eq!(spec["autoSizingReserved"], true);
        assert_eq!(spec["machineConfigPoolSelector"]["matchExpressions"][0]["operator"], "Exists");
    }
}
