//! Every endpoint that runs a command or gives a stream in a cluster, with what it opens and the rights that it needs.
//!
//! [`SessionKind`] is decided by meaning, not by this table. The table is what the decision is held to, beside the code and
//! on a real API server (`stories::session_walk`), which is also asked what else it connects to. Its sources are those of
//! `session_kind`.

use rp_documents::Rights::{self, Admin, Read, Write};

use super::session_kind::SessionKind::{self, Answer, Bytes, Kubelet, Session, Unknown};
use super::session_kind::{BY_PODS, LEGACY, PLAINLY};

/// A request that opens a session, or looks as if it did.
#[derive(Debug, Clone, Copy)]
pub struct SessionEndpoint {
    pub method: &'static str,
    below: &'static str,
    rest: &'static str,
    /// It asks to leave HTTP.
    pub upgrade: bool,
    pub opens: SessionKind,
    pub rights: Rights,
}

impl SessionEndpoint {
    /// Path and query. The pod `walked` of the namespace `walk` and the node `node-1` are those of the stories.
    pub fn target(&self) -> String {
        format!("{}{}", self.below, self.rest)
    }
}

const POD: &str = "/api/v1/namespaces/walk/pods/walked";
const POD_BY_KUBELET_PORT: &str = "/api/v1/namespaces/walk/pods/https:walked:10250/proxy";
const SERVICES: &str = "/api/v1/namespaces/walk/services";
const NODE: &str = "/api/v1/nodes/node-1/proxy";
const OTHER: &str = "/apis/subresources.kubevirt.io/v1/namespaces/walk/virtualmachineinstances/walked";

const RUNS: SessionKind = SessionKind::Refused(BY_PODS);
const HIDES: SessionKind = SessionKind::Refused(PLAINLY);
const OLD: SessionKind = SessionKind::Refused(LEGACY);

const fn plain(
    method: &'static str,
    below: &'static str,
    rest: &'static str,
    opens: SessionKind,
    rights: Rights,
) -> SessionEndpoint {
    SessionEndpoint { method, below, rest, upgrade: false, opens, rights }
}

const fn upgraded(
    method: &'static str,
    below: &'static str,
    rest: &'static str,
    opens: SessionKind,
    rights: Rights,
) -> SessionEndpoint {
    SessionEndpoint { method, below, rest, upgrade: true, opens, rights }
}

/// All endpoints of that kind, and those that look like one.
pub const SESSION_ENDPOINTS: &[SessionEndpoint] = &[
    // Subresources of pods, by both methods.
    upgraded("GET", POD, "/exec?command=true&stdout=true&stdin=true", Session, Write),
    upgraded("POST", POD, "/exec?command=true&stdout=true", Session, Write),
    plain("POST", POD, "/exec?command=true&stdout=true", Session, Write),
    plain("GET", POD, "/exec?command=true&stdout=true", Session, Write),
    upgraded("GET", POD, "/%65xec?command=true&stdout=true", Session, Write),
    upgraded("GET", POD, "/exec?command=true&stdout=true&watch=true", Session, Write),
    upgraded("GET", POD, "/attach?stdout=true", Session, Write),
    upgraded("POST", POD, "/attach?stdout=true", Session, Write),
    upgraded("POST", POD, "/portforward?ports=80", Bytes, Write),
    upgraded("GET", POD, "/portforward?ports=80", Bytes, Write),
    plain("GET", POD, "/portforward?ports=80", Bytes, Write),
    // What `kubectl debug` asks for: a container in the pod, a copy of the pod, a pod on the node.
    plain("PATCH", POD, "/ephemeralcontainers", Answer, Write),
    plain("PUT", POD, "/ephemeralcontainers", Answer, Write),
    plain("POST", "/api/v1/namespaces/walk/pods", "", Answer, Write),
    // Streams of log lines and of objects.
    plain("GET", POD, "/log?follow=true", Answer, Read),
    upgraded("GET", POD, "/log?follow=true", Answer, Write),
    upgraded("GET", POD, "/log?follow=true&watch=true", Answer, Write),
    plain("GET", "/api/v1/namespaces/walk/pods", "?watch=true", Answer, Read),
    upgraded("GET", "/api/v1/namespaces/walk/pods", "?watch=true", Answer, Read),
    plain("GET", "/api/v1/watch/namespaces/walk/pods", "", Answer, Read),
    upgraded("GET", "/api/v1/watch/namespaces/walk/pods", "", Answer, Read),
    plain("GET", "/api/v1/watch/namespaces/walk/pods/walked", "", Answer, Read),
    upgraded("GET", "/api/v1/namespaces/walk/configmaps", "?watch=true", Answer, Write),
    // What a kubelet says of itself.
    plain("GET", NODE, "/configz", Kubelet, Admin),
    plain("GET", NODE, "/flagz", Kubelet, Admin),
    plain("GET", NODE, "/healthz", Kubelet, Admin),
    plain("GET", NODE, "/logs/journal?unit=kubelet", Kubelet, Admin),
    plain("GET", NODE, "/metrics/cadvisor", Kubelet, Admin),
    plain("GET", NODE, "/pods", Kubelet, Admin),
    plain("GET", NODE, "/runningpods/", Kubelet, Admin),
    plain("GET", NODE, "/stats/summary", Kubelet, Admin),
    plain("GET", NODE, "/statusz", Kubelet, Admin),
    plain("GET", "/api/v1/nodes/node-1:10250/proxy", "/pods", Kubelet, Admin),
    plain("GET", "/api/v1/nodes/node-1:10255/proxy", "/stats", Kubelet, Admin),
    // What it does.
    plain("POST", NODE, "/run/walk/walked/web?cmd=id", RUNS, Admin),
    plain("GET", NODE, "/run/walk/walked/web?cmd=id", RUNS, Admin),
    plain("PUT", NODE, "/run/walk/walked/web?cmd=id", RUNS, Admin),
    plain("HEAD", NODE, "/run/walk/walked/web?cmd=id", RUNS, Admin),
    upgraded("GET", NODE, "/exec/walk/walked/web?command=id", RUNS, Admin),
    upgraded("POST", NODE, "/exec/walk/walked/web?command=id&output=1", RUNS, Admin),
    plain("GET", NODE, "/exec/walk/walked/web?command=id", RUNS, Admin),
    upgraded("POST", NODE, "/attach/walk/walked/web?output=1", RUNS, Admin),
    upgraded("POST", NODE, "/portForward/walk/walked?port=80", RUNS, Admin),
    plain("GET", NODE, "/containerLogs/walk/walked/web", RUNS, Admin),
    upgraded("GET", NODE, "/cri/exec/token", RUNS, Admin),
    plain("POST", NODE, "/checkpoint/walk/walked/web", RUNS, Admin),
    plain("GET", NODE, "/debug/pprof/heap", RUNS, Admin),
    plain("PUT", NODE, "/debug/flags/v", RUNS, Admin),
    plain("GET", NODE, "", RUNS, Admin),
    plain("GET", NODE, "/%72un/walk/walked/web", RUNS, Admin),
    upgraded("GET", NODE, "/metrics", RUNS, Admin),
    plain("POST", NODE, "/metrics", RUNS, Admin),
    upgraded("GET", "/api/v1/nodes/https:node-1:10250/proxy", "/exec/walk/walked/web", RUNS, Admin),
    // The same kubelet by a pod on its node's network, or by a service.
    plain("POST", POD_BY_KUBELET_PORT, "/run/walk/walked/web", RUNS, Admin),
    plain("POST", "/api/v1/namespaces/walk/pods/walked:10255/proxy", "/run/walk/walked/web", RUNS, Admin),
    plain("GET", POD_BY_KUBELET_PORT, "/metrics", Kubelet, Admin),
    upgraded("GET", SERVICES, "/kubelet/proxy/exec/walk/walked/web", RUNS, Admin),
    upgraded("GET", SERVICES, "/https:kubelet:https-metrics/proxy/exec/walk/walked/web", RUNS, Admin),
    // Applications.
    plain("GET", POD, "/proxy/run", Bytes, Write),
    plain("PUT", POD, "/proxy/admin%20page/x?y=1", Bytes, Write),
    upgraded("GET", POD, "/proxy/socket", Bytes, Write),
    upgraded("POST", "/api/v1/namespaces/walk/pods/walked:8080/proxy", "/", Bytes, Write),
    plain("GET", SERVICES, "/https:front:8443/proxy/x", Bytes, Write),
    plain("DELETE", SERVICES, "/front/proxy/x", Bytes, Write),
    upgraded("GET", SERVICES, "/front/proxy/socket", Bytes, Write),
    // The legacy `/proxy/` prefix.
    plain("GET", "/api/v1/proxy/nodes/node-1", "/run/walk/walked/web", OLD, Admin),
    plain("GET", "/api/v1/proxy/namespaces/walk/pods/walked", "/x", OLD, Admin),
    upgraded("GET", "/api/v1/proxy/namespaces/walk/services/front", "/", OLD, Admin),
    // A session hidden in a path that could be read in two ways.
    upgraded("GET", "/api/v1/namespaces/walk/pods/walked%2fexec", "", HIDES, Admin),
    plain("GET", "/api/v1/nodes/node-1//proxy", "/run/walk/walked/web", HIDES, Admin),
    plain("GET", NODE, "//exec/walk/walked/web", HIDES, Admin),
    upgraded("GET", NODE, "/metrics/..%2fexec/walk/walked/web", HIDES, Admin),
    plain("GET", "/api/v1/nodes/node-1/Proxy", "/run/walk/walked/web", HIDES, Admin),
    // Aggregated APIs and other upgrades that are not known here.
    upgraded("GET", OTHER, "/console", Unknown, Write),
    // A console that says it is a watch is a console.
    upgraded("GET", OTHER, "/console?watch=true", Unknown, Write),
    upgraded("GET", OTHER, "?watch=true", Unknown, Write),
    upgraded("POST", OTHER, "/portforward/22", Unknown, Write),
    upgraded("GET", "/apis/example.io/v1/watch/namespaces/walk/machines/walked", "/console", Unknown, Write),
    upgraded("GET", "/apis/example.io/v1/namespaces/walk/pods/walked", "/exec", Unknown, Write),
    plain("POST", "/apis/example.io/v1/namespaces/walk/pods/walked", "/exec", Answer, Write),
    upgraded("GET", "/api/v1/pods", "", Unknown, Write),
    upgraded("GET", "/logs/", "", Unknown, Admin),
];
