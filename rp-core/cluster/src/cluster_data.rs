//! What the document takes over from the cluster (`contract/cluster.md` §6.2, §6.13).

use rp_documents::OpenShiftCluster;
use rp_documents::cluster::Worker;
use serde_json::Value;

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;
use crate::{resources, values};

/// Where people find it, what runs in it, and how its network is made. The password stands in the document since the
/// kubeconfigs were made.
pub(crate) async fn update_cluster_data(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let version = kube.get_required("/apis/config.openshift.io/v1/clusterversions/version").await?;
    let network = kube.get("/apis/config.openshift.io/v1/networks/cluster").await?;
    let domain = context.document().domain(&context.env.domain);
    let version =
        version.pointer("/status/desired/version").and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = network_kind(network.as_ref()).map(str::to_owned);
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        let properties = &mut cluster.properties;
        properties.apiserver_profile.url.set(by, format!("https://api.{domain}:6443/"));
        let console = format!("https://console-openshift-console.apps.{domain}/");
        properties.console_profile.url.set(by, console);
        if !version.is_empty() {
            properties.cluster_profile.version.set(by, version.as_str());
        }
        if let Some(kind) = &kind {
            properties.network_profile.software_defined_network.set(by, kind.as_str());
        }
    };
    context.patch(change).await.map(drop)
}

fn network_kind(network: Option<&Value>) -> Option<&str> {
    let kind = network?.pointer("/status/networkType").or_else(|| network?.pointer("/spec/networkType"))?;
    kind.as_str().filter(|kind| !kind.is_empty())
}

/// A cluster that moved to the newer network is told so.
pub(crate) async fn reconcile_software_defined_network(context: &Context) -> Result<(), StepError> {
    if &*context.document().properties.network_profile.software_defined_network != "OpenShiftSDN" {
        return Ok(());
    }
    let network = Kube::connect(context)?.get("/apis/config.openshift.io/v1/networks/cluster").await?;
    if network_kind(network.as_ref()) == Some("OVNKubernetes") {
        let change = |cluster: &mut OpenShiftCluster, by: Worker| {
            cluster.properties.network_profile.software_defined_network.set(by, "OVNKubernetes");
        };
        context.patch(change).await?;
    }
    Ok(())
}

/// Where older clusters keep their images.
pub(crate) async fn populate_registry_storage_account_name(context: &Context) -> Result<(), StepError> {
    if !context.document().properties.image_registry_storage_account_name.is_empty() {
        return Ok(());
    }
    let config = Kube::connect(context)?
        .get_required("/apis/imageregistry.operator.openshift.io/v1/configs/cluster")
        .await?;
    let account = config
        .pointer("/spec/storage/azure/accountName")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if account.is_empty() {
        return Err(StepError::other("the image registry's configuration names no storage account"));
    }
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        cluster.properties.image_registry_storage_account_name.set(by, account.as_str());
    };
    context.patch(change).await.map(drop)
}

/// The size of packets, as the nodes are configured.
pub(crate) async fn ensure_mtu_size(context: &Context) -> Result<(), StepError> {
    if values::has_mtu(context) {
        return Ok(());
    }
    let path = "/apis/machineconfiguration.openshift.io/v1/machineconfigs/99-master-mtu";
    let large = Kube::connect(context)?.get(path).await?.is_some();
    values::set_mtu(context, large).await
}

/// The address that the default ingress has, into the document and DNS.
///
/// # Errors
/// `routerIP not found`.
pub(crate) async fn router_ip_from_cluster(context: &Context) -> Result<(), StepError> {
    if context.document().properties.ingress_profiles.is_empty() {
        context
            .record_line("warning", "the cluster has no ingress profiles: the address of its router is left");
        return Ok(());
    }
    let path = "/api/v1/namespaces/openshift-ingress/services/router-default";
    let service = Kube::connect(context)?.get_required(path).await?;
    let address = service.pointer("/status/loadBalancer/ingress/0/ip").and_then(Value::as_str);
    let address = address.ok_or_else(|| StepError::other("routerIP not found"))?.to_owned();
    resources::addresses::set_ingress_ip(context, &address).await?;
    resources::dns::update_apps(context, &address).await
}
