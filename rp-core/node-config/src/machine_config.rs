//! MachineConfigs: the objects by which a cluster puts Ignition onto the machines of a pool.

use serde_json::{Value, json};

use crate::ignition::Config;

/// The label that names the role of a MachineConfig.
pub const ROLE: &str = "machineconfiguration.openshift.io/role";

/// A MachineConfig for the machines of that role.
pub fn machine_config(name: &str, role: &str, config: &Config, kernel_arguments: &[&str]) -> Value {
    let mut spec = json!({ "config": config.to_json() });
    if !kernel_arguments.is_empty() {
        spec["kernelArguments"] = json!(kernel_arguments);
    }
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": { "name": name, "labels": { ROLE: role } },
        "spec": spec,
    })
}
