//! What is special of Microsoft.Compute: quota, power, disks.

use std::collections::BTreeMap;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::functions::guid;
use super::id::{Id, subscription_of};
use super::response::{ArmResponse, failure};
use super::world::World;

pub(super) const MACHINE: &str = "microsoft.compute/virtualmachines";

/// A new machine counts against the quota and runs.
pub(super) fn prepare(
    world: &World,
    id: &Id,
    body: &mut Value,
    old: Option<&Value>,
) -> Result<(), ArmResponse> {
    if id.kind != MACHINE {
        return Ok(());
    }
    custom_data(world, id, body, old)?;
    let of = &mut body["properties"];
    let size = of["hardwareProfile"]["vmSize"].as_str().unwrap_or_default().to_owned();
    if old.is_none() {
        quota(world, subscription_of(&id.key), &size)?;
    }
    of["vmId"] = json!(guid(std::slice::from_ref(&id.key)));
    let group = id.asked.split_once("/providers/").map_or("", |(group, _)| group);
    let disk = &mut of["storageProfile"]["osDisk"];
    if let Some(name) = disk["name"].as_str().map(str::to_owned) {
        let disk_id = format!("{group}/providers/Microsoft.Compute/disks/{name}");
        disk["managedDisk"]["id"] = json!(disk_id);
    }
    let name = of["osProfile"]["computerName"].as_str().unwrap_or_else(|| id.name()).to_owned();
    if let Some(profile) = of["osProfile"].as_object_mut() {
        // Neither is ever returned again.
        profile.remove("adminPassword");
        profile.remove("customData");
    }
    of["instanceView"] = match old.map(|old| old["properties"]["instanceView"].clone()) {
        Some(view) if !view.is_null() => view,
        _ => json!({"computerName": name, "statuses": statuses(world, "running")}),
    };
    Ok(())
}

/// What the machine is given at its first start, which cannot change while it is there.
fn custom_data(world: &World, id: &Id, body: &Value, old: Option<&Value>) -> Result<(), ArmResponse> {
    let Some(data) = body["properties"]["osProfile"]["customData"].as_str() else { return Ok(()) };
    let mut all = world.custom_data.lock();
    if old.is_some() && all.get(&id.key).is_some_and(|known| known != data) {
        let message = "Changing property 'osProfile.customData' is not allowed.";
        return Err(failure(StatusCode::CONFLICT, "PropertyChangeNotAllowed", message));
    }
    all.insert(id.key.clone(), data.to_owned());
    Ok(())
}

fn statuses(world: &World, power: &str) -> Value {
    json!([{"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded",
            "time": world.clock.now()},
        {"code": format!("PowerState/{power}"), "level": "Info", "displayStatus": format!("VM {power}")}])
}

/// Cores that the machines of a subscription use, by family.
pub(super) fn cores(world: &World, subscription: &str) -> BTreeMap<String, i64> {
    let sizes = world.facts.lock();
    let mut used = BTreeMap::new();
    world.tree.visit(&format!("/subscriptions/{subscription}"), MACHINE, |_, body| {
        let size = body["properties"]["hardwareProfile"]["vmSize"].as_str();
        if let Some((family, cores)) = size.and_then(|size| sizes.size(size)) {
            *used.entry(family).or_default() += cores;
        }
    });
    used
}

fn quota(world: &World, subscription: &str, size: &str) -> Result<(), ArmResponse> {
    let Some((family, wanted)) = world.facts.lock().size(size) else { return Ok(()) };
    let cores = cores(world, subscription);
    let of_family = cores.get(&family).copied().unwrap_or_default();
    for (name, here) in [("cores", cores.values().sum()), (family.as_str(), of_family)] {
        let (more, limit) = world.facts.lock().quota(subscription, name);
        let used: i64 = more + here;
        if used + wanted > limit {
            let message = format!(
                "Operation could not be completed as it results in exceeding approved {name} Cores quota. Additional details - Deployment Model: Resource Manager, Current Limit: {limit}, Current Usage: {used}, Additional Required: {wanted}, (Minimum) New Limit Required: {}.",
                used + wanted
            );
            return Err(failure(StatusCode::CONFLICT, "OperationNotAllowed", &message));
        }
    }
    Ok(())
}

/// A machine's disk is a separate resource, which stays when the machine is deleted.
pub(super) fn written(world: &World, id: &Id, body: &Value) {
    let disk = &body["properties"]["storageProfile"]["osDisk"];
    if id.kind == MACHINE
        && let Some(disk_id) = disk["managedDisk"]["id"].as_str()
        && world.tree.find(disk_id).is_none()
    {
        world.write_with(
            disk_id,
            json!({"location": body["location"], "sku": {"name": disk["managedDisk"]["storageAccountType"]},
                "properties": {"diskSizeGB": disk["diskSizeGB"], "osType": "Linux", "diskState": "Attached"}}),
        );
    }
}

/// Changes the power of a machine.
pub(super) fn power(world: &World, id: &Id, mut body: Value, state: &str) {
    let name = body["properties"]["instanceView"]["computerName"].clone();
    body["properties"]["instanceView"] = json!({"computerName": name, "statuses": statuses(world, state)});
    world.tree.put(id, &mut body);
}
