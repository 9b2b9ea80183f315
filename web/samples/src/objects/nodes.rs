//! Nodes, machines and machine sets.

use std::collections::BTreeMap;
use std::sync::Arc;

use rp_rows::{Amounts, Machine, MachineSet, Node, Status, Taint};
use web::objects::{MachineRow, Vm};

use super::{GIB, INFRA, at, condition, meta};
use crate::{DAY, HOUR, MINUTE, NOW};

pub(super) fn node(name: &str, role: &str, zone: &str) -> Node {
    let since = NOW - 9 * DAY;
    Node {
        meta: meta("", format!("{INFRA}-{name}")),
        ready: Status::True,
        ready_since: at(since),
        schedulable: true,
        roles: vec![role.into()],
        instance_type: if role == "master" { "Standard_D8s_v5" } else { "Standard_D4s_v5" }.into(),
        zone: zone.into(),
        version: "v1.31.9".into(),
        os: "Red Hat Enterprise Linux CoreOS 418.94".into(),
        kernel: "5.14.0-427.61.1.el9_4.x86_64".into(),
        runtime: "cri-o://1.31.6".into(),
        machine: format!("openshift-machine-api/{INFRA}-{name}"),
        provider_id: format!(
            "azure:///subscriptions/0b6f3c1e/resourceGroups/aro-x7k2p/providers/Microsoft.Compute/virtualMachines/{INFRA}-{name}"
        ),
        conditions: vec![condition(
            "Ready",
            Status::True,
            since,
            "KubeletReady",
            "kubelet is posting ready status",
        )],
        capacity: Amounts {
            cpu_millis: Some(8000),
            memory: Some(32 * GIB),
            storage: Some(1023 * GIB),
            pods: Some(250),
        },
        allocatable: Amounts {
            cpu_millis: Some(7500),
            memory: Some(30 * GIB),
            storage: Some(900 * GIB),
            pods: Some(250),
        },
        addresses: vec![
            ("InternalIP".into(), "10.0.2.7".into()),
            ("Hostname".into(), format!("{INFRA}-{name}")),
        ],
        config_state: "Done".into(),
        volumes_attached: 2,
        labels: BTreeMap::from([
            ("kubernetes.io/arch".into(), "amd64".into()),
            (format!("node-role.kubernetes.io/{role}"), String::new()),
            ("topology.kubernetes.io/zone".into(), format!("westeurope-{zone}")),
        ]),
        annotations: BTreeMap::from([(
            "machine.openshift.io/machine".into(),
            format!("openshift-machine-api/{INFRA}-{name}"),
        )]),
        ..Node::default()
    }
}

pub(super) fn nodes() -> Vec<Node> {
    let dead = node("master-2", "master", "3");
    let (silent, why) = (NOW - 47 * MINUTE, "Kubelet stopped posting node status.");
    vec![
        node("master-0", "master", "1"),
        node("master-1", "master", "2"),
        Node {
            ready: Status::Unknown,
            ready_since: at(silent),
            ready_reason: "NodeStatusUnknown".into(),
            ready_message: why.into(),
            conditions: vec![condition("Ready", Status::Unknown, silent, "NodeStatusUnknown", why)],
            taints: vec![Taint {
                key: "node.kubernetes.io/unreachable".into(),
                value: String::new(),
                effect: "NoExecute".into(),
                added: at(NOW - 46 * MINUTE),
            }],
            ..dead
        },
        node("worker-weu1-4tq8z", "worker", "1"),
        Node {
            pressures: vec![condition(
                "DiskPressure",
                Status::True,
                NOW - 4 * HOUR - 28 * MINUTE,
                "KubeletHasDiskPressure",
                "4.1 GiB of 128 GiB left on /var",
            )],
            ..node("worker-weu2-9hxkd", "worker", "2")
        },
        Node {
            schedulable: false,
            config_state: "Working".into(),
            version: "v1.30.14".into(),
            ..node("worker-weu2-vv7r2", "worker", "2")
        },
        node("worker-weu3-t5b2n", "worker", "3"),
    ]
}

pub(super) fn machine(name: &str, role: &str, set: &str) -> MachineRow {
    let created = condition("InstanceExists", Status::True, NOW - 411 * DAY, "", "");
    let machine = Machine {
        meta: meta("openshift-machine-api", format!("{INFRA}-{name}")),
        phase: "Running".into(),
        node: format!("{INFRA}-{name}"),
        set: set.into(),
        role: role.into(),
        zone: "1".into(),
        vm_size: "Standard_D4s_v5".into(),
        provider_id: format!(
            "azure:///subscriptions/0b6f3c1e/resourceGroups/aro-x7k2p/providers/Microsoft.Compute/virtualMachines/{INFRA}-{name}"
        ),
        updated: at(NOW - 2 * HOUR),
        last_operation: "Update".into(),
        last_operation_at: at(NOW - 2 * HOUR),
        conditions: vec![created],
        ..Machine::default()
    };
    MachineRow { machine: Arc::new(machine), vm: vm("running", "") }
}

pub(super) fn vm(power: &str, message: &str) -> Vm {
    Vm::Known {
        power: power.into(),
        provisioning: "Succeeded".into(),
        message: message.into(),
        href: "https://portal.azure.example/vm".into(),
    }
}

pub(super) fn machines() -> Vec<MachineRow> {
    let why = "AllocationFailed: not enough capacity for Standard_D8s_v5 in zone 3";
    let MachineRow { machine: lost, vm } = machine("worker-weu3-kkq8w", "worker", &in_infra("worker-weu3"));
    let lost = Machine {
        phase: "Failed".into(),
        node: String::new(),
        error_reason: "CreateError".into(),
        error_message: "failed to create vm: SkuNotAvailable".into(),
        spot: true,
        ..Machine::clone(&lost)
    };
    vec![
        machine("master-0", "master", "cluster"),
        machine("master-1", "master", "cluster"),
        MachineRow { vm: self::vm("deallocated", why), ..machine("master-2", "master", "cluster") },
        machine("worker-weu1-4tq8z", "worker", &in_infra("worker-weu1")),
        machine("worker-weu2-9hxkd", "worker", &in_infra("worker-weu2")),
        MachineRow { machine: Arc::new(lost), vm },
    ]
}

pub(super) fn in_infra(name: &str) -> String {
    format!("{INFRA}-{name}")
}

pub(super) fn set(name: &str, desired: i64, ready: i64) -> MachineSet {
    MachineSet {
        meta: meta("openshift-machine-api", in_infra(name)),
        role: "worker".into(),
        desired,
        replicas: desired,
        ready,
        available: ready,
        vm_size: "Standard_D4s_v5".into(),
        zone: "1".into(),
        vnet: "vnet-harbor".into(),
        subnet: "worker-subnet".into(),
        disk_type: "Premium_LRS".into(),
        disk_gb: Some(128),
        ..MachineSet::default()
    }
}
