//! Name resolution on the nodes of a pool (`contract/operator.md` §8.11). The files are those of
//! [`rp_node_config::dnsmasq`].

use rp_node_config::dnsmasq::{Stage, machine_config_name, node_files};
use rp_node_config::machine_config::machine_config;
use rp_node_config::names::NodeNames;
use serde_json::Value;

use crate::{Change, Plan, node_names};

/// What is to be done for a pool. `restart`: the flag `aro.restartdnsmasq.enabled`. `may_restart_nodes`: the gate of
/// `contract/operator.md` §7; a pool without its MachineConfig gets it at once, a change of one waits for the gate.
/// The owner is the pool.
pub fn plan(pool: &str, names: &NodeNames, restart: bool, may_restart_nodes: bool) -> Plan {
    let object = object(pool, names, restart);
    let change = if may_restart_nodes { Change::Apply(object) } else { Change::Create(object) };
    [change].into_iter().collect()
}

fn object(pool: &str, names: &NodeNames, restart: bool) -> Value {
    let config = node_files(names, Stage::Cluster, restart).into_config();
    machine_config(&machine_config_name(pool), pool, &config, &[])
}

/// The pool whose MachineConfig has that name; `None`: it is none of this controller.
pub fn pool_of(machine_config: &str) -> Option<&str> {
    node_names::pool_of(machine_config, "-aro-dns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_that_the_installer_writes() {
        let names = node_names::read(&node_names::sample()).unwrap();
        let installed = include_str!("../../../node-config/tests/golden/99-worker-aro-dns.json");
        assert_eq!(format!("{:#}\n", object("worker", &names, true)), installed);
    }

    #[test]
    fn a_change_waits_for_the_gate_and_a_new_pool_does_not() {
        let names = node_names::read(&node_names::sample()).unwrap();
        let text = |allowed| format!("{:?}", plan("infra", &names, false, allowed).changes);
        assert_eq!(text(true), "[Apply MachineConfig 99-infra-aro-dns]");
        assert_eq!(text(false), "[Create MachineConfig 99-infra-aro-dns]");
    }

    #[test]
    fn the_pool_is_in_the_name() {
        assert_eq!(pool_of("99-gpu-a-aro-dns"), Some("gpu-a"));
        for name in ["99--aro-dns", "98-worker-aro-dns", "99-worker-aro-dns-x", "99-aro-dns", "worker"] {
            assert_eq!(pool_of(name), None, "{name}");
        }
        assert_eq!(pool_of(&machine_config_name("worker")), Some("worker"));
    }
}
