//! Security group, link service and endpoint of a cluster (`contract/cluster.md` §8.1).

use serde_json::{Value, json};

use super::{ServiceEnvironment, after, balancers, id, reference, resource};
use crate::document::Document;

const GROUPS: &str = "Microsoft.Network/networkSecurityGroups";
const LINKS: &str = "Microsoft.Network/privateLinkServices";
pub(crate) const ENDPOINTS: &str = "Microsoft.Network/privateEndpoints";

/// The cluster's security group: the API's door where it is public, nothing else.
pub(crate) fn security_group(cluster: &Document) -> Value {
    let door = json!({
        "name": "apiserver_in",
        "properties": {
            "protocol": "Tcp",
            "sourcePortRange": "*",
            "destinationPortRange": "6443",
            "sourceAddressPrefix": "*",
            "destinationAddressPrefix": "*",
            "access": "Allow",
            "priority": 120,
            "direction": "Inbound",
        },
    });
    let rules: Vec<Value> = cluster.is_api_public().then_some(door).into_iter().collect();
    let name = format!("{}-nsg", cluster.infra_id());
    resource(GROUPS, &name, Some(&cluster.location()), json!({ "securityRules": rules }))
}

pub(crate) fn link_id(cluster: &Document) -> String {
    id(cluster.group_id(), LINKS, &format!("{}-pls", cluster.infra_id()))
}

/// By which the service reaches the API server and SSH, through the internal load balancer.
pub(crate) fn link_service(cluster: &Document, service: &ServiceEnvironment) -> Value {
    let balancer = balancers::internal_id(cluster);
    let frontend = balancers::frontend_id(&balancer, balancers::INTERNAL_FRONTEND);
    let ours = json!({ "subscriptions": [service.subscription] });
    let properties = json!({
        "loadBalancerFrontendIpConfigurations": [reference(&frontend)],
        "ipConfigurations": [{
            "name": format!("{}-pls-nic", cluster.infra_id()),
            "properties": { "subnet": reference(cluster.master_subnet()) },
        }],
        "visibility": ours,
        "autoApproval": ours,
    });
    let name = format!("{}-pls", cluster.infra_id());
    after(resource(LINKS, &name, Some(&cluster.location()), properties), &[balancer])
}

/// By which nodes reach the gateway; in development the cluster's own API server.
pub(crate) fn gateway_endpoint(cluster: &Document, service: &ServiceEnvironment) -> Value {
    let (connection, link) = match service.development {
        true => ("hack-apiserver-plsconnection", link_id(cluster)),
        false => ("gateway-plsconnection", service.gateway_link()),
    };
    let name = format!("{}-pe", cluster.infra_id());
    let properties = endpoint(cluster.master_subnet(), connection, &link);
    let body = resource(ENDPOINTS, &name, Some(&cluster.location()), properties);
    if service.development { after(body, &[link]) } else { body }
}

pub(crate) fn gateway_endpoint_id(cluster: &Document) -> String {
    id(cluster.group_id(), ENDPOINTS, &format!("{}-pe", cluster.infra_id()))
}

/// The service's own endpoint of a cluster, in the service's group.
pub(crate) fn service_endpoint_id(cluster: &Document, service: &ServiceEnvironment) -> String {
    id(&service.group_id(), ENDPOINTS, &format!("rp-pe-{}", cluster.id()))
}

/// Its body for a PUT.
pub(crate) fn service_endpoint(cluster: &Document, service: &ServiceEnvironment) -> Value {
    let properties = endpoint(&service.endpoint_subnet_id(), "rp-plsconnection", &link_id(cluster));
    json!({ "location": cluster.location(), "properties": properties })
}

fn endpoint(subnet: &str, connection: &str, link: &str) -> Value {
    json!({
        "subnet": reference(subnet),
        "manualPrivateLinkServiceConnections": [{
            "name": connection,
            "properties": { "privateLinkServiceId": link },
        }],
    })
}
