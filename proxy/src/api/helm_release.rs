//! Releases of Helm for a grant that may write, where `access.helm_secrets` is set (decision 19).
//!
//! Helm keeps each revision of a release in a Secret of type `helm.sh/release.v1` called
//! `sh.helm.release.v1.RELEASE.vREVISION`. With write rights these Secrets are read and written, and no others: a name
//! alone proves nothing, so the type is checked by the proxy or demanded of the API server in the same request. The type
//! of a Secret never changes (API servers refuse that), so what is checked once stays true.

mod bodies;
mod exchange;
mod query;

use std::borrow::Cow;

use http::Method;
use http::uri::PathAndQuery;
use percent_encoding::percent_decode_str;

use super::address::path_of;
use super::request::Classified;

/// The type of the Secrets that hold releases.
const TYPE: &str = "helm.sh/release.v1";
/// Their names begin with this.
const NAME_PREFIX: &str = "sh.helm.release.v1.";
/// A name of a Kubernetes object has at most so many bytes (RFC 1123).
const MOST_NAME: usize = 253;

/// What is said where the setting is off.
pub(super) const ADVICE_OFF: &str = "Helm keeps its releases in Secrets. Run it with HELM_DRIVER=configmap, which needs \
    write rights only; or let the operators of this service set access.helm_secrets; or elevate to admin rights.";

/// What is asked of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReleaseRequest {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
}

impl ReleaseRequest {
    /// The action of the audit entry.
    pub(super) const fn action(self) -> &'static str {
        match self {
            Self::Get => "helm.get",
            Self::List => "helm.list",
            Self::Watch => "helm.watch",
            Self::Create => "helm.create",
            Self::Update => "helm.update",
            Self::Patch => "helm.patch",
            Self::Delete => "helm.delete",
        }
    }

    /// What a request asks of releases, by method and path alone; `None`: it is no request for releases. Paths that could
    /// be written otherwise (escapes, `/watch/`, other versions) are none, and neither is a deletion of a collection.
    fn of_path(method: &Method, path: &str, request: &Classified) -> Option<Self> {
        let secret = SecretPath::parse(path)?;
        if request.odd {
            return None;
        }
        match (method.as_str(), secret.name) {
            ("GET", None) if request.watch => Some(Self::Watch),
            ("GET", None) => Some(Self::List),
            ("POST", None) if secret.namespaced => Some(Self::Create),
            ("GET", Some(_)) => Some(Self::Get),
            ("PUT", Some(_)) => Some(Self::Update),
            ("PATCH", Some(_)) => Some(Self::Patch),
            ("DELETE", Some(_)) => Some(Self::Delete),
            _ => None,
        }
    }
}

/// The path of a collection of Secrets, or of one that has the name of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SecretPath<'a> {
    namespaced: bool,
    name: Option<&'a str>,
}

impl<'a> SecretPath<'a> {
    fn parse(path: &'a str) -> Option<Self> {
        let rest = path.strip_prefix("/api/v1/")?;
        let (namespaced, rest) = match rest.strip_prefix("namespaces/") {
            None => (false, rest),
            Some(rest) => {
                let (namespace, rest) = rest.split_once('/')?;
                if !is_plain(namespace) {
                    return None;
                }
                (true, rest)
            }
        };
        match rest.strip_prefix("secrets")? {
            "" => Some(Self { namespaced, name: None }),
            name => {
                let name = name.strip_prefix('/').filter(|name| namespaced && is_release_name(name))?;
                Some(Self { namespaced, name: Some(name) })
            }
        }
    }
}

/// Whether a Secret of that name may be a release: `sh.helm.release.v1.` and more letters of a name.
fn is_release_name(name: &str) -> bool {
    name.len() <= MOST_NAME && name.strip_prefix(NAME_PREFIX).is_some_and(is_plain)
}

/// Letters of names that mean the same in every spelling.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}

/// A request for releases that a write grant covers, or why it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release {
    /// What is asked, or what is wrong with it.
    pub(super) asked: Result<ReleaseRequest, &'static str>,
    /// Path and query towards the cluster.
    pub(super) path: PathAndQuery,
}

/// Reads a request for releases; `None`: it is none, and is judged as any other. `path` as it goes to the cluster.
/// A list or a watch is limited to releases by a field selector.
pub(super) fn release(method: &Method, path: &PathAndQuery, request: &Classified) -> Option<Release> {
    let asked = ReleaseRequest::of_path(method, path.path(), request)?;
    let kept = |asked| Release { asked, path: path.clone() };
    Some(match asked {
        ReleaseRequest::List | ReleaseRequest::Watch => match query::limited(path.query()) {
            Ok(query) => match path_of(path.path(), Some(&query)) {
                Some(path) => Release { asked: Ok(asked), path },
                None => kept(Err("its selectors are too long")),
            },
            Err(why) => kept(Err(why)),
        },
        // An API server reads options from the query only where there is no body, and the proxy sends one.
        ReleaseRequest::Delete if path.query().is_some_and(|query| !query.is_empty()) => {
            kept(Err("the options of a deletion stand in its body, not in its query"))
        }
        ReleaseRequest::Get
        | ReleaseRequest::Create
        | ReleaseRequest::Update
        | ReleaseRequest::Patch
        | ReleaseRequest::Delete => kept(Ok(asked)),
    })
}

/// Whether it looks like a request of Helm's own, for a sentence in its refusal.
pub(super) fn looks_like_helm(method: &Method, path: &PathAndQuery, request: &Classified) -> bool {
    let Some(asked) = ReleaseRequest::of_path(method, path.path(), request) else { return false };
    let query = || percent_decode_str(path.query().unwrap_or_default()).decode_utf8_lossy();
    let selects = |query: Cow<'_, str>| query.contains("owner=helm") || query.contains(TYPE);
    match asked {
        ReleaseRequest::List | ReleaseRequest::Watch => selects(query()),
        ReleaseRequest::Create => false,
        ReleaseRequest::Get | ReleaseRequest::Update | ReleaseRequest::Patch | ReleaseRequest::Delete => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::classify;
    use super::*;

    fn of(method: &str, target: &str) -> Option<Release> {
        let path: PathAndQuery = target.parse().unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        release(&method, &path, &classify(&method, path.path(), path.query()))
    }

    #[test]
    fn releases_are_known_by_one_spelling_of_their_path() {
        use ReleaseRequest::{Create, Delete, Get, List, Patch, Update, Watch};
        let one = "/api/v1/namespaces/a/secrets/sh.helm.release.v1.web.v1";
        for (method, target, asked) in [
            ("GET", one, Get),
            ("PUT", one, Update),
            ("PATCH", one, Patch),
            ("DELETE", one, Delete),
            ("POST", "/api/v1/namespaces/a/secrets", Create),
            ("GET", "/api/v1/namespaces/a/secrets", List),
            ("GET", "/api/v1/secrets?labelSelector=owner%3Dhelm", List),
            ("GET", "/api/v1/namespaces/a/secrets?watch=true", Watch),
        ] {
            assert_eq!(of(method, target).unwrap().asked, Ok(asked), "{method} {target}");
        }
        for (method, target) in [
            ("HEAD", one),
            ("POST", one),
            ("OPTIONS", one),
            ("DELETE", "/api/v1/namespaces/a/secrets"),
            ("POST", "/api/v1/secrets"),
            ("HEAD", "/api/v1/namespaces/a/secrets"),
            ("GET", "/api/v1/secrets/sh.helm.release.v1.web.v1"),
            ("GET", "/api/v1/namespaces/a/secrets/sh.helm.release.v1."),
            ("GET", "/api/v1/namespaces/a/secrets/sh.helm.release.v2.web.v1"),
            ("GET", "/api/v1/namespaces/a/secrets/xsh.helm.release.v1.web.v1"),
            ("GET", "/api/v1/namespaces/a/secrets/sh%2ehelm.release.v1.web.v1"),
            ("GET", "/api/v1/namespaces/a/secrets/sh.helm.release.v1.web.v1/status"),
            ("GET", "/api/v1/namespaces/a/secrets/sh.helm.release.v1.web/../other"),
            ("GET", "/api/v1/namespaces/a/secrets/sh.helm.release.v1.web.v1/"),
            ("GET", "/api/v1/namespaces/a/secrets/"),
            ("GET", "/api/v1/namespaces//secrets"),
            ("GET", "/api/v1/watch/namespaces/a/secrets"),
            ("GET", "/api/v1/watch/namespaces/a/secrets/sh.helm.release.v1.web.v1"),
            ("GET", "/api/v2/secrets"),
            ("GET", "/apis/x/v1/secrets"),
            ("GET", "/api/v1/namespaces/a/configmaps"),
        ] {
            assert_eq!(of(method, target), None, "{method} {target}");
        }
    }

    #[test]
    fn a_refused_request_of_helm_is_known_as_one() {
        let looks = |target: &str| {
            let path: PathAndQuery = target.parse().unwrap();
            looks_like_helm(&Method::GET, &path, &classify(&Method::GET, path.path(), path.query()))
        };
        assert!(looks("/api/v1/namespaces/a/secrets?labelSelector=name%3Dweb%2Cowner%3Dhelm"));
        assert!(looks("/api/v1/namespaces/a/secrets/sh.helm.release.v1.web.v1"));
        assert!(!looks("/api/v1/namespaces/a/secrets"));
        assert!(!looks("/api/v1/namespaces/a/secrets/pull-secret"));
    }
}
