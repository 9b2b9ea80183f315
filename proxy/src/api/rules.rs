//! What rights allow (`contract/rules.md` §3.6): reading is default-deny, writing is everything but RBAC,
//! Secrets and token requests, admin is everything.

use rp_access::credentials;
use rp_documents::Rights;

use super::request::Classified;
use super::session_kind::{SessionKind, session_kind};

/// A request that the grant does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// What was asked, for the person: "create pods/exec".
    pub what: String,
    pub held: Rights,
    pub needed: Rights,
    /// Why the grant holds less than it was given with.
    pub fallen: Option<&'static str>,
    /// What to do, where it is something else than to elevate.
    pub advice: Option<&'static str>,
}

impl std::fmt::Display for Denied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} needs {} rights", self.what, self.needed.name())
    }
}

/// Checks a request; `upgrade` is whether the client asks to leave HTTP.
///
/// # Errors
/// [`Denied`] says what would be needed.
pub fn allow(request: &Classified, upgrade: bool, held: Rights) -> Result<(), Denied> {
    permit(request, upgrade, needed(request, upgrade), held)
}

/// As [`allow`], when it is known what a request needs.
pub(super) fn permit(
    request: &Classified,
    upgrade: bool,
    needed: Rights,
    held: Rights,
) -> Result<(), Denied> {
    if held >= needed {
        return Ok(());
    }
    Err(Denied { what: what(request, upgrade), held, needed, fallen: None, advice: None })
}

/// The rights that a request needs.
pub(super) fn needed(request: &Classified, upgrade: bool) -> Rights {
    if request.odd {
        return Rights::Admin;
    }
    if let Some(path) = &request.non_resource {
        let reads = request.verb == "get" && !upgrade && is_readable_path(path);
        return if reads { Rights::Read } else { Rights::Admin };
    }
    if is_guarded(request)
        || matches!(session_kind(request, upgrade), SessionKind::Kubelet | SessionKind::Refused(_))
    {
        return Rights::Admin;
    }
    // What is searched for credentials is searched as an answer.
    let searched = credentials::may_be_held_by(&request.group, &request.resource);
    if upgrade && (request.verb != "watch" || searched) {
        return Rights::Write;
    }
    if is_read(request) || is_self_review(request) { Rights::Read } else { Rights::Write }
}

fn is_read(request: &Classified) -> bool {
    let plain = matches!(request.subresource.as_str(), "" | "log" | "status" | "scale");
    plain && matches!(request.verb, "get" | "list" | "watch")
}

/// A client asks what it may do or who it is.
pub(super) fn is_self_review(request: &Classified) -> bool {
    let group = matches!(
        request.group.as_str(),
        "authorization.k8s.io" | "authentication.k8s.io" | "authorization.openshift.io"
    );
    group
        && request.verb == "create"
        && request.name.is_empty()
        && request.resource.starts_with("selfsubject")
        && request.resource.ends_with("reviews")
}

/// What carries credentials is neither read nor written below admin; rights themselves are not written.
fn is_guarded(request: &Classified) -> bool {
    if carries_credentials(request) {
        return true;
    }
    match request.group.as_str() {
        "rbac.authorization.k8s.io" => !is_read(request),
        // OpenShift's older names of the same roles and bindings.
        "authorization.openshift.io" => !is_read(request) && !is_self_review(request),
        "certificates.k8s.io" => !is_read(request),
        _ => false,
    }
}

/// Whether that carries credentials, also with what people write behind a name or beside it elsewhere: `secrets.v1`,
/// `pods,secrets`. No API server serves such a name, and the decision must not depend on that.
fn carries_credentials(request: &Classified) -> bool {
    let carried = |resource: &str| credentials::carried_by(&request.group, resource, &request.subresource);
    let pieces = || request.resource.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    carried(&request.resource) || pieces().any(carried)
}

fn is_readable_path(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let exact =
        ["", "/version", "/api", "/apis", "/metrics", "/.well-known/openid-configuration", "/openid/v1/jwks"];
    let below = ["/api", "/apis", "/openapi", "/healthz", "/livez", "/readyz", "/swagger-ui"];
    exact.contains(&path)
        || path == "/.well-known/oauth-authorization-server"
        || below.iter().any(|prefix| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

/// A short description of a stream for the list of open streams: `watch pods in default`.
pub(super) fn stream_of(request: &Classified) -> String {
    let mut text = match request.subresource.as_str() {
        "" => format!("{} {}", request.verb, request.resource),
        sub => format!("{sub} {}", request.resource),
    };
    for (word, part) in [(" in ", &request.namespace), (" ", &request.name)] {
        if !part.is_empty() {
            text.push_str(word);
            text.push_str(part);
        }
    }
    text
}

fn what(request: &Classified, upgrade: bool) -> String {
    let clean = |text: &str| rp_base::text::clean(text, 200);
    let suffix = if upgrade { " with an upgrade" } else { "" };
    match &request.non_resource {
        Some(path) => format!("{} of {}{suffix}", request.verb, clean(path)),
        None if request.subresource.is_empty() => {
            format!("{} of {}{suffix}", request.verb, clean(&request.resource))
        }
        None => {
            format!(
                "{} of {}/{}{suffix}",
                request.verb,
                clean(&request.resource),
                clean(&request.subresource)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::super::request::classify;
    use super::*;

    fn needs(method: &str, path: &str, upgrade: bool) -> Rights {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        needed(&classify(&method, path, query), upgrade)
    }

    #[test]
    fn reading_is_default_deny() {
        for path in [
            "/api/v1/pods",
            "/api/v1/namespaces/a/pods/b/log?follow=true",
            "/apis/config.openshift.io/v1/clusterversions/version",
            "/apis/apps/v1/namespaces/a/deployments/b/scale",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "/version",
            "/readyz/etcd",
            "/openapi/v3/apis/apps/v1",
            "/apis",
            "/",
        ] {
            assert_eq!(needs("GET", path, false), Rights::Read, "{path}");
        }
        for path in [
            "/api/v1/namespaces/a/pods/b/exec?command=sh",
            "/api/v1/namespaces/a/pods/b/attach",
            "/api/v1/namespaces/a/pods/b/portforward",
            "/api/v1/namespaces/a/pods/b/proxy/x",
            "/api/v1/namespaces/a/services/b/proxy",
            "/api/v1/nodes/n/somethingnew",
        ] {
            assert_eq!(needs("GET", path, false), Rights::Write, "{path}");
            assert_eq!(needs("GET", path, true), Rights::Write, "{path} upgraded");
        }
    }

    #[test]
    fn an_upgrade_is_never_a_read_but_for_watch() {
        assert_eq!(needs("GET", "/api/v1/pods?watch=true", true), Rights::Read);
        assert_eq!(needs("GET", "/api/v1/pods", true), Rights::Write);
        assert_eq!(needs("GET", "/api/v1/namespaces/a/pods/b/exec?watch=true", true), Rights::Write);
        assert_eq!(needs("GET", "/version", true), Rights::Admin);
        // A watch by WebSocket is not searched for credentials.
        assert_eq!(needs("GET", "/api/v1/configmaps?watch=true", false), Rights::Read);
        assert_eq!(needs("GET", "/api/v1/configmaps?watch=true", true), Rights::Write);
    }

    #[test]
    fn secrets_tokens_and_rights_need_admin() {
        for (method, path) in [
            ("GET", "/api/v1/secrets"),
            ("GET", "/api/v1/namespaces/a/%73ecrets/b"),
            ("GET", "/api/v1/secrets?watch=true"),
            ("GET", "/api/v1/watch/secrets"),
            ("DELETE", "/api/v1/namespaces/a/secrets/b"),
            ("POST", "/api/v1/namespaces/a/serviceaccounts/b/token"),
            ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"),
            ("GET", "/apis/oauth.openshift.io/v1/oauthaccesstokens"),
            ("GET", "/apis/oauth.openshift.io/v1/oauthauthorizetokens?watch=true"),
            ("GET", "/apis/image.openshift.io/v1/namespaces/a/imagestreams/b/secrets"),
            ("GET", "/apis/machineconfiguration.openshift.io/v1/machineconfigs/rendered-master-1"),
            ("GET", "/apis/machineconfiguration.openshift.io/v1/controllerconfigs"),
            ("GET", "/api/v1/Secrets"),
            ("GET", "/api/v1/namespaces/a/SECRETS/b"),
            ("GET", "/api/v1/secret"),
            ("GET", "/api/v1/namespaces/a/secrets./b"),
            ("GET", "/api/v1/secrets.v1"),
            ("GET", "/api/v1/pods,secrets"),
            ("GET", "/api//v1/secrets"),
            ("GET", "/api/v1/namespaces//secrets"),
            ("GET", "/API/v1/secrets"),
            ("GET", "/api/v1/secrets%20"),
            ("GET", "/api/v1/secrets%00"),
            ("GET", "/api/v1/%EF%BD%93ecrets"),
            ("GET", "/debug/pprof/heap"),
            ("GET", "/logs/"),
            ("GET", "/api/v1/namespaces/a/pods/b%2fexec"),
            ("GET", "/api/v1/namespaces/../secrets"),
            ("CONNECT", "/version"),
        ] {
            assert_eq!(needs(method, path, false), Rights::Admin, "{method} {path}");
        }
    }

    #[test]
    fn self_reviews_are_reads_and_changes_are_writes() {
        let review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        assert_eq!(needs("POST", review, false), Rights::Read);
        assert_eq!(needs("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", false), Rights::Read);
        assert_eq!(needs("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", false), Rights::Write);
        assert_eq!(needs("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", false), Rights::Write);
        assert_eq!(needs("OPTIONS", "/api/v1/pods", false), Rights::Write);
        for path in [
            "/api/v1/namespaces/a/pods?watch=true",
            "/api/v1/watch/namespaces/a/pods",
            "/api/v1/namespaces/a/pods/b/log?watch=1",
        ] {
            for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
                assert_eq!(needs(method, path, false), Rights::Write, "{method} {path}");
            }
        }
    }

    #[test]
    fn says_what_would_be_needed() {
        let request = classify(&Method::GET, "/api/v1/namespaces/a/pods/b/exec", None);
        let denied = allow(&request, true, Rights::Read).unwrap_err();
        assert_eq!(denied.to_string(), "get of pods/exec with an upgrade needs write rights");
        assert_eq!(allow(&request, true, Rights::Write), Ok(()));
    }
}
