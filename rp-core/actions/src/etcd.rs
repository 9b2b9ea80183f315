//! Which member of etcd is broken (`contract/frontend.md` §11.5): before its recovery is ordered, and again as it begins.

use rp_openshift::{ContainerSpec, Pod, Whole};

use crate::control_plane::MASTERS;

/// Where the members of etcd run.
pub const NAMESPACE: &str = "openshift-etcd";
/// The path of that namespace's pods.
pub const PODS: &str = "/api/v1/namespaces/openshift-etcd/pods";
/// The container of a member.
const MEMBER: &str = "etcd";

/// A pod that runs a member.
#[derive(Debug, Clone, Copy)]
struct MemberPod<'a>(&'a Pod<Whole>);

impl<'a> MemberPod<'a> {
    fn node(&self) -> &'a str {
        self.0.spec.node_name.as_str()
    }

    fn name(&self) -> &'a str {
        self.0.metadata.name.as_str()
    }

    fn container(&self) -> Option<&'a ContainerSpec<Whole>> {
        self.0.spec.containers.iter().find(|container| container.name.as_str() == MEMBER)
    }

    fn is_ready(&self) -> bool {
        let statuses = &self.0.status.container_statuses;
        statuses.iter().any(|container| container.name.as_str() == MEMBER && container.ready)
    }

    /// Whether the member was configured with another address than its node has now.
    fn is_elsewhere(&self) -> bool {
        let variable = format!("NODE_{}_IP", self.node().replace(['-', '.'], "_"));
        let mut all = self.container().into_iter().flat_map(|container| &container.env);
        let configured = all.find(|one| one.name.as_str() == variable);
        let status = &self.0.status;
        let mut own =
            status.pod_ips.iter().map(|address| address.ip.as_str()).chain([status.pod_ip.as_str()]);
        configured.is_some_and(|configured| own.all(|ip| ip != configured.value.as_str()))
    }

    fn image(&self) -> &'a str {
        self.container().map(|container| container.image.as_str()).unwrap_or_default()
    }
}

fn members(pods: &[Pod<Whole>]) -> Vec<MemberPod<'_>> {
    pods.iter().map(MemberPod).filter(|pod| pod.container().is_some()).collect()
}

/// The node of the one member that does not serve, which is the member's name in etcd. All others must serve: etcd of three
/// members bears the loss of one. `masters` are the names of the control plane's nodes: a recovery that failed may have
/// taken the pod of the member away already.
///
/// # Errors
/// There is none, there are several, or signs of two; a sentence for people.
pub fn broken_member(pods: &[Pod<Whole>], masters: &[&str]) -> Result<String, String> {
    let members = members(pods);
    let broken = match members.len() {
        MASTERS => not_serving(&members)?.node(),
        found => {
            let other = || format!("Expected {MASTERS} etcd pods, but found {found}.");
            without_pod(&members, masters).ok_or_else(other)?
        }
    };
    match crate::rules::is_name(broken) {
        true => Ok(broken.to_owned()),
        false => Err("The node of the broken etcd member has no valid name.".to_owned()),
    }
}

/// The one master that runs no member, if all members of the others serve where they were configured.
fn without_pod<'a>(members: &[MemberPod<'_>], masters: &[&'a str]) -> Option<&'a str> {
    let mut away = masters.iter().filter(|master| members.iter().all(|pod| pod.node() != **master));
    let all_serve = members.iter().all(|pod| pod.is_ready() && !pod.is_elsewhere());
    match (away.next(), away.next()) {
        (Some(one), None) if all_serve && masters.len() == MASTERS && members.len() == MASTERS - 1 => {
            Some(one)
        }
        _ => None,
    }
}

/// The one of three members that is not ready.
fn not_serving<'a, 'p>(members: &'a [MemberPod<'p>]) -> Result<&'a MemberPod<'p>, String> {
    let named = |of: &[&MemberPod<'_>]| of.iter().map(|pod| pod.name()).collect::<Vec<_>>().join(", ");
    let not_ready: Vec<_> = members.iter().filter(|pod| !pod.is_ready()).collect();
    let elsewhere: Vec<_> = members.iter().filter(|pod| pod.is_elsewhere()).collect();
    let broken = match not_ready.as_slice() {
        [] => return Err("Every etcd pod is ready: there is no member to recover.".to_owned()),
        [one] => *one,
        several => {
            return Err(format!(
                "Only one broken etcd member can be recovered, but several pods are not ready: {}.",
                named(several)
            ));
        }
    };
    match elsewhere.as_slice() {
        [] => Ok(broken),
        [one] if one.node() == broken.node() => Ok(broken),
        [one] => Err(format!(
            "Pod {} is not ready, but pod {} has another address than its member was configured with.",
            broken.name(),
            one.name()
        )),
        several => Err(format!(
            "Only one broken etcd member can be recovered, but the addresses of several nodes have changed: {}.",
            named(several)
        )),
    }
}

/// The image of the members, if the one on that node may be taken away: it does not serve, and both others do. Its pod is
/// gone once its manifest was moved, so this holds again when another worker goes on.
///
/// # Errors
/// It may not; a sentence for people.
pub fn image_without<'a>(pods: &'a [Pod<Whole>], node: &str) -> Result<&'a str, String> {
    let members = members(pods);
    let serving: Vec<_> = members.iter().filter(|pod| pod.is_ready()).collect();
    if let Some(pod) = serving.iter().find(|pod| pod.node() == node) {
        return Err(format!("Pod {} is ready: its member is not taken away.", pod.name()));
    }
    match serving.as_slice() {
        [one, _] => Ok(one.image()),
        others => Err(format!("{} of the {} other etcd pods are ready.", others.len(), MASTERS - 1)),
    }
}

/// Names of pods that run a member which serves, in the order of the list; not that of the broken node.
pub fn healthy_members<'a>(pods: &'a [Pod<Whole>], broken: &str) -> Vec<&'a str> {
    let healthy = members(pods).into_iter().filter(|pod| pod.is_ready() && pod.node() != broken);
    healthy.map(|pod| pod.name()).filter(|name| crate::rules::is_name(name)).collect()
}

/// Why not all members serve; `None`: they do.
pub fn unready_members(pods: &[Pod<Whole>]) -> Option<String> {
    let members = members(pods);
    let away: Vec<_> = members.iter().filter(|pod| !pod.is_ready()).map(MemberPod::name).collect();
    match (members.len(), away.as_slice()) {
        (MASTERS, []) => None,
        (MASTERS, away) => Some(format!("not ready: {}", away.join(", "))),
        (found, _) => Some(format!("{found} of {MASTERS} etcd pods are there")),
    }
}

/// Whether the certificates of etcd are renewed by hand in a cluster of that version (`contract/frontend.md` §11.6).
///
/// # Errors
/// They are not: its operator renews them; the contract's sentence.
pub fn check_renewable(version: &str) -> Result<(), &'static str> {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(4), Some(0..=8)) => Ok(()),
        _ => Err("etcd certificate renewal is not needed for cluster running version 4.9+"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(n: usize, ready: bool, address: &str) -> Value {
        let node = format!("c-x7k2p-master-{n}");
        let variable = format!("NODE_c_x7k2p_master_{n}_IP");
        json!({"metadata": {"name": format!("etcd-{node}")},
            "spec": {"nodeName": node, "containers": [{"name": "etcdctl"}, {"name": "etcd", "image": "quay.io/e@sha256:1",
                "env": [{"name": "OTHER", "value": "x"}, {"name": variable, "value": address}]}]},
            "status": {"podIP": format!("10.0.0.{n}"), "podIPs": [{"ip": format!("10.0.0.{n}")}],
                "containerStatuses": [{"name": "etcd", "ready": ready}, {"name": "etcdctl", "ready": true}]}})
    }

    fn pods(all: [(bool, &str); 3]) -> Vec<Pod<Whole>> {
        let of = |(n, (ready, address)): (usize, (bool, &str))| pod(n, ready, address);
        let mut values: Vec<Value> = all.into_iter().enumerate().map(of).collect();
        values
            .push(json!({"metadata": {"name": "etcd-guard-1"}, "spec": {"containers": [{"name": "guard"}]}}));
        values.into_iter().map(|value| serde_json::from_value(value).unwrap()).collect()
    }

    const MASTER_NAMES: [&str; 3] = ["c-x7k2p-master-0", "c-x7k2p-master-1", "c-x7k2p-master-2"];
    const GOOD: [(bool, &str); 3] = [(true, "10.0.0.0"), (true, "10.0.0.1"), (true, "10.0.0.2")];

    #[test]
    fn the_member_that_is_not_ready_is_the_broken_one() {
        for address in ["10.0.0.1", "10.9.9.9"] {
            let pods = pods([GOOD[0], (false, address), GOOD[2]]);
            let node = broken_member(&pods, &MASTER_NAMES).unwrap();
            assert_eq!(node, "c-x7k2p-master-1");
            assert_eq!(image_without(&pods, &node), Ok("quay.io/e@sha256:1"));
            let healthy = healthy_members(&pods, &node);
            assert_eq!(healthy, ["etcd-c-x7k2p-master-0", "etcd-c-x7k2p-master-2"]);
            assert_eq!(unready_members(&pods).unwrap(), "not ready: etcd-c-x7k2p-master-1");
        }
        assert_eq!(unready_members(&pods(GOOD)), None);
    }

    #[test]
    fn a_member_whose_pod_is_gone_is_the_master_without_one() {
        let two = &pods(GOOD)[..2];
        assert_eq!(broken_member(two, &MASTER_NAMES).unwrap(), "c-x7k2p-master-2");
        let moved = &pods([GOOD[0], (true, "10.9.9.9"), GOOD[2]])[..2];
        for (pods, masters) in [
            (two, &MASTER_NAMES[..2]),
            (&two[..1], &MASTER_NAMES[..]),
            (moved, &MASTER_NAMES[..]),
            (two, &[]),
        ] {
            let told = broken_member(pods, masters).unwrap_err();
            assert_eq!(told, format!("Expected 3 etcd pods, but found {}.", pods.len()));
        }
    }

    #[test]
    fn none_two_and_signs_of_two_are_refused() {
        let away = |n: usize| (false, GOOD[n].1);
        let moved = |n: usize| (GOOD[n].0, "10.9.9.9");
        for (all, told) in [
            (GOOD, "there is no member to recover"),
            ([moved(0), GOOD[1], GOOD[2]], "there is no member to recover"),
            ([away(0), away(1), GOOD[2]], "several pods are not ready"),
            ([away(0), away(1), away(2)], "several pods are not ready"),
            ([away(0), moved(1), GOOD[2]], "has another address"),
            ([(false, "10.9.9.9"), moved(1), GOOD[2]], "the addresses of several nodes"),
        ] {
            let refused = broken_member(&pods(all), &MASTER_NAMES).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        let two = &pods([away(0), GOOD[1], GOOD[2]])[..2];
        assert_eq!(broken_member(two, &MASTER_NAMES).unwrap_err(), "Expected 3 etcd pods, but found 2.");
        assert_eq!(unready_members(two).unwrap(), "2 of 3 etcd pods are there");
    }

    #[test]
    fn a_member_is_taken_away_only_while_both_others_serve() {
        let node = "c-x7k2p-master-1";
        let one_away = pods([GOOD[0], (false, "10.0.0.1"), GOOD[2]]);
        let gone: Vec<_> =
            one_away.iter().filter(|pod| pod.spec.node_name.as_str() != node).cloned().collect();
        assert_eq!(image_without(&gone, node), Ok("quay.io/e@sha256:1"), "its pod is gone with its manifest");
        let told = image_without(&pods(GOOD), node).unwrap_err();
        assert_eq!(told, "Pod etcd-c-x7k2p-master-1 is ready: its member is not taken away.");
        let two_away = pods([(false, "10.0.0.0"), (false, "10.0.0.1"), GOOD[2]]);
        assert_eq!(image_without(&two_away, node).unwrap_err(), "1 of the 2 other etcd pods are ready.");
    }

    #[test]
    fn a_node_with_a_name_that_is_none_is_refused() {
        let mut all = pods([(false, "10.0.0.0"), GOOD[1], GOOD[2]]);
        all[0] = serde_json::from_value(json!({"metadata": {"name": "etcd-x"}, "spec": {"nodeName": "../x",
            "containers": [{"name": "etcd"}]}}))
        .unwrap();
        assert!(broken_member(&all, &MASTER_NAMES).unwrap_err().contains("no valid name"));
    }

    #[test]
    fn certificates_are_renewed_before_4_9_only() {
        for version in ["4.8.57", "4.7.0"] {
            assert_eq!(check_renewable(version), Ok(()), "{version}");
        }
        for version in ["4.9.0", "4.10.3", "5.0.0", "", "x"] {
            assert!(check_renewable(version).is_err(), "{version}");
        }
    }
}
