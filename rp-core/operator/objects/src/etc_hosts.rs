//! Host entries on the nodes of a pool (`contract/operator.md` §8.12): the API server and the gateway are found without
//! DNS. The files are those of [`rp_node_config::etc_hosts`].

use rp_node_config::etc_hosts::{machine_config_name, node_files};
use rp_node_config::machine_config::machine_config;
use rp_node_config::names::NodeNames;
use serde_json::Value;

use crate::{ObjectRef, Plan, node_names};

const API: &str = "machineconfiguration.openshift.io/v1";

/// What is to be done for a pool once the gate of `contract/operator.md` §7 is open; before, nothing is even created.
/// The owner is the pool.
pub fn plan(pool: &str, names: &NodeNames) -> Plan {
    Plan::apply([object(pool, names)])
}

/// The removal of the entries of all pools, out of the names of all MachineConfigs.
pub fn removal<'a>(machine_configs: impl IntoIterator<Item = &'a str>) -> Plan {
    let ours = machine_configs.into_iter().filter(|name| pool_of(name).is_some());
    Plan::delete(ours.map(|name| ObjectRef::of_cluster(API, "MachineConfig", name)))
}

fn object(pool: &str, names: &NodeNames) -> Value {
    machine_config(&machine_config_name(pool), pool, &node_files(names).into_config(), &[])
}

/// The pool whose MachineConfig has that name; `None`: it is none of this controller.
pub fn pool_of(machine_config: &str) -> Option<&str> {
    node_names::pool_of(machine_config, "-aro-etc-hosts-gateway-domains")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_that_the_installer_writes() {
        let names = node_names::read(&node_names::sample()).unwrap();
        let file = "../../../node-config/tests/golden/99-worker-aro-etc-hosts-gateway-domains.json";
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        let plan = plan("worker", &names);
        let [crate::Change::Apply(object)] = plan.changes.as_slice() else { panic!("{plan:?}") };
        assert_eq!(format!("{object:#}\n"), std::fs::read_to_string(file).unwrap());
    }

    #[test]
    fn only_the_entries_of_pools_are_removed() {
        let all =
            ["00-worker", "99-worker-aro-dns", "99-infra-aro-etc-hosts-gateway-domains", "99-worker-ssh"];
        assert_eq!(
            format!("{:?}", removal(all).changes),
            "[Delete MachineConfig 99-infra-aro-etc-hosts-gateway-domains]"
        );
        assert_eq!(pool_of(&machine_config_name("master")), Some("master"));
    }
}
