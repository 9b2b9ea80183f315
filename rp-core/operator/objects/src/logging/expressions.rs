//! What is kept and what is dropped of each source: patterns (RE2) and conditions in the transformation language of the
//! collector (OTTL).

use super::{NodeRole, Profile};

/// A text as a literal of OTTL.
pub(super) fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Whether a path matches a pattern. A path without a value does not match.
pub(super) fn matches(path: &str, pattern: &str) -> String {
    format!("IsMatch({path}, {})", literal(pattern))
}

fn any(conditions: &[String]) -> String {
    format!("({})", conditions.join(" or "))
}

/// Journal entries that say nothing, by identifier and message.
const JOURNAL_NOISE: [(&str, &str); 5] = [
    ("ovs-vswitchd", "flow_mods"),
    ("sshd", "kex_exchange_identification|Connection reset by"),
    ("NetworkManager", "new Veth device|new Open vSwitch Port device|carrier: link connected"),
    ("kernel", "entered promiscuous mode|left promiscuous mode"),
    ("crio", "not allowed with host net enabled"),
];
const KUBELET: &str = r"\b(E|W)[0-9]{4}\b|ContainerStatus from runtime service failed|\bFailed\b|\bfailed\b|timed out|timeout|\berr=";
const CRIO: &str = r"level=(error|warn|warning|fatal)|\bFailed\b|\bfailed\b|timed out|timeout|\berror\b";

/// Journal entries that are dropped: each condition alone.
pub(super) fn journal(profile: Profile, role: NodeRole) -> Vec<String> {
    let message = |pattern: &str| matches("body[\"MESSAGE\"]", pattern);
    let from = |identifier: &str, condition: String| {
        format!("(body[\"SYSLOG_IDENTIFIER\"] == {} and {condition})", literal(identifier))
    };
    if profile == Profile::Max {
        return Vec::new();
    }
    let mut dropped: Vec<_> =
        JOURNAL_NOISE.iter().map(|(identifier, pattern)| from(identifier, message(pattern))).collect();
    if profile == Profile::Minimal {
        let mut kept = vec![
            matches("body[\"PRIORITY\"]", "^[0-4]$"),
            from("kubenswrapper", message(KUBELET)),
            from("crio", message(CRIO)),
            from("kernel", message("^Kernel command line: ")),
            format!(
                "(body[\"_SYSTEMD_UNIT\"] == \"init.scope\" and {})",
                matches("body[\"UNIT\"]", r"\.service$")
            ),
        ];
        if role == NodeRole::Master {
            kept.push(from("kubenswrapper", message("SyncLoop")));
        }
        dropped.push(format!("not {}", any(&kept)));
    }
    dropped
}

const WARNINGS: [&str; 5] = [
    "level=(error|warn|warning)",
    r"\bE[0-9]{4}\b|\bW[0-9]{4}\b",
    "Update error .*: ClusterOperatorDegraded",
    r"\terror\t",
    r"\twarn\t",
];
/// Lines of containers that say nothing.
const CONTAINER_NOISE: [&str; 5] = [
    r"addrConn\.createTransport failed to connect|connect: connection refused",
    "install strategy successful",
    "resolving sources|checking if subscriptions need update",
    "evaluating current pod|matching label selector, 1 have the correct images and matching hash",
    "No subscriptions were found in namespace",
];

/// Lines of containers that are dropped: each condition alone. A body is a text, or what was parsed of one.
pub(super) fn containers(profile: Profile) -> Vec<String> {
    let text = |pattern: &str| matches("body", pattern);
    match profile {
        Profile::Max => Vec::new(),
        Profile::Reduced => {
            let noise: Vec<_> = CONTAINER_NOISE.iter().map(|pattern| text(pattern)).collect();
            vec![format!("IsString(body) and {}", any(&noise))]
        }
        Profile::Minimal => {
            let plain = any(&WARNINGS.map(text));
            let message = |pattern: &&str| matches("body[\"message\"]", pattern);
            let mut parsed = vec![
                matches("body[\"severity\"]", "^[EWF]$"),
                matches("body[\"severity\"]", "^(error|warn|warning|fatal)$"),
            ];
            parsed.extend(WARNINGS.iter().take(3).map(message));
            let parsed = any(&parsed);
            vec![format!("(IsString(body) and not {plain}) or (IsMap(body) and not {parsed})")]
        }
    }
}

/// Namespaces of the platform that customers fill, without `openshift-`: their logs are not shipped.
pub(super) const EXCLUDED: [&str; 10] = [
    "logging",
    "keda",
    "gitops",
    "user-workload-monitoring",
    "adp",
    "distributed-tracing",
    "cnv",
    "serverless",
    "pipelines",
    "nfd",
];
/// Reviews and leases: exact names, so that none is missed and no other is dropped (`contract/operator.md` "Do better"
/// 26).
const UNAUDITED: &str = "^(tokenreviews|selfsubjectaccessreviews|selfsubjectrulesreviews|subjectaccessreviews|localsubjectaccessreviews|resourceaccessreviews|localresourceaccessreviews|leases)$";
const UNAUDITED_PATH: &str = "/(tokenreviews|selfsubjectaccessreviews|selfsubjectrulesreviews|subjectaccessreviews|localsubjectaccessreviews|resourceaccessreviews|localresourceaccessreviews|leases)([/?]|$)";
/// Groups of objects of the cluster that decide who may do what: writes of them are kept (`contract/operator.md` "Do
/// better" 26).
const SECURITY_GROUPS: &str = r"^(rbac\.authorization\.k8s\.io|authorization\.openshift\.io|admissionregistration\.k8s\.io|certificates\.k8s\.io|apiregistration\.k8s\.io|apiextensions\.k8s\.io|security\.openshift\.io|oauth\.openshift\.io|user\.openshift\.io|config\.openshift\.io|machineconfiguration\.openshift\.io)$";

/// Audit entries that are dropped: each condition alone.
pub(super) fn audit(profile: Profile) -> Vec<String> {
    if profile == Profile::Max {
        return Vec::new();
    }
    let namespace = "body[\"objectRef\"][\"namespace\"]";
    let excluded = format!("^openshift-({})$", EXCLUDED.join("|"));
    let security = matches("body[\"objectRef\"][\"apiGroup\"]", SECURITY_GROUPS);
    vec![
        format!("not {}", matches("body[\"verb\"]", "^(create|update|delete|patch)$")),
        matches("body[\"objectRef\"][\"resource\"]", UNAUDITED),
        matches("body[\"requestURI\"]", UNAUDITED_PATH),
        format!("{namespace} == nil and not {security}"),
        format!(
            "{namespace} != nil and (not {} or {})",
            matches(namespace, "^(default|kube-.+|openshift(-.+)?)$"),
            matches(namespace, &excluded)
        ),
    ]
}
