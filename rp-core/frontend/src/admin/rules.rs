//! Which objects of a cluster administrators' tools may read and change, and how things may be named
//! (`contract/frontend.md` §11.2, §11.3): the rules are `rp_actions::rules`, here are their answers.

pub(super) use rp_actions::rules::is_name;
use rp_actions::rules::{self, RuleError};
use rp_actions::{ActionError, Resource};
use rp_api::CloudError;

use super::cluster_api::AdminApi;
use crate::call::Call;

/// What a broken rule answers.
fn broken(error: RuleError) -> CloudError {
    match error {
        RuleError::Invalid(message) => CloudError::invalid("", message),
        RuleError::Forbidden(message) => CloudError::new(403, "Forbidden", "", message),
    }
}

/// What an action that failed answers.
pub(super) fn action(error: ActionError<<AdminApi as rp_actions::ClusterApi>::Error>) -> CloudError {
    match error {
        ActionError::Rule(error) => broken(error),
        ActionError::Missing(message) => CloudError::bad("ResourceNotFound", "", message),
        ActionError::Conflict(message) => CloudError::bad("PropertyChangeNotAllowed", "", message),
        ActionError::Call(call) => call.error,
    }
}

/// Whether that may be read; both names may be empty. `unrestricted` allows every namespace and cluster-scoped objects.
///
/// # Errors
/// The rule that is broken, in the contract's order.
pub(super) fn read(
    resource: &Resource,
    namespace: &str,
    name: &str,
    unrestricted: bool,
) -> Result<(), CloudError> {
    rules::read(resource, namespace, name, unrestricted).map_err(broken)
}

/// Whether that object may be changed.
///
/// # Errors
/// The rule that is broken, in the contract's order.
pub(super) fn write(resource: &Resource, namespace: &str, name: &str) -> Result<(), CloudError> {
    rules::write(resource, namespace, name).map_err(broken)
}

/// A namespace of the platform (`contract/frontend.md` §11.3 rows of logs and exec).
///
/// # Errors
/// 400: it is no name. 403: it is none of the platform's.
pub(super) fn platform_namespace(
    namespace: &str,
    invalid: impl Fn(&str) -> String,
) -> Result<(), CloudError> {
    rules::platform_namespace(namespace, invalid).map_err(broken)
}

/// A container of a pod of the platform (`contract/frontend.md` §11.3).
///
/// # Errors
/// 400: a name is none. 403: the namespace is none of the platform's.
pub(super) fn container(namespace: &str, pod: &str, container: &str) -> Result<(), CloudError> {
    platform_namespace(namespace, |name| format!("The provided namespace '{name}' is invalid."))?;
    for (what, text) in [("pod", pod), ("container", container)] {
        if !is_name(text) {
            return Err(CloudError::invalid("", format!("The provided {what} name '{text}' is invalid.")));
        }
    }
    Ok(())
}

/// `vmName` (`contract/frontend.md` §11.3).
///
/// # Errors
/// 400: it is missing or no name.
pub(super) fn machine(call: &Call) -> Result<&str, CloudError> {
    let name = call.parameter("vmName").unwrap_or_default();
    if name.is_empty() {
        return Err(CloudError::invalid("", "The vmName parameter is required."));
    }
    if is_name(name) && !name.starts_with(['.', '-']) {
        return Ok(name);
    }
    Err(CloudError::invalid("", format!("The provided vmName '{name}' is invalid.")))
}
