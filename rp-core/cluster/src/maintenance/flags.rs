//! Flags of the operator: in the document, and from there in the cluster.

use rp_documents::OpenShiftCluster;
use rp_documents::cluster::{Shared, Worker};
use rp_operator_api::Flag;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;

const CLUSTER: &str = "/apis/aro.openshift.io/v1alpha1/clusters/cluster";

/// Replaces the flags of the `Cluster` by the document's.
pub(super) async fn update_operator_flags(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let set = document.properties.operator_flags.iter();
    let flags: Map<String, Value> =
        set.filter_map(|(name, value)| Some((name.clone(), Value::from(value.get()?.as_str())))).collect();
    let wanted = Value::Object(flags);
    let kube = Kube::connect(context)?;
    let replace = |found: &mut Value| {
        if found.pointer("/spec/operatorflags") == Some(&wanted) {
            return false;
        }
        if !found["spec"].is_object() {
            found["spec"] = json!({});
        }
        found["spec"]["operatorflags"] = wanted.clone();
        true
    };
    if kube.change(CLUSTER, replace).await? {
        return Ok(());
    }
    Err(StepError::other("the Cluster object of the operator is not there"))
}

/// The operator is not held at a version any more.
pub(super) async fn clear_operator_version(context: &Context) -> Result<(), StepError> {
    let change = |cluster: &mut OpenShiftCluster, by: Worker| cluster.properties.operator_version.clear(by);
    context.patch(change).await.map(drop)
}

pub(super) async fn set_minimal_logs(context: &Context) -> Result<(), StepError> {
    set_profile(context, "minimal-logs").await
}

pub(super) async fn set_reduced_logs(context: &Context) -> Result<(), StepError> {
    set_profile(context, "reduced-logs").await
}

pub(super) async fn set_max_logs(context: &Context) -> Result<(), StepError> {
    set_profile(context, "max-logs").await
}

/// Turns the shipping of logs on with that profile, for all nodes.
async fn set_profile(context: &Context, profile: &'static str) -> Result<(), StepError> {
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        let flags = [
            (Flag::GenevaLogging, "true"),
            (Flag::OtelProfile, profile),
            (Flag::OtelMasterProfile, profile),
            (Flag::OtelWorkerProfile, profile),
        ];
        for (flag, value) in flags {
            cluster.properties.operator_flags.insert(by, flag.name(), Shared::new(by, value));
        }
    };
    context.patch(change).await.map(drop)
}
