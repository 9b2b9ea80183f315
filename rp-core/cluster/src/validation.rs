//! Whether the customer's side is as a cluster needs it: asked at each create and update
//! (`contract/api.md` §16). The checks are pure; [`fetch`] and [`rights`] bring what they look at.

pub(crate) mod balancer;
mod claims;
pub(crate) mod federated;
mod fetch;
mod networks;
mod rights;
mod subjects;
#[cfg(test)]
mod tests;
pub(crate) mod zones;

use rp_api::CloudError;
use rp_azure::{Audience, Client, Resources, SubscriptionFacts as _};
use serde_json::Value;

use self::balancer::{Usage, check_ports, check_quota, needed_addresses};
use self::networks::{Subnet, check_encryption_set, check_location, check_ranges, check_subnets};
use self::rights::{CheckedPrincipal, RequiredRights};
use self::subjects::{PRECONFIGURED, ResourceKind, Subject};
use crate::context::Context;
use crate::errors::StepError;
use crate::resources::azure::{items, must_get, named};
use crate::resources::{federated as credentials, identities, subnets::check_worker_subnets};
use crate::roles::{FEDERATED_CREDENTIAL, OperatorRole, actions, check_operators, last, needed_minors};
use crate::templates::{balancers, versions};

/// The whole validation, in the contract's order.
pub(crate) async fn validate_resources(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    check_worker_subnets(&document)?;
    let customer = context.customer();
    if document.is_workload_identity() {
        let roles = context.operator_roles().await?;
        check_platform(context, &roles).await?;
        for principal in platform(context, &roles).await? {
            surroundings(context, &principal, &customer).await?;
        }
    } else {
        let principal = identities::service_principal(context)?;
        let told = claims::check_object(principal.claims(Audience::ResourceManager).await, false)?;
        claims::check_roles(principal.claims(Audience::Graph).await)?;
        let subject = Subject::ServicePrincipal { application: document.client_id().to_owned() };
        let checked = CheckedPrincipal { subject, identity: in_token(&told)?, roles: None };
        surroundings(context, &checked, &principal).await?;
    }
    let told = claims::check_object(customer.claims(Audience::ResourceManager).await, true)?;
    let subject = Subject::FirstParty { application: context.env.fp_client_id.clone() };
    let checked = CheckedPrincipal { subject, identity: in_token(&told)?, roles: None };
    surroundings(context, &checked, &customer).await?;
    outbound(context, &customer).await
}

fn in_token(claims: &Value) -> Result<rp_azure::Subject, StepError> {
    rp_azure::Subject::in_token(claims).ok_or_else(|| StepError::other("the token names no object"))
}

/// The cluster's identity may use the platform's, which are those that the version needs, and nobody else's.
async fn check_platform(context: &Context, roles: &[OperatorRole]) -> Result<(), StepError> {
    let document = context.document();
    let all = document.identities();
    let client = context.customer();
    let own = document.own_identity().map_err(StepError::other)?;
    let body = must_get(&client, own, versions::IDENTITIES).await?;
    let object = body["properties"]["principalId"].as_str().unwrap_or_default();
    let role = role_definition(&client, document.subscription_id(), FEDERATED_CREDENTIAL).await?;
    let needed = actions::named(&role);
    let principal = CheckedPrincipal {
        subject: Subject::ClusterIdentity,
        identity: rp_azure::Subject::new(object),
        roles: None,
    };
    let required_rights = |id: &str| RequiredRights {
        on: ResourceKind::Identity,
        id: id.to_owned(),
        path: String::new(),
        actions: needed.clone(),
    };
    principal
        .check(context, all.values().map(|identity| required_rights(identity.resource_id)).collect())
        .await?;
    check_operators(all.keys().copied(), roles, &needed_minors(&document))?;
    for (operator, identity) in all {
        let found = credentials::list(&client, identity.resource_id).await?;
        let issuer = document.issuer();
        federated::check(operator, identity.resource_id, &found, issuer, document.is_creating())?;
    }
    Ok(())
}

/// A role's definition.
async fn role_definition(client: &Client, subscription: &str, role: &str) -> Result<Value, StepError> {
    let id =
        format!("/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}");
    must_get(client, &id, versions::ROLE_DEFINITIONS).await
}

/// The platform's operators who have a role.
async fn platform(context: &Context, roles: &[OperatorRole]) -> Result<Vec<CheckedPrincipal>, StepError> {
    let document = context.document();
    let client = context.customer();
    let mut principals = Vec::new();
    for (operator, identity) in document.identities() {
        let mut definitions = Vec::new();
        for role in roles.iter().filter(|role| role.operator_name == operator) {
            let id = last(&role.role_definition_id);
            definitions.push(role_definition(&client, document.subscription_id(), id).await?);
        }
        principals.push(CheckedPrincipal {
            subject: Subject::Platform { operator: operator.to_owned() },
            identity: rp_azure::Subject::new(identity.object_id),
            roles: Some(definitions),
        });
    }
    Ok(principals)
}

/// Networks, subnets, encryption sets and security groups, as one of those who need them.
async fn surroundings(
    context: &Context,
    principal: &CheckedPrincipal,
    reader: &Client,
) -> Result<(), StepError> {
    let document = context.document();
    let networks = fetch::network_ids(&document);
    let named = document.named_subnets();
    let mut questions: Vec<RequiredRights> =
        networks.iter().filter_map(|id| principal.required_rights(ResourceKind::Network, id, "")).collect();
    questions.extend(
        named
            .iter()
            .filter_map(|subnet| principal.required_rights(ResourceKind::Subnet, &subnet.id, &subnet.path)),
    );
    principal.check(context, questions).await?;
    let (networks, subnets) = fetch::networks(reader, &principal.subject, &document).await?;
    beside(context, principal, reader, &subnets).await?;
    for network in &networks {
        check_location(&network.location, &document.location)?;
    }
    let pods = &*document.properties.network_profile.pod_cidr;
    let services = &*document.properties.network_profile.service_cidr;
    let ranges = subnets.iter().flat_map(|subnet| subnet.prefixes.iter().map(String::as_str));
    check_ranges(ranges.chain([pods, services]))?;
    check_subnets(&document, &subnets)?;
    encryption_sets(context, principal, reader).await?;
    if document.is_nsg_preconfigured() {
        security_groups(context, principal, &subnets).await?;
    }
    Ok(())
}

/// Route tables and NAT gateways of the subnets.
async fn beside(
    context: &Context,
    principal: &CheckedPrincipal,
    reader: &Client,
    subnets: &[Subnet],
) -> Result<(), StepError> {
    let tables =
        subnets.iter().filter_map(|subnet| Some((ResourceKind::RouteTable, subnet.route_table.as_ref()?)));
    let gateways =
        subnets.iter().filter_map(|subnet| Some((ResourceKind::NatGateway, subnet.nat_gateway.as_ref()?)));
    let mut all: Vec<(ResourceKind, &String)> = tables.chain(gateways).collect();
    all.sort_by_key(|(_, id)| id.to_ascii_lowercase());
    all.dedup_by(|(_, a), (_, b)| a.eq_ignore_ascii_case(b));
    principal
        .check(
            context,
            all.iter().filter_map(|(thing, id)| principal.required_rights(*thing, id, "")).collect(),
        )
        .await?;
    for (thing, id) in all {
        fetch::is_there(reader, thing, id).await?;
    }
    Ok(())
}

async fn encryption_sets(
    context: &Context,
    principal: &CheckedPrincipal,
    reader: &Client,
) -> Result<(), StepError> {
    let document = context.document();
    let sets = document.named_encryption_sets();
    let questions = sets
        .iter()
        .filter_map(|set| principal.required_rights(ResourceKind::EncryptionSet, &set.id, &set.path));
    principal.check(context, questions.collect()).await?;
    for set in &sets {
        let location = fetch::encryption_set(reader, &set.id, &set.path).await?;
        check_encryption_set(&location, &document.location)?;
    }
    Ok(())
}

async fn security_groups(
    context: &Context,
    principal: &CheckedPrincipal,
    subnets: &[Subnet],
) -> Result<(), StepError> {
    let mut questions = Vec::new();
    for subnet in subnets {
        let Some(id) = &subnet.security_group else {
            return Err(CloudError::bad("NotFound", "", PRECONFIGURED).into());
        };
        questions.extend(principal.required_rights(ResourceKind::SecurityGroup, id, &subnet.named.path));
    }
    principal.check(context, questions).await
}

/// Outbound addresses: quota for new ones, ports for the machines that are there.
async fn outbound(context: &Context, client: &Client) -> Result<(), StepError> {
    let document = context.document();
    if !document.is_outbound_balanced() {
        return Ok(());
    }
    let needed = needed_addresses(&document);
    if needed > 0 {
        let found =
            client.usages(document.subscription_id(), "Microsoft.Network", &document.location()).await?;
        let usage = found.iter().find(|usage| usage.name == "PublicIPAddresses");
        if let Some(usage) = usage {
            check_quota(needed, Usage { current: usage.current, limit: usage.limit })?;
        }
    }
    if document.is_creating() {
        return Ok(());
    }
    let balancer = client.get(&balancers::public_id(&document), versions::NETWORK).await?;
    let (_, pool) = balancers::api_pools(&document);
    let machines =
        balancer.as_ref().and_then(|body| named(items(&body["properties"], "backendAddressPools"), &pool));
    let machines = machines.map_or(0, |pool| items(&pool["properties"], "backendIPConfigurations").len());
    Ok(check_ports(document.managed_addresses(), machines)?)
}
