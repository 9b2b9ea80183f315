//! The words of the dialogs that act on objects of a cluster, and where they are offered.

use portal_model::actions::{Action, Decision, DrainPod, DrainReport, PodState, WorkloadKind};
use portal_model::index::Entry;
use portal_session::user::CurrentUser;
use rp_documents::Role;
use rp_openshift::namespaces::is_openshift;
use web::Link;

/// Pods that a dialog names.
const NAMED: usize = 10;

/// How a dialog is worded.
pub(crate) struct ActWords {
    /// The button.
    pub(crate) verb: &'static str,
    pub(crate) running: &'static str,
    pub(crate) icon: &'static str,
    /// What the object is called among the facts.
    pub(crate) label: &'static str,
    /// The page behind the dialog.
    pub(crate) place: &'static str,
    /// What will happen.
    pub(crate) text: &'static [&'static str],
    /// It stops something.
    pub(crate) harms: bool,
    pub(crate) command: String,
}

/// The words of an action. `kind`: of a workload, as its path has it.
pub(crate) fn words(action: &Action, kind: &str, cluster: &str) -> ActWords {
    let (_, namespace, name) = action.object();
    let verb_of = action.verb().split_once('.').map_or("", |(_, verb)| verb);
    let node = |verb, running, icon, harms, text| ActWords {
        verb,
        running,
        icon,
        label: "Node",
        place: "Node",
        text,
        harms,
        command: format!("aro node {verb_of} {cluster} {name} --reason '…'"),
    };
    let csr = |verb, running, icon, harms, text| ActWords {
        verb,
        running,
        icon,
        label: "Request",
        place: "Certificate signing request",
        text,
        harms,
        command: format!("aro csr {verb_of} {cluster} {name} --reason '…'"),
    };
    let workload = |verb, running, icon, command, text| ActWords {
        verb,
        running,
        icon,
        label: "Workload",
        place: "Workload",
        text,
        harms: false,
        command: format!("aro workload {verb_of} {cluster} {kind} {namespace} {name}{command} --reason '…'"),
    };
    match action {
        Action::Cordon { .. } => node(
            "Cordon",
            "Cordoning…",
            "pause",
            false,
            &["The scheduler places no new pods on the node. Pods that run there stay."],
        ),
        Action::Uncordon { .. } => {
            node("Uncordon", "Uncordoning…", "play", false, &["The scheduler places pods on the node again."])
        }
        Action::Drain { .. } => node(
            "Drain",
            "Draining…",
            "stop",
            true,
            &["The node is cordoned and its pods are evicted. Pods of daemon sets and static pods stay."],
        ),
        Action::Decide { decision: Decision::Approve, .. } => csr(
            "Approve",
            "Approving…",
            "approve",
            false,
            &["The signer issues the certificate. An approval cannot be taken back."],
        ),
        Action::Decide { decision: Decision::Deny, .. } => csr(
            "Deny",
            "Denying…",
            "close",
            true,
            &["No certificate is issued. A denial cannot be taken back."],
        ),
        Action::DeletePod { .. } => ActWords {
            verb: "Delete",
            running: "Deleting…",
            icon: "trash",
            label: "Pod",
            place: "Pods",
            text: &["The pod is stopped. Its controller makes another one."],
            harms: true,
            command: format!("aro pod delete {cluster} {namespace} {name} --reason '…'"),
        },
        Action::Restart { .. } => workload(
            "Restart",
            "Restarting…",
            "refresh",
            "",
            &["The pods are made anew, a few at a time, by the rollout strategy of the workload."],
        ),
        Action::Scale { .. } => workload(
            "Scale",
            "Scaling…",
            "split",
            " REPLICAS",
            &[
                "The controller starts or stops pods until there are as many. An operator that keeps the workload may set its own number again.",
            ],
        ),
    }
}

/// `1 pod`, `3 pods`.
pub(crate) fn pods_of(n: usize) -> String {
    web::text::plural(u64::try_from(n).unwrap_or(u64::MAX), "pod", "pods")
}

/// What a drain would do, or has left to do, a line for each kind of pod.
pub(crate) fn drained(report: &DrainReport) -> Vec<String> {
    let of = |state| report.left.iter().filter(move |pod| pod.state == state);
    let mut lines = Vec::new();
    let mut line = |what: &str, pods: Vec<String>| {
        let more = pods.len().saturating_sub(NAMED);
        if !pods.is_empty() {
            let count = pods_of(pods.len());
            let named = pods.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!("{count} {what}: {named}{rest}."));
        }
    };
    line("can be moved now", of(PodState::Movable).map(DrainPod::place).collect());
    let why = |pod: &DrainPod| format!("{} ({})", pod.place(), pod.why.trim_end_matches('.'));
    line("blocked by a budget of disruption", of(PodState::Blocked).map(why).collect());
    line("being stopped", of(PodState::Leaving).map(DrainPod::place).collect());
    line("not asked to leave yet", of(PodState::Waiting).map(DrainPod::place).collect());
    let bare = report.left.iter().filter(|pod| pod.controller.is_empty());
    line("without a controller, not made anew elsewhere", bare.map(DrainPod::place).collect());
    let local = report.left.iter().filter(|pod| pod.local_data);
    line("with data in emptyDir volumes, which is lost", local.map(DrainPod::place).collect());
    if lines.is_empty() {
        lines.push("No pod on the node is moved by a drain.".to_owned());
    }
    lines
}

/// A link that opens the dialog of an action; nothing for people who can never act.
fn link(user: &CurrentUser, entry: &Entry, words: &str, query: &[(&str, &str)]) -> Option<Link> {
    let query: Vec<String> =
        query.iter().map(|(name, value)| format!("{name}={}", web::text::encode(value))).collect();
    let href = format!("{}/act?{}", entry.path(), query.join("&"));
    user.has(Role::Elevated).then(|| Link::new(words, href))
}

/// What can be done with a node.
pub(crate) fn node_acts(user: &CurrentUser, entry: &Entry, name: &str, schedulable: bool) -> Vec<Link> {
    let (word, action) = if schedulable { ("Cordon…", "cordon") } else { ("Uncordon…", "uncordon") };
    let all = [(word, action), ("Drain…", "drain")];
    all.into_iter()
        .filter_map(|(words, action)| link(user, entry, words, &[("do", action), ("name", name)]))
        .collect()
}

/// What can be done with a pod: of the platform only, as by administrators' tools.
pub(crate) fn pod_acts(user: &CurrentUser, entry: &Entry, namespace: &str, name: &str) -> Vec<Link> {
    let query = [("do", "delete"), ("namespace", namespace), ("name", name)];
    is_openshift(namespace).then(|| link(user, entry, "Delete…", &query)).flatten().into_iter().collect()
}

/// What can be done with a workload: of the platform only.
pub(crate) fn workload_acts(
    user: &CurrentUser,
    entry: &Entry,
    (kind, namespace, name): (&str, &str, &str),
) -> Vec<Link> {
    let all = [("Restart…", "restart"), ("Scale…", "scale")];
    let fits = |action: &str| {
        is_openshift(namespace)
            && (action != "scale" || WorkloadKind::named(kind).is_some_and(WorkloadKind::scales))
    };
    let all = all.into_iter().filter(|(_, action)| fits(action));
    all.filter_map(|(words, action)| {
        link(user, entry, words, &[("do", action), ("kind", kind), ("namespace", namespace), ("name", name)])
    })
    .collect()
}

/// What can be done with a certificate signing request.
pub(crate) fn csr_acts(user: &CurrentUser, entry: &Entry, name: &str) -> Vec<Link> {
    let all = [("Approve…", "approve"), ("Deny…", "deny")];
    all.into_iter()
        .filter_map(|(words, action)| link(user, entry, words, &[("do", action), ("name", name)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_says_what_blocks_it_and_what_is_lost() {
        let pod = |n: usize, state, controller: &str, why: &str| DrainPod {
            namespace: "openshift-dns".to_owned(),
            name: format!("p{n}"),
            controller: controller.to_owned(),
            state,
            why: why.to_owned(),
            ..DrainPod::default()
        };
        let mut left: Vec<_> = (0..12).map(|n| pod(n, PodState::Movable, "ReplicaSet/r", "")).collect();
        left.push(pod(12, PodState::Blocked, "", "needs 1 healthy pods."));
        let lines = drained(&DrainReport { left, ..DrainReport::default() });
        assert!(lines[0].starts_with("12 pods can be moved now: openshift-dns/p0,"), "{lines:?}");
        assert!(lines[0].ends_with("openshift-dns/p9 and 2 more."), "{lines:?}");
        let blocked = "1 pod blocked by a budget of disruption: openshift-dns/p12 (needs 1 healthy pods).";
        assert_eq!(lines[1], blocked);
        assert!(lines[2].starts_with("1 pod without a controller"), "{lines:?}");
        assert_eq!(drained(&DrainReport::default()), ["No pod on the node is moved by a drain."]);
    }
}
