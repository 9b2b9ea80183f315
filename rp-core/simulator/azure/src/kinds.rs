//! The special behaviour of other resource types, and how resources are returned.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::functions::guid;
use super::id::{GROUP, Id, subscription_of};
use super::response::{ArmResponse, failure};
use super::world::World;
use super::{machines, network};

const ACCOUNT: &str = "microsoft.storage/storageaccounts";
pub(super) const CONTAINER: &str = "microsoft.storage/storageaccounts/blobservices/containers";
const IDENTITY: &str = "microsoft.managedidentity/userassignedidentities";

/// The object id of an application or identity.
pub fn object_id_of(client_id: &str) -> String {
    guid(&["object".to_owned(), client_id.to_ascii_lowercase()])
}

/// Fills in what other providers fill in.
pub(super) fn prepare(
    world: &World,
    id: &Id,
    body: &mut Value,
    old: Option<&Value>,
) -> Result<(), ArmResponse> {
    let of = &mut body["properties"];
    match id.kind.as_str() {
        GROUP => {
            let moved = old.is_some_and(|old| {
                let (was, now) = (old["location"].as_str(), body["location"].as_str());
                matches!((was, now), (Some(was), Some(now)) if !was.eq_ignore_ascii_case(now))
            });
            if moved {
                let message = format!(
                    "Invalid resource group location '{}'. The Resource group already exists in another location.",
                    body["location"]
                );
                return Err(failure(StatusCode::CONFLICT, "InvalidResourceGroupLocation", &message));
            }
        }
        ACCOUNT => {
            let blob = format!("{}/blob/{}/", world.url, id.name().to_ascii_lowercase());
            of["primaryEndpoints"] = json!({"blob": blob, "web": format!("{blob}$web/")});
            of["creationTime"] = json!(world.clock.now());
        }
        IDENTITY => {
            let client = guid(&["client".to_owned(), id.key.clone()]);
            of["principalId"] = json!(object_id_of(&client));
            of["clientId"] = json!(client);
            of["tenantId"] = json!(world.tree.tenant(subscription_of(&id.key)));
        }
        "microsoft.authorization/roleassignments" => {
            let (scope, _) = id.asked.split_once("/providers/Microsoft.Authorization/").unwrap_or_default();
            let mut twice = false;
            world.tree.visit(&scope.to_ascii_lowercase(), &id.kind, |_, other| {
                let same = |word: &str| other["properties"][word] == of[word] && !of[word].is_null();
                let own = other["id"].as_str().unwrap_or_default().eq_ignore_ascii_case(&id.asked);
                let here = other["properties"]["scope"].as_str() == Some(scope);
                twice |= !own && here && same("principalId") && same("roleDefinitionId");
            });
            if twice {
                return Err(failure(
                    StatusCode::CONFLICT,
                    "RoleAssignmentExists",
                    "The role assignment already exists.",
                ));
            }
            of["scope"] = json!(scope);
        }
        _ => {}
    }
    Ok(())
}

/// The resources that are created with a resource.
pub(super) fn written(world: &World, id: &Id, _: &Value) {
    if id.kind == CONTAINER {
        let account = id.key.split('/').nth(8).unwrap_or_default();
        world.blobs.lock().create(account, id.name());
    }
}

/// The resources that are deleted with a resource.
pub(super) fn deleted(world: &World, id: &Id, _: &Value) {
    let account = || id.key.split('/').nth(8).unwrap_or_default();
    match id.kind.as_str() {
        ACCOUNT => world.blobs.lock().forget(account()),
        CONTAINER => {
            world.blobs.lock().remove(account(), id.name());
        }
        _ => {}
    }
}

/// A body as it is returned: with computed properties and what `$expand` requests.
pub(super) fn shown(world: &World, id: &Id, mut body: Value, query: &str) -> Value {
    network::shown(world, id, &mut body);
    let expand = url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "$expand");
    let expand = expand.map(|(_, words)| words.into_owned()).unwrap_or_default();
    if let Some(properties) = body["properties"].as_object_mut()
        && id.kind == machines::MACHINE
        && !expand.eq_ignore_ascii_case("instanceView")
    {
        // A virtual machine's instance view is a separate response.
        properties.remove("instanceView");
    }
    if let Some(state) = world.operations.lock().state(&id.key) {
        body["properties"]["provisioningState"] = json!(state);
    }
    for word in expand.split(',').map(|word| word.trim().split('/').next().unwrap_or_default()) {
        let members = body["properties"].as_object_mut().into_iter().flatten();
        let member =
            members.filter(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, member)| member).last();
        match member {
            Some(Value::Array(all)) => all.iter_mut().for_each(|one| whole(world, one)),
            Some(one) => whole(world, one),
            None => {}
        }
    }
    body
}

/// Replaces a reference by the resource it names.
fn whole(world: &World, reference: &mut Value) {
    if let Some(found) = reference["id"].as_str().and_then(|id| world.tree.find(id)) {
        *reference = found;
    }
}

pub(super) fn no_group(name: &str) -> ArmResponse {
    failure(
        StatusCode::NOT_FOUND,
        "ResourceGroupNotFound",
        &format!("Resource group '{name}' could not be found."),
    )
}

pub(super) fn missing(id: &Id) -> ArmResponse {
    let group = id.group().and_then(|group| group.rsplit('/').next()).unwrap_or_default();
    if id.kind == GROUP {
        return no_group(id.name());
    }
    let message = format!(
        "The Resource '{}/{}' under resource group '{group}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix",
        id.shown_kind(),
        id.name(),
    );
    failure(StatusCode::NOT_FOUND, "ResourceNotFound", &message)
}
