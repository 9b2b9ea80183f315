//! Static validation (`contract/api.md` §11): pure, in the order of the contract's tables; the first failure
//! is the error.

mod create;
mod identity;
mod network;
mod profiles;
mod top;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::changes;
use crate::decode::unreadable;
use crate::error::CloudError;
use crate::version::{Json, Version};
use crate::view::Cluster;

/// Where the request is about, and by which rules.
#[derive(Debug, Clone)]
pub struct Ground<'a> {
    pub version: &'a Version,
    /// The resource id of the request's URL.
    pub id: &'a str,
    /// Its last segment.
    pub name: &'a str,
    pub subscription: &'a str,
    pub group: &'a str,
    /// Our region.
    pub region: &'a str,
    /// The domain below which clusters without a domain of their own stand, e.g. `eastus.aroapp.io`.
    pub domain: &'a str,
    /// `properties.architectureVersion`.
    pub architecture: u64,
    /// The subscription has the feature `RequireD2sWorkers`.
    pub development_workers: bool,
}

type Checked = Result<(), CloudError>;

/// A new cluster as the version shows it.
///
/// # Errors
/// The first rule that it breaks.
pub fn create(ground: &Ground<'_>, wanted: &Value) -> Checked {
    let cluster = view(wanted)?;
    top::check(ground, &cluster)?;
    identity::combination(ground, &cluster)?;
    required(ground, wanted)?;
    properties(ground, &cluster, true)?;
    create::check(ground, &cluster)
}

/// What an update makes of a cluster: `is` and `wanted` as the version shows them.
///
/// # Errors
/// The first rule that it breaks, or the first member that may not change.
pub fn update(ground: &Ground<'_>, is: &Value, wanted: &Value) -> Checked {
    if ground.version.values_checked {
        values(ground, wanted)?;
    }
    identity::kept(ground, is, wanted)?;
    changes::check(ground.version, is, wanted)
}

fn values(ground: &Ground<'_>, wanted: &Value) -> Checked {
    let cluster = view(wanted)?;
    top::check(ground, &cluster)?;
    identity::combination(ground, &cluster)?;
    required(ground, wanted)?;
    properties(ground, &cluster, false)?;
    if ground.version.ingress_checked_on_update {
        create::ingress(&cluster)?;
    }
    Ok(())
}

fn view(wanted: &Value) -> Result<Cluster, CloudError> {
    // The decoder has seen to the types of all members.
    serde_json::from_value(wanted.clone()).map_err(|error| unreadable(&error.to_string()))
}

fn properties(ground: &Ground<'_>, cluster: &Cluster, new: bool) -> Checked {
    top::state(ground, cluster)?;
    profiles::cluster(ground, cluster, new)?;
    profiles::console(cluster)?;
    identity::service_principal(ground, cluster)?;
    network::ranges(ground, cluster, new)?;
    network::outbound(ground, cluster, new)?;
    profiles::master(ground, cluster)?;
    profiles::api_server(cluster)?;
    identity::platform(cluster)
}

/// Objects that the newest version asks for (`contract/api.md` §11.3).
fn required(ground: &Ground<'_>, wanted: &Value) -> Checked {
    if ground.version.json != Json::Sorted {
        return Ok(());
    }
    let objects =
        ["properties", "properties.clusterProfile", "properties.networkProfile", "properties.masterProfile"]
            .into_iter()
            .chain(["properties.apiserverProfile"]);
    for path in objects {
        let found = path.split('.').try_fold(wanted, |value, name| value.get(name));
        if found.is_none_or(Value::is_null) {
            return Err(missing(path));
        }
    }
    for list in ["ingressProfiles", "workerProfiles"] {
        let found = wanted.pointer(&format!("/properties/{list}")).and_then(Value::as_array);
        let null = found.and_then(|list| list.iter().position(Value::is_null));
        if let Some(at) = null {
            return Err(missing(&format!("properties.{list}[{at}]")));
        }
    }
    Ok(())
}

fn missing(path: &str) -> CloudError {
    CloudError::invalid(path, format!("The field '{path}' is required."))
}

/// A switch's value where the version has the switch.
fn switch(ground: &Ground<'_>, member: &str, path: &str, value: &str) -> Checked {
    if !ground.version.has(member) || matches!(value, "Enabled" | "Disabled") {
        return Ok(());
    }
    Err(CloudError::invalid(path, format!("The provided value '{value}' is invalid.")))
}
