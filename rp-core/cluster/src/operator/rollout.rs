//! Whether the operator of a cluster runs, and which (`contract/operator.md` §5.2).

use std::fmt::Write as _;

use rp_openshift::{Pod, Whole, Workload};
use rp_operator_api::NAMESPACE;
use rp_operator_api::deployment::{PROGRAM, version_label};
use serde_json::json;

use super::{DEPLOYMENTS, deployment_path, has_ingress, values};
use crate::conditions::not_yet_readable;
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;
use crate::step::ConditionStatus;

/// Field manager of the annotation that restarts pods: that of the deployment would give up all its other members.
const RESTARTER: &str = "aro-rp-restart";
/// Pods of which the state is shown.
const MOST_PODS: usize = 3;

/// Both deployments are rolled out.
pub(crate) async fn aro_deployment_ready(context: &Context) -> Result<ConditionStatus, StepError> {
    if !has_ingress(context, "the wait for the operator") {
        return Ok(ConditionStatus::Yes);
    }
    let looked = async {
        let kube = Kube::connect(context)?;
        for name in DEPLOYMENTS {
            let found: Option<Workload<Whole>> = kube.get(&deployment_path(name)).await?;
            if !found.as_ref().is_some_and(Workload::is_rolled_out) {
                return not_ready(context, &kube, name, found.as_ref()).await;
            }
        }
        Ok(ConditionStatus::Yes)
    };
    Ok(looked.await.unwrap_or_else(|error| not_yet_readable(&error)))
}

/// What is missing of a deployment, with its replica sets and pods in the log.
async fn not_ready(
    context: &Context,
    kube: &Kube,
    name: &str,
    found: Option<&Workload<Whole>>,
) -> Result<ConditionStatus, StepError> {
    let Some(found) = found else {
        return Ok(ConditionStatus::not_yet(format!("there is no Deployment {name} yet")));
    };
    let mut text = format!(
        "Deployment {name}: {} pods of {}, {} updated, {} available",
        found.status.replicas.or_zero(),
        found.desired(),
        found.updated(),
        found.available()
    );
    let document = context.document();
    for set in replica_sets(kube, name).await {
        let (set_name, status) = (set.metadata.name.as_str(), &set.status);
        let (pods, ready) = (status.replicas.or_zero(), status.ready_replicas.or_zero());
        tracing::info!(resource_id = document.cluster_id(), "ReplicaSet {set_name}: {ready} of {pods} ready");
    }
    for pod in kube.list::<Pod<Whole>>(&pods(), &format!("app={name}")).await?.iter().take(MOST_PODS) {
        let _ = write!(text, "; pod {} {}", pod.metadata.name.as_str(), state(pod));
    }
    tracing::info!(resource_id = document.cluster_id(), "{text}");
    Ok(ConditionStatus::not_yet(text))
}

/// For the log only: what cannot be listed is left out.
async fn replica_sets(kube: &Kube, name: &str) -> Vec<Workload<Whole>> {
    let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/replicasets");
    kube.list(&path, &format!("app={name}")).await.unwrap_or_default()
}

fn pods() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods")
}

fn state(pod: &Pod<Whole>) -> String {
    let waiting = pod.status.container_statuses.iter().find_map(|container| container.waiting());
    match waiting {
        Some((reason, message)) => format!("waits: {reason}: {message}"),
        None => format!("is {}", pod.status.phase.as_str()),
    }
}

/// Both deployments have the version that they are to have, and every pod runs its image
/// (`contract/operator.md` "Do better" 33).
pub(crate) async fn running_desired_version(context: &Context) -> Result<ConditionStatus, StepError> {
    if !has_ingress(context, "the check of the operator's version") {
        return Ok(ConditionStatus::Yes);
    }
    let looked = async {
        let kube = Kube::connect(context)?;
        for name in DEPLOYMENTS {
            if let Some(text) = other_version(context, &kube, name).await? {
                return Ok(ConditionStatus::not_yet(text));
            }
        }
        Ok(ConditionStatus::Yes)
    };
    Ok(looked.await.unwrap_or_else(|error: StepError| not_yet_readable(&error)))
}

/// What runs instead of the version that is to run; `None`: that one does.
async fn other_version(context: &Context, kube: &Kube, name: &str) -> Result<Option<String>, StepError> {
    let image = values::image(context);
    let version = version_label(&image);
    let Some(found) = kube.get::<Workload<Whole>>(&deployment_path(name)).await? else {
        return Ok(Some(format!("there is no Deployment {name} yet")));
    };
    let label = found.metadata.labels.get("version").unwrap_or_default();
    if label != version {
        return Ok(Some(format!("Deployment {name} has version {label:?}, not {version:?}")));
    }
    let all: Vec<Pod<Whole>> = kube.list(&pods(), &format!("app={name}")).await?;
    // A pod that ended is not removed, and runs nothing.
    let running = |pod: &&Pod<Whole>| !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
    let mut running = all.iter().filter(running).peekable();
    if running.peek().is_none() {
        return Ok(Some(format!("Deployment {name} has no pods")));
    }
    let other = running.find_map(|pod| {
        let container = pod.spec.containers.iter().find(|one| one.name.as_str() == PROGRAM);
        let found = container.map_or("none", |container| container.image.as_str());
        (found != image).then(|| format!("pod {} has image {found}, not {image}", pod.metadata.name.as_str()))
    });
    Ok(other)
}

/// Starts the pods of the master anew, so that they take their credentials again.
///
/// # Errors
/// There is no such deployment.
pub(crate) async fn restart_master(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let name = DEPLOYMENTS[0];
    let path = deployment_path(name);
    if !kube.exists(&path).await? {
        if !has_ingress(context, "the restart of the operator") {
            return Ok(());
        }
        let text = format!("Deployment {name} is not there: the maintenance task OperatorUpdate deploys it");
        return Err(StepError::other(text));
    }
    let now = context.env.clock.now().to_string();
    let annotations = json!({"kubectl.kubernetes.io/restartedAt": now});
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"template": {"metadata": {"annotations": annotations}}}
    });
    kube.apply_as(RESTARTER, &path, &object).await
}
