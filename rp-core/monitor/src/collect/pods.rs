//! Pods of the platform (`contract/monitor.md` §9.6).

use super::conditions::{PODS, is_known};
use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::{ClusterObjects, Resource};
use crate::names::cluster;
use crate::objects::Pod;
use crate::sample::Sample;

/// The namespaces whose pods are read.
pub(super) const NAMESPACES: [&str; 9] = [
    "openshift-apiserver",
    "openshift-azure-logging",
    "openshift-azure-operator",
    "openshift-etcd",
    "openshift-ingress",
    "openshift-kube-apiserver",
    "openshift-machine-config-operator",
    "openshift-machine-api",
    "openshift-monitoring",
];
/// Number of restarts from which they are reported.
const MANY_RESTARTS: i64 = 10;

pub(super) fn needs(_: &ClusterObjects) -> Vec<Resource> {
    NAMESPACES.map(Resource::Pods).to_vec()
}

/// A namespace that cannot be read does not affect the others.
pub(super) fn pods(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let mut failed = None;
    for namespace in NAMESPACES {
        match seen.pods(namespace) {
            Ok(pods) => pods.iter().for_each(|pod| one(pod, namespace, told)),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), Err)
}

fn one(pod: &Pod, namespace: &'static str, told: &mut CollectorOutput) {
    let (name, node) = (pod.metadata.name.as_str(), pod.spec.node_name.as_str());
    let status = &pod.status;
    let is_over = pod.is_over();
    if !is_over && status.reason.as_str() != "Preempting" {
        for condition in status.conditions.iter().filter(|it| !is_known(PODS, it)) {
            let (kind, value) = (owned_text(condition.kind.as_str()), owned_text(condition.status.as_str()));
            let dims = [owned_text(name), namespace.into(), owned_text(node), kind, value];
            told.logged(Sample::one(&cluster::POD_CONDITIONS, dims), condition.message.as_str());
        }
    }
    for container in status.container_statuses.iter().filter(|_| !is_over) {
        let Some((reason, message)) = container.waiting() else { continue };
        let words = [node, container.name.as_str(), reason, container.last_end()].map(owned_text);
        let dims = [owned_text(name), namespace.into()].into_iter().chain(words);
        told.logged(Sample::one(&cluster::POD_CONTAINERS, dims), message);
    }
    let restarts = pod.restarts();
    if restarts >= MANY_RESTARTS {
        told.logged(Sample::int(&cluster::POD_RESTARTS, restarts, [owned_text(name), namespace.into()]), "");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, aro, named};
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
    fn fed(pod: Value) -> CollectorBench {
        let mut fed = CollectorBench::new(aro()).hourly();
        for namespace in NAMESPACES {
            let items = if namespace == "openshift-etcd" { json!([pod]) } else { json!([]) };
            fed = fed.with_items(&Resource::Pods(namespace), items);
        }
        fed
    }

    fn told(pod: Value) -> Vec<String> {
        fed(pod).run(named("emitPodConditions"))
    }

    #[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
    fn pod(phase: &str, reason: &str, conditions: &[(&str, &str)], containers: Value) -> Value {
        let conditions: Vec<Value> =
            conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status})).collect();
        json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n"},
            "status": {"phase": phase, "reason": reason, "conditions": conditions, "containerStatuses": containers}})
    }

    const UNREADY: [(&str, &str); 2] = [("Ready", "False"), ("ContainersReady", "Unknown")];

    #[test]
    fn known_conditions_are_silent() {
        let fine = [
            ("ContainersReady", "True"),
            ("Initialized", "True"),
            ("PodScheduled", "True"),
            ("Ready", "True"),
            ("PodReadyToStartContainers", "True"),
        ];
        assert!(told(pod("Running", "", &fine, json!([]))).is_empty());
        assert_eq!(
            told(pod("Running", "", &UNREADY, json!([]))),
            [
                "pod.conditions 1 name=p namespace=openshift-etcd nodeName=n type=ContainersReady status=Unknown",
                "pod.conditions 1 name=p namespace=openshift-etcd nodeName=n type=Ready status=False"
            ]
        );
    }

    #[test]
    fn pods_that_are_over_or_give_way_are_silent() {
        assert!(told(pod("Succeeded", "", &UNREADY, json!([]))).is_empty());
        assert!(told(pod("Running", "Preempting", &UNREADY, json!([]))).is_empty());
    }

    #[test]
    fn waiting_containers_are_told_with_reason_and_last_end() {
        let waiting = json!([
            {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
             "lastState": {"terminated": {"reason": "Error"}}},
            {"name": "d", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
            {"name": "e", "state": {"running": {}}},
        ]);
        let dims = "name=p namespace=openshift-etcd nodeName=n";
        assert_eq!(
            told(pod("Running", "", &[], waiting.clone())),
            [
                format!(
                    "pod.containerstatuses 1 {dims} containername=c reason=CrashLoopBackOff lastTerminationState=Error"
                ),
                format!(
                    "pod.containerstatuses 1 {dims} containername=d reason=ImagePullBackOff lastTerminationState="
                ),
            ]
        );
        assert!(told(pod("Succeeded", "", &[], waiting.clone())).is_empty());
        let lines = fed(pod("Running", "", &[], waiting)).told(named("emitPodConditions")).unwrap().lines;
        assert!(lines[0].fields.contains(&("message".into(), "back-off".into())));
    }

    #[test]
    fn restarts_are_told_from_10_on() {
        let restarts = |counts: &[i64]| {
            let containers: Vec<Value> = counts.iter().map(|count| json!({"restartCount": count})).collect();
            told(pod("Succeeded", "", &[], json!(containers)))
        };
        assert!(restarts(&[5, 4]).is_empty());
        assert_eq!(restarts(&[5, 5]), ["pod.restartcounter 10 name=p namespace=openshift-etcd"]);
        assert_eq!(restarts(&[i64::MAX, i64::MAX]).len(), 1);
    }

    #[test]
    fn a_namespace_that_is_refused_leaves_the_others() {
        let fed =
            fed(pod("Running", "", &UNREADY, json!([]))).failed(&Resource::Pods("openshift-apiserver"), 403);
        let told = fed.run(named("emitPodConditions"));
        assert_eq!(told.len(), 3);
        assert!(
            told.iter().any(|line| line.contains("openshift-apiserver") && line.contains("403")),
            "{told:?}"
        );
    }
}
