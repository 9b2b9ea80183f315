//! The reboot gate (`contract/operator.md` §7): everything that restarts nodes goes through it, so that nodes restart only
//! in upgrades, or when the service allows it.

use rp_openshift::{ClusterVersion, Whole};
use rp_operator_api::{Flag, Flags};
use rp_operator_objects::Version;
use serde::Deserialize as _;

use crate::api::Api;
use crate::controller::ReconcileError;
use crate::kinds::{CLUSTER_VERSION, ObjectName};

/// The version of the cluster.
pub type ClusterVersionObject = ClusterVersion<Whole>;

/// Reads the version of the cluster.
///
/// # Errors
/// It cannot be read, or is not there.
pub async fn cluster_version(api: &Api) -> Result<ClusterVersionObject, ReconcileError> {
    let object = api.get(ObjectName::of_cluster(&CLUSTER_VERSION, "version")).await?;
    let object = object.ok_or_else(|| ReconcileError::invalid("ClusterVersion version is not there"))?;
    ClusterVersionObject::deserialize(object)
        .map_err(|_| ReconcileError::invalid("ClusterVersion version cannot be read"))
}

/// Whether changes that restart nodes may be made now.
///
/// # Errors
/// The version of the cluster cannot be read.
pub async fn may_restart_nodes(api: &Api, flags: &Flags) -> Result<bool, ReconcileError> {
    if flags.on(Flag::ForceReconciliation) {
        return Ok(true);
    }
    Ok(is_upgrading(&cluster_version(api).await?))
}

/// Whether the newest entry of the history is not complete.
pub fn is_upgrading(version: &ClusterVersionObject) -> bool {
    version.status.history.first().is_some_and(|newest| !newest.is_complete())
}

/// The version that the cluster has (`contract/operator.md` §5.3): the newest complete entry of the history, else the
/// newest one.
///
/// # Errors
/// There is no entry, or it is no version.
pub fn installed(version: &ClusterVersionObject) -> Result<Version, ReconcileError> {
    let unknown = || ReconcileError::invalid("unknown cluster version");
    let newest = || version.status.history.first().map(|entry| entry.version.as_str());
    version.current().or_else(newest).ok_or_else(unknown)?.parse().map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn version(states: &[(&str, &str)]) -> ClusterVersionObject {
        let history: Vec<_> =
            states.iter().map(|(version, state)| json!({ "version": version, "state": state })).collect();
        ClusterVersionObject::deserialize(json!({ "status": { "history": history } })).unwrap()
    }

    #[test]
    fn an_upgrade_is_an_incomplete_newest_entry() {
        assert!(!is_upgrading(&version(&[])));
        assert!(!is_upgrading(&version(&[("4.18.3", "Completed"), ("4.17.1", "Partial")])));
        assert!(is_upgrading(&version(&[("4.18.3", "Partial"), ("4.17.1", "Completed")])));
    }

    #[test]
    fn the_installed_version_is_the_newest_complete_one() {
        assert_eq!(
            installed(&version(&[("4.18.3", "Partial"), ("4.17.1", "Completed")])).unwrap(),
            Version::new(4, 17, 1)
        );
        assert_eq!(installed(&version(&[("4.18.3", "Partial")])).unwrap(), Version::new(4, 18, 3));
        assert_eq!(installed(&version(&[])).unwrap_err().to_string(), "unknown cluster version");
    }
}
