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
use crate::version::{JsonDialect, Version};
use crate::view::Cluster;

/// The resource that a request names, and the rules that apply to it.
#[derive(Debug, Clone)]
pub struct ValidationContext<'a> {
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

type ValidationResult = Result<(), CloudError>;

/// A new cluster as the version shows it.
///
/// # Errors
/// The first rule that it breaks.
pub fn create(context: &ValidationContext<'_>, wanted: &Value) -> ValidationResult {
    let cluster = view(wanted)?;
    top::check(context, &cluster)?;
    identity::combination(context, &cluster)?;
    required(context, wanted)?;
    properties(context, &cluster, true)?;
    create::check(context, &cluster)
}

/// Checks an update: `is` and `wanted` are the cluster before and after it, as the version shows them.
///
/// # Errors
/// The first rule that it breaks, or the first member that may not change.
pub fn update(context: &ValidationContext<'_>, is: &Value, wanted: &Value) -> ValidationResult {
    if context.version.values_checked {
        values(context, wanted)?;
    }
    identity::unchanged(context, is, wanted)?;
    changes::check(context.version, is, wanted)
}

fn values(context: &ValidationContext<'_>, wanted: &Value) -> ValidationResult {
    let cluster = view(wanted)?;
    top::check(context, &cluster)?;
    identity::combination(context, &cluster)?;
    required(context, wanted)?;
    properties(context, &cluster, false)?;
    if context.version.ingress_checked_on_update {
        create::ingress(&cluster)?;
    }
    Ok(())
}

fn view(wanted: &Value) -> Result<Cluster, CloudError> {
    // The decoder has checked the types of all members.
    serde_json::from_value(wanted.clone()).map_err(|error| unreadable(&error.to_string()))
}

fn properties(context: &ValidationContext<'_>, cluster: &Cluster, new: bool) -> ValidationResult {
    top::state(context, cluster)?;
    profiles::cluster(context, cluster, new)?;
    profiles::console(cluster)?;
    identity::service_principal(context, cluster)?;
    network::ranges(context, cluster, new)?;
    network::outbound(context, cluster, new)?;
    profiles::master(context, cluster)?;
    profiles::api_server(cluster)?;
    identity::platform(cluster)
}

/// Objects that the newest version asks for (`contract/api.md` §11.3).
fn required(context: &ValidationContext<'_>, wanted: &Value) -> ValidationResult {
    if context.version.json != JsonDialect::Sorted {
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

/// Checks a member that is `Enabled` or `Disabled`, if the version has that member.
fn switch(context: &ValidationContext<'_>, member: &str, path: &str, value: &str) -> ValidationResult {
    if !context.version.has(member) || matches!(value, "Enabled" | "Disabled") {
        return Ok(());
    }
    Err(CloudError::invalid(path, format!("The provided value '{value}' is invalid.")))
}
