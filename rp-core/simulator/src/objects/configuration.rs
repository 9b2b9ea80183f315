//! Configuration that the resource provider writes after an installation: console, samples, catalogues, API server,
//! storage.

use serde_json::{Value, json};

use super::{AGE, Cell, Kind, NAME, View, column, metadata, single};

pub(super) const CONSOLES: Kind = single("operator.openshift.io", "consoles", "console", "Console", consoles);
/// Where the console is.
pub(super) const CONSOLE_ADDRESSES: Kind =
    single("config.openshift.io", "consoles", "console", "Console", addresses);
pub(super) const SAMPLES: Kind =
    single("samples.operator.openshift.io", "configs", "config", "Config", samples);
pub(super) const OPERATORHUBS: Kind =
    single("config.openshift.io", "operatorhubs", "operatorhub", "OperatorHub", operatorhubs);
pub(super) const APISERVERS: Kind =
    single("config.openshift.io", "apiservers", "apiserver", "APIServer", apiservers);
pub(super) const DRIVERS: Kind =
    single("operator.openshift.io", "clustercsidrivers", "clustercsidriver", "ClusterCSIDriver", drivers);
pub(super) const STORAGECLASSES: Kind = Kind {
    short: &["sc"],
    columns: &[NAME, column("Provisioner", Cell::At("/provisioner")), AGE],
    ..single("storage.k8s.io", "storageclasses", "storageclass", "StorageClass", storageclasses)
};

fn object(view: &View<'_>, kind: &Kind, name: &str, spec: &Value) -> Value {
    json!({"kind": kind.kind, "apiVersion": kind.api_version(), "spec": spec,
        "metadata": metadata(view, kind.plural, None, name, &json!({}))})
}

fn consoles(view: &View<'_>) -> Vec<Value> {
    vec![object(view, &CONSOLES, "cluster", &json!({"managementState": "Managed", "logLevel": "Normal"}))]
}

fn addresses(view: &View<'_>) -> Vec<Value> {
    let mut object =
        object(view, &CONSOLE_ADDRESSES, "cluster", &json!({"authentication": {"logoutRedirect": ""}}));
    let url = format!("https://console-openshift-console.apps.{}", view.cluster.domain);
    object["status"] = json!({"consoleURL": url});
    vec![object]
}

fn samples(view: &View<'_>) -> Vec<Value> {
    vec![object(view, &SAMPLES, "cluster", &json!({"managementState": "Managed"}))]
}

fn operatorhubs(view: &View<'_>) -> Vec<Value> {
    vec![object(view, &OPERATORHUBS, "cluster", &json!({}))]
}

fn apiservers(view: &View<'_>) -> Vec<Value> {
    vec![object(view, &APISERVERS, "cluster", &json!({"audit": {"profile": "Default"}}))]
}

fn drivers(view: &View<'_>) -> Vec<Value> {
    ["disk.csi.azure.com", "file.csi.azure.com"]
        .map(|name| object(view, &DRIVERS, name, &json!({"managementState": "Managed"})))
        .into()
}

fn storageclasses(view: &View<'_>) -> Vec<Value> {
    let class = |name: &str, default: bool| {
        let mut class = object(view, &STORAGECLASSES, name, &Value::Null);
        class["metadata"]["annotations"] =
            json!({"storageclass.kubernetes.io/is-default-class": default.to_string()});
        class["provisioner"] = json!("disk.csi.azure.com");
        class["parameters"] = json!({"skuname": "Premium_LRS"});
        class["reclaimPolicy"] = json!("Delete");
        class["volumeBindingMode"] = json!("WaitForFirstConsumer");
        class["allowVolumeExpansion"] = json!(true);
        if let Some(members) = class.as_object_mut() {
            members.remove("spec");
        }
        class
    };
    vec![class("azurefile-csi", false), class("managed-csi", true)]
}
