//! The operator of a cluster, as the service deploys it (`contract/operator.md` §5, `contract/cluster.md` §6.11).

mod apply;
mod credentials;
#[cfg(test)]
mod real_tests;
mod rollout;
#[cfg(test)]
mod tests;
mod values;

use rp_kube::api_status;
use rp_openshift::{AroCluster, Whole};
use rp_operator_api::cluster::{API_VERSION, KIND};
use rp_operator_api::{Flag, NAMESPACE, SINGLETON, deployment};
use serde_json::{Value, json};

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, Tries, merge_into, retry, secret};

pub(crate) use credentials::aro_credentials_request_reconciled;
pub(crate) use rollout::{aro_deployment_ready, restart_master, running_desired_version};

/// The two deployments.
const DEPLOYMENTS: [&str; 2] = ["aro-operator-master", "aro-operator-worker"];
const CLUSTER: &str = "/apis/aro.openshift.io/v1alpha1/clusters/cluster";
/// Attempts to write the owner of the pull secret, one a second.
const OWNER_TRIES: u32 = 60;

/// Whether the document has ingress profiles: without them the operator is left as it is, which is logged.
fn has_ingress(context: &Context, what: &str) -> bool {
    let has = !context.document().properties.ingress_profiles.is_empty();
    if !has {
        context.record_line("error", &format!("skip {what}: the document has no ingress profiles"));
    }
    has
}

fn deployment_path(name: &str) -> String {
    format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}")
}

/// Deploys it into a new cluster: all objects, the `Cluster`, and the owner of its pull secret.
///
/// # Errors
/// The document lacks what the `Cluster` needs, or the API server does not take an object; the error names it.
pub(crate) async fn install(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let cluster = values::cluster_object(context)?;
    let settings = values::settings(context, &kube).await?;
    apply::objects(context, &kube, &settings).await?;
    apply::one(context, &kube, &cluster).await?;
    own_pull_secret(context, &kube).await
}

/// Deploys the version that the cluster is to have; the `Cluster` stays as it is, so that flags change only when the new
/// version runs.
///
/// # Errors
/// The API server does not take an object; the error names it.
pub(crate) async fn update(context: &Context) -> Result<(), StepError> {
    if !has_ingress(context, "the update of the operator") {
        return Ok(());
    }
    let kube = Kube::connect(context)?;
    let settings = values::settings(context, &kube).await?;
    apply::objects(context, &kube, &settings).await
}

/// Writes what the document says into the `Cluster`. Annotations, the banner and what others write stay
/// (`contract/operator.md` "Do better" 6).
///
/// # Errors
/// `no Ingress Profiles found`, `ingress IP is empty`, or the API server does not take it.
pub(crate) async fn sync_cluster_object(context: &Context) -> Result<(), StepError> {
    let cluster = values::cluster_object(context)?;
    apply::one(context, &Kube::connect(context)?, &cluster).await
}

/// Changes that restart nodes are made at once.
///
/// # Errors
/// There is no `Cluster`.
pub(crate) async fn enable_reconciliation(context: &Context) -> Result<(), StepError> {
    force_reconciliation(context, true).await
}

/// Changes that restart nodes wait for upgrades.
///
/// # Errors
/// There is no `Cluster`.
pub(crate) async fn disable_reconciliation(context: &Context) -> Result<(), StepError> {
    force_reconciliation(context, false).await
}

/// The flag of the `Cluster`, not of the document: the next synchronisation brings back the document's.
async fn force_reconciliation(context: &Context, on: bool) -> Result<(), StepError> {
    let flag = Flag::ForceReconciliation.name();
    let wanted = json!({"spec": {"operatorflags": {flag: on.to_string()}}});
    let kube = Kube::connect(context)?;
    if kube.change(CLUSTER, |found| merge_into(found, &wanted)).await? {
        return Ok(());
    }
    Err(StepError::other("the Cluster object of the operator is not there"))
}

/// Applies the order for the operator's credentials of Azure.
///
/// # Errors
/// The API server does not take it.
pub(crate) async fn ensure_credentials_request(context: &Context) -> Result<(), StepError> {
    apply::one(context, &Kube::connect(context)?, &deployment::credentials_request()).await
}

/// Applies the operator's pull secret where the operator is.
///
/// # Errors
/// The API server does not take it.
pub(crate) async fn update_pull_secret(context: &Context, kube: &Kube) -> Result<(), StepError> {
    if !kube.exists(&format!("/api/v1/namespaces/{NAMESPACE}")).await? {
        return Ok(());
    }
    let config = values::pull_secret(context)?;
    let kind = "kubernetes.io/dockerconfigjson";
    let object = secret(NAMESPACE, SINGLETON, kind, &[(".dockerconfigjson", config.expose())]);
    kube.apply(&pull_secret_path(), &object).await
}

fn pull_secret_path() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/secrets/{SINGLETON}")
}

/// Makes the `Cluster` the controller of the pull secret. The owner is not among the members that are applied: a later
/// run that does not know it leaves it.
async fn own_pull_secret(context: &Context, kube: &Kube) -> Result<(), StepError> {
    let found: AroCluster<Whole> = kube.get_required(CLUSTER).await?;
    let owner = json!({
        "apiVersion": API_VERSION, "kind": KIND, "name": SINGLETON, "uid": found.metadata.uid.as_str(),
        "controller": true, "blockOwnerDeletion": true
    });
    let refused = |error: &StepError| matches!(error, StepError::Kube { error, .. } if matches!(api_status(error), Some(403 | 409)));
    retry(context, Tries::of(OWNER_TRIES), refused, || async {
        let path = pull_secret_path();
        if kube.change(&path, |secret| set_owner(secret, &owner)).await? {
            return Ok(());
        }
        Err(StepError::other(format!("{path} is not there")))
    })
    .await
}

/// Puts the owner in the place of a `Cluster` that was there before; others stay.
fn set_owner(object: &mut Value, owner: &Value) -> bool {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return false };
    let present = metadata.get("ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_cluster = |one: &&Value| one.get("kind") != owner.get("kind");
    let mut owners: Vec<Value> = present.iter().filter(is_cluster).cloned().collect();
    owners.push(owner.clone());
    let changed = owners != present;
    metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
    changed
}
