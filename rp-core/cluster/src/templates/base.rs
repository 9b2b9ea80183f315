//! The templates that the steps deploy into a cluster's group (`contract/cluster.md` §1.4, §6.7).

use serde_json::{Map, Value};

use super::{ServiceEnvironment, addresses, balancers, network, storage, template};
use crate::document::Document;
use crate::roles::{OperatorRole, assignments, deny};

/// Everything that must be there before the installer begins. `open_to`: the cluster's subnets with the storage service
/// endpoint; `roles`: of the platform's operators.
pub(crate) fn base(
    cluster: &Document,
    service: &ServiceEnvironment,
    open_to: &[String],
    roles: &[OperatorRole],
) -> Value {
    let mut resources = storage::accounts(cluster, service, open_to, true);
    resources.extend([network::security_group(cluster), network::link_service(cluster, service)]);
    // Where the region has no gateway, there is nothing to connect to; in development it is the cluster itself.
    if service.development || service.has_gateway() {
        resources.push(network::gateway_endpoint(cluster, service));
    }
    resources.push(balancers::internal(cluster));
    if cluster.is_outbound_balanced() {
        let outbound = addresses::outbound_names(cluster);
        resources.push(balancers::public(cluster, &outbound));
        // The API's address is there even if it were no outbound one.
        let api = cluster.is_api_public().then(|| addresses::api_name(cluster));
        let further = outbound.iter().filter(|name| api.as_ref() != Some(*name));
        resources.extend(api.iter().chain(further).map(|name| addresses::address(cluster, name)));
        if cluster.is_ingress_public() {
            resources.push(addresses::address(cluster, &addresses::router_name(cluster)));
        }
    }
    if cluster.is_workload_identity() {
        resources.extend(assignments::of_operators(&cluster.identities(), roles));
        resources.push(assignments::state_account(cluster, &service.first_party));
    } else {
        resources.push(assignments::of_service_principal(cluster.principal()));
    }
    if service.deny {
        resources.push(deny::resource(&deny::excluded(cluster, &service.first_party)));
    }
    template(Map::new(), resources)
}

/// Only the storage accounts, as they should be now.
pub(crate) fn storage_only(cluster: &Document, service: &ServiceEnvironment, open_to: &[String]) -> Value {
    template(Map::new(), storage::accounts(cluster, service, open_to, false))
}

/// Only the gateway's endpoint.
pub(crate) fn gateway_only(cluster: &Document, service: &ServiceEnvironment) -> Value {
    template(Map::new(), vec![network::gateway_endpoint(cluster, service)])
}
