//! The cluster's Azure identity: a service principal, or managed identities.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{ValidationContext, ValidationResult, missing};
use crate::error::CloudError;
use crate::text;
use crate::view::{Cluster, Platform};

const PRINCIPAL: &str = "properties.servicePrincipalProfile";
/// As clients see it: with capitals that the member does not have.
const IDENTITIES: &str = "properties.platformWorkloadIdentityProfile.PlatformWorkloadIdentities";

/// One of the two ways, and whole.
pub(super) fn combination(context: &ValidationContext<'_>, cluster: &Cluster) -> ValidationResult {
    if context.version.service_principal_required {
        return Ok(());
    }
    let properties = &cluster.properties;
    let principal = properties.service_principal_profile.as_ref();
    let platform = properties.platform_workload_identity_profile.as_ref();
    let filled = principal.is_some_and(|p| !p.client_id.is_empty() || !p.client_secret.is_empty());
    let say = |target, message| Err(CloudError::invalid(target, message));
    match (principal, platform, &cluster.identity) {
        (None, None, None) => {
            say(PRINCIPAL, "Must provide either an identity or service principal credentials.")
        }
        (Some(_), Some(_), _) if filled => {
            say(PRINCIPAL, "Cannot use identities and service principal credentials at the same time.")
        }
        (_, Some(_), None) | (_, None, Some(_)) => {
            say("identity", "Cluster identity and platform workload identities require each other.")
        }
        (_, Some(platform), Some(identity)) => {
            if identity.user_assigned_identities.len() != 1 {
                return say(
                    "identity",
                    "The provided cluster identity is invalid; there should be exactly one.",
                );
            }
            if platform.platform_workload_identities.is_empty() {
                return say(
                    "properties.platformWorkloadIdentityProfile.platformWorkloadIdentities",
                    "The set of platform workload identities cannot be empty.",
                );
            }
            Ok(())
        }
        (Some(_), None, None) => Ok(()),
    }
}

pub(super) fn service_principal(context: &ValidationContext<'_>, cluster: &Cluster) -> ValidationResult {
    let Some(principal) = &cluster.properties.service_principal_profile else {
        if context.version.service_principal_required {
            // Clients see the path doubled.
            return Err(CloudError::invalid(
                "properties.servicePrincipalProfile.servicePrincipalProfile",
                "ServicePrincipalProfile cannot be nil in this API version.",
            ));
        }
        return Ok(());
    };
    if !text::is_uuid(&principal.client_id) {
        let message = format!("The provided client ID '{}' is invalid.", principal.client_id);
        return Err(CloudError::invalid("properties.servicePrincipalProfile.clientId", message));
    }
    if principal.client_secret.is_empty() {
        let target = "properties.servicePrincipalProfile.clientSecret";
        return Err(CloudError::invalid(target, "The provided client secret is invalid."));
    }
    Ok(())
}

pub(super) fn platform(cluster: &Cluster) -> ValidationResult {
    let Some(platform) = &cluster.properties.platform_workload_identity_profile else { return Ok(()) };
    each_once(platform)?;
    for (operator, identity) in &platform.platform_workload_identities {
        let Some(identity) = identity else { return Err(missing(&format!("{IDENTITIES}[{operator}]"))) };
        let target = format!("{IDENTITIES}[{operator}].resourceID");
        let id = &identity.resource_id;
        let kind = text::split_resource_id(id)
            .filter(|parts| !parts.rest.is_empty())
            .map(|parts| last_type(parts.rest));
        match kind {
            None => {
                let message = format!("ResourceID {id} formatted incorrectly.");
                return Err(CloudError::invalid(&target, message));
            }
            Some(_) if operator.is_empty() => {
                return Err(CloudError::invalid(&target, "Operator name is empty."));
            }
            Some("userAssignedIdentities") => {}
            Some(_) => {
                return Err(CloudError::invalid(&target, "Resource must be a user assigned identity."));
            }
        }
    }
    match &platform.upgradeable_to {
        Some(version) if text::version(version).is_none() => Err(CloudError::invalid(
            &format!("properties.platformWorkloadIdentityProfile.UpgradeableTo[{version}]"),
            "UpgradeableTo must be a valid OpenShift version in the format 'x.y.z'.",
        )),
        _ => Ok(()),
    }
}

fn each_once(platform: &Platform) -> ValidationResult {
    let mut seen = BTreeSet::new();
    for identity in platform.platform_workload_identities.values().flatten() {
        let id = identity.resource_id.to_ascii_lowercase();
        if !seen.insert(id.clone()) {
            let message = format!("ResourceID {id} used by multiple identities.");
            return Err(CloudError::invalid(IDENTITIES, message));
        }
    }
    Ok(())
}

/// `…/TYPE/NAME`: the last type.
fn last_type(rest: &str) -> &str {
    rest.rsplit('/').nth(1).unwrap_or_default()
}

/// Operators keep their identities (`contract/api.md` §11.4).
pub(super) fn unchanged(context: &ValidationContext<'_>, is: &Value, wanted: &Value) -> ValidationResult {
    const PATH: &str = "properties.platformWorkloadIdentityProfile.platformWorkloadIdentities";
    if !context.version.has(PATH) {
        return Ok(());
    }
    let names = |cluster: &Value| -> BTreeSet<String> {
        let map = PATH.split('.').try_fold(cluster, |value, name| value.get(name));
        map.and_then(Value::as_object).map(|map| map.keys().cloned().collect()).unwrap_or_default()
    };
    if names(is).is_subset(&names(wanted)) {
        return Ok(());
    }
    let message = "Operator identity cannot be removed or have its name changed.";
    Err(CloudError::bad("PropertyChangeNotAllowed", PATH, message))
}
