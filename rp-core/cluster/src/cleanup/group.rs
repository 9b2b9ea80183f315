//! The managed resource group and everything in it (`contract/cluster.md` §5, §5.1).

use rp_api::CloudError;
use rp_azure::{AzureError, Client, ErrorClass, Operation, Resources};
use serde_json::Value;

use super::errors::deletion_error;
use super::levels::{Item, ordered};
use crate::context::Context;
use crate::errors::StepError;
use crate::resources::azure::items;
use crate::resources::deploy::{of_azure, with_detail};
use crate::resources::group::is_managed;
use crate::resources::subnets::detach;
use crate::templates::versions;

/// Deletes the group with all that is in it, if it is this cluster's. A group or a
/// subscription that is gone already counts as deleted.
pub(crate) async fn delete_resource_group(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    let id = document.group_id();
    let group = match client.get(id, versions::RESOURCES).await {
        Err(error) if error.has_code("SubscriptionNotFound") => None,
        found => found?,
    };
    let Some(group) = group else { return Ok(()) };
    if !is_managed(&document, &group) {
        let by = group["managedBy"].as_str().unwrap_or("nobody");
        context.record_line("warning", &format!("the resource group is managed by {by}, and stays as it is"));
        return Ok(());
    }
    delete_resources(context, &client, id).await?;
    client.delete(id, versions::RESOURCES).await.map_err(deletion_error)
}

/// Deletes the resources of a group, level by level.
async fn delete_resources(context: &Context, client: &Client, group: &str) -> Result<(), StepError> {
    let found = match client.list(&format!("{group}/resources"), versions::RESOURCES).await {
        Err(error) if error.is_missing() || error.class() == ErrorClass::Authorization => return Ok(()),
        found => found?,
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = found.iter().map(|item| Item { id: text(&item["id"]), kind: text(&item["type"]) }).collect();
    for level in ordered(found) {
        let mut begun: Vec<(String, Operation)> = Vec::new();
        for item in level {
            context.check_running()?;
            if let Some(operation) = begin_delete(context, client, &item).await? {
                begun.push((item.id, operation));
            }
        }
        for (id, operation) in begun {
            context.waiting(&format!("deletion of {id}"));
            match client.wait(&operation).await {
                Err(error) if !error.is_missing() => return Err(deletion_error(error)),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Begins to delete one resource, after its dependants.
async fn begin_delete(
    context: &Context,
    client: &Client,
    item: &Item,
) -> Result<Option<Operation>, StepError> {
    let Some(version) = versions::of_type(&item.kind) else {
        context.record_line("warning", &format!("skipping resource {}", item.id));
        return Ok(None);
    };
    match item.kind.to_ascii_lowercase().as_str() {
        "microsoft.network/networksecuritygroups" => detach_from_subnets(client, &item.id).await?,
        "microsoft.network/privatednszones" => delete_network_links(client, &item.id).await?,
        "microsoft.network/networkinterfaces" => rewrite_failed_interface(client, &item.id).await?,
        _ => {}
    }
    client.begin_delete(&item.id, version).await.map_err(deletion_error)
}

/// Detaches a security group from all subnets that still have it.
async fn detach_from_subnets(client: &Client, group: &str) -> Result<(), StepError> {
    let Some(body) = client.get(group, versions::NETWORK).await? else { return Ok(()) };
    for subnet in items(&body["properties"], "subnets") {
        let id = subnet["id"].as_str().unwrap_or_default();
        if !id.to_ascii_lowercase().contains("/subnets/") {
            const MESSAGE: &str = "Invalid subnet resource ID format. For more details, please refer to https://docs.microsoft.com/azure/azure-resource-manager/management/resource-name-rules";
            return Err(CloudError::bad("InvalidResourceID", id, MESSAGE).into());
        }
        match client.get(id, versions::NETWORK).await {
            Err(error) => return Err(subnet_failed("get", id, &error).into()),
            Ok(_) => match detach(client, id, group).await {
                Err(StepError::Azure(error)) => return Err(subnet_failed("update", id, &error).into()),
                done => done?,
            },
        }
    }
    Ok(())
}

/// A subnet that cannot be read or written.
fn subnet_failed(what: &str, id: &str, error: &AzureError) -> CloudError {
    let told = CloudError::bad("InvalidLinkedSubnet", "", format!("Failed to {what} subnet '{id}'."));
    with_detail(told, of_azure(error))
}

/// Deletes a private zone's links to networks.
async fn delete_network_links(client: &Client, zone: &str) -> Result<(), StepError> {
    let links = match client.list(&format!("{zone}/virtualNetworkLinks"), versions::PRIVATE_DNS).await {
        Err(error) if error.is_missing() => return Ok(()),
        links => links?,
    };
    for link in links {
        client
            .delete(link["id"].as_str().unwrap_or_default(), versions::PRIVATE_DNS)
            .await
            .map_err(deletion_error)?;
    }
    Ok(())
}

/// A network interface in state `Failed` cannot be deleted before it was written once more.
async fn rewrite_failed_interface(client: &Client, card: &str) -> Result<(), StepError> {
    if let Some(body) = client.get(card, versions::NETWORK).await?
        && body["properties"]["provisioningState"] == "Failed"
    {
        client.put(card, versions::NETWORK, &body).await?;
    }
    Ok(())
}
