//! How a new cluster is set up once it runs (`contract/cluster.md` §6.13).

use serde_json::{Value, json};

use crate::context::Context;
use crate::errors::StepError;
use crate::json::set;
use crate::kube_api::{Kube, merge_into};

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// The console says whose it is.
pub(crate) async fn update_console_branding(context: &Context) -> Result<(), StepError> {
    let brand = json!({"spec": {"customization": {"brand": "azure"}}});
    changed(context, "/apis/operator.openshift.io/v1/consoles/cluster", &brand).await
}

/// Without a pull secret of the customer's own the samples could not be pulled.
pub(crate) async fn disable_samples(context: &Context) -> Result<(), StepError> {
    let config = json!({
        "apiVersion": "samples.operator.openshift.io/v1", "kind": "Config",
        "metadata": {"name": "cluster"}, "spec": {"managementState": "Removed"}
    });
    Kube::connect(context)?.ensure("/apis/samples.operator.openshift.io/v1/configs", &config).await
}

/// Nor could the catalogues; others than these stay as they are.
pub(crate) async fn disable_operator_hub_sources(context: &Context) -> Result<(), StepError> {
    let change = |hub: &mut Value| {
        let before = hub.pointer("/spec/sources").cloned();
        let kept = before.as_ref().and_then(Value::as_array).into_iter().flatten();
        let is_ours = |source: &Value| SOURCES.iter().any(|name| source["name"] == *name);
        let mut sources: Vec<Value> = kept.filter(|source| !is_ours(source)).cloned().collect();
        sources.extend(SOURCES.iter().map(|name| json!({"name": name, "disabled": true})));
        let sources = Value::from(sources);
        let changed = before.as_ref() != Some(&sources);
        set(hub, "/spec/sources", sources);
        changed
    };
    found(
        Kube::connect(context)?.change("/apis/config.openshift.io/v1/operatorhubs/cluster", change).await?,
        "OperatorHub",
    )
}

const SOURCES: [&str; 4] =
    ["certified-operators", "community-operators", "redhat-marketplace", "redhat-operators"];

/// The customer chooses a channel first: what is not released for us is not offered.
pub(crate) async fn disable_updates(context: &Context) -> Result<(), StepError> {
    let change = |version: &mut Value| {
        let Some(spec) = version.get_mut("spec").and_then(Value::as_object_mut) else { return false };
        let had = [spec.remove("channel"), spec.remove("upstream")];
        had.iter().flatten().any(|value| value != "")
    };
    let path = "/apis/config.openshift.io/v1/clusterversions/version";
    found(Kube::connect(context)?.change(path, change).await?, "ClusterVersion")
}

/// Volumes are encrypted with the customer's keys, as the machines' disks are.
pub(crate) async fn configure_default_storage_class(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let set_id = document.worker_profiles().first().map_or("", |profile| &profile.disk_encryption_set_id);
    if set_id.is_empty() {
        return Ok(());
    }
    let (plain, encrypted, provisioner) = if document.minor().is_none_or(|minor| minor >= (4, 11)) {
        ("managed-csi", "managed-csi-encrypted-cmk", "disk.csi.azure.com")
    } else {
        ("managed-premium", "managed-premium-encrypted-cmk", "kubernetes.io/azure-disk")
    };
    let kube = Kube::connect(context)?;
    // The new one first: between the two, the newer of two defaults counts, never none.
    kube.ensure(CLASSES, &class(encrypted, provisioner, set_id)).await?;
    let undone = json!({"metadata": {"annotations": {DEFAULT_CLASS: "false"}}});
    let change = |found: &mut Value| {
        let key = DEFAULT_CLASS.replace('/', "~1");
        let is_default = found.pointer(&format!("/metadata/annotations/{key}")) == Some(&json!("true"));
        is_default && merge_into(found, &undone)
    };
    kube.change(&format!("{CLASSES}/{plain}"), change).await.map(drop)
}

fn class(name: &str, provisioner: &str, encryption: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {DEFAULT_CLASS: "true"}},
        "provisioner": provisioner, "allowVolumeExpansion": true, "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
        "parameters": {"kind": "Managed", "storageaccounttype": "Premium_LRS", "diskEncryptionSetID": encryption}
    })
}

/// File shares need keys, which clusters with workload identity do not have.
pub(crate) async fn remove_azure_file_storage_class(context: &Context) -> Result<(), StepError> {
    let wanted = json!({"spec": {"storageClassState": "Removed"}});
    let path = "/apis/operator.openshift.io/v1/clustercsidrivers/file.csi.azure.com";
    Kube::connect(context)?.change(path, |found| merge_into(found, &wanted)).await.map(drop)
}

async fn changed(context: &Context, path: &str, wanted: &Value) -> Result<(), StepError> {
    found(Kube::connect(context)?.change(path, |found| merge_into(found, wanted)).await?, path)
}

fn found(is: bool, what: &str) -> Result<(), StepError> {
    if is { Ok(()) } else { Err(StepError::other(format!("{what} is not there"))) }
}
