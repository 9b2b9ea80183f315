//! Which objects of a cluster administrators' tools may read (`contract/frontend.md` §11.2).

use rp_api::CloudError;
use rp_openshift::namespaces::is_openshift;

use super::kubernetes::Resource;

/// Groups whose objects outside of any namespace may be read.
const GROUPS: [&str; 12] = [
    "apiserver.openshift.io",
    "aro.openshift.io",
    "authorization.openshift.io",
    "certificates.k8s.io",
    "config.openshift.io",
    "console.openshift.io",
    "imageregistry.operator.openshift.io",
    "machine.openshift.io",
    "machineconfiguration.openshift.io",
    "metrics.k8s.io",
    "operator.openshift.io",
    "rbac.authorization.k8s.io",
];

/// Whether that may be read; both names may be empty. `unrestricted` allows every namespace and cluster-scoped objects.
///
/// # Errors
/// The rule that is broken, in the contract's order.
pub(super) fn read(
    resource: &Resource,
    namespace: &str,
    name: &str,
    unrestricted: bool,
) -> Result<(), CloudError> {
    let forbidden = |message: String| Err(CloudError::new(403, "Forbidden", "", message));
    let core_nodes = resource.group.is_empty() && resource.name == "nodes";
    if !unrestricted && namespace.is_empty() && !GROUPS.contains(&resource.group.as_str()) && !core_nodes {
        return forbidden(format!("Access to cluster-scoped object '{resource}' is forbidden."));
    }
    if !unrestricted && !namespace.is_empty() && !is_openshift(namespace) {
        return forbidden(format!("Access to the provided namespace '{namespace}' is forbidden."));
    }
    if rp_access::credentials::carried_by(&resource.group, &resource.name, "")
        || resource.group == "oauth.openshift.io"
    {
        return forbidden("Access to secrets is forbidden.".to_owned());
    }
    for (what, text) in [("namespace", namespace), ("name", name)] {
        if !text.is_empty() && !is_name(text) {
            return Err(CloudError::invalid("", format!("The provided {what} '{text}' is invalid.")));
        }
    }
    Ok(())
}

/// `(?i)^[-a-z0-9.]{1,255}$`, and no path traversal.
fn is_name(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
    (1..=255).contains(&text.len()) && text.bytes().all(good) && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, name: &str) -> Resource {
        let (group, name) = (group.to_owned(), name.to_owned());
        Resource { group, version: "v1".to_owned(), kind: name.clone(), name }
    }

    fn says(
        resource: &Resource,
        namespace: &str,
        name: &str,
        unrestricted: bool,
    ) -> Result<(), (u16, String)> {
        read(resource, namespace, name, unrestricted).map_err(|error| (error.status, error.body.message))
    }

    #[test]
    fn the_platform_may_be_read_and_the_rest_may_not() {
        let pods = resource("", "pods");
        assert_eq!(says(&pods, "openshift-etcd", "", false), Ok(()));
        assert_eq!(says(&resource("", "nodes"), "", "n", false), Ok(()));
        assert_eq!(says(&resource("machine.openshift.io", "machines"), "", "", false), Ok(()));
        let forbidden = |text: &str| Err((403, text.to_owned()));
        assert_eq!(
            says(&pods, "", "", false),
            forbidden("Access to cluster-scoped object '/v1, Resource=pods' is forbidden.")
        );
        assert_eq!(
            says(&pods, "default", "", false),
            forbidden("Access to the provided namespace 'default' is forbidden.")
        );
        assert_eq!(
            says(&pods, "openshift-authentication", "", false),
            forbidden("Access to the provided namespace 'openshift-authentication' is forbidden.")
        );
        assert_eq!(says(&pods, "default", "", true), Ok(()));
        assert_eq!(says(&pods, "", "", true), Ok(()));
    }

    #[test]
    fn secrets_are_never_read() {
        for resource in [
            resource("", "secrets"),
            resource("metrics.k8s.io", "secrets"),
            resource("oauth.openshift.io", "x"),
            resource("machineconfiguration.openshift.io", "machineconfigs"),
            resource("machineconfiguration.openshift.io", "controllerconfigs"),
        ] {
            for (namespace, unrestricted) in [("openshift-config", false), ("default", true), ("", true)] {
                let told = says(&resource, namespace, "a", unrestricted);
                assert_eq!(told, Err((403, "Access to secrets is forbidden.".to_owned())), "{resource:?}");
            }
        }
    }

    #[test]
    fn names_stay_in_their_segment() {
        let pods = resource("", "pods");
        for bad in ["a/b", "..", ".", "a%2fb", "a?x", "ä", "system:node", &"a".repeat(256)] {
            let told = says(&pods, "openshift-etcd", bad, false).unwrap_err();
            assert_eq!(told, (400, format!("The provided name '{bad}' is invalid.")));
            let told = says(&pods, bad, "a", true).unwrap_err();
            assert_eq!(told, (400, format!("The provided namespace '{bad}' is invalid.")));
        }
        assert_eq!(says(&pods, "openshift-etcd", "Etcd-0.x", false), Ok(()));
    }
}
