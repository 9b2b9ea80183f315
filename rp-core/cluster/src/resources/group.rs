//! The managed resource group (`contract/cluster.md` §6.6).

use rp_api::CloudError;
use rp_azure::{ErrorClass, Resources};
use serde_json::{Value, json};

use super::deploy::refused;
use crate::context::Context;
use crate::document::Document;
use crate::errors::StepError;
use crate::templates::versions;

/// Creates the group, or writes it again: the PUT gives the service its rights back after a subscription has moved to
/// another directory.
pub(crate) async fn ensure_resource_group(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    let found = client.get(document.group_id(), versions::RESOURCES).await?;
    let mut body = match found {
        Some(group) if is_ours(&document, &group) => put_body(&group),
        Some(_) => return Err(group_in_use(&document).into()),
        None => json!({ "location": document.location(), "managedBy": document.cluster_id() }),
    };
    if context.env.features.development {
        body["tags"]["purge"] = json!("true");
    }
    match client.put(document.group_id(), versions::RESOURCES, &body).await {
        Ok(_) => Ok(()),
        Err(error) if error.class() == ErrorClass::Policy => Err(refused(&error).into()),
        Err(error) => Err(error.into()),
    }
}

/// Before a deletion: gives the service its rights back on a group that is there. One that is gone stays gone, and a
/// failure is told only: what can be deleted all the same will be.
pub(crate) async fn ensure_resource_group_for_delete(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    let again = async {
        match client.get(document.group_id(), versions::RESOURCES).await? {
            Some(group) if is_managed(&document, &group) => {
                client.put(document.group_id(), versions::RESOURCES, &put_body(&group)).await
            }
            _ => Ok(Value::Null),
        }
    };
    if let Err(error) = again.await {
        context.record_line(
            "warning",
            &format!("the rights on the resource group could not be restored: {error}"),
        );
    }
    Ok(())
}

/// Whether the group was made for this cluster, here.
fn is_ours(document: &Document, group: &Value) -> bool {
    let same = |member: &str, wanted: &str| {
        group[member].as_str().is_some_and(|found| found.eq_ignore_ascii_case(wanted))
    };
    same("location", &document.location()) && is_managed(document, group)
}

/// Whether the group says that it belongs to this cluster.
pub(crate) fn is_managed(document: &Document, group: &Value) -> bool {
    group["managedBy"].as_str().is_some_and(|by| by.eq_ignore_ascii_case(document.cluster_id()))
}

/// The body of a PUT on an existing group: unchanged, with its tags.
fn put_body(group: &Value) -> Value {
    let mut body = json!({ "location": group["location"], "managedBy": group["managedBy"] });
    if group["tags"].is_object() {
        body["tags"] = group["tags"].clone();
    }
    body
}

fn group_in_use(document: &Document) -> CloudError {
    let message = format!("Resource group {} must not already exist.", document.group_id());
    CloudError::bad("ClusterResourceGroupAlreadyExists", "", message)
}
