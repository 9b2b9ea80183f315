//! Temporary fixes for versions that have a defect, removed where they are not needed (`contract/operator.md` §8.30). All
//! of them restart nodes, so they change only through the gate of §7 ("Do better" 9).

use rp_node_config::NodeFiles;
use rp_node_config::ignition::{Config, File};
use rp_node_config::machine_config::machine_config;
use rp_operator_api::{Flag, Flags};
use serde_json::{Value, json};

use crate::{Change, ObjectRef, Plan, Version};

const API: &str = "machineconfiguration.openshift.io/v1";
/// The label of the pool and of the KubeletConfig that reserves memory.
const LIMITS: &str = "aro.openshift.io/limits";

/// What the decision goes by.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub flags: &'a Flags,
    /// The version that the cluster has.
    pub version: Version,
    /// `networks.operator.openshift.io/cluster`, as it was read.
    pub network: &'a Value,
    /// `machineconfigpools.machineconfiguration.openshift.io/worker`; `None`: there is none.
    pub worker_pool: Option<&'a Value>,
}

/// One fix: what is to be done about it, once the gate is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Workaround {
    /// As logs and errors name it.
    pub name: &'static str,
    pub required: bool,
    pub plan: Plan,
}

/// Every fix. One that fails does not keep the others from being tried.
pub fn workarounds(input: &Input<'_>) -> [Workaround; 3] {
    let Input { flags, version, network, worker_pool } = *input;
    let reserved = !flags.on(Flag::AutoSizedNodes) && version < Version::new(4, 99, 0);
    let copy_fail = flags.on(Flag::WorkaroundCopyFail) && is_affected(version, &COPY_FAIL);
    let dirty_frag =
        flags.on(Flag::WorkaroundDirtyFrag) && is_affected(version, &DIRTY_FRAG) && !uses_ipsec(network);
    [
        Workaround {
            name: "SystemReserved fix for bz-1857446",
            required: reserved,
            plan: system_reserved(reserved, worker_pool),
        },
        Workaround {
            name: "workaround for CVE-2026-31431 ('copy fail') on control plane",
            required: copy_fail,
            plan: keep(copy_fail, "99-master-disable-algif-aead", algif_aead),
        },
        Workaround {
            name: "workaround for CVE-2026-31432 ('dirtyfrag') on control plane",
            required: dirty_frag,
            plan: keep(dirty_frag, "99-master-disable-dirtyfrag", dirtyfrag),
        },
    ]
}

/// The first minor version without the defects.
const SOUND: Version = Version::new(4, 22, 0);
/// For each minor version of 4 the first patch without the defect. Other minor versions before [`SOUND`] always have it.
const COPY_FAIL: [(u32, u32); 10] =
    [(21, 14), (20, 21), (19, 30), (18, 40), (17, 53), (16, 61), (15, 64), (14, 65), (13, 66), (12, 89)];
const DIRTY_FRAG: [(u32, u32); 7] = [(21, 15), (20, 22), (19, 31), (18, 41), (16, 62), (14, 66), (12, 90)];

fn is_affected(version: Version, sound: &[(u32, u32)]) -> bool {
    let patch = sound.iter().find(|(minor, _)| *minor == version.minor).map(|(_, patch)| *patch);
    version < SOUND && patch.is_none_or(|patch| version.patch < patch)
}

/// Whether pods or hosts use IPsec: it needs the modules that the fix keeps out. A configuration without a mode means
/// `Full`, as it did before modes came.
fn uses_ipsec(network: &Value) -> bool {
    let config = network.pointer("/spec/defaultNetwork/ovnKubernetesConfig/ipsecConfig");
    let Some(config) = config.filter(|config| config.is_object()) else { return false };
    let mode = config.get("mode").and_then(Value::as_str).unwrap_or_default();
    matches!(mode, "" | "Full" | "External")
}

fn keep(required: bool, name: &str, object: fn(&str) -> Value) -> Plan {
    match required {
        true => Plan::apply([object(name)]),
        false => Plan::delete([ObjectRef::of_cluster(API, "MachineConfig", name)]),
    }
}

fn algif_aead(name: &str) -> Value {
    machine_config(name, "master", &Config::empty(), &["initcall_blacklist=algif_aead_init"])
}

fn dirtyfrag(name: &str) -> Value {
    let lines = ["esp4", "esp6", "rxrpc"].map(|module| format!("install {module} /bin/false\n"));
    let path = "/etc/modprobe.d/aro-dirtyfrag-mitigation-controlplane.conf";
    let files = NodeFiles { files: vec![File::text(path, 0o644, &lines.concat())], units: Vec::new() };
    machine_config(name, "master", &files.into_config(), &[])
}

fn system_reserved(required: bool, pool: Option<&Value>) -> Plan {
    let label =
        |pool: &Value| pool.pointer("/metadata/labels").and_then(|labels| labels.get(LIMITS)).cloned();
    let labelled = pool.map(|pool| label(pool).is_some());
    let wanted = if required { json!("") } else { Value::Null };
    let relabel = labelled.filter(|labelled| *labelled != required).map(|_| Change::Merge {
        object: ObjectRef::of_cluster(API, "MachineConfigPool", "worker"),
        patch: json!({ "metadata": { "labels": { LIMITS: wanted } } }),
        resource_version: None,
    });
    let object = match required {
        true => Change::Apply(kubelet_config()),
        false => Change::Delete(ObjectRef::of_cluster(API, "KubeletConfig", "aro-limits")),
    };
    // The pool is selected by the label, so the label comes first and goes last.
    match required {
        true => relabel.into_iter().chain([object]).collect(),
        false => [object].into_iter().chain(relabel).collect(),
    }
}

fn kubelet_config() -> Value {
    json!({
        "apiVersion": API,
        "kind": "KubeletConfig",
        "metadata": { "name": "aro-limits", "labels": { LIMITS: "" } },
        "spec": {
            "kubeletConfig": {
                "systemReserved": { "memory": "2000Mi" },
                "evictionHard": {
                    "memory.available": "500Mi",
                    "nodefs.available": "10%",
                    "nodefs.inodesFree": "5%",
                    "imagefs.available": "15%",
                },
            },
            "machineConfigPoolSelector": { "matchLabels": { LIMITS: "" } },
        },
    })
}

#[cfg(test)]
mod tests;
