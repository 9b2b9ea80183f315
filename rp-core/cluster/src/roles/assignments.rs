//! Role assignments in a cluster's group (`contract/cluster.md` §8.1).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{BLOB_CONTRIBUTOR, CONTRIBUTOR, OperatorRole, last};
use crate::document::Document;
use crate::resources::PlatformIdentity;
use crate::templates::{after, resource, storage, template};

const KIND: &str = "Microsoft.Authorization/roleAssignments";

/// Contributor for the cluster's service principal.
pub(crate) fn of_service_principal(object: &str) -> Value {
    assignment("[guid(resourceGroup().id, 'SP / Contributor')]", CONTRIBUTOR, object)
}

/// Each role of each platform identity.
pub(crate) fn of_operators(
    identities: &BTreeMap<&str, PlatformIdentity<'_>>,
    roles: &[OperatorRole],
) -> Vec<Value> {
    let wanted = |role: &OperatorRole| {
        Some((
            last(&role.role_definition_id).to_owned(),
            identities.get(&*role.operator_name)?.object_id.to_owned(),
        ))
    };
    roles.iter().filter_map(wanted).map(|(role, object)| of_identity(&role, &object)).collect()
}

/// One role (its definition's last part) of one identity.
pub(crate) fn of_identity(role: &str, object: &str) -> Value {
    assignment(&format!("[guid(resourceGroup().id, '{role}', '{object}')]"), role, object)
}

/// The first-party application reads and writes the cluster's state.
pub(crate) fn state_account(cluster: &Document, first_party: &str) -> Value {
    let account = cluster.state_account();
    let name = format!(
        "[concat('{account}', '/Microsoft.Authorization/', guid(resourceId('Microsoft.Storage/storageAccounts', '{account}')))]"
    );
    let mut properties = granted(BLOB_CONTRIBUTOR, first_party);
    properties["scope"] = json!(format!("[resourceId('Microsoft.Storage/storageAccounts', '{account}')]"));
    let body =
        resource("Microsoft.Storage/storageAccounts/providers/roleAssignments", &name, None, properties);
    after(body, &[storage::account_id(cluster, &account)])
}

/// A deployment of nothing but assignments.
pub(crate) fn only(assignments: Vec<Value>) -> Value {
    template(Map::new(), assignments)
}

fn assignment(name: &str, role: &str, object: &str) -> Value {
    resource(KIND, name, None, granted(role, object))
}

fn granted(role: &str, object: &str) -> Value {
    json!({
        "scope": "[resourceGroup().id]",
        "roleDefinitionId": format!("[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '{role}')]"),
        "principalId": object,
        "principalType": "ServicePrincipal",
    })
}
