//! Namespaces of the platform, for policies.

/// Namespaces whose objects only the platform changes (`contract/operator.md` §8.14).
pub const PRIVILEGED: [&str; 48] = [
    "kube-node-lease",
    "kube-public",
    "kube-system",
    "openshift",
    "openshift-apiserver",
    "openshift-apiserver-operator",
    "openshift-authentication-operator",
    "openshift-azure-guardrails",
    "openshift-azure-logging",
    "openshift-azure-operator",
    "openshift-cloud-controller-manager",
    "openshift-cloud-controller-manager-operator",
    "openshift-cloud-credential-operator",
    "openshift-cluster-machine-approver",
    "openshift-cluster-storage-operator",
    "openshift-cluster-version",
    "openshift-config-managed",
    "openshift-config-operator",
    "openshift-console",
    "openshift-console-operator",
    "openshift-controller-manager",
    "openshift-controller-manager-operator",
    "openshift-dns",
    "openshift-dns-operator",
    "openshift-etcd",
    "openshift-etcd-operator",
    "openshift-host-network",
    "openshift-image-registry",
    "openshift-ingress",
    "openshift-ingress-operator",
    "openshift-kube-apiserver",
    "openshift-kube-apiserver-operator",
    "openshift-kube-controller-manager",
    "openshift-kube-controller-manager-operator",
    "openshift-kube-scheduler",
    "openshift-kube-scheduler-operator",
    "openshift-machine-api",
    "openshift-machine-config-operator",
    "openshift-managed-upgrade-operator",
    "openshift-monitoring",
    "openshift-multus",
    "openshift-network-operator",
    "openshift-oauth-apiserver",
    "openshift-operator-lifecycle-manager",
    "openshift-ovn-kubernetes",
    "openshift-sdn",
    "openshift-service-ca",
    "openshift-service-ca-operator",
];
/// Namespaces of other parts of the platform, whose accounts act in the namespaces above. Operators of customers run in
/// `openshift-operators`, which is none of them.
const ACTING: [&str; 6] = [
    "openshift-cloud-network-config-controller",
    "openshift-cluster-csi-drivers",
    "openshift-cluster-node-tuning-operator",
    "openshift-cluster-samples-operator",
    "openshift-kube-storage-version-migrator",
    "openshift-kube-storage-version-migrator-operator",
];

/// Whether policies let a service account of this namespace pass: only those of the platform (`contract/operator.md`
/// "Do better" 28).
pub fn is_exempt_account(namespace: &str) -> bool {
    exempt().any(|exempt| exempt == namespace)
}

/// The namespaces whose service accounts pass.
pub(super) fn exempt() -> impl Iterator<Item = &'static str> {
    PRIVILEGED.into_iter().chain(ACTING)
}
