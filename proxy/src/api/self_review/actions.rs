//! What a review asks for, and whether a grant's rights leave it to the cluster.

use http::Method;
use rp_documents::Rights;
use serde_json::Value;

use super::super::request::{Classified, classify};
use super::super::rules::needed;
use super::super::session_kind::{SessionKind, session_kind};

/// Verbs of requests for resources.
pub(super) const VERBS: [&str; 8] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
/// Stands for all in a rule or a review.
pub(super) const ALL: &str = "*";
/// The proxy never passes `Impersonate-*` headers on.
const IMPERSONATE: &str = "impersonate";

/// One action: a verb on a resource, or on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action<'a> {
    Resource { verb: &'a str, group: &'a str, resource: &'a str, subresource: &'a str, name: &'a str },
    Path { verb: &'a str, path: &'a str },
}

/// What an action takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    Rights(Rights),
    /// No grant gives it; the sentence says why.
    Never(&'static str),
}

impl<'a> Action<'a> {
    /// That of a review; `None` when it names none, or both a resource and a path.
    pub(super) fn of_review(review: &'a Value) -> Option<Self> {
        let spec = review.get("spec")?;
        let part = |name: &str| spec.get(name).filter(|part| part.is_object());
        match (part("resourceAttributes"), part("nonResourceAttributes")) {
            (Some(part), None) => Some(Self::Resource {
                verb: text(part, "verb"),
                group: text(part, "group"),
                resource: text(part, "resource"),
                subresource: text(part, "subresource"),
                name: text(part, "name"),
            }),
            (None, Some(part)) => Some(Self::Path { verb: text(part, "verb"), path: text(part, "path") }),
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    /// Why a grant with these rights refuses it; `None`: the cluster decides.
    pub(super) fn refusal(self, held: Rights) -> Option<String> {
        match self.demand() {
            Demand::Rights(needed) if held >= needed => None,
            Demand::Rights(needed) => Some(format!(
                "your grant has {} rights, and this needs a grant with {} rights",
                held.name(),
                needed.name()
            )),
            Demand::Never(sentence) => Some(sentence.to_owned()),
        }
    }

    /// What it takes, as the request that it stands for would be judged.
    pub(super) fn demand(self) -> Demand {
        match self {
            Self::Resource { verb: IMPERSONATE, .. } => {
                Demand::Never("Impersonate-* headers are not passed on: the cluster is told who you are")
            }
            // Among all there is what needs all rights.
            Self::Resource { group: ALL, .. }
            | Self::Resource { resource: ALL, .. }
            | Self::Resource { subresource: ALL, .. } => Demand::Rights(Rights::Admin),
            Self::Resource { verb: ALL, group, resource, subresource, name } => VERBS
                .into_iter()
                .map(|verb| Self::Resource { verb, group, resource, subresource, name }.demand())
                .reduce(Demand::most)
                .unwrap_or(Demand::Rights(Rights::Admin)),
            Self::Resource { .. } => demand_of(&self.classified()),
            Self::Path { .. } => Demand::Rights(needed(&self.classified(), false)),
        }
    }

    /// The request that it stands for.
    fn classified(self) -> Classified {
        match self {
            Self::Resource { verb, group, resource, subresource, name } => Classified {
                verb: VERBS.into_iter().find(|known| *known == verb).unwrap_or("other"),
                group: group.to_owned(),
                resource: resource.to_owned(),
                subresource: subresource.to_owned(),
                name: name.to_owned(),
                // To a cluster's rules `pods/exec` as a resource means the subresource.
                odd: resource.contains('/'),
                watch: verb == "watch",
                // Of a kubelet's paths, the harmless ones: a review names none.
                tail: if subresource == "proxy" { "/metrics".to_owned() } else { String::new() },
                ..Classified::default()
            },
            Self::Path { verb, path } => {
                let mut request = classify(&Method::GET, path, None);
                if !matches!(verb, "get" | "head") {
                    request.verb = "other";
                }
                request
            }
        }
    }
}

fn demand_of(request: &Classified) -> Demand {
    match session_kind(request, false) {
        SessionKind::Refused(sentence) => Demand::Never(sentence),
        SessionKind::Answer
        | SessionKind::Session
        | SessionKind::Bytes
        | SessionKind::Unknown
        | SessionKind::Kubelet => Demand::Rights(needed(request, false)),
    }
}

impl Demand {
    /// Whether a grant with these rights leaves the action to the cluster.
    pub(super) fn is_met(self, held: Rights) -> bool {
        match self {
            Self::Rights(needed) => held >= needed,
            Self::Never(_) => false,
        }
    }

    fn most(self, other: Self) -> Self {
        match (self, other) {
            (Self::Rights(one), Self::Rights(two)) => Self::Rights(one.max(two)),
            (never @ Self::Never(_), _) | (_, never @ Self::Never(_)) => never,
        }
    }
}

fn text<'a>(part: &'a Value, name: &str) -> &'a str {
    part.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(verb: &str, what: &str) -> Demand {
        if what.starts_with('/') {
            return Action::Path { verb, path: what }.demand();
        }
        let (what, name) = what.split_once('=').unwrap_or((what, ""));
        let (what, subresource) = what.split_once('/').unwrap_or((what, ""));
        let (resource, group) = what.split_once('.').unwrap_or((what, ""));
        Action::Resource { verb, group, resource, subresource, name }.demand()
    }

    #[test]
    fn an_action_takes_what_its_request_takes() {
        use Rights::{Admin, Read, Write};
        for (verb, what, rights) in [
            ("get", "pods", Read),
            ("list", "configmaps", Read),
            ("watch", "deployments.apps", Read),
            ("get", "pods/log", Read),
            ("get", "clusterroles.rbac.authorization.k8s.io", Read),
            ("create", "selfsubjectaccessreviews.authorization.k8s.io", Read),
            ("create", "pods", Write),
            ("deletecollection", "pods", Write),
            ("create", "pods/exec", Write),
            ("get", "pods/exec", Write),
            ("use", "securitycontextconstraints.security.openshift.io", Write),
            ("*", "pods", Write),
            ("get", "secrets", Admin),
            ("get", "Secrets", Admin),
            ("watch", "secrets", Admin),
            ("create", "serviceaccounts/token", Admin),
            ("create", "clusterrolebindings.rbac.authorization.k8s.io", Admin),
            ("escalate", "clusterroles.rbac.authorization.k8s.io", Admin),
            ("get", "nodes/proxy", Admin),
            ("get", "*", Admin),
            ("*", "*", Admin),
            ("get", "pods.*", Admin),
            ("get", "/version", Read),
            ("head", "/healthz/ping", Read),
            ("get", "/api/*", Read),
            ("post", "/version", Admin),
            ("get", "/debug/pprof", Admin),
            ("get", "/*", Admin),
            ("get", "/api/v1/secrets", Admin),
        ] {
            assert_eq!(demand(verb, what), Demand::Rights(rights), "{verb} {what}");
        }
        let (verb, resource) = ("get", "pods/exec");
        let joined = Action::Resource { verb, group: "", resource, subresource: "", name: "" };
        assert_eq!(joined.demand(), Demand::Rights(Admin));
        for (verb, what) in
            [("impersonate", "users"), ("create", "nodes/proxy"), ("create", "pods/proxy=a:10250")]
        {
            assert!(matches!(demand(verb, what), Demand::Never(_)), "{verb} {what}");
        }
    }
}
