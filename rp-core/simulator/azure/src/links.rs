//! Private endpoints and link services: cards, connections, approval.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::functions::guid;
use super::id::{Id, subscription_of};
use super::response::{ArmResponse, failure};
use super::world::World;

pub(super) const CONNECTION: &str = "microsoft.network/privatelinkservices/privateendpointconnections";

/// A private endpoint has a card in its subnet.
pub(super) fn endpoint(
    world: &World,
    id: &Id,
    body: &mut Value,
    old: Option<&Value>,
) -> Result<(), ArmResponse> {
    let card =
        old.and_then(|old| old["properties"]["networkInterfaces"][0]["id"].as_str().map(str::to_owned));
    let card = card.unwrap_or_else(|| {
        let (group, _) = id.asked.split_once("/providers/").unwrap_or_default();
        let suffix = guid(&[id.key.clone(), world.number().to_string()]);
        format!("{group}/providers/Microsoft.Network/networkInterfaces/{}.nic.{suffix}", id.name())
    });
    let subnet = body["properties"]["subnet"].clone();
    if subnet["id"].as_str().and_then(|id| world.tree.find(id)).is_none() {
        let message = format!("Resource {} referenced by resource {} was not found.", subnet["id"], id.asked);
        return Err(failure(StatusCode::BAD_REQUEST, "InvalidResourceReference", &message));
    }
    let item = json!({"name": "privateEndpointIpConfig", "properties": {"subnet": subnet}});
    world.write_with(
        &card,
        json!({"location": body["location"], "properties": {"ipConfigurations": [item],
        "privateEndpoint": {"id": id.asked}}}),
    );
    body["properties"]["networkInterfaces"] = json!([{ "id": card }]);
    let mine = subscription_of(&id.key);
    for (list, manual) in
        [("manualPrivateLinkServiceConnections", true), ("privateLinkServiceConnections", false)]
    {
        for connection in body["properties"][list].as_array_mut().into_iter().flatten() {
            let link =
                connection["properties"]["privateLinkServiceId"].as_str().unwrap_or_default().to_owned();
            let found = world.tree.find(&link);
            let known = found.as_ref().and_then(|link| connection_of(link, &id.key));
            let state = known.map_or_else(
                || state(!manual || found.as_ref().is_none_or(|link| approves(link, mine))),
                |known| known["properties"]["privateLinkServiceConnectionState"].clone(),
            );
            connection["properties"]["privateLinkServiceConnectionState"] = state;
        }
    }
    Ok(())
}

fn state(approved: bool) -> Value {
    let status = if approved { "Approved" } else { "Pending" };
    json!({"status": status, "description": if approved { "Auto-Approved" } else { "" }, "actionsRequired": "None"})
}

fn approves(link: &Value, subscription: &str) -> bool {
    let known = link["properties"]["autoApproval"]["subscriptions"].as_array().into_iter().flatten();
    known.filter_map(Value::as_str).any(|one| one == "*" || one.eq_ignore_ascii_case(subscription))
}

/// The connection of an endpoint to a link service.
fn connection_of(link: &Value, endpoint: &str) -> Option<Value> {
    let all = link["properties"]["privateEndpointConnections"].as_array()?;
    let own = |one: &&Value| {
        let id = one["properties"]["privateEndpoint"]["id"].as_str().unwrap_or_default();
        id.eq_ignore_ascii_case(endpoint)
    };
    all.iter().find(own).cloned()
}

/// The link services that an endpoint names know of it.
pub(super) fn connect(world: &World, id: &Id, body: &Value) {
    for list in ["manualPrivateLinkServiceConnections", "privateLinkServiceConnections"] {
        for connection in body["properties"][list].as_array().into_iter().flatten() {
            let link = connection["properties"]["privateLinkServiceId"].as_str().unwrap_or_default();
            let number = world.number();
            world.tree.change(&link.to_ascii_lowercase(), |body| {
                if connection_of(body, &id.key).is_some() {
                    return;
                }
                let name = format!("{}.{}", id.name(), guid(&[id.key.clone(), number.to_string()]));
                let new = json!({"name": name, "id": format!("{link}/privateEndpointConnections/{name}"),
                    "type": "Microsoft.Network/privateLinkServices/privateEndpointConnections",
                    "properties": {"provisioningState": "Succeeded", "privateEndpoint": {"id": id.asked},
                        "linkIdentifier": (536_870_912 + u64::from(number)).to_string(),
                        "privateLinkServiceConnectionState":
                            connection["properties"]["privateLinkServiceConnectionState"]}});
                if let Some(all) = body["properties"]["privateEndpointConnections"].as_array_mut() {
                    all.push(new);
                }
            });
        }
    }
}

/// Changes (approves) or removes a connection of a link service; returns the connection.
pub(super) fn change_connection(world: &World, id: &Id, change: Option<&Value>) -> Option<Value> {
    let link = id.parent()?;
    let mut found = None;
    world.tree.change(link, |body| {
        let Some(all) = body["properties"]["privateEndpointConnections"].as_array_mut() else { return };
        let own = |one: &Value| one["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(id.name()));
        if let Some(change) = change {
            if let Some(one) = all.iter_mut().find(|one| own(one)) {
                one["properties"]["privateLinkServiceConnectionState"] =
                    change["properties"]["privateLinkServiceConnectionState"].clone();
                found = Some(one.clone());
            }
        } else {
            found = all.iter().find(|one| own(one)).cloned();
            all.retain(|one| !own(one));
        }
    });
    let found = found?;
    let endpoint = found["properties"]["privateEndpoint"]["id"].as_str().unwrap_or_default();
    world.tree.change(&endpoint.to_ascii_lowercase(), |body| {
        for list in ["manualPrivateLinkServiceConnections", "privateLinkServiceConnections"] {
            for one in body["properties"][list].as_array_mut().into_iter().flatten() {
                let to = one["properties"]["privateLinkServiceId"].as_str().unwrap_or_default();
                if to.eq_ignore_ascii_case(link) {
                    let state = &found["properties"]["privateLinkServiceConnectionState"];
                    one["properties"]["privateLinkServiceConnectionState"] = state.clone();
                }
            }
        }
    });
    Some(found)
}

/// Resources deleted with an endpoint: its network interface and its connections.
pub(super) fn disconnect(world: &World, id: &Id, body: &Value) {
    for card in body["properties"]["networkInterfaces"].as_array().into_iter().flatten() {
        world.tree.delete(&card["id"].as_str().unwrap_or_default().to_ascii_lowercase());
    }
    for list in ["manualPrivateLinkServiceConnections", "privateLinkServiceConnections"] {
        for one in body["properties"][list].as_array().into_iter().flatten() {
            let link = one["properties"]["privateLinkServiceId"].as_str().unwrap_or_default();
            world.tree.change(&link.to_ascii_lowercase(), |body| {
                if let Some(all) = body["properties"]["privateEndpointConnections"].as_array_mut() {
                    let own = |one: &Value| {
                        one["properties"]["privateEndpoint"]["id"]
                            .as_str()
                            .unwrap_or_default()
                            .eq_ignore_ascii_case(&id.asked)
                    };
                    all.retain(|one| !own(one));
                }
            });
        }
    }
}
