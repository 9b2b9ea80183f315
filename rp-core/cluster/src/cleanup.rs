//! Deletes a cluster: only its own resources, dependants first
//! (`contract/cluster.md` §5). Each part is a step; resources that are gone already are skipped.

mod errors;
mod group;
pub(crate) mod levels;

use rp_azure::{Client, Precondition, Resources};
use serde_json::Value;

pub(crate) use group::delete_resource_group;

use crate::context::Context;
use crate::errors::StepError;
use crate::resources::rbac::{assignments_at, delete, own_definitions, role_of};
use crate::resources::{dns, federated, registry};
use crate::roles::OWNER;
use crate::templates::{network, versions};
use crate::validation::federated::is_ours;

/// Names of the cluster, if the API server's is this cluster's: first the router's, then that one. What is no domain
/// never had names.
pub(crate) async fn delete_dns(context: &Context) -> Result<(), StepError> {
    let Ok(Some((api, apps))) = dns::records(context) else { return Ok(()) };
    let client = context.own();
    let Some(record) = client.get(&api.id, versions::DNS).await? else { return Ok(()) };
    if !dns::is_owned(&record, context.document().cluster_id()) {
        return Ok(());
    }
    client.delete(&apps.id, versions::DNS).await?;
    match record["etag"].as_str() {
        Some(etag) => client.delete_when(&api.id, versions::DNS, Precondition::Unchanged(etag)).await?,
        None => client.delete(&api.id, versions::DNS).await?,
    }
    Ok(())
}

/// The service's own endpoint.
pub(crate) async fn delete_private_endpoint(context: &Context) -> Result<(), StepError> {
    let id = network::service_endpoint_id(&context.document(), &context.service_environment());
    Ok(context.own().delete(&id, versions::NETWORK).await?)
}

/// Assignments at exactly the group's scope; `Owner` stays (development).
pub(crate) async fn delete_role_assignments(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    if !is_managed_here(context, &client).await? {
        return Ok(());
    }
    for assignment in assignments_at(&client, document.group_id()).await? {
        if !role_of(&assignment).eq_ignore_ascii_case(OWNER) {
            delete(&client, &assignment).await?;
        }
    }
    Ok(())
}

/// Role definitions that were made for clusters and can be assigned in the group only.
pub(crate) async fn delete_role_definitions(context: &Context) -> Result<(), StepError> {
    let client = context.customer();
    if !is_managed_here(context, &client).await? {
        return Ok(());
    }
    remove_role_definitions(&client, context.document().group_id()).await
}

/// Whether the group is there and this cluster's.
async fn is_managed_here(context: &Context, client: &Client) -> Result<bool, StepError> {
    let document = context.document();
    match client.get(document.group_id(), versions::RESOURCES).await {
        Err(error) if error.has_code("SubscriptionNotFound") => Ok(false),
        found => Ok(found?.is_some_and(|group| crate::resources::group::is_managed(&document, &group))),
    }
}

pub(crate) async fn remove_role_definitions(client: &Client, group: &str) -> Result<(), StepError> {
    for definition in own_definitions(client, group).await? {
        client.delete(definition["id"].as_str().unwrap_or_default(), versions::ROLE_DEFINITIONS).await?;
    }
    Ok(())
}

/// Deletes the gateway's record before the endpoint: link ids are reused.
pub(crate) async fn delete_gateway(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let link = &*document.properties.network_profile.gateway_private_link_id;
    let Some(gateways) = context.env.gateways.as_deref().filter(|_| !link.is_empty()) else { return Ok(()) };
    let ours = |record: &crate::environment::GatewayRecord| {
        record.cluster.eq_ignore_ascii_case(document.cluster_id())
    };
    match gateways.get(link).await? {
        Some(record) if ours(&record) => gateways.delete(link).await?,
        _ => return Ok(()),
    }
    // 15 s between two looks, 5 minutes in all, in the contract's periods.
    let pause = context.env.periods.poll.mul_f64(1.5);
    for _ in 0..20 {
        match gateways.get(link).await? {
            Some(record) if ours(&record) => {
                context.waiting("the gateway to forget the cluster");
                context.sleep(pause).await?;
            }
            _ => return Ok(()),
        }
    }
    Err(StepError::other(format!("the gateway still has the record '{link}'")))
}

/// Deletes our credentials on platform identities. Left-overs are reported: they block the identities' next use.
pub(crate) async fn delete_federated_credentials(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    if document.issuer().is_empty() {
        return Ok(());
    }
    let client = federated::client(context);
    for (operator, identity) in document.identities() {
        let found = federated::list(&client, identity.resource_id).await;
        let removed = match found {
            Ok(found) => remove_credentials(&client, &found, document.issuer()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            let id = identity.resource_id;
            let text =
                format!("federated credentials of the cluster may be left on '{id}' ({operator}): {error}");
            context.record_line("warning", &text);
        }
    }
    Ok(())
}

async fn remove_credentials(client: &Client, found: &[Value], issuer: &str) -> Result<(), StepError> {
    for credential in found.iter().filter(|credential| is_ours(credential, issuer)) {
        client.delete(credential["id"].as_str().unwrap_or_default(), versions::FEDERATED).await?;
    }
    Ok(())
}

/// The issuer's published documents.
pub(crate) async fn delete_oidc(context: &Context) -> Result<(), StepError> {
    crate::resources::oidc::remove(context).await
}

/// The registry's token.
pub(crate) async fn delete_registry_token(context: &Context) -> Result<(), StepError> {
    let (env, name) = (&context.env, registry::token_name(context));
    if env.features.development || env.registry_id.is_empty() || name.is_empty() {
        return Ok(());
    }
    let id = registry::token_id(&env.registry_id, &name);
    Ok(context.own().delete(&id, versions::REGISTRY).await?)
}
