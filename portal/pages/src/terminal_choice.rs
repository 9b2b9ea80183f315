//! What a terminal may be opened in: pods with their containers, and machines with their power.

use std::time::Duration;

use portal_model::index::Entry;
use portal_model::objects::names::{is_dns, is_segment};
use portal_model::ssh;
use portal_model::state::PortalState;
use proxy::ssh::machines::Machine;
use rp_rows::{Meta, Pod};
use web::{Tab, TerminalChoice, TerminalMachine, TerminalPod};

use crate::fleet_lists::has_all;
use crate::live;
use crate::workload_rows::{pod_badge, severity_rank};

/// Maximum wait for the pods; a name can be typed without them.
const MOMENT: Duration = Duration::from_millis(1_500);
/// Maximum wait for the list of machines.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pods that are listed at once.
const MOST: usize = 30;

/// What there is to choose from; `wanted` narrows the pods by parts of namespace, name and node. Machines are listed only
/// for the `whole` page.
pub(crate) async fn choice(state: &PortalState, entry: &Entry, wanted: &str, whole: bool) -> TerminalChoice {
    let wanted: String = wanted.trim().chars().take(253).collect();
    let machines = async { if whole { machines(state, entry).await } else { Vec::new() } };
    let (pods, machines) = tokio::join!(pods(state, entry, &wanted), machines);
    let (pods, matched) = pods.map_or((Vec::new(), None), |(pods, matched)| (pods, Some(matched)));
    TerminalChoice { q: wanted, pods, matched, machines }
}

/// Pods that match, those with a problem first, and how many match; `None`: they are not known yet.
async fn pods(state: &PortalState, entry: &Entry, wanted: &str) -> Option<(Vec<TerminalPod>, u64)> {
    let snapshot = live::watch(state, entry, Tab::Pods)?.settled(MOMENT).await;
    snapshot.pods.as_of?;
    let now = state.session.clock.now().seconds();
    let words = words(wanted);
    let runs = snapshot.pods.iter().filter(|pod| pod.phase != "Succeeded");
    let mut found: Vec<&Pod> = runs.filter(|pod| matches(&pod.meta, &pod.node, &words)).collect();
    let matched = u64::try_from(found.len()).unwrap_or(u64::MAX);
    found.sort_by(|a, b| {
        let by_name = || (&a.meta.namespace, &a.meta.name).cmp(&(&b.meta.namespace, &b.meta.name));
        severity_rank(a, now).cmp(&severity_rank(b, now)).then_with(by_name)
    });
    Some((found.into_iter().take(MOST).map(pod_choice).collect(), matched))
}

/// The words of a search, in lower case.
fn words(wanted: &str) -> Vec<String> {
    wanted.split([' ', '/']).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

/// Whether every word stands somewhere in a pod's namespace, name or node, and its names can be in an address.
fn matches(pod: &Meta, node: &str, words: &[String]) -> bool {
    let places = [pod.namespace.as_str(), &pod.name, node];
    let named = is_dns(&pod.namespace, 63) && is_dns(&pod.name, 253);
    named && has_all(words, &places)
}

fn pod_choice(pod: &Pod) -> TerminalPod {
    let containers = pod.containers.iter().filter(|each| is_segment(&each.name));
    TerminalPod {
        namespace: pod.meta.namespace.clone(),
        name: pod.meta.name.clone(),
        node: pod.node.clone(),
        badge: pod_badge(pod),
        containers: containers.map(|each| each.name.clone()).collect(),
    }
}

/// Machines of the cluster with their power, if they arrive in time.
async fn machines(state: &PortalState, entry: &Entry) -> Vec<TerminalMachine> {
    let Some(parts) = &state.model.clusters.ssh else { return Vec::new() };
    state.model.vms.look(entry);
    let listing = async {
        let target = parts.directory.find(&entry.id).await.ok()?;
        parts.machines.list(&target).await.ok()
    };
    let listed = tokio::time::timeout(PATIENCE, listing).await.ok().flatten();
    let row = |machine: &Machine| TerminalMachine {
        name: machine.name.clone(),
        control_plane: machine.control_plane,
        ready: machine.ready,
        power: state.model.vms.state_of(entry, &machine.name).badge(),
        way: ssh::way(machine),
    };
    listed.map(|all| all.iter().map(row).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(namespace: &str, name: &str) -> Meta {
        Meta { namespace: namespace.to_owned(), name: name.to_owned(), ..Meta::default() }
    }

    #[test]
    fn every_word_narrows_the_pods() {
        let etcd = pod("openshift-etcd", "etcd-harbor-master-0");
        for wanted in ["", "etcd", "ETCD master-0", "openshift-etcd/etcd-harbor", "worker-1 etcd"] {
            assert!(matches(&etcd, "harbor-worker-1", &words(wanted)), "{wanted}");
        }
        for wanted in ["etcd-9", "etcd worker-2"] {
            assert!(!matches(&etcd, "harbor-worker-1", &words(wanted)), "{wanted}");
        }
    }

    #[test]
    fn what_is_no_name_of_a_pod_is_not_offered() {
        assert!(!matches(&pod("openshift-etcd", "a/../b"), "", &[]) && !matches(&pod("", "etcd"), "", &[]));
    }
}
