//! The behaviour of Microsoft.Network resources: items with ids, addresses, links, and references that block deletion.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::functions::guid;
use super::id::{GROUP, Id, subscription_of};
use super::links;
use super::response::{ArmResponse, failure};
use super::world::World;

const SUBNET: &str = "microsoft.network/virtualnetworks/subnets";
const VNET: &str = "microsoft.network/virtualnetworks";
const NSG: &str = "microsoft.network/networksecuritygroups";
pub(super) const NIC: &str = "microsoft.network/networkinterfaces";
const LB: &str = "microsoft.network/loadbalancers";
const PIP: &str = "microsoft.network/publicipaddresses";
const ENDPOINT: &str = "microsoft.network/privateendpoints";
const LINK: &str = "microsoft.network/privatelinkservices";

/// Fills in what the network provider fills in.
pub(super) fn prepare(
    world: &World,
    id: &Id,
    body: &mut Value,
    old: Option<&Value>,
) -> Result<(), ArmResponse> {
    if !id.kind.starts_with("microsoft.network/") {
        return Ok(());
    }
    match id.kind.as_str() {
        SUBNET => subnet(world, id, body)?,
        PIP => address(world, body, old, subscription_of(&id.key))?,
        LINK => {
            let kept = old.map_or(json!([]), |old| old["properties"]["privateEndpointConnections"].clone());
            body["properties"]["privateEndpointConnections"] = if kept.is_array() { kept } else { json!([]) };
            body["properties"]["alias"] = json!(format!(
                "{}.{}.azure.privatelinkservice",
                id.name(),
                guid(std::slice::from_ref(&id.key))
            ));
        }
        ENDPOINT => links::endpoint(world, id, body, old)?,
        NSG => body["properties"]["defaultSecurityRules"] = json!([]),
        _ => {}
    }
    name_items(id, body);
    addresses(world, id, body, old)
}

/// Named items of lists have ids below the resource's.
fn name_items(id: &Id, body: &mut Value) {
    let lists = body["properties"].as_object_mut().into_iter().flatten();
    for (list, items) in lists.filter(|(list, _)| *list != "subnets" && *list != "privateEndpointConnections")
    {
        for item in items.as_array_mut().into_iter().flatten() {
            let Some(name) = item["name"].as_str().map(str::to_owned) else { continue };
            item["id"] = json!(format!("{}/{list}/{name}", id.asked));
            if item["properties"].is_object() {
                item["properties"]["provisioningState"] = json!("Succeeded");
            }
        }
    }
}

fn subnet(world: &World, id: &Id, body: &mut Value) -> Result<(), ArmResponse> {
    if id.parent().is_none_or(|parent| world.tree.get(parent).is_none()) {
        let message =
            "Can not perform requested operation on nested resource. Parent resource was not found.";
        return Err(failure(StatusCode::NOT_FOUND, "ParentResourceNotFound", message));
    }
    let of = &mut body["properties"];
    if let Some(group) = of["networkSecurityGroup"]["id"].as_str()
        && world.tree.find(group).is_none()
    {
        let message = format!(
            "Resource {group} referenced by resource {} was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.",
            id.asked
        );
        return Err(failure(StatusCode::BAD_REQUEST, "InvalidResourceReference", &message));
    }
    for endpoint in of["serviceEndpoints"].as_array_mut().into_iter().flatten() {
        endpoint["provisioningState"] = json!("Succeeded");
        if !endpoint["locations"].is_array() {
            endpoint["locations"] = json!(["*"]);
        }
    }
    for word in ["ipConfigurations", "privateEndpoints"] {
        if let Some(members) = of.as_object_mut() {
            members.remove(word);
        }
    }
    for (word, otherwise) in
        [("privateEndpointNetworkPolicies", "Disabled"), ("privateLinkServiceNetworkPolicies", "Enabled")]
    {
        if of[word].is_null() {
            of[word] = json!(otherwise);
        }
    }
    Ok(())
}

fn address(
    world: &World,
    body: &mut Value,
    old: Option<&Value>,
    subscription: &str,
) -> Result<(), ArmResponse> {
    let known = old.and_then(|old| old["properties"]["ipAddress"].as_str().map(str::to_owned));
    if known.is_none() {
        let (used, limit) = world.facts.lock().quota(subscription, "PublicIPAddresses");
        let mut here = 0;
        world.tree.visit(&format!("/subscriptions/{subscription}"), PIP, |_, _| here += 1);
        if used + here >= limit {
            let message = format!(
                "Cannot create more than {limit} public IP addresses for this subscription in this region."
            );
            return Err(failure(StatusCode::BAD_REQUEST, "PublicIPCountLimitReached", &message));
        }
    }
    let new = || Ipv4Addr::from(u32::from(Ipv4Addr::new(20, 0, 0, 0)) + world.number()).to_string();
    body["properties"]["ipAddress"] = json!(known.unwrap_or_else(new));
    for (word, otherwise) in [
        ("publicIPAddressVersion", json!("IPv4")),
        ("publicIPAllocationMethod", json!("Dynamic")),
        ("idleTimeoutInMinutes", json!(4)),
    ] {
        if body["properties"][word].is_null() {
            body["properties"][word] = otherwise;
        }
    }
    Ok(())
}

/// Items that sit in a subnet get an address of it: the one they had, the one they ask for, or the lowest free.
fn addresses(world: &World, id: &Id, body: &mut Value, old: Option<&Value>) -> Result<(), ArmResponse> {
    let mut here = BTreeSet::new();
    for list in ["ipConfigurations", "frontendIPConfigurations"] {
        for item in body["properties"][list].as_array_mut().into_iter().flatten() {
            let Some(subnet) = item["properties"]["subnet"]["id"].as_str().map(str::to_owned) else {
                continue;
            };
            let asked = item["properties"]["privateIPAddress"].as_str().and_then(|ip| ip.parse().ok());
            let fixed = item["properties"]["privateIPAllocationMethod"] == "Static";
            let had = old.and_then(|old| {
                let items = old["properties"][list].as_array()?.iter();
                let own = items.into_iter().find(|own| own["name"] == item["name"])?;
                own["properties"]["subnet"]["id"].as_str().filter(|of| of.eq_ignore_ascii_case(&subnet))?;
                own["properties"]["privateIPAddress"].as_str()?.parse::<Ipv4Addr>().ok()
            });
            let taken = taken(world, &subnet, &id.key);
            if let Some(ip) = asked.filter(|ip: &Ipv4Addr| fixed && taken.contains(ip)) {
                let message = format!("IP address {ip} is already allocated to another resource.");
                return Err(failure(StatusCode::BAD_REQUEST, "PrivateIPAddressIsAllocated", &message));
            }
            let free = asked.filter(|_| fixed).or(had).or_else(|| lowest(world, &subnet, &taken, &here));
            let Some(ip) = free else {
                let message = format!("Subnet {subnet} does not have enough capacity for IP addresses.");
                return Err(failure(StatusCode::BAD_REQUEST, "SubnetIsFull", &message));
            };
            here.insert(ip);
            item["properties"]["privateIPAddress"] = json!(ip.to_string());
            if item["properties"]["privateIPAllocationMethod"].is_null() {
                item["properties"]["privateIPAllocationMethod"] = json!("Dynamic");
            }
        }
    }
    Ok(())
}

/// Addresses of a subnet that others have.
fn taken(world: &World, subnet: &str, but: &str) -> BTreeSet<Ipv4Addr> {
    let named = world.tree.named_by(&subnet.to_ascii_lowercase());
    let sources: BTreeSet<String> =
        named.into_iter().map(|(source, _)| source).filter(|source| source != but).collect();
    let mut found = BTreeSet::new();
    for body in sources.iter().filter_map(|source| world.tree.get(source)) {
        for list in ["ipConfigurations", "frontendIPConfigurations"] {
            for item in body["properties"][list].as_array().into_iter().flatten() {
                let of = &item["properties"];
                if of["subnet"]["id"].as_str().is_some_and(|of| of.eq_ignore_ascii_case(subnet)) {
                    found.extend(of["privateIPAddress"].as_str().and_then(|ip| ip.parse::<Ipv4Addr>().ok()));
                }
            }
        }
    }
    found
}

/// Azure keeps the first four addresses and the last.
fn lowest(
    world: &World,
    subnet: &str,
    taken: &BTreeSet<Ipv4Addr>,
    here: &BTreeSet<Ipv4Addr>,
) -> Option<Ipv4Addr> {
    let body = world.tree.find(subnet);
    let told = body.as_ref().map(|body| &body["properties"]);
    let prefix =
        told.and_then(|of| of["addressPrefix"].as_str().or_else(|| of["addressPrefixes"][0].as_str()));
    let (network, bits) = prefix.unwrap_or("10.0.0.0/16").split_once('/')?;
    let (network, bits) = (u32::from(network.parse::<Ipv4Addr>().ok()?), bits.parse::<u32>().ok()?);
    let size = 1_u32.checked_shl(32_u32.checked_sub(bits)?)?;
    (4..size.saturating_sub(1))
        .map(|at| Ipv4Addr::from(network.saturating_add(at)))
        .find(|ip| !taken.contains(ip) && !here.contains(ip))
}

/// Removes what is stored as separate resources: the subnets of a network.
pub(super) fn inner(id: &Id, body: &mut Value) -> Option<Value> {
    (id.kind == VNET).then(|| body["properties"].as_object_mut()?.remove("subnets")).flatten()
}

/// The resources that are created with a resource.
pub(super) fn written(world: &World, id: &Id, body: &Value, inner: Option<&Value>) {
    match id.kind.as_str() {
        VNET => {
            let Some(subnets) = inner.and_then(Value::as_array) else { return };
            let names = |one: &Value| one["name"].as_str().unwrap_or_default().to_ascii_lowercase();
            let wanted: BTreeSet<String> = subnets.iter().map(names).collect();
            for old in world.tree.list(&id.key, SUBNET) {
                if !wanted.contains(&names(&old)) {
                    let key = old["id"].as_str().unwrap_or_default().to_ascii_lowercase();
                    world.tree.delete(&key);
                }
            }
            for one in subnets {
                let name = one["name"].as_str().unwrap_or_default();
                world.write_with(
                    &format!("{}/subnets/{name}", id.asked),
                    json!({"properties": one["properties"]}),
                );
            }
        }
        ENDPOINT => links::connect(world, id, body),
        _ => {}
    }
}

/// The resources that are deleted with a resource.
pub(super) fn deleted(world: &World, id: &Id, body: &Value) {
    if id.kind == ENDPOINT {
        links::disconnect(world, id, body);
    }
}

/// Whether nothing refers to it any more.
pub(super) fn deletable(world: &World, id: &Id) -> Result<(), ArmResponse> {
    if id.kind == GROUP {
        return group_deletable(world, id);
    }
    let users: Vec<(String, String, String)> = world
        .tree
        .referrers(&id.key)
        .into_iter()
        .filter_map(|(source, item)| Some((Id::parse(&source)?.kind, source, item)))
        .collect();
    let by = |kinds: &[&str]| {
        users.iter().find(|(kind, ..)| kinds.contains(&kind.as_str())).map(|(_, _, item)| item.clone())
    };
    let (code, user) = match id.kind.as_str() {
        SUBNET | VNET => ("InUseSubnetCannotBeDeleted", by(&[NIC, LB, ENDPOINT, LINK])),
        NSG => ("InUseNetworkSecurityGroupCannotBeDeleted", by(&[SUBNET, NIC])),
        PIP => ("PublicIPAddressCannotBeDeleted", by(&[LB, NIC, "microsoft.network/natgateways"])),
        LB => ("CannotDeleteLoadBalancerWithPrivateLinkService", by(&[LINK])),
        NIC => match by(&["microsoft.compute/virtualmachines"]) {
            Some(user) => ("NicInUse", Some(user)),
            None => ("CannotDeletePrivateEndpointNetworkInterface", by(&[ENDPOINT])),
        },
        LINK => {
            let body = world.tree.get(&id.key).unwrap_or_default();
            let first = body["properties"]["privateEndpointConnections"][0]["id"].as_str().map(str::to_owned);
            ("PrivateLinkServiceHasPrivateEndpointConnections", first)
        }
        "microsoft.compute/disks" => ("OperationNotAllowed", by(&["microsoft.compute/virtualmachines"])),
        _ => return Ok(()),
    };
    let Some(user) = user else { return Ok(()) };
    let status = if code == "OperationNotAllowed" { StatusCode::CONFLICT } else { StatusCode::BAD_REQUEST };
    let message = format!("{} is in use by {user} and cannot be deleted.", id.asked);
    Err(failure(status, code, &message))
}

/// Subnets of others that use a security group of this one are in the way.
fn group_deletable(world: &World, id: &Id) -> Result<(), ArmResponse> {
    let inside = format!("{}/", id.key);
    for group in world.tree.list(&id.key, NSG) {
        let name = group["id"].as_str().unwrap_or_default().to_ascii_lowercase();
        let outside =
            world.tree.referrers(&name).into_iter().find(|(source, _)| !source.starts_with(&inside));
        if let Some((_, user)) = outside {
            let message = format!(
                "Network security group {name} cannot be deleted because it is in use by the following resources: {user}."
            );
            return Err(failure(StatusCode::CONFLICT, "InUseNetworkSecurityGroupCannotBeDeleted", &message));
        }
    }
    Ok(())
}

/// What others make of it, as it is read.
pub(super) fn shown(world: &World, id: &Id, body: &mut Value) {
    let users = |key: &str, kinds: &[&str]| -> Vec<Value> {
        let fits = |source: &str| Id::parse(source).is_some_and(|id| kinds.contains(&id.kind.as_str()));
        let all = world.tree.named_by(key);
        all.into_iter().filter(|(source, _)| fits(source)).map(|(_, item)| json!({ "id": item })).collect()
    };
    match id.kind.as_str() {
        VNET => {
            let mut own = body["properties"]["subnets"].as_array().cloned().unwrap_or_default();
            for subnet in world.tree.list(&id.key, SUBNET) {
                own.retain(|old| old["name"] != subnet["name"]);
                own.push(subnet);
            }
            for subnet in &mut own {
                if let Some(id) = subnet["id"].as_str().and_then(Id::parse) {
                    shown(world, &id, subnet);
                }
            }
            body["properties"]["subnets"] = json!(own);
        }
        SUBNET => {
            let inside = users(&id.key, &[NIC, LB, LINK]);
            if !inside.is_empty() {
                body["properties"]["ipConfigurations"] = json!(inside);
            }
            let endpoints = users(&id.key, &[ENDPOINT]);
            if !endpoints.is_empty() {
                body["properties"]["privateEndpoints"] = json!(endpoints);
            }
        }
        NSG => {
            for (word, kind) in [("subnets", SUBNET), ("networkInterfaces", NIC)] {
                let all = users(&id.key, &[kind]);
                if !all.is_empty() {
                    body["properties"][word] = json!(all);
                }
            }
        }
        NIC => {
            if let Some(machine) = users(&id.key, &["microsoft.compute/virtualmachines"]).first() {
                body["properties"]["virtualMachine"] = machine.clone();
            }
        }
        PIP => {
            if let Some(user) = users(&id.key, &[LB, NIC]).first() {
                body["properties"]["ipConfiguration"] = user.clone();
            }
        }
        LB => {
            for pool in body["properties"]["backendAddressPools"].as_array_mut().into_iter().flatten() {
                let key = pool["id"].as_str().unwrap_or_default().to_ascii_lowercase();
                if !pool["properties"].is_object() {
                    pool["properties"] = json!({"provisioningState": "Succeeded"});
                }
                pool["properties"]["backendIPConfigurations"] = json!(users(&key, &[NIC]));
            }
        }
        _ => {}
    }
}
