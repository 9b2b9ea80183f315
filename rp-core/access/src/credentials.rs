//! Which objects of a cluster carry credentials, whatever they are called: one table for the API proxy, for pages and
//! for administrators' tools.
//!
//! Reading one of them is taking an access, so it needs admin rights and a durable audit entry, and pages never show
//! them. The sources are the API references of Kubernetes 1.32 and OpenShift 4.18. Config maps may hold some among much
//! that everybody reads: of them, [`Redactor`] withholds the values that do from who may only read (decision 18).

mod base64_runs;
mod budget;
mod escapes;
mod in_text;
mod members;
mod redactor;

pub use redactor::{Redactor, withhold};

/// A resource of the table.
struct Row {
    /// `*`: every group.
    group: &'static str,
    /// `*`: every resource.
    resource: &'static str,
    /// `*`: the resource itself and all its subresources.
    subresource: &'static str,
}

const fn row(group: &'static str, resource: &'static str, subresource: &'static str) -> Row {
    Row { group, resource, subresource }
}

const OAUTH: &str = "oauth.openshift.io";
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";

const TABLE: [Row; 13] = [
    row("*", "secrets", "*"),
    // Not a resource of any known group, so nothing else has this name.
    row("*", "secret", "*"),
    // The pull secrets of a namespace: imagestreams/NAME/secrets of image.openshift.io.
    row("*", "*", "secrets"),
    row("", "serviceaccounts", "token"),
    row("authentication.k8s.io", "tokenreviews", "*"),
    row("authentication.k8s.io", "tokenrequests", "*"),
    row(OAUTH, "oauthaccesstokens", "*"),
    row(OAUTH, "oauthauthorizetokens", "*"),
    row(OAUTH, "oauthclients", "*"),
    row(OAUTH, "oauthclientauthorizations", "*"),
    row(OAUTH, "useroauthaccesstokens", "*"),
    // The cluster's pull secret and the kubelets' bootstrap credentials are files of a rendered machine config, and
    // members of the controller's.
    row(MACHINE_CONFIG, "machineconfigs", "*"),
    row(MACHINE_CONFIG, "controllerconfigs", "*"),
];

/// Whether that carries credentials; `group` is empty for the core, `subresource` for the object itself.
pub fn carried_by(group: &str, resource: &str, subresource: &str) -> bool {
    TABLE.iter().any(|row| {
        (row.group == "*" || spells(group, row.group))
            && (row.resource == "*" || spells(resource, row.resource))
            && (row.subresource == "*" || spells(subresource, row.subresource))
    })
}

/// Whether values of such an object may be credentials, and are withheld from who may only read.
pub fn may_be_held_by(group: &str, resource: &str) -> bool {
    group.is_empty() && spells(resource, "configmaps")
}

/// Whether two names are equal without regard to case and punctuation. An API server accepts one spelling only, but our
/// decision must not depend on that.
fn spells(asked: &str, name: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = u8> {
        text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
    }
    asked == name || letters(asked).eq(letters(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_any_name() {
        for (group, resource, subresource) in [
            ("", "secrets", ""),
            ("", "Secrets", ""),
            ("", "SECRETS", ""),
            ("", "secrets ", ""),
            ("", "se-crets", ""),
            ("", "secret", ""),
            ("metrics.k8s.io", "secrets", ""),
            ("image.openshift.io", "imagestreams", "secrets"),
            ("image.openshift.io", "imagestreams", "Secrets"),
            ("", "serviceaccounts", "token"),
            ("oauth.openshift.io", "oauthaccesstokens", ""),
            ("oauth.openshift.io", "OAuthAuthorizeTokens", ""),
            ("oauth.openshift.io", "oauthclients", ""),
            ("oauth.openshift.io", "useroauthaccesstokens", ""),
            ("authentication.k8s.io", "tokenreviews", ""),
            ("machineconfiguration.openshift.io", "machineconfigs", ""),
            ("machineconfiguration.openshift.io", "controllerconfigs", "status"),
        ] {
            assert!(carried_by(group, resource, subresource), "{group} {resource} {subresource}");
        }
    }

    #[test]
    fn config_maps_are_searched_by_any_name() {
        for resource in ["configmaps", "ConfigMaps", "config-maps"] {
            assert!(may_be_held_by("", resource), "{resource}");
        }
        assert!(!may_be_held_by("", "pods") && !may_be_held_by("example.io", "configmaps"));
    }

    #[test]
    fn what_carries_none_is_not_held_back() {
        for (group, resource, subresource) in [
            ("", "pods", "log"),
            ("", "serviceaccounts", ""),
            ("", "configmaps", ""),
            ("external-secrets.io", "externalsecrets", ""),
            ("cloudcredential.openshift.io", "credentialsrequests", ""),
            ("machineconfiguration.openshift.io", "machineconfigpools", ""),
            ("certificates.k8s.io", "certificatesigningrequests", ""),
            ("image.openshift.io", "imagestreams", "layers"),
            ("config.openshift.io", "oauths", ""),
        ] {
            assert!(!carried_by(group, resource, subresource), "{group} {resource} {subresource}");
        }
    }
}
