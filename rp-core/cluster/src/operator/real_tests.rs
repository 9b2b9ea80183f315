//! The deployment into a real Kubernetes. It has no controllers of deployments and no cloud credential operator: what
//! those do is written by the tests.

use std::sync::Arc;
use std::time::Duration;

use rp_documents::cluster::ClusterSecret;
use serde_json::{Value, json};
use tests_kit::OpenShift;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use super::*;
use crate::environment::Periods;
use crate::harness::{DirectClients, UnreachableAzure, World};
use crate::manager::Operation;
use crate::step::ConditionStatus;

const NAMED: &[&str] = &["-n", NAMESPACE];

/// The cluster of this test process. One test at a time: there is one operator in it.
struct RealCluster {
    openshift: OpenShift,
    turn: Mutex<()>,
}

impl RealCluster {
    async fn enter() -> (&'static Self, MutexGuard<'static, ()>) {
        static CLUSTER: OnceCell<RealCluster> = OnceCell::const_new();
        let cluster = CLUSTER.get_or_init(Self::start).await;
        (cluster, cluster.turn.lock().await)
    }

    async fn start() -> Self {
        let openshift = OpenShift::start().await.unwrap();
        openshift.take_operator().await.unwrap();
        Self { openshift, turn: Mutex::new(()) }
    }

    /// A document of this cluster, and its steps.
    async fn steps(&self) -> (World, Context) {
        let clusters = DirectClients::of(&self.openshift);
        let periods = Periods { poll: Duration::from_millis(200), ..Periods::CONTRACT };
        let world = World::new(Arc::new(UnreachableAzure), false, periods)
            .with(|env| env.clusters = Arc::new(clusters));
        let context = world.context(Operation::AdminUpdate);
        tests::fill(&context).await;
        let file = self.openshift.plane.service_kubeconfig().unwrap();
        let kubeconfig = std::fs::read(file).unwrap();
        context.set_secret(ClusterSecret::ServiceKubeconfig, &kubeconfig).await.unwrap();
        (world, context)
    }

    async fn kubectl(&self, args: &[&str]) -> String {
        self.openshift.admin().ok(args).await.unwrap()
    }

    async fn get(&self, kind: &str, name: &str) -> Value {
        let args = [&["get", kind, name, "-o", "json"], NAMED].concat();
        serde_json::from_str(&self.kubectl(&args).await).unwrap()
    }

    /// Every object of the deployment with its version.
    async fn versions(&self, context: &Context) -> Vec<(String, String)> {
        let kube = Kube::connect(context).unwrap();
        let settings = values::settings(context, &kube).await.unwrap();
        let mut paths: Vec<String> =
            deployment::objects(&settings).iter().map(crate::kube_api::path_of).collect();
        paths.push(CLUSTER.to_owned());
        let mut versions = Vec::new();
        for path in paths {
            let object: Value = kube.get_required(&path).await.unwrap();
            versions.push((path, object["metadata"]["resourceVersion"].to_string()));
        }
        versions
    }

    /// Rolls both deployments out, with a pod each that has this image.
    async fn roll_out(&self, image: &str) {
        for name in DEPLOYMENTS {
            self.openshift.roll_out(NAMESPACE, name).await.unwrap();
            self.kubectl(&[&["delete", "pod", name, "--ignore-not-found", "--force"], NAMED].concat()).await;
            let pod = json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name}},
                "spec": {"nodeName": "node-1", "containers": [{"name": "aro-operator", "image": image}]}});
            self.openshift.apply(&[pod]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_second_installation_changes_no_version_and_leaves_what_is_others() {
    let (cluster, _turn) = RealCluster::enter().await;
    let (_, context) = cluster.steps().await;
    install(&context).await.unwrap();
    let crd = cluster.get("crd", "clusters.aro.openshift.io").await;
    let established = |one: &Value| one["type"] == "Established" && one["status"] == "True";
    assert!(crd["status"]["conditions"].as_array().unwrap().iter().any(established), "{crd}");
    let owner = cluster.get("secret", SINGLETON).await["metadata"]["ownerReferences"].clone();
    assert_eq!(owner[0]["kind"], "Cluster");
    let label = ["label", "namespace", NAMESPACE, "team=own", "--overwrite"];
    cluster.kubectl(&label).await;
    let annotate = ["annotate", "deployment", DEPLOYMENTS[0], "note=kept", "--overwrite"];
    cluster.kubectl(&[&annotate, NAMED].concat()).await;
    let before = cluster.versions(&context).await;
    install(&context).await.unwrap();
    assert_eq!(cluster.versions(&context).await, before);

    // Another version: only the deployments change, and what others wrote stays.
    context.set("/properties/operatorVersion", "next").await.unwrap();
    update(&context).await.unwrap();
    let after = cluster.versions(&context).await;
    let changed: Vec<&String> =
        before.iter().zip(&after).filter(|(old, new)| old != new).map(|(old, _)| &old.0).collect();
    assert_eq!(changed, [&deployment_path(DEPLOYMENTS[0]), &deployment_path(DEPLOYMENTS[1])]);
    let master = cluster.get("deployment", DEPLOYMENTS[0]).await;
    assert_eq!(master["metadata"]["annotations"]["note"], "kept");
    let container = &master["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "arosvc.azurecr.io/aro-operator:next");
    let namespace: Value =
        serde_json::from_str(&cluster.kubectl(&["get", "namespace", NAMESPACE, "-o", "json"]).await).unwrap();
    assert_eq!(namespace["metadata"]["labels"]["team"], "own");
    assert_eq!(cluster.get("secret", SINGLETON).await["metadata"]["ownerReferences"], owner);
}

#[tokio::test]
async fn a_synchronisation_writes_the_services_members_only() {
    let (cluster, _turn) = RealCluster::enter().await;
    let (_, context) = cluster.steps().await;
    let flag = |name: &str, value: &str| json!({name: value});
    context.set("/properties/operatorFlags", flag("aro.checker.enabled", "false")).await.unwrap();
    install(&context).await.unwrap();
    let object = "clusters.aro.openshift.io";
    let banner = r#"{"spec":{"banner":{"content":"ContactSupport"}}}"#;
    cluster.kubectl(&["patch", object, SINGLETON, "--type=merge", "-p", banner]).await;
    cluster.kubectl(&["annotate", object, SINGLETON, "aro.openshift.io/note=kept", "--overwrite"]).await;
    enable_reconciliation(&context).await.unwrap();
    let read = async || cluster.get(object, SINGLETON).await;
    assert_eq!(read().await["spec"]["operatorflags"]["aro.forcereconciliation"], "true");
    disable_reconciliation(&context).await.unwrap();

    context.set("/properties/operatorFlags", flag("aro.dnsmasq.enabled", "false")).await.unwrap();
    sync_cluster_object(&context).await.unwrap();
    let first = read().await;
    assert_eq!(first["spec"]["banner"]["content"], "ContactSupport");
    assert_eq!(first["metadata"]["annotations"]["aro.openshift.io/note"], "kept");
    let flags = &first["spec"]["operatorflags"];
    assert_eq!(flags["aro.dnsmasq.enabled"], "false");
    assert!(
        flags["aro.checker.enabled"].is_null(),
        "a flag that the document has no longer is gone: {flags}"
    );
    sync_cluster_object(&context).await.unwrap();
    assert_eq!(read().await["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn a_restart_survives_the_next_update_of_the_operator() {
    let (cluster, _turn) = RealCluster::enter().await;
    let (_, context) = cluster.steps().await;
    install(&context).await.unwrap();
    restart_master(&context).await.unwrap();
    let master = cluster.get("deployment", DEPLOYMENTS[0]).await;
    let restarted = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";
    assert!(master.pointer(restarted).is_some_and(Value::is_string), "{master}");
    let container = &master["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "arosvc.azurecr.io/aro-operator:abc1234");
    update(&context).await.unwrap();
    let after = cluster.get("deployment", DEPLOYMENTS[0]).await;
    assert_eq!(after["metadata"]["resourceVersion"], master["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn it_is_ready_and_of_the_desired_version_once_its_pods_are() {
    let (cluster, _turn) = RealCluster::enter().await;
    let (_, context) = cluster.steps().await;
    context.set("/properties/operatorVersion", "ready-test").await.unwrap();
    install(&context).await.unwrap();
    let waits = aro_deployment_ready(&context).await.unwrap();
    assert!(
        matches!(&waits, ConditionStatus::NotYet(text) if text.contains("aro-operator-master")),
        "{waits:?}"
    );
    cluster.roll_out("arosvc.azurecr.io/aro-operator:old").await;
    assert_eq!(aro_deployment_ready(&context).await.unwrap(), ConditionStatus::Yes);
    let waits = running_desired_version(&context).await.unwrap();
    let old = "pod aro-operator-master has image arosvc.azurecr.io/aro-operator:old";
    assert!(matches!(&waits, ConditionStatus::NotYet(text) if text.contains(old)), "{waits:?}");
    cluster.roll_out("arosvc.azurecr.io/aro-operator:ready-test").await;
    assert_eq!(running_desired_version(&context).await.unwrap(), ConditionStatus::Yes);
}

#[tokio::test]
async fn an_installation_that_is_killed_anywhere_is_taken_up_again() {
    let (cluster, _turn) = RealCluster::enter().await;
    let (_, context) = cluster.steps().await;
    let mut ended = false;
    for round in 1..=60 {
        cluster.kubectl(&["delete", "clusters.aro.openshift.io", SINGLETON, "--ignore-not-found"]).await;
        // The run is dropped in the middle, a little later each time, until it comes to its end.
        let limit = Duration::from_millis(5 * round);
        ended = tokio::time::timeout(limit, install(&context)).await.is_ok_and(|done| done.is_ok());
        if ended {
            break;
        }
    }
    if !ended {
        install(&context).await.unwrap();
    }
    let before = cluster.versions(&context).await;
    install(&context).await.unwrap();
    assert_eq!(cluster.versions(&context).await, before);
    let uid = cluster.get("clusters.aro.openshift.io", SINGLETON).await["metadata"]["uid"].clone();
    let owners = cluster.get("secret", SINGLETON).await["metadata"]["ownerReferences"].clone();
    assert_eq!(
        (owners.as_array().unwrap().len(), &owners[0]["uid"]),
        (1, &uid),
        "of the newest Cluster alone"
    );
}

#[tokio::test]
async fn an_operator_that_an_older_service_deployed_is_taken_over() {
    let (cluster, _turn) = RealCluster::enter().await;
    let (_, context) = cluster.steps().await;
    install(&context).await.unwrap();
    let rbac = "rbac.authorization.k8s.io";
    cluster.kubectl(&["delete", "clusterrolebinding", "aro-operator-master"]).await;
    let binding = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding",
        "metadata": {"name": "aro-operator-master"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "aro-operator-master", "namespace": NAMESPACE}]});
    cluster.openshift.apply(&[binding]).await.unwrap();
    let old = json!({"spec": {"template": {"spec": {"containers": [{"name": "aro-operator", "command": ["aro"],
        "image": "old.example/aro-operator:1"}]}}}});
    cluster
        .kubectl(&[&["patch", "deployment", DEPLOYMENTS[0], "-p", &old.to_string()], NAMED].concat())
        .await;
    update(&context).await.unwrap();
    let binding = cluster.get("clusterrolebinding", "aro-operator-master").await;
    assert_eq!(binding["roleRef"]["name"], "aro-operator-master");
    let master = cluster.get("deployment", DEPLOYMENTS[0]).await;
    let container = &master["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], json!(["aro-operator"]));
    assert_eq!(container["image"], "arosvc.azurecr.io/aro-operator:abc1234");
}
