//! Whether a cluster bears that one of its masters is taken away (`contract/frontend.md` §11.8): before a resize is ordered,
//! and again as it begins.

use rp_openshift::{ClusterOperator, ControlPlaneMachineSet, Whole};

/// Masters of a control plane.
pub const MASTERS: usize = 3;
/// The path of the Machines.
pub const MACHINES: &str = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines";
/// The path of the set that replaces masters by itself.
pub const MACHINE_SET: &str =
    "/apis/machine.openshift.io/v1/namespaces/openshift-machine-api/controlplanemachinesets/cluster";
pub const API_SERVER: Operator =
    Operator { name: "kube-apiserver", why: "Resize is not safe while the API server is degraded." };
pub const ETCD: Operator = Operator { name: "etcd", why: "Resize is not safe while etcd quorum is at risk." };

/// A cluster operator that must be well meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    pub name: &'static str,
    /// Why it must, for people.
    pub why: &'static str,
}

impl Operator {
    /// The path of its ClusterOperator.
    pub fn path(self) -> String {
        format!("/apis/config.openshift.io/v1/clusteroperators/{}", self.name)
    }

    /// # Errors
    /// It is not available, progresses or is degraded; a sentence for people.
    pub fn check(self, found: &ClusterOperator<Whole>) -> Result<(), String> {
        let Self { name, why } = self;
        match found.unsettled(name) {
            None => Ok(()),
            Some(state) => Err(format!("{name} is not healthy: {state}. {why}")),
        }
    }
}

/// # Errors
/// The set would replace machines whose specification changes; a sentence for people.
pub fn check_machine_set(set: Option<&ControlPlaneMachineSet<Whole>>) -> Result<(), &'static str> {
    match set {
        Some(set) if set.spec.state.as_str() == "Active" => {
            Err("ControlPlaneMachineSet is currently Active. Deactivate CPMS before running this operation.")
        }
        _ => Ok(()),
    }
}
