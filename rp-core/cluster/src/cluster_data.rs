//! What the document takes over from the cluster (`contract/cluster.md` §6.2, §6.13).

use rp_documents::OpenShiftCluster;
use rp_documents::cluster::Worker;
use rp_openshift::{ClusterVersion, ImageRegistry, Network, Service, Whole};

use crate::conditions::CLUSTER_VERSION;
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;
use crate::{resources, values};

/// Where people find it, what runs in it, and how its network is made. The password is in the document since the
/// kubeconfigs were made.
pub(crate) async fn update_cluster_data(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let version: ClusterVersion<Whole> = kube.get_required(CLUSTER_VERSION).await?;
    let kind = network_kind(&kube).await?;
    let domain = context.document().domain(&context.env.domain);
    let version = version.status.desired.version.as_str().to_owned();
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

/// The type of the cluster's network; `None`: the cluster does not say.
async fn network_kind(kube: &Kube) -> Result<Option<String>, StepError> {
    let network: Option<Network<Whole>> = kube.get("/apis/config.openshift.io/v1/networks/cluster").await?;
    Ok(network.as_ref().and_then(kind_of).map(str::to_owned))
}

/// The type that is in use; the one that is wanted only where the status has no such member. An empty one or null says
/// nothing.
fn kind_of(network: &Network<Whole>) -> Option<&str> {
    let used = network.status.network_type.0.as_ref();
    Some(used.unwrap_or(&network.spec.network_type).as_str()).filter(|kind| !kind.is_empty())
}

/// A cluster that moved to the newer network is told so.
pub(crate) async fn reconcile_software_defined_network(context: &Context) -> Result<(), StepError> {
    if &*context.document().properties.network_profile.software_defined_network != "OpenShiftSDN" {
        return Ok(());
    }
    if network_kind(&Kube::connect(context)?).await?.as_deref() == Some("OVNKubernetes") {
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
    let config: ImageRegistry<Whole> = Kube::connect(context)?
        .get_required("/apis/imageregistry.operator.openshift.io/v1/configs/cluster")
        .await?;
    let account = config.spec.storage.azure.account_name.as_str().to_owned();
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
    let large = Kube::connect(context)?.exists(path).await?;
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
    let service: Service<Whole> = Kube::connect(context)?.get_required(path).await?;
    let address = service.address().filter(|address| !address.is_empty());
    let address = address.ok_or_else(|| StepError::other("routerIP not found"))?;
    resources::addresses::set_ingress_ip(context, address).await?;
    resources::dns::update_apps(context, address).await
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_wanted_network_counts_only_where_the_status_has_no_type() {
        let kind = |status: Value| {
            let network = json!({"spec": {"networkType": "OpenShiftSDN"}, "status": status});
            let network: Network<Whole> = serde_json::from_value(network).unwrap();
            kind_of(&network).map(str::to_owned)
        };
        assert_eq!(kind(json!({"networkType": "OVNKubernetes"})).as_deref(), Some("OVNKubernetes"));
        for absent in [json!({}), json!({"clusterNetworkMTU": 1400}), Value::Null] {
            assert_eq!(kind(absent).as_deref(), Some("OpenShiftSDN"));
        }
        assert_eq!(kind(json!({"networkType": ""})), None);
        assert_eq!(kind(json!({"networkType": null})), None);
        let neither: Network<Whole> = serde_json::from_value(json!({})).unwrap();
        assert_eq!(kind_of(&neither), None);
    }
}
