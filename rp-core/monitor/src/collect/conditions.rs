//! Which conditions are as they should be. Whatever is in no table is told.

use crate::objects::Condition;

/// A type and the status that is not told.
pub(super) type Known = &'static [(&'static str, &'static str)];

/// Of the ARO operator; the last row is not in the contract's table, where the healthy state is told each minute.
pub(super) const ARO_OPERATOR: Known = &[
    ("InternetReachableFromMaster", "True"),
    ("InternetReachableFromWorker", "True"),
    ("ServicePrincipalValid", "True"),
    ("DefaultIngressCertificate", "True"),
    ("MachineValid", "True"),
    ("DefaultClusterDNS", "True"),
];
/// Ends of types of the ARO operator's controllers.
pub(super) const ARO_CONTROLLERS: Known =
    &[("ControllerAvailable", "True"), ("ControllerProgressing", "False"), ("ControllerDegraded", "False")];
/// Of the ClusterVersion; from `Failing` on not in the contract's table.
pub(super) const CLUSTER_VERSION: Known = &[
    ("Available", "True"),
    ("Progressing", "False"),
    ("Degraded", "False"),
    ("Upgradeable", "True"),
    ("Failing", "False"),
    ("ReleaseAccepted", "True"),
    ("RetrievedUpdates", "True"),
    ("ImplicitlyEnabledCapabilities", "False"),
];
/// Of any cluster operator.
pub(super) const OPERATORS: Known = &[
    ("Available", "True"),
    ("Degraded", "False"),
    ("Progressing", "False"),
    ("Upgradeable", "True"),
    ("EvaluationConditionsDetected", "False"),
];
/// Of certain cluster operators: name, type, status.
pub(super) const CERTAIN_OPERATORS: &[(&str, &str, &str)] = &[
    ("cloud-controller-manager", "TrustedCABundleControllerControllerDegraded", "False"),
    ("cloud-controller-manager", "TrustedCABundleControllerControllerAvailable", "True"),
    ("cloud-controller-manager", "CloudConfigControllerDegraded", "False"),
    ("cloud-controller-manager", "CloudConfigControllerUpgradeable", "True"),
    ("cloud-controller-manager", "CloudControllerOwner", "True"),
    ("baremetal", "Disabled", "True"),
    ("network", "ManagementStateDegraded", "False"),
];
/// Of machine config pools; the last row is not in the contract's table.
pub(super) const POOLS: Known = &[
    ("Degraded", "False"),
    ("NodeDegraded", "False"),
    ("RenderDegraded", "False"),
    ("Updated", "True"),
    ("Updating", "False"),
    ("PinnedImageSetsDegraded", "False"),
];
/// Of nodes; the last row is not in the contract's table.
pub(super) const NODES: Known = &[
    ("DiskPressure", "False"),
    ("MemoryPressure", "False"),
    ("PIDPressure", "False"),
    ("Ready", "True"),
    ("NetworkUnavailable", "False"),
];
/// Of pods; the last row is not in the contract's table (Kubernetes 1.29 and later set it on every pod).
pub(super) const PODS: Known = &[
    ("ContainersReady", "True"),
    ("Initialized", "True"),
    ("PodScheduled", "True"),
    ("Ready", "True"),
    ("PodReadyToStartContainers", "True"),
];

/// Whether the condition is one that is not told.
pub(super) fn is_known(table: Known, condition: &Condition) -> bool {
    table
        .iter()
        .any(|(kind, status)| condition.kind.as_str() == *kind && condition.status.as_str() == *status)
}
