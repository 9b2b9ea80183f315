//! The namespaces that pages show: those of OpenShift itself (`contract/monitor.md` §9.10) and a few more.

use rp_openshift::namespaces::is_openshift;

/// In addition to the contract's list: namespaces that pages show too (sign-in pods, and those of Kubernetes).
static ALSO: &[&str] = &["kube-system", "openshift-authentication", "openshift-user-workload-monitoring"];

/// Whether objects of this namespace are shown: those of OpenShift, not of the customer.
pub fn is_system(namespace: &str) -> bool {
    !namespace.is_empty() && is_openshift(namespace) || ALSO.contains(&namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customers_are_not_in_it() {
        for (name, shown) in
            [("openshift", true), ("openshift-etcd", true), ("default", false), ("shop", false), ("", false)]
        {
            assert_eq!(is_system(name), shown, "{name}");
        }
    }
}
