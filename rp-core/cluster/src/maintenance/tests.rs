//! Tasks over an API server in memory.

pub(super) mod rig;

use rp_documents::maintenance::{Build, TASKS};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::harness::World;
use crate::manager::Operation;
use crate::metrics::StepMetrics;
use crate::{kubeconfigs, values};

const CLUSTER: &str = "/apis/aro.openshift.io/v1alpha1/clusters/cluster";

async fn ready() -> World {
    let world = World::alone();
    world.api.is_up();
    let context = world.context(Operation::AdminUpdate);
    context.set("/properties/networkProfile/privateEndpointIp", "10.0.0.5").await.unwrap();
    values::ensure_infra_id(&context).await.unwrap();
    kubeconfigs::write(&context, &crate::harness::assets::state("word")).await.unwrap();
    world
}

async fn maintain(world: &World, task: Task) -> Result<(), TaskFailure> {
    // Each manifest has a position of its own.
    world.progress.forget_position();
    let registry = rp_metrics::Registry::new();
    let steps = StepMetrics::new(&registry, rp_metrics::Statsd::none());
    let manager = ClusterManager::new(std::sync::Arc::clone(&world.env), steps);
    let free = CancellationToken::new();
    manager.maintain(task, TaskOrder::default(), world.job(Operation::AdminUpdate, &free, &free)).await
}

#[test]
fn errors_that_may_pass_are_repeated() {
    let unmet = || StepError::Unmet { name: "n", limit: std::time::Duration::ZERO, seen: "s".into() };
    assert!(matches!(failure(Task::FixSsh, unmet()), TaskFailure::Transient(_)));
    assert!(matches!(failure(Task::FixSsh, StepError::other("x")), TaskFailure::Terminal(_)));
    assert!(matches!(failure(Task::BalancerZones, StepError::other("x")), TaskFailure::Transient(_)));
    assert_eq!(failure(Task::BalancerZones, StepError::Stopping), TaskFailure::HandedOver);
    assert_eq!(failure(Task::BalancerZones, StepError::Lost), TaskFailure::Lost);
}

#[test]
fn every_task_that_can_run_has_steps() {
    for task in TASKS {
        let steps = [plan(task), power::plan(task, false), etcd::plan(task)].concat();
        assert_eq!(steps.is_empty(), task.build() != Build::Ready, "{}", task.name());
    }
}

#[tokio::test]
async fn flags_of_the_document_replace_those_of_the_cluster() {
    let world = ready().await;
    let found =
        json!({"metadata": {"name": "cluster"}, "spec": {"domain": "d", "operatorflags": {"old": "x"}}});
    world.api.put(CLUSTER, found);
    for (task, profile) in [(Task::OtelMaxLogs, "max-logs"), (Task::OtelDefault, "minimal-logs")] {
        maintain(&world, task).await.unwrap();
        let written: Value = world.api.get(CLUSTER).unwrap();
        assert_eq!(written["spec"]["domain"], "d");
        assert_eq!(
            written["spec"]["operatorflags"],
            json!({"aro.genevalogging.enabled": "true", "aro.genevalogging.otel.profile": profile,
                "aro.genevalogging.otel.master.profile": profile, "aro.genevalogging.otel.worker.profile": profile})
        );
    }
    world.api.take_writes();
    maintain(&world, Task::OperatorFlags).await.unwrap();
    assert!(world.api.take_writes().is_empty(), "what is right is not written again");
}

#[tokio::test]
async fn a_cluster_without_the_operator_takes_no_flags() {
    let world = ready().await;
    let failed = maintain(&world, Task::OperatorFlags).await.unwrap_err();
    assert_eq!(failed, TaskFailure::Terminal("the Cluster object of the operator is not there".to_owned()));
}

#[tokio::test]
async fn certificates_of_the_vault_come_into_the_cluster() {
    let world = ready().await;
    let failed = maintain(&world, Task::TlsCertificates).await.unwrap_err();
    let TaskFailure::Transient(text) = failed else { panic!("{failed:?}") };
    assert_eq!(text.matches("the vault has no certificate of").count(), 2, "both were tried: {text}");
    let context = world.context(Operation::AdminUpdate);
    let id = context.document().id().to_owned();
    for name in ["apiserver", "ingress"] {
        world.certificates.set(&format!("{id}-{name}"), json!({}));
    }
    maintain(&world, Task::TlsCertificates).await.unwrap();
    for (namespace, name) in [("openshift-config", "apiserver"), ("openshift-ingress", "ingress")] {
        let path = format!("/api/v1/namespaces/{namespace}/secrets/{id}-{name}");
        assert!(world.api.get(&path).is_some(), "{path}");
    }
}

#[tokio::test]
async fn a_token_without_a_date_is_to_be_rotated() {
    let world = ready().await;
    let failed = maintain(&world, Task::RegistryTokenCheck).await.unwrap_err();
    assert_eq!(failed, TaskFailure::Terminal("no issue date detected, please rotate token".to_owned()));
}
