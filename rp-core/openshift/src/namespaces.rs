//! The namespaces of the platform (`contract/monitor.md` §9.10). The list may grow, never shrink.

/// Platform namespaces without the prefix `openshift-`, and the prefix by itself.
const WHOLE: [&str; 2] = ["", "openshift"];
/// What follows `openshift-`, in order.
const AFTER: [&str; 61] = [
    "apiserver",
    "apiserver-operator",
    "authentication-operator",
    "azure-guardrails",
    "azure-logging",
    "azure-operator",
    "cloud-controller-manager",
    "cloud-controller-manager-operator",
    "cloud-credential-operator",
    "cloud-network-config-controller",
    "cluster-api",
    "cluster-csi-drivers",
    "cluster-machine-approver",
    "cluster-node-tuning-operator",
    "cluster-samples-operator",
    "cluster-storage-operator",
    "cluster-version",
    "config",
    "config-managed",
    "config-operator",
    "console",
    "console-operator",
    "console-user-settings",
    "controller-manager",
    "controller-manager-operator",
    "dns",
    "dns-operator",
    "etcd",
    "etcd-operator",
    "host-network",
    "image-registry",
    "ingress",
    "ingress-canary",
    "ingress-operator",
    "insights",
    "kni-infra",
    "kube-apiserver",
    "kube-apiserver-operator",
    "kube-controller-manager",
    "kube-controller-manager-operator",
    "kube-scheduler",
    "kube-scheduler-operator",
    "kube-storage-version-migrator",
    "kube-storage-version-migrator-operator",
    "machine-api",
    "machine-config-operator",
    "managed-upgrade-operator",
    "marketplace",
    "monitoring",
    "multus",
    "network-diagnostics",
    "network-operator",
    "oauth-apiserver",
    "openstack-infra",
    "operator-lifecycle-manager",
    "operators",
    "ovirt-infra",
    "ovn-kubernetes",
    "sdn",
    "service-ca",
    "service-ca-operator",
];

/// Whether the namespace belongs to the platform; the empty namespace does.
pub fn is_openshift(namespace: &str) -> bool {
    let known = |rest: &str| AFTER.binary_search(&rest).is_ok();
    WHOLE.contains(&namespace) || namespace.strip_prefix("openshift-").is_some_and(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(AFTER.is_sorted());
    }

    #[test]
    fn no_namespace_is_the_platforms_and_others_are_not() {
        for namespace in
            ["", "openshift", "openshift-etcd", "openshift-azure-logging", "openshift-service-ca-operator"]
        {
            assert!(is_openshift(namespace), "{namespace}");
        }
        for namespace in ["default", "openshift-", "openshift-mine", "etcd", "kube-system"] {
            assert!(!is_openshift(namespace), "{namespace}");
        }
    }
}
