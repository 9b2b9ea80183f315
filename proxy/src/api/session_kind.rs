//! Classifies what a request opens in a cluster, independent of the form of the request.
//!
//! The sources are the routes of the API server (`pkg/registry/core/{pod,node,service}/rest`, 1.32) and of the kubelet
//! (`pkg/kubelet/server/server.go`). What runs a command or reads a console is recorded where the policy asks for it.
//! A kubelet's own routes of that kind pass by the recording and by the cluster's audit of exec, so they are refused:
//! a person who needs them has the subresources of pods.

use super::request::Classified;

/// What a request opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// An answer, or a stream of objects or log lines.
    Answer,
    /// A command or the console of a container.
    Session,
    /// Bytes of an application: audited with their full address, and not parsed.
    Bytes,
    /// Leaves HTTP for something that is not known here. It may be a console.
    Unknown,
    /// What a kubelet tells of itself and its node.
    Kubelet,
    /// Always refused; the text names the alternative.
    Refused(&'static str),
}

pub(super) const PLAINLY: &str = "A path that could be read in two ways opens no session: write it plainly";
pub(super) const BY_PODS: &str =
    "A kubelet's commands, consoles and logs are reached by exec, attach, port-forward and log of the pod";
pub(super) const LEGACY: &str = "API servers have no /proxy/ prefix any more: use the proxy subresource";

/// First segments of what a kubelet serves that neither runs nor streams anything.
const KUBELET_READS: [&str; 9] =
    ["configz", "flagz", "healthz", "logs", "metrics", "pods", "runningpods", "stats", "statusz"];
/// Where kubelets listen.
const KUBELET_PORTS: [&str; 2] = ["10250", "10255"];
/// The name of that port in the service that the Prometheus operator makes for kubelets.
const KUBELET_SERVICE: &str = "kubelet";

/// What that request opens; `upgrade` is whether it asks to leave HTTP.
pub(super) fn session_kind(request: &Classified, upgrade: bool) -> SessionKind {
    if request.hides_session {
        return SessionKind::Refused(PLAINLY);
    }
    if request.odd || request.non_resource.is_some() {
        return if upgrade { SessionKind::Unknown } else { SessionKind::Answer };
    }
    let core = request.group.is_empty();
    match (request.resource.as_str(), request.subresource.as_str()) {
        (_, "proxy") if request.legacy_proxy => SessionKind::Refused(LEGACY),
        ("nodes", "proxy") if core => kubelet(request, upgrade),
        ("pods" | "services", "proxy") if core && leads_to_kubelet(request) => kubelet(request, upgrade),
        ("pods" | "services", "proxy") if core => SessionKind::Bytes,
        ("pods", "exec" | "attach") if core => SessionKind::Session,
        ("pods", "portforward") if core => SessionKind::Bytes,
        (_, "") if request.watch => SessionKind::Answer,
        (_, subresource) if upgrade && subresource != "log" => SessionKind::Unknown,
        _ => SessionKind::Answer,
    }
}

fn kubelet(request: &Classified, upgrade: bool) -> SessionKind {
    let first = request.tail.split(['/', '?']).find(|segment| !segment.is_empty()).unwrap_or_default();
    // A path with an escape matches none of these words: they need no escaping.
    if matches!(request.verb, "get" | "list") && !upgrade && KUBELET_READS.contains(&first) {
        SessionKind::Kubelet
    } else {
        SessionKind::Refused(BY_PODS)
    }
}

/// Whether a pod or service is a way to a kubelet: a pod on its node's network has the node's address. Its name is
/// `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`.
fn leads_to_kubelet(request: &Classified) -> bool {
    let mut parts = request.name.rsplitn(3, ':');
    let (last, before) = (parts.next().unwrap_or_default(), parts.next());
    let name = before.unwrap_or(last);
    let port = before.map_or("", |_| last);
    KUBELET_PORTS.contains(&port) || request.resource == "services" && name == KUBELET_SERVICE
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::super::audit::{Weight, weight};
    use super::super::request::{SESSION_WORDS, classify};
    use super::super::rules::needed;
    use super::super::session_endpoints::{SESSION_ENDPOINTS, SessionEndpoint};
    use super::*;

    fn classified(endpoint: &SessionEndpoint) -> Classified {
        let address = endpoint.target();
        let (path, query) =
            address.split_once('?').map_or((&*address, None), |(path, query)| (path, Some(query)));
        classify(&Method::from_bytes(endpoint.method.as_bytes()).unwrap(), path, query)
    }

    #[test]
    fn every_way_to_a_session_is_classified() {
        for endpoint in SESSION_ENDPOINTS {
            let request = classified(endpoint);
            assert_eq!(session_kind(&request, endpoint.upgrade), endpoint.opens, "{endpoint:?}");
            assert_eq!(needed(&request, endpoint.upgrade), endpoint.rights, "{endpoint:?}");
            let answer = endpoint.opens == SessionKind::Answer
                && matches!(request.verb, "get" | "list")
                && request.subresource.is_empty();
            let light = answer && !endpoint.upgrade;
            assert_eq!(weight(&request, endpoint.upgrade) == Weight::Light, light, "{endpoint:?}");
        }
    }

    /// The kind that follows in the list of all. A new kind does not compile until it has its place here.
    const fn next(kind: SessionKind) -> Option<SessionKind> {
        match kind {
            SessionKind::Answer => Some(SessionKind::Session),
            SessionKind::Session => Some(SessionKind::Bytes),
            SessionKind::Bytes => Some(SessionKind::Unknown),
            SessionKind::Unknown => Some(SessionKind::Kubelet),
            SessionKind::Kubelet => Some(SessionKind::Refused(PLAINLY)),
            SessionKind::Refused(_) => None,
        }
    }

    #[test]
    fn every_kind_and_every_word_has_a_way() {
        for kind in std::iter::successors(Some(SessionKind::Answer), |kind| next(*kind)) {
            for upgrade in [false, true] {
                // Only an upgrade leads to what is not known, and none to what a kubelet tells.
                let never = match kind {
                    SessionKind::Unknown => !upgrade,
                    SessionKind::Kubelet => upgrade,
                    _ => false,
                };
                let there = SESSION_ENDPOINTS
                    .iter()
                    .any(|endpoint| endpoint.opens == kind && endpoint.upgrade == upgrade);
                assert_ne!(there, never, "{kind:?}, upgrade {upgrade}");
            }
        }
        let requests: Vec<Classified> = SESSION_ENDPOINTS.iter().map(classified).collect();
        for sentence in [PLAINLY, BY_PODS, LEGACY] {
            assert!(
                SESSION_ENDPOINTS.iter().any(|endpoint| endpoint.opens == SessionKind::Refused(sentence)),
                "{sentence}"
            );
        }
        for word in SESSION_WORDS {
            assert!(requests.iter().any(|request| request.subresource == word), "{word}");
        }
        for word in KUBELET_READS {
            let mut reads =
                SESSION_ENDPOINTS.iter().filter(|endpoint| endpoint.opens == SessionKind::Kubelet);
            assert!(reads.any(|endpoint| endpoint.target().contains(&format!("/proxy/{word}"))), "{word}");
        }
        for port in KUBELET_PORTS {
            assert!(requests.iter().any(|request| request.name.ends_with(&format!(":{port}"))), "{port}");
        }
        let mut services = requests.iter().filter(|request| request.resource == "services");
        assert!(services.any(|request| request.name.contains(KUBELET_SERVICE)));
    }

    #[test]
    fn a_proxied_path_is_on_the_record() {
        let request = classify(&Method::GET, "/api/v1/namespaces/a/pods/b/proxy/x%20y", Some("z=1"));
        assert_eq!((&*request.tail, &*request.query), ("/x%20y", "z=1"));
    }
}
