//! Whether machines, virtual machines and nodes of a control plane agree.

use std::collections::BTreeSet;

use rp_actions::control_plane::MASTERS;
use rp_api::CloudError;
use rp_openshift::{MACHINE_SIZE, Machine, NODE_SIZES, Node, Whole};

use super::super::failed;
use super::at;
use super::control_plane::{ControlPlane, VirtualMachine};

const TARGET: &str = "controlPlaneInventory";
const NODE_ZONE: &str = "topology.kubernetes.io/zone";
const MACHINE_ZONE: &str = "machine.openshift.io/zone";

/// # Errors
/// 500 with everything that is wrong, separated by ` | `.
pub(super) fn check(plane: &ControlPlane) -> Result<(), CloudError> {
    let mut wrong = Vec::new();
    if plane.nodes.len() != MASTERS {
        wrong.push(format!("Expected {MASTERS} control plane nodes but found {}.", plane.nodes.len()));
    }
    for (machine, vm) in &plane.machines {
        let name = machine.metadata.name.as_str();
        check_machine(machine, &mut wrong);
        check_vm(name, vm, &mut wrong);
        let node = plane.nodes.iter().find(|node| node.metadata.name.as_str() == node_name(machine));
        let Some(node) = node else {
            wrong.push(format!("Machine {name} has no control plane node."));
            continue;
        };
        check_node(node, &mut wrong);
        let size_of_node = node.metadata.labels.get(NODE_SIZES[0]).unwrap_or_default();
        agree(name, "size", [label(machine, MACHINE_SIZE), &vm.size, size_of_node], &mut wrong);
        let zone_of_node = zone_of(node, &plane.location);
        agree(name, "zone", [label(machine, MACHINE_ZONE), &vm.zone, zone_of_node], &mut wrong);
    }
    check_zones(plane, &mut wrong);
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(at(TARGET, failed(wrong.join(" | ").replace(['\r', '\n'], " | ")))),
    }
}

fn label<'a>(machine: &'a Machine<Whole>, name: &str) -> &'a str {
    machine.metadata.labels.get(name).unwrap_or_default()
}

/// The name of a machine's node; one that says none is named as its machine.
pub(super) fn node_name(machine: &Machine<Whole>) -> &str {
    match machine.status.node_ref.name.as_str() {
        "" => machine.metadata.name.as_str(),
        name => name,
    }
}

/// Running, and its labels say what its specification says.
fn check_machine(machine: &Machine<Whole>, wrong: &mut Vec<String>) {
    let name = machine.metadata.name.as_str();
    let phase = machine.status.phase.as_str();
    if phase != "Running" {
        wrong.push(format!("Machine {name} is in phase '{phase}', not Running."));
    }
    let Some(spec) = &machine.spec.provider_spec.value else {
        wrong.push(format!("Machine {name} has no provider spec."));
        return;
    };
    for (what, label, of_spec) in [
        (MACHINE_SIZE, label(machine, MACHINE_SIZE), spec.vm_size.as_str()),
        (MACHINE_ZONE, label(machine, MACHINE_ZONE), spec.zone.as_str()),
    ] {
        if !label.eq_ignore_ascii_case(of_spec) {
            wrong.push(format!(
                "Machine {name} has the label {what} '{label}', but its spec has '{of_spec}'."
            ));
        }
    }
}

/// Provisioned and running, and nothing else.
fn check_vm(name: &str, vm: &VirtualMachine, wrong: &mut Vec<String>) {
    let statuses: BTreeSet<&str> = vm.statuses.iter().map(String::as_str).collect();
    if statuses != BTreeSet::from(["PowerState/running", "ProvisioningState/succeeded"]) {
        wrong.push(format!("VM {name} has the statuses [{}].", vm.statuses.join(", ")));
    }
}

fn check_node(node: &Node<Whole>, wrong: &mut Vec<String>) {
    let name = node.metadata.name.as_str();
    if !node.ready().is_true() {
        wrong.push(format!("Node {name} is not Ready."));
    }
    if node.spec.unschedulable {
        wrong.push(format!("Node {name} is unschedulable."));
    }
    let [size, beta] = NODE_SIZES.map(|name| node.metadata.labels.get(name).unwrap_or_default());
    if size != beta {
        wrong.push(format!("Node {name} has the instance types '{size}' and '{beta}' in its labels."));
    }
}

/// The zone of a node: its label is `REGION-NUMBER`. Empty: it is regional, and has the number of its fault domain there.
fn zone_of<'a>(node: &'a Node<Whole>, location: &str) -> &'a str {
    let zone = node.metadata.labels.get(NODE_ZONE);
    zone.and_then(|zone| zone.strip_prefix(location)?.strip_prefix('-')).unwrap_or_default()
}

fn agree(name: &str, what: &str, [machine, vm, node]: [&str; 3], wrong: &mut Vec<String>) {
    if !machine.eq_ignore_ascii_case(vm) || !machine.eq_ignore_ascii_case(node) {
        wrong.push(format!("The {what} of {name} differs: machine '{machine}', VM '{vm}', node '{node}'."));
    }
}

/// All regional, or in three zones.
fn check_zones(plane: &ControlPlane, wrong: &mut Vec<String>) {
    let zones: Vec<&str> = plane.machines.iter().map(|(_, vm)| vm.zone.as_str()).collect();
    let different: BTreeSet<&str> = zones.iter().copied().collect();
    let regional = zones.iter().all(|zone| zone.is_empty());
    if !regional && (different.len() != MASTERS || different.contains("")) {
        wrong.push(format!("The zones of the VMs are neither all empty nor all different: {zones:?}."));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SIZE: &str = "Standard_D8s_v3";

    fn machine(at: usize, zone: &str, size: &str) -> Value {
        json!({"metadata": {"name": format!("x-master-{at}"), "labels": {MACHINE_SIZE: size, MACHINE_ZONE: zone}},
            "spec": {"providerSpec": {"value": {"vmSize": size, "zone": zone}}},
            "status": {"phase": "Running", "nodeRef": {"name": format!("x-master-{at}")}}})
    }

    fn node(at: usize, zone: &str, size: &str) -> Value {
        json!({"metadata": {"name": format!("x-master-{at}"),
                "labels": {NODE_SIZES[0]: size, NODE_SIZES[1]: size, NODE_ZONE: zone}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    }

    fn vm(zone: &str, size: &str) -> VirtualMachine {
        VirtualMachine {
            size: size.to_owned(),
            zone: zone.to_owned(),
            statuses: ["ProvisioningState/succeeded", "PowerState/running"].map(str::to_owned).to_vec(),
        }
    }

    fn plane(zones: [&str; 3]) -> ControlPlane {
        let read = |at: usize, zone: &str| serde_json::from_value(machine(at, zone, SIZE)).unwrap();
        let of_node = |zone: &str| match zone {
            "" => "0".to_owned(),
            zone => format!("eastus-{zone}"),
        };
        let all = || zones.into_iter().enumerate();
        ControlPlane {
            machines: all().map(|(at, zone)| (read(at, zone), vm(zone, SIZE))).collect(),
            nodes: all()
                .map(|(at, zone)| serde_json::from_value(node(at, &of_node(zone), SIZE)).unwrap())
                .collect(),
            location: "eastus".to_owned(),
        }
    }

    fn wrong(plane: &ControlPlane) -> String {
        let error = check(plane).unwrap_err();
        assert_eq!((error.status, error.body.target.as_str()), (500, TARGET));
        error.body.message
    }

    #[test]
    fn three_that_agree_are_in_order_in_zones_and_without() {
        assert_eq!(check(&plane(["1", "2", "3"])), Ok(()));
        assert_eq!(check(&plane(["", "", ""])), Ok(()));
        for zones in [["1", "1", "2"], ["1", "2", ""]] {
            assert!(wrong(&plane(zones)).starts_with("The zones of the VMs are neither"), "{zones:?}");
        }
    }

    #[test]
    fn each_difference_is_named() {
        let change = |change: fn(&mut ControlPlane)| {
            let mut plane = plane(["1", "2", "3"]);
            change(&mut plane);
            wrong(&plane)
        };
        let size = change(|plane| plane.machines[1].1.size = "Standard_D16s_v3".to_owned());
        assert_eq!(
            size,
            "The size of x-master-1 differs: machine 'Standard_D8s_v3', VM 'Standard_D16s_v3', node 'Standard_D8s_v3'."
        );
        let power = change(|plane| plane.machines[0].1.statuses.truncate(1));
        assert_eq!(power, "VM x-master-0 has the statuses [ProvisioningState/succeeded].");
        let more = change(|plane| plane.machines[0].1.statuses.push("OSState/generalized".to_owned()));
        assert!(more.starts_with("VM x-master-0 has the statuses ["), "{more}");
        assert_eq!(
            change(|plane| plane.nodes[2].spec.unschedulable = true),
            "Node x-master-2 is unschedulable."
        );
        let few = change(|plane| drop(plane.nodes.pop()));
        assert_eq!(
            few,
            "Expected 3 control plane nodes but found 2. | Machine x-master-2 has no control plane node."
        );
        let labels = change(|plane| {
            plane.nodes[0] = serde_json::from_value(json!({"metadata": {"name": "x-master-0",
                "labels": {NODE_SIZES[0]: SIZE, NODE_SIZES[1]: "old", NODE_ZONE: "eastus-1"}}}))
            .unwrap();
        });
        assert_eq!(
            labels,
            "Node x-master-0 is not Ready. | Node x-master-0 has the instance types 'Standard_D8s_v3' and 'old' in its labels."
        );
        let phase = change(|plane| {
            let mut changed = machine(1, "2", SIZE);
            changed["status"]["phase"] = json!("Fail\ned");
            changed["metadata"]["labels"][MACHINE_SIZE] = json!("other");
            plane.machines[1].0 = serde_json::from_value(changed).unwrap();
        });
        assert!(phase.starts_with("Machine x-master-1 is in phase 'Fail | ed', not Running. | "), "{phase}");
        assert!(phase.contains("has the label machine.openshift.io/instance-type 'other'"), "{phase}");
    }
}
