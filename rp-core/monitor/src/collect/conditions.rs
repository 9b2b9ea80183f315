//! Tables of expected conditions. A condition that is in no table is reported.

use crate::objects::Condition;

/// Condition types with the status that is not reported.
pub(super) type ExpectedConditions = &'static [(&'static str, &'static str)];

/// Of the ARO operator; the last row is not in the contract's table, where the healthy state is told each minute.
pub(super) const ARO_OPERATOR: ExpectedConditions = &[
    ("InternetReachableFromMaster", "True"),
    ("InternetReachableFromWorker", "True"),
    ("ServicePrincipalValid", "True"),
    ("DefaultIngressCertificate", "True"),
    ("MachineValid", "True"),
    ("DefaultClusterDNS", "True"),
];
/// Ends of types of the ARO operator's controllers.
pub(super) const ARO_CONTROLLERS: ExpectedConditions =
    &[("ControllerAvailable", "True"), ("ControllerProgressing", "False"), ("ControllerDegraded", "False")];
/// Of the ClusterVersion; from `Failing` on not in the contract's table.
pub(super) const CLUSTER_VERSION: ExpectedConditions = &[
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
pub(super) const OPERATORS: ExpectedConditions = &[
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
pub(super) const POOLS: ExpectedConditions = &[
    ("Degraded", "False"),
    ("NodeDegraded", "False"),
    ("RenderDegraded", "False"),
    ("Updated", "True"),
    ("Updating", "False"),
    ("PinnedImageSetsDegraded", "False"),
];
/// Of nodes; the last row is not in the contract's table.
pub(super) const NODES: ExpectedConditions = &[
    ("DiskPressure", "False"),
    ("MemoryPressure", "False"),
    ("PIDPressure", "False"),
    ("Ready", "True"),
    ("NetworkUnavailable", "False"),
];
/// Of pods; the last row is not in the contract's table (Kubernetes 1.29 and later set it on every pod).
pub(super) const PODS: ExpectedConditions = &[
    ("ContainersReady", "True"),
    ("Initialized", "True"),
    ("PodScheduled", "True"),
    ("Ready", "True"),
    ("PodReadyToStartContainers", "True"),
];

/// Whether the condition is expected and therefore not reported.
pub(super) fn is_known(table: ExpectedConditions, condition: &Condition) -> bool {
    table
        .iter()
        .any(|(kind, status)| condition.kind.as_str() == *kind && condition.status.as_str() == *status)
}
