//! What the dialog of a kubeconfig alone offers.

use crate::parts::{Link, Rights};

/// Rights to choose from, and what stands beside them.
#[derive(Clone, Debug, Default)]
pub struct KubeconfigChoices {
    /// Rights to choose from: read, write, admin.
    pub rights: Vec<RightsChoice>,
    /// Active kubeconfigs of the person for this cluster.
    pub held: u64,
    /// Whom the cluster will see, e.g. `system:aro-sre, with your name as an extra`.
    pub identity: String,
}

/// One of the rights.
#[derive(Clone, Debug, Default)]
pub struct RightsChoice {
    /// Which.
    pub rights: Rights,
    /// Why the person may not choose it; none when they may.
    pub barred: Option<String>,
    /// How to come by it, when it is barred: the form that asks for an elevation.
    pub way: Option<Link>,
    /// A condition that holds, e.g. "You are elevated until 03:36 UTC; this ends with it."
    pub note: String,
}

impl RightsChoice {
    /// What it allows, in a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.rights {
            Rights::Read => "Get, list, watch and logs. No secrets, no exec, no port-forward.",
            Rights::Write => "Also change, delete, exec and port-forward. No secrets, no RBAC.",
            Rights::Admin => "Everything, as system:masters.",
        }
    }
}
