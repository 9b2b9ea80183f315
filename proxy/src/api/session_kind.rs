//! Classifies what a request opens in a cluster, independent of the form of the request.
//!
//! The sources are the routes of the API server (`pkg/registry/core/{pod,node,service}/rest`, 1.32) and of the kubelet
//! (`pkg/kubelet/server/server.go`). What runs a command or reads a console is recorded where the policy asks for it.
//! A kubelet's own routes of that kind pass by the recording and by the cluster's audit of exec, so they are refused:
//! a person who needs them has the subresources of pods.

use super::request::Classified;

/// What a request opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKind {
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

const PLAINLY: &str = "A path that could be read in two ways opens no session: write it plainly";
const BY_PODS: &str =
    "A kubelet's commands, consoles and logs are reached by exec, attach, port-forward and log of the pod";
const LEGACY: &str = "API servers have no /proxy/ prefix any more: use the proxy subresource";

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
    use rp_documents::Rights::{self, Admin, Read, Write};

    use super::super::audit::{Weight, weight};
    use super::super::request::classify;
    use super::super::rules::needed;
    use super::*;

    const POD: &str = "/api/v1/namespaces/a/pods/b";
    const SERVICE: &str = "/api/v1/namespaces/a/services";
    const BY: SessionKind = SessionKind::Refused(BY_PODS);

    /// Method, what the path is below, the rest, whether it asks to leave HTTP, what it opens, the rights it needs.
    type Row = (&'static str, &'static str, &'static str, bool, SessionKind, Rights);

    const TABLE: &[Row] = &[
        // Subresources of pods, by both ways to ask and in both framings.
        ("GET", POD, "/exec?command=sh&stdin=true", true, SessionKind::Session, Write),
        ("POST", POD, "/exec?command=sh", true, SessionKind::Session, Write),
        ("POST", POD, "/exec?command=sh", false, SessionKind::Session, Write),
        ("GET", POD, "/%65xec?command=sh", true, SessionKind::Session, Write),
        ("GET", POD, "/exec?watch=true", true, SessionKind::Session, Write),
        ("POST", POD, "/attach", true, SessionKind::Session, Write),
        ("POST", POD, "/portforward", true, SessionKind::Bytes, Write),
        ("GET", POD, "/portforward?ports=80", true, SessionKind::Bytes, Write),
        ("PATCH", POD, "/ephemeralcontainers", false, SessionKind::Answer, Write),
        ("PUT", POD, "/ephemeralcontainers", false, SessionKind::Answer, Write),
        ("GET", POD, "/log?follow=true", false, SessionKind::Answer, Read),
        ("GET", "/api/v1/pods", "?watch=true", true, SessionKind::Answer, Read),
        // What a kubelet says of itself.
        ("GET", "/api/v1/nodes/n/proxy", "/metrics/cadvisor", false, SessionKind::Kubelet, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/stats/summary", false, SessionKind::Kubelet, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/logs/journal?unit=kubelet", false, SessionKind::Kubelet, Admin),
        ("GET", "/api/v1/nodes/n:10250/proxy", "/pods", false, SessionKind::Kubelet, Admin),
        // What it does.
        ("POST", "/api/v1/nodes/n/proxy", "/run/a/b/c?cmd=id", false, BY, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/run/a/b/c?cmd=id", false, BY, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/exec/a/b/c?command=id", true, BY, Admin),
        ("POST", "/api/v1/nodes/n/proxy", "/exec/a/b/c?command=id", true, BY, Admin),
        ("POST", "/api/v1/nodes/n/proxy", "/attach/a/b/c", true, BY, Admin),
        ("POST", "/api/v1/nodes/n/proxy", "/portForward/a/b", true, BY, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/containerLogs/a/b/c", false, BY, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/cri/exec/token", true, BY, Admin),
        ("POST", "/api/v1/nodes/n/proxy", "/checkpoint/a/b/c", false, BY, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/debug/pprof/heap", false, BY, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "", false, BY, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/%72un/a/b/c", false, BY, Admin),
        ("GET", "/api/v1/nodes/n/proxy", "/metrics", true, BY, Admin),
        ("POST", "/api/v1/nodes/n/proxy", "/metrics", false, BY, Admin),
        ("GET", "/api/v1/nodes/https:n:10250/proxy", "/exec/a/b/c", true, BY, Admin),
        // The same kubelet by a pod on its network, or by a service.
        ("POST", "/api/v1/namespaces/a/pods/b:10250/proxy", "/run/a/b/c", false, BY, Admin),
        ("POST", "/api/v1/namespaces/a/pods/https:b:10250/proxy", "/run/a/b/c", false, BY, Admin),
        (
            "GET",
            "/api/v1/namespaces/a/pods/https:b:10250/proxy",
            "/metrics",
            false,
            SessionKind::Kubelet,
            Admin,
        ),
        ("GET", SERVICE, "/kubelet/proxy/exec/a/b/c", true, BY, Admin),
        ("GET", SERVICE, "/https:kubelet:https-metrics/proxy/exec/a/b/c", true, BY, Admin),
        // Applications.
        ("GET", POD, "/proxy/run", false, SessionKind::Bytes, Write),
        ("POST", "/api/v1/namespaces/a/pods/b:8080/proxy", "/", true, SessionKind::Bytes, Write),
        ("GET", SERVICE, "/https:b:8443/proxy/x", false, SessionKind::Bytes, Write),
        // The legacy `/proxy/` prefix.
        ("GET", "/api/v1/proxy/nodes/n", "/run/a/b/c", false, SessionKind::Refused(LEGACY), Admin),
        ("GET", "/api/v1/proxy/namespaces/a/pods/b", "/x", false, SessionKind::Refused(LEGACY), Admin),
        ("GET", "/api/v1/proxy/namespaces/a/services/b", "/", true, SessionKind::Refused(LEGACY), Admin),
        // A session hidden by an encoded path.
        ("GET", "/api/v1/namespaces/a/pods/b%2fexec", "", true, SessionKind::Refused(PLAINLY), Admin),
        ("GET", "/api/v1/nodes/n//proxy", "/run/a/b/c", false, SessionKind::Refused(PLAINLY), Admin),
        ("GET", "/api/v1/nodes/n/proxy", "//exec/a/b/c", false, SessionKind::Refused(PLAINLY), Admin),
        (
            "GET",
            "/api/v1/nodes/n/proxy",
            "/metrics/..%2fexec/a/b/c",
            true,
            SessionKind::Refused(PLAINLY),
            Admin,
        ),
        ("GET", "/api/v1/nodes/n/Proxy", "/run/a/b/c", false, SessionKind::Refused(PLAINLY), Admin),
        // Upgrades that are not known here.
        (
            "GET",
            "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b",
            "/console",
            true,
            SessionKind::Unknown,
            Write,
        ),
        ("GET", "/apis/example.io/v1/namespaces/a/pods/b", "/exec", true, SessionKind::Unknown, Write),
        ("GET", "/api/v1/pods", "", true, SessionKind::Unknown, Write),
        ("GET", "/logs/", "", true, SessionKind::Unknown, Admin),
    ];

    #[test]
    fn every_way_to_a_session_is_classified() {
        for &(method, below, rest, upgrade, expected, rights) in TABLE {
            let address = format!("{below}{rest}");
            let (path, query) =
                address.split_once('?').map_or((&*address, None), |(path, query)| (path, Some(query)));
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = classify(&method, path, query);
            let way = format!("{method} {address} {}", if upgrade { "upgraded" } else { "" });
            assert_eq!(session_kind(&request, upgrade), expected, "{way}");
            assert_eq!(needed(&request, upgrade), rights, "{way}");
            let answer = expected == SessionKind::Answer
                && matches!(request.verb, "get" | "list")
                && request.subresource.is_empty();
            let light = answer && !upgrade;
            assert_eq!(weight(&request, upgrade) == Weight::Light, light, "{way}");
        }
    }

    #[test]
    fn a_proxied_path_is_on_the_record() {
        let request = classify(&Method::GET, "/api/v1/namespaces/a/pods/b/proxy/x%20y", Some("z=1"));
        assert_eq!((&*request.tail, &*request.query), ("/x%20y", "z=1"));
    }
}
