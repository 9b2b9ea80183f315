//! The resource itself, and its state.

use super::{ValidationContext, ValidationResult};
use crate::RESOURCE_TYPE;
use crate::error::CloudError;
use crate::view::Cluster;

const STATES: [&str; 6] = ["Creating", "Updating", "AdminUpdating", "Deleting", "Succeeded", "Failed"];

pub(super) fn check(context: &ValidationContext<'_>, cluster: &Cluster) -> ValidationResult {
    let in_url = |code, target, what: &str, is: &str, wanted: &str| {
        if is.eq_ignore_ascii_case(wanted) {
            return Ok(());
        }
        let message =
            format!("The provided resource {what} '{is}' did not match the name in the Url '{wanted}'.");
        Err(CloudError::bad(code, target, message))
    };
    in_url("MismatchingResourceID", "id", "ID", &cluster.id, context.id)?;
    in_url("MismatchingResourceName", "name", "name", &cluster.name, context.name)?;
    in_url("MismatchingResourceType", "type", "type", &cluster.kind, RESOURCE_TYPE)?;
    if cluster.location.eq_ignore_ascii_case(context.region) {
        return Ok(());
    }
    Err(CloudError::invalid("location", format!("The provided location '{}' is invalid.", cluster.location)))
}

pub(super) fn state(context: &ValidationContext<'_>, cluster: &Cluster) -> ValidationResult {
    let state = cluster.properties.provisioning_state.as_str();
    if STATES.contains(&state) || context.version.extra_state == Some(state) {
        return Ok(());
    }
    let message = format!("The provided provisioning state '{state}' is invalid.");
    Err(CloudError::invalid("properties.provisioningState", message))
}
