//! The steps against the stand-in for Azure in this process.

mod changes;
mod faults;
mod life;
mod meanwhile;
mod surroundings;
pub(crate) mod world;

use crate::step::ActionFn;
use crate::{cleanup, resources};

/// A step under the contract's name.
pub(crate) type NamedStep = (&'static str, ActionFn);

/// What makes a cluster's resources, in the plan's order.
pub(crate) fn making() -> Vec<NamedStep> {
    vec![
        ("ensureACRToken", |c| Box::pin(resources::registry::ensure_acr_token(c))),
        ("createDNS", |c| Box::pin(resources::dns::create_dns(c))),
        ("ensureResourceGroup", |c| Box::pin(resources::group::ensure_resource_group(c))),
        ("ensureServiceEndpoints", |c| Box::pin(resources::subnets::ensure_service_endpoints(c))),
        ("setMasterSubnetPolicies", |c| Box::pin(resources::subnets::set_master_subnet_policies(c))),
        ("deployBaseResourceTemplate", |c| Box::pin(resources::base::deploy_base_resource_template(c))),
        ("attachNSGs", |c| Box::pin(resources::subnets::attach_nsgs(c))),
        ("updateAPIIPEarly", |c| Box::pin(resources::addresses::update_api_ip_early(c))),
        ("createOrUpdateRouterIPEarly", |c| {
            Box::pin(resources::addresses::create_or_update_router_ip_early(c))
        }),
        ("ensureGatewayCreate", |c| Box::pin(resources::endpoints::ensure_gateway_create(c))),
        ("createAPIServerPrivateEndpoint", |c| {
            Box::pin(resources::endpoints::create_api_server_private_endpoint(c))
        }),
    ]
}

/// What removes them, in the plan's order.
pub(crate) fn removing() -> Vec<NamedStep> {
    vec![
        ("ensureResourceGroup", |c| Box::pin(resources::group::ensure_resource_group_for_delete(c))),
        ("deleteDNS", |c| Box::pin(cleanup::delete_dns(c))),
        ("deletePrivateEndpoint", |c| Box::pin(cleanup::delete_private_endpoint(c))),
        ("deleteOIDC", |c| Box::pin(cleanup::delete_oidc(c))),
        ("deleteRoleAssignments", |c| Box::pin(cleanup::delete_role_assignments(c))),
        ("deleteRoleDefinitions", |c| Box::pin(cleanup::delete_role_definitions(c))),
        ("deleteGateway", |c| Box::pin(cleanup::delete_gateway(c))),
        ("deleteResourceGroup", |c| Box::pin(cleanup::delete_resource_group(c))),
        ("deleteFederatedCredentials", |c| Box::pin(cleanup::delete_federated_credentials(c))),
        ("deleteRegistryToken", |c| Box::pin(cleanup::delete_registry_token(c))),
    ]
}

/// Runs steps, each as another process would, and each `times` in a row.
pub(crate) async fn run(world: &mut world::World, steps: &[NamedStep], times: usize) {
    for (name, step) in steps {
        for _ in 0..times {
            world.again();
            if let Err(error) = step(&world.context).await {
                panic!("{name}: {error}");
            }
        }
    }
}
