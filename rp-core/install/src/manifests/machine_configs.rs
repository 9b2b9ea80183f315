//! MachineConfigs of the first boot. Their names are the ones that the operator keeps later.

use rp_node_config::machine_config::machine_config;
use rp_node_config::{NodeFiles, dnsmasq, etc_hosts, mtu, registries};

use super::{Manifest, mirrors};
use crate::InputError;
use crate::facts::InstallFacts;

const ROLES: [&str; 2] = ["master", "worker"];
const REGISTRIES: &str = "90-aro-worker-registries";

/// For both roles: name resolution, hosts and, where it is large, the MTU; for workers the registries.
pub(super) fn all(facts: &InstallFacts) -> Result<Vec<Manifest>, InputError> {
    let mut all = Vec::new();
    for role in ROLES {
        let dns = dnsmasq::node_files(&facts.names, dnsmasq::Stage::Cluster, false);
        all.push(manifest(&dnsmasq::machine_config_name(role), role, dns));
        all.push(manifest(&etc_hosts::machine_config_name(role), role, etc_hosts::node_files(&facts.names)));
        if facts.large_mtu {
            all.push(manifest(&mtu::machine_config_name(role), role, mtu::node_files()));
        }
    }
    all.push(manifest(REGISTRIES, "worker", registries::node_files(&mirrors(facts)?)));
    Ok(all)
}

/// `openshift/99_openshift-machineconfig_NAME.yaml`.
fn manifest(name: &str, role: &str, files: NodeFiles) -> Manifest {
    let path = format!("openshift/99_openshift-machineconfig_{name}.yaml");
    Manifest::new(path, machine_config(name, role, &files.into_config(), &[]))
}
