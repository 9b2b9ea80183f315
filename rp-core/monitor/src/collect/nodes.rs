//! Machine config pools, machines and nodes (`contract/monitor.md` §9.5).

use std::collections::HashMap;

use rp_openshift::MainRole;

use super::conditions::{NODES, POOLS, is_known};
use super::operators::count;
use super::output::owned_text;
use super::{CollectError, CollectorOutput, Level};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;
use crate::objects::{Machine, Meta, Node};
use crate::sample::{Sample, Text};

pub(super) fn pools(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let pools = seen.pools()?;
    for pool in pools.iter() {
        for condition in pool.status.conditions.iter().filter(|it| !is_known(POOLS, it)) {
            let dims = [&pool.metadata.name, &condition.kind].map(|text| owned_text(text.as_str()));
            let dims = dims.into_iter().chain([owned_text(condition.status.as_str())]);
            told.logged(Sample::one(&cluster::POOL_CONDITIONS, dims), condition.message.as_str());
        }
    }
    told.int(&cluster::POOL_COUNT, count(pools.len()), []);
    Ok(())
}

pub(super) fn unmanaged(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let (pools, nodes) = (seen.pools()?, seen.nodes()?);
    if seen.is_imported() && pools.is_empty() {
        return Ok(());
    }
    let managed =
        pools.iter().fold(0_i64, |sum, pool| sum.saturating_add(pool.status.machine_count.or_zero()));
    let unmanaged = count(nodes.len()).saturating_sub(managed);
    if unmanaged != 0 {
        told.logged(Sample::int(&cluster::POOL_UNMANAGED, unmanaged, []), "");
    }
    Ok(())
}

/// Properties of a node that come from its machine.
#[derive(Default, Clone, Copy)]
struct MachineInfo<'a> {
    role: &'a str,
    set: &'a str,
    spot: bool,
}

impl<'a> MachineInfo<'a> {
    /// `None`: the provider spec cannot be read.
    fn machine(machine: &'a Machine) -> Option<Self> {
        let value = machine.spec.provider_spec.value.as_ref()?;
        Some(Self { role: machine.role(), set: machine.labelled_set(), spot: value.spot.0 })
    }

    fn spot(self) -> Text {
        if self.spot { "true".into() } else { "false".into() }
    }
}

pub(super) fn machines(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let machines = seen.machines()?;
    let mut counted = 0;
    for machine in machines.iter() {
        let Some(of) = MachineInfo::machine(machine) else {
            let fields = vec![("machineName".into(), owned_text(machine.metadata.name.as_str()))];
            told.line(Level::Error, "the provider spec of a machine cannot be read", fields);
            continue;
        };
        counted += 1;
        if !machine.status.phase.is_empty() {
            let name = owned_text(machine.metadata.name.as_str());
            let dims = [
                name,
                owned_text(machine.status.phase.as_str()),
                of.spot(),
                owned_text(of.role),
                owned_text(of.set),
            ];
            told.logged(Sample::one(&cluster::MACHINE_PHASE, dims), "");
        }
    }
    told.int(&cluster::MACHINE_COUNT, counted, []);
    Ok(())
}

pub(super) fn nodes(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let nodes = seen.nodes()?;
    let machines = seen.machines().unwrap_or_else(|error| {
        let fields = vec![("error".into(), error.to_string().into())];
        told.line(Level::Error, "nodes are told without their machines", fields);
        Default::default()
    });
    let key = |meta: &Meta| format!("{}/{}", meta.namespace.as_str(), meta.name.as_str());
    let machines: HashMap<String, MachineInfo<'_>> = machines
        .iter()
        .filter_map(|machine| Some((key(&machine.metadata), MachineInfo::machine(machine)?)))
        .collect();
    let mut roles = Roles::default();
    for node in nodes.iter() {
        let of = node.machine().and_then(|key| machines.get(key)).copied();
        let of = of.unwrap_or_default();
        let name = || owned_text(node.metadata.name.as_str());
        for condition in node.status.conditions.iter().filter(|it| !is_known(NODES, it)) {
            let (kind, status) = (owned_text(condition.kind.as_str()), owned_text(condition.status.as_str()));
            let dims = [name(), kind, status, of.spot(), owned_text(of.role), owned_text(of.set)];
            told.logged(Sample::one(&cluster::NODE_CONDITIONS, dims), condition.message.as_str());
        }
        let kubelet = owned_text(node.status.node_info.kubelet_version.as_str());
        told.one(&cluster::NODE_KUBELET, [name(), owned_text(of.role), kubelet]);
        if !roles.count(node) {
            told.line(Level::Warn, "a node has no role that is known", vec![("nodeName".into(), name())]);
        }
    }
    for (role, number) in [("master", roles.master), ("worker", roles.worker), ("infra", roles.infra)] {
        told.int(&cluster::NODE_COUNT, number, [role.into()]);
    }
    if roles.unknown > 0 {
        told.int(&cluster::NODE_COUNT, roles.unknown, ["unknown".into()]);
    }
    Ok(())
}

/// Nodes by role.
#[derive(Debug, Default)]
pub(super) struct Roles {
    pub(super) master: i64,
    pub(super) worker: i64,
    infra: i64,
    unknown: i64,
}

impl Roles {
    pub(super) fn from_nodes(nodes: &[Node]) -> Self {
        let mut roles = Self::default();
        for node in nodes {
            roles.count(node);
        }
        roles
    }

    /// Counts one; `false`: its role is unknown.
    fn count(&mut self, node: &Node) -> bool {
        let (number, known) = match node.main_role() {
            Some(MainRole::Master) => (&mut self.master, true),
            Some(MainRole::Worker) => (&mut self.worker, true),
            Some(MainRole::Infra) => (&mut self.infra, true),
            None => (&mut self.unknown, false),
        };
        *number += 1;
        known
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, aro, named};
    use super::*;
    use crate::cluster_objects::Resource;

    const MACHINE_ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
    const MACHINE_SET: &str = "machine.openshift.io/cluster-api-machineset";
    const MACHINE: &str = "machine.openshift.io/machine";

    #[test]
    fn pools_tell_what_is_unexpected_and_how_many() {
        let pool = |name: &str, conditions: &[(&str, &str)]| {
            let conditions: Vec<Value> =
                conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status})).collect();
            json!({"metadata": {"name": name}, "status": {"conditions": conditions}})
        };
        let good = [
            ("Degraded", "False"),
            ("NodeDegraded", "False"),
            ("RenderDegraded", "False"),
            ("Updated", "True"),
            ("Updating", "False"),
            ("PinnedImageSetsDegraded", "False"),
        ];
        let bad = [("Degraded", "True"), ("Updated", "False"), ("Updating", "True"), ("New", "False")];
        let fed = CollectorBench::new(aro())
            .with_items(&Resource::Pools, json!([pool("master", &good), pool("worker", &bad)]));
        assert_eq!(
            fed.run(named("emitMachineConfigPoolConditions")),
            [
                "machineconfigpool.conditions 1 name=worker type=Degraded status=True",
                "machineconfigpool.conditions 1 name=worker type=New status=False",
                "machineconfigpool.conditions 1 name=worker type=Updated status=False",
                "machineconfigpool.conditions 1 name=worker type=Updating status=True",
                "machineconfigpool.count 2",
            ]
        );
    }

    fn unmanaged_of(nodes: usize, pools: &[Value]) -> Vec<String> {
        let pools: Vec<Value> =
            pools.iter().map(|count| json!({"status": {"machineCount": count}})).collect();
        CollectorBench::new(aro())
            .with_items(&Resource::Nodes, json!(vec![json!({}); nodes]))
            .with_items(&Resource::Pools, json!(pools))
            .run(named("emitMachineConfigPoolUnmanagedNodeCounts"))
    }

    #[test]
    fn unmanaged_nodes_have_a_sign_and_none_is_silent() {
        assert!(unmanaged_of(6, &[json!(3), json!(3)]).is_empty());
        assert_eq!(unmanaged_of(7, &[json!(3), json!(3)]), ["machineconfigpool.unmanagednodescount 1"]);
        assert_eq!(unmanaged_of(5, &[json!(3), json!(3)]), ["machineconfigpool.unmanagednodescount -1"]);
        assert_eq!(unmanaged_of(1, &[json!(i64::MAX), json!(i64::MAX)]).len(), 1, "no overflow");
    }

    #[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
    fn machine(name: &str, role: &str, spec: Value) -> Value {
        json!({"metadata": {"name": name, "namespace": "openshift-machine-api",
                "labels": {MACHINE_ROLE: role, MACHINE_SET: format!("{role}-set")}},
            "spec": {"providerSpec": {"value": spec}}, "status": {"phase": "Running"}})
    }

    #[test]
    fn machines_tell_phase_role_and_spot() {
        let items = json!([
            machine("m-0", "master", json!({})),
            machine("w-0", "worker", json!({"spotVMOptions": {}})),
            machine("w-1", "worker", json!({"spotVMOptions": null})),
            machine("w-2", "worker", json!("{not json")),
            {"metadata": {"name": "w-3"}, "spec": {"providerSpec": {"value": {}}}},
        ]);
        let fed = CollectorBench::new(aro()).with_items(&Resource::Machines, items);
        assert_eq!(
            fed.run(named("emitMachineConditions")),
            [
                "machine.count 4",
                "machine.phase 1 machineName=m-0 phase=Running spotInstance=false role=master machineset=master-set",
                "machine.phase 1 machineName=w-0 phase=Running spotInstance=true role=worker machineset=worker-set",
                "machine.phase 1 machineName=w-1 phase=Running spotInstance=false role=worker machineset=worker-set",
            ]
        );
        let lines = fed.told(named("emitMachineConditions")).unwrap().lines;
        assert_eq!((lines.len(), lines[0].level), (1, Level::Error));
    }

    fn node(name: &str, role: &str, machine: &str, conditions: &[(&str, &str)]) -> Value {
        let conditions: Vec<Value> =
            conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status})).collect();
        let mut labels = json!({});
        if !role.is_empty() {
            labels[format!("node-role.kubernetes.io/{role}")] = json!("");
        }
        json!({"metadata": {"name": name, "labels": labels, "annotations": {MACHINE: machine}},
            "status": {"conditions": conditions, "nodeInfo": {"kubeletVersion": "v1.29"}}})
    }

    const FINE: [(&str, &str); 5] = [
        ("DiskPressure", "False"),
        ("MemoryPressure", "False"),
        ("PIDPressure", "False"),
        ("Ready", "True"),
        ("NetworkUnavailable", "False"),
    ];

    #[test]
    fn nodes_tell_conditions_kubelets_and_counts() {
        let fed = CollectorBench::new(aro())
            .with_items(&Resource::Machines, json!([machine("w-0", "worker", json!({"spotVMOptions": {}}))]))
            .with_items(
                &Resource::Nodes,
                json!([
                    node("a", "master", "", &FINE),
                    node(
                        "b",
                        "worker",
                        "openshift-machine-api/w-0",
                        &[("Ready", "Unknown"), ("DiskPressure", "True"), ("Odd", "False")]
                    ),
                ]),
            );
        assert_eq!(
            fed.run(named("emitNodeConditions")),
            [
                "node.conditions 1 nodeName=b type=DiskPressure status=True spotInstance=true role=worker machineset=worker-set",
                "node.conditions 1 nodeName=b type=Odd status=False spotInstance=true role=worker machineset=worker-set",
                "node.conditions 1 nodeName=b type=Ready status=Unknown spotInstance=true role=worker machineset=worker-set",
                "node.count 0 role=infra",
                "node.count 1 role=master",
                "node.count 1 role=worker",
                "node.kubelet.version 1 nodeName=a role= kubeletVersion=v1.29",
                "node.kubelet.version 1 nodeName=b role=worker kubeletVersion=v1.29",
            ]
        );
    }

    #[test]
    fn the_first_role_counts_and_an_unknown_one_is_told() {
        let mut both = node("a", "master", "", &FINE);
        both["metadata"]["labels"]["node-role.kubernetes.io/worker"] = json!("");
        let items = json!([both, node("b", "infra", "", &FINE), node("c", "gpu", "", &FINE)]);
        let fed = CollectorBench::new(aro())
            .with_items(&Resource::Machines, json!([]))
            .with_items(&Resource::Nodes, items);
        let told = fed.told(named("emitNodeConditions")).unwrap();
        assert_eq!(told.lines.len(), 1);
        assert_eq!(told.lines[0].level, Level::Warn);
        let counts: Vec<String> = fed
            .run(named("emitNodeConditions"))
            .into_iter()
            .filter(|line| line.starts_with("node.count"))
            .collect();
        assert_eq!(
            counts,
            [
                "node.count 0 role=worker",
                "node.count 1 role=infra",
                "node.count 1 role=master",
                "node.count 1 role=unknown"
            ]
        );
    }

    #[test]
    fn nodes_are_told_without_machines() {
        let fed = CollectorBench::new(aro())
            .failed(&Resource::Machines, 500)
            .with_items(&Resource::Nodes, json!([node("a", "worker", "x", &FINE)]));
        assert_eq!(fed.run(named("emitNodeConditions")).len(), 4);
        assert!(fed.told(named("emitMachineConditions")).is_err());
    }
}
