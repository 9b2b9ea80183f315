//! Which subnets the cluster has: those that its machines name.

use rp_openshift::{Machine, MachineSet, ProviderSpec, Whole};
use serde::Deserialize as _;
use serde_json::Value;

use crate::azure::subscription;
use crate::controller::{ReconcileError, Run};
use crate::controllers::machine_sets::NAMESPACE;
use crate::kinds::{MACHINE, MACHINE_SET};

const ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
const MOST_MACHINES: usize = 2_000;
const MOST_SETS: usize = 500;

/// A subnet, and whether machines of the control plane are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controllers) struct SubnetOf {
    pub(in crate::controllers) id: String,
    pub(in crate::controllers) master: bool,
}

/// Reads them from the cluster: those of workers first, each once.
pub(in crate::controllers) async fn of_cluster(run: &Run<'_>) -> Result<Vec<SubnetOf>, ReconcileError> {
    let sets = run.api().list(&MACHINE_SET, NAMESPACE, "", MOST_SETS).await?;
    let machines = run.api().list(&MACHINE, NAMESPACE, "", MOST_MACHINES).await?;
    Ok(subnets(&sets, &machines, subscription(&run.cluster.spec.resource_id)?))
}

fn subnets(sets: &[Value], machines: &[Value], subscription: &str) -> Vec<SubnetOf> {
    let mut out: Vec<SubnetOf> = Vec::new();
    let mut add = |spec: Option<&ProviderSpec<Whole>>, master: bool| {
        let Some(id) = spec.and_then(|spec| id(spec, subscription)) else { return };
        if !out.iter().any(|known| known.id.eq_ignore_ascii_case(&id)) {
            out.push(SubnetOf { id, master });
        }
    };
    for set in sets.iter().filter_map(|set| MachineSet::<Whole>::deserialize(set).ok()) {
        let role = set.metadata.labels.get(ROLE).unwrap_or_default();
        if !role.is_empty() && !role.eq_ignore_ascii_case("master") {
            add(set.spec.template.spec.provider_spec.value.as_ref(), false);
        }
    }
    for machine in machines.iter().filter_map(|machine| Machine::<Whole>::deserialize(machine).ok()) {
        if machine.role().eq_ignore_ascii_case("master") {
            add(machine.spec.provider_spec.value.as_ref(), true);
        }
    }
    out
}

/// `None`: the machine does not name its subnet in full.
fn id(spec: &ProviderSpec<Whole>, subscription: &str) -> Option<String> {
    let parts = [spec.network_resource_group.as_str(), spec.vnet.as_str(), spec.subnet.as_str()];
    if parts.iter().any(|part| part.is_empty()) {
        return None;
    }
    let [group, network, subnet] = parts;
    Some(format!(
        "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/{network}/subnets/{subnet}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subnets_are_those_of_machines_workers_first_and_each_once() {
        let spec = |subnet: &str| json!({ "providerSpec": { "value": { "networkResourceGroup": "g", "vnet": "v", "subnet": subnet } } });
        let set = |role: &str, subnet: &str| json!({ "metadata": { "labels": { ROLE: role } }, "spec": { "template": { "spec": spec(subnet) } } });
        let machine = |role: &str, subnet: &str| json!({ "metadata": { "labels": { ROLE: role } }, "spec": spec(subnet) });
        let found = subnets(
            &[set("worker", "workers"), set("infra", "Workers"), set("master", "unused")],
            &[
                machine("master", "masters"),
                machine("worker", "other"),
                machine("master", "masters"),
                json!({}),
            ],
            "s",
        );
        let ids: Vec<_> = found.iter().map(|one| (one.id.rsplit('/').next().unwrap(), one.master)).collect();
        assert_eq!(ids, [("workers", false), ("masters", true)]);
        assert!(found[0].id.starts_with("/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/"));
    }
}
