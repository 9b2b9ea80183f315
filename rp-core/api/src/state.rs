//! Which request a cluster's state allows, and what it becomes (`contract/api.md` §6).

use serde_json::{Map, Value};

use crate::admin::SIGNALS;
use crate::error::CloudError;

/// A request on a cluster that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterRequest {
    /// PUT or PATCH of a customer's version.
    Update,
    /// PUT or PATCH of the version `admin`.
    AdminUpdate,
    Delete,
}

/// States in which work waits for the backend or is in progress.
pub const QUEUED: [&str; 4] = ["Creating", "Updating", "AdminUpdating", "Deleting"];

/// Whether the cluster is being created or deleted, or that failed: its API server cannot be queried then.
pub fn is_passing(stored: &Value) -> bool {
    let passing = |state: &str| matches!(state, "Creating" | "Deleting");
    let state = member(stored, "provisioningState");
    passing(state) || state == "Failed" && passing(member(stored, "failedProvisioningState"))
}

/// Whether the cluster's state allows the request.
///
/// # Errors
/// 400 `RequestNotAllowed` with the contract's message; 500 for a state that no release writes.
pub fn check(asked: ClusterRequest, stored: &Value) -> Result<(), CloudError> {
    let state = member(stored, "provisioningState");
    let refuse = |message: String| Err(CloudError::bad("RequestNotAllowed", "", message));
    match (state, asked) {
        ("Succeeded", _) | ("Failed", ClusterRequest::Delete) => Ok(()),
        ("Failed", _) => match member(stored, "failedProvisioningState") {
            "" | "Updating" | "AdminUpdating" => Ok(()),
            "Creating" => refuse(
                "Request is not allowed on cluster whose creation failed. Delete the cluster.".to_owned(),
            ),
            "Deleting" => refuse(
                "Request is not allowed on cluster whose deletion failed. Delete the cluster.".to_owned(),
            ),
            _ => Err(CloudError::new(500, "InternalServerError", "", "Internal server error.")),
        },
        (other, _) => refuse(format!("Request is not allowed in provisioningState '{other}'.")),
    }
}

/// Writes into a stored cluster that the request was accepted. A task that only signals the customer leaves the state.
///
/// Returns whether there is work for the backend.
pub fn accept(asked: ClusterRequest, stored: &mut Value) -> bool {
    let old = member(stored, "provisioningState").to_owned();
    let task = member(stored, "maintenanceTask").to_owned();
    let maintenance = member(stored, "maintenanceState").to_owned();
    let Some(Value::Object(properties)) = stored.get_mut("properties") else { return false };
    let mut set = |name: &str, value: &str| write(properties, name, value);
    match asked {
        ClusterRequest::AdminUpdate if SIGNALS.contains(&task.as_str()) => {
            set("maintenanceState", &task);
            set("maintenanceTask", "");
            return false;
        }
        ClusterRequest::AdminUpdate => {
            set("provisioningState", "AdminUpdating");
            set("lastAdminUpdateError", "");
            set("maintenanceState", if maintenance == "Pending" { "Planned" } else { "Unplanned" });
        }
        ClusterRequest::Update => set("provisioningState", "Updating"),
        ClusterRequest::Delete => set("provisioningState", "Deleting"),
    }
    set("lastProvisioningState", &old);
    true
}

fn member<'a>(stored: &'a Value, name: &str) -> &'a str {
    stored
        .get("properties")
        .and_then(|properties| properties.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Writes a member of a document's `properties`; an empty text is left out of documents.
pub fn write(properties: &mut Map<String, Value>, name: &str, value: &str) {
    if value.is_empty() {
        properties.remove(name);
    } else {
        properties.insert(name.to_owned(), Value::from(value));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(state: &str, failed: &str) -> Value {
        json!({"properties": {"provisioningState": state, "failedProvisioningState": failed}})
    }

    #[test]
    fn states_allow_what_the_contract_allows() {
        let says = |asked, state: &str, failed: &str| {
            check(asked, &cluster(state, failed)).map_err(|error| (error.status, error.body.message))
        };
        for asked in [ClusterRequest::Update, ClusterRequest::AdminUpdate, ClusterRequest::Delete] {
            assert_eq!(says(asked, "Succeeded", ""), Ok(()));
            for state in QUEUED {
                let message = format!("Request is not allowed in provisioningState '{state}'.");
                assert_eq!(says(asked, state, ""), Err((400, message)));
            }
        }
        for failed in ["", "Updating", "AdminUpdating"] {
            assert_eq!(says(ClusterRequest::Update, "Failed", failed), Ok(()));
        }
        for failed in ["Creating", "Deleting", "", "Odd"] {
            assert_eq!(says(ClusterRequest::Delete, "Failed", failed), Ok(()));
        }
        let (_, message) = says(ClusterRequest::Update, "Failed", "Creating").unwrap_err();
        assert_eq!(message, "Request is not allowed on cluster whose creation failed. Delete the cluster.");
        assert_eq!(says(ClusterRequest::AdminUpdate, "Failed", "Deleting").unwrap_err().0, 400);
        assert_eq!(says(ClusterRequest::Update, "Failed", "Odd").unwrap_err().0, 500);
    }

    #[test]
    fn acceptance_keeps_the_old_state_and_tells_about_maintenance() {
        let mut one = cluster("Failed", "Updating");
        assert!(accept(ClusterRequest::Update, &mut one));
        assert_eq!(one["properties"]["provisioningState"], "Updating");
        assert_eq!(one["properties"]["lastProvisioningState"], "Failed");
        let mut planned = json!({"properties": {"provisioningState": "Succeeded", "maintenanceState": "Pending",
            "lastAdminUpdateError": "x", "maintenanceTask": "Everything"}});
        assert!(accept(ClusterRequest::AdminUpdate, &mut planned));
        assert_eq!(planned["properties"]["maintenanceState"], "Planned");
        assert!(planned["properties"].get("lastAdminUpdateError").is_none());
        let mut told =
            json!({"properties": {"provisioningState": "Succeeded", "maintenanceTask": "Pending"}});
        assert!(!accept(ClusterRequest::AdminUpdate, &mut told));
        assert_eq!(
            told,
            json!({"properties": {"provisioningState": "Succeeded", "maintenanceState": "Pending"}})
        );
    }
}
