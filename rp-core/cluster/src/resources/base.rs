//! The base deployment and its repairs (`contract/cluster.md` §6.7, §6.15).

use rp_azure::{Client, Resources};
use serde_json::{Map, json};

use super::azure::must_get;
use super::deploy::deploy;
use super::subnets::reaches_storage;
use crate::context::Context;
use crate::document::Document;
use crate::errors::StepError;
use crate::roles::deny;
use crate::templates::{addresses, base, template, versions};

/// Deploys all that must be there before the installer begins.
pub(crate) async fn deploy_base_resource_template(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let open_to = storage_subnets(&context.customer(), &document, &context.env.region).await?;
    let roles = context.operator_roles().await?;
    let whole = base::base(&document, &context.service_environment(), &open_to, &roles);
    deploy(context, "storage", &whole, &json!({})).await?;
    if document.is_outbound_balanced() {
        let names = addresses::outbound_names(&document);
        let ids = names.iter().map(|name| addresses::address_id(&document, name)).collect();
        super::balancer::set_effective(context, ids).await?;
    }
    Ok(())
}

/// The cluster's subnets that reach storage directly.
async fn storage_subnets(
    client: &Client,
    document: &Document,
    region: &str,
) -> Result<Vec<String>, StepError> {
    let mut open_to = Vec::new();
    for subnet in document.named_subnets() {
        let body = must_get(client, &subnet.id, versions::NETWORK).await?;
        if reaches_storage(&body, region) {
            open_to.push(subnet.id);
        }
    }
    Ok(open_to)
}

/// Brings the storage accounts' firewalls and switches to what they should be; their encryption cannot be changed.
pub(crate) async fn migrate_storage_accounts(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let open_to = storage_subnets(&context.customer(), &document, &context.env.region).await?;
    let accounts = base::storage_only(&document, &context.service_environment(), &open_to);
    deploy(context, "storage", &accounts, &json!({})).await.map(|_| ())
}

/// Brings the deny assignment to what it should be.
pub(crate) async fn create_or_update_deny_assignment(context: &Context) -> Result<(), StepError> {
    let service = context.service_environment();
    if !service.deny {
        return Ok(());
    }
    let document = context.document();
    let excluded = deny::excluded(&document, &service.first_party);
    if excluded.iter().any(String::is_empty) {
        let text = "createOrUpdateDenyAssignment failed: the object id of an identity is not known";
        if document.is_admin_updating() {
            context.record_line("warning", text);
            return Ok(());
        }
        return Err(StepError::other(text));
    }
    // When somebody deletes the group meanwhile, the step fails; it makes no new group.
    if !context.customer().exists(document.group_id(), versions::RESOURCES).await? {
        return Err(StepError::other("the cluster's resource group is not there"));
    }
    let whole = template(Map::new(), vec![deny::resource(&excluded)]);
    deploy(context, "storage", &whole, &json!({})).await.map(|_| ())
}
