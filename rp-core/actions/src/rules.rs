//! Which objects of a cluster administrators' tools and people may read and change, and how things may be named
//! (`contract/frontend.md` §11.2, §11.3).

use rp_openshift::namespaces::is_openshift;

use crate::resource::Resource;

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

/// A rule that is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A name that is none (400).
    #[error("{0}")]
    Invalid(String),
    /// What may not be touched (403).
    #[error("{0}")]
    Forbidden(String),
}

/// Whether that may be read; both names may be empty. `unrestricted` allows every namespace and cluster-scoped objects.
///
/// # Errors
/// The rule that is broken, in the contract's order.
pub fn read(resource: &Resource, namespace: &str, name: &str, unrestricted: bool) -> Result<(), RuleError> {
    scope(resource, namespace, unrestricted)?;
    object(resource, namespace, name, false)
}

/// Whether that object may be changed.
///
/// # Errors
/// The rule that is broken, in the contract's order.
pub fn write(resource: &Resource, namespace: &str, name: &str) -> Result<(), RuleError> {
    scope(resource, namespace, false)?;
    object(resource, namespace, name, true)
}

/// Rules 2 and 3: the platform's objects.
fn scope(resource: &Resource, namespace: &str, unrestricted: bool) -> Result<(), RuleError> {
    let forbidden = |message: String| Err(RuleError::Forbidden(message));
    let core_nodes = resource.group.is_empty() && resource.name == "nodes";
    if !unrestricted && namespace.is_empty() && !GROUPS.contains(&resource.group.as_str()) && !core_nodes {
        return forbidden(format!("Access to cluster-scoped object '{resource}' is forbidden."));
    }
    if !unrestricted && !namespace.is_empty() && !is_openshift(namespace) {
        return forbidden(format!("Access to the provided namespace '{namespace}' is forbidden."));
    }
    Ok(())
}

/// Rules 4 to 6: no credentials, no roles, and names that stay in their segment of a path.
fn object(resource: &Resource, namespace: &str, name: &str, writes: bool) -> Result<(), RuleError> {
    let forbidden = |message: &str| Err(RuleError::Forbidden(message.to_owned()));
    if rp_access::credentials::carried_by(&resource.group, &resource.name, "")
        || resource.group == "oauth.openshift.io"
    {
        return forbidden("Access to secrets is forbidden.");
    }
    if writes && matches!(&*resource.group, "rbac.authorization.k8s.io" | "authorization.openshift.io") {
        return forbidden("Write access to RBAC is forbidden.");
    }
    for (what, text, needed) in [("namespace", namespace, false), ("name", name, writes)] {
        if (needed || !text.is_empty()) && !is_name(text) {
            return Err(RuleError::Invalid(format!("The provided {what} '{text}' is invalid.")));
        }
    }
    Ok(())
}

/// A namespace of the platform (`contract/frontend.md` §11.3 rows of logs and exec).
///
/// # Errors
/// 400: it is no name. 403: it is none of the platform's.
pub fn platform_namespace(namespace: &str, invalid: impl Fn(&str) -> String) -> Result<(), RuleError> {
    if !is_name(namespace) {
        return Err(RuleError::Invalid(invalid(namespace)));
    }
    if is_openshift(namespace) {
        return Ok(());
    }
    let message = format!("Access to the provided namespace '{namespace}' is forbidden.");
    Err(RuleError::Forbidden(message))
}

/// `(?i)^[-a-z0-9.]{1,255}$`, and no path traversal.
pub fn is_name(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
    (1..=255).contains(&text.len()) && text.bytes().all(good) && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, name: &str) -> Resource {
        Resource::v1(group, name, name)
    }

    fn status(error: RuleError) -> (u16, String) {
        match error {
            RuleError::Invalid(message) => (400, message),
            RuleError::Forbidden(message) => (403, message),
        }
    }

    fn says(
        resource: &Resource,
        namespace: &str,
        name: &str,
        unrestricted: bool,
    ) -> Result<(), (u16, String)> {
        read(resource, namespace, name, unrestricted).map_err(status)
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
    fn what_is_changed_is_named_and_gives_no_rights() {
        let told = |resource: &Resource, namespace: &str, name: &str| {
            write(resource, namespace, name).map_err(status)
        };
        let pods = resource("", "pods");
        assert_eq!(told(&pods, "openshift-etcd", "a"), Ok(()));
        let unnamed = (400, "The provided name '' is invalid.".to_owned());
        assert_eq!(told(&pods, "openshift-etcd", ""), Err(unnamed));
        for group in ["rbac.authorization.k8s.io", "authorization.openshift.io"] {
            let roles = resource(group, "roles");
            let refused = (403, "Write access to RBAC is forbidden.".to_owned());
            assert_eq!(told(&roles, "openshift-etcd", "a"), Err(refused));
            assert_eq!(read(&roles, "openshift-etcd", "a", false), Ok(()));
        }
        let outside = (403, "Access to the provided namespace 'default' is forbidden.".to_owned());
        assert_eq!(told(&pods, "default", "a"), Err(outside));
        let secret = (403, "Access to secrets is forbidden.".to_owned());
        assert_eq!(told(&resource("", "secrets"), "openshift-etcd", "a"), Err(secret));
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
