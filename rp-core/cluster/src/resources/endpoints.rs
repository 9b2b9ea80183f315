//! Private endpoints: the service's to the API server, the nodes' to the gateway
//! (`contract/cluster.md` §6.8).

use rp_azure::{Client, Resources};
use rp_documents::OpenShiftCluster;
use rp_documents::cluster::Worker;
use serde_json::{Map, Value, json};

use super::azure::{is, items, must_get};
use super::deploy::deploy;
use super::subnets::set_master_subnet_policies;
use crate::context::Context;
use crate::environment::GatewayRecord;
use crate::errors::StepError;
use crate::progress::ProgressError;
use crate::templates::{base, network, versions};

/// The service's own way to the cluster's API server and SSH.
pub(crate) async fn create_api_server_private_endpoint(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let service = context.service_environment();
    let client = context.own();
    let id = network::service_endpoint_id(&document, &service);
    client.put(&id, versions::NETWORK, &network::service_endpoint(&document, &service)).await?;
    let address = address(&client, &id).await?;
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        cluster.properties.network_profile.private_endpoint_ip.set(by, address.as_str());
    };
    context.patch(change).await.map(|_| ())
}

/// Private address of an endpoint's network interface.
async fn address(client: &Client, id: &str) -> Result<String, StepError> {
    let expanded = client.get_with(id, versions::NETWORK, &[("$expand", "networkInterfaces")]).await?;
    let found = expanded.as_ref().and_then(|body| {
        let card = &body["properties"]["networkInterfaces"][0];
        card["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"].as_str()
    });
    match found {
        Some(address) if !address.is_empty() => Ok(address.to_owned()),
        _ => Err(StepError::other(format!("the private endpoint '{id}' has no address"))),
    }
}

/// Approves the cluster's endpoint at the gateway, and writes the gateway's record.
pub(crate) async fn ensure_gateway_create(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let Some(gateways) = context.env.gateways.as_deref().filter(|_| document.gateway_ip().is_empty()) else {
        return Ok(());
    };
    let environment = context.service_environment();
    let (link, client) = match environment.development {
        true => (network::link_id(&document), context.customer()),
        false => (environment.gateway_link(), context.gateway()),
    };
    let endpoint = network::gateway_endpoint_id(&document);
    let address = address(&context.customer(), &endpoint).await?;
    let service = must_get(&client, &link, versions::NETWORK).await?;
    let ours = |connection: &&Value| is(&connection["properties"]["privateEndpoint"], &endpoint);
    let connection = items(&service["properties"], "privateEndpointConnections").iter().find(ours);
    let connection = connection.ok_or_else(|| StepError::other("private endpoint connection not found"))?;
    approve(&client, &link, connection).await?;
    let link_id = connection["properties"]["linkIdentifier"].as_str().filter(|id| !id.is_empty());
    let link_id = link_id.ok_or_else(|| StepError::other("the connection has no link id"))?.to_owned();
    // Before there is a record: a deletion finds it by this.
    let id = link_id.clone();
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        cluster.properties.network_profile.gateway_private_link_id.set(by, id.as_str());
    };
    context.patch(change).await?;
    let record = GatewayRecord {
        link_id: link_id.clone(),
        cluster: document.cluster_id().to_owned(),
        storage_suffix: document.storage_suffix().to_owned(),
        registry_account: document.registry_account(),
    };
    if !gateways.create(&record).await? {
        // An earlier run of ours, or a link id that another cluster still has.
        match gateways.get(&link_id).await? {
            Some(known) if known.cluster.eq_ignore_ascii_case(&record.cluster) => {}
            Some(other) => {
                return Err(StepError::other(format!(
                    "gateway record '{link_id}' already exists for a different cluster '{}'",
                    other.cluster
                )));
            }
            None => {
                let gone = format!("gateway record '{link_id}' has just gone");
                return Err(ProgressError::Store(gone).into());
            }
        }
    }
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        cluster.properties.network_profile.gateway_private_endpoint_ip.set(by, address.as_str());
    };
    context.patch(change).await.map(|_| ())
}

async fn approve(client: &Client, link: &str, connection: &Value) -> Result<(), StepError> {
    let state = &connection["properties"]["privateLinkServiceConnectionState"];
    if state["status"] == "Approved" {
        return Ok(());
    }
    let name = connection["name"].as_str().unwrap_or_default();
    let mut body = connection.clone();
    body["properties"]["privateLinkServiceConnectionState"] =
        json!({ "status": "Approved", "description": "Approved" });
    let id = format!("{link}/privateEndpointConnections/{name}");
    client.put(&id, versions::NETWORK, &body).await?;
    Ok(())
}

/// Connects an old cluster to the gateway. A failure is logged; maintenance continues.
pub(crate) async fn ensure_gateway_upgrade(context: &Context) -> Result<(), StepError> {
    if !context.document().gateway_ip().is_empty() || context.env.gateways.is_none() {
        return Ok(());
    }
    match upgrade(context).await {
        Err(error) if !error.is_interruption() => {
            context.record_line("warning", &format!("the cluster did not get the gateway: {error}"));
            Ok(())
        }
        done => done,
    }
}

async fn upgrade(context: &Context) -> Result<(), StepError> {
    set_master_subnet_policies(context).await?;
    let endpoint = base::gateway_only(&context.document(), &context.service_environment());
    deploy(context, "gatewayprivateendpoint", &endpoint, &Value::Object(Map::new())).await?;
    ensure_gateway_create(context).await
}
