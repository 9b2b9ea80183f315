//! Role assignments of an existing cluster (`contract/cluster.md` §6.1).

use rp_azure::{Client, Resources};
use serde_json::{Map, Value};

use super::azure::items;
use super::deploy::deploy;
use crate::cleanup;
use crate::context::Context;
use crate::errors::StepError;
use crate::roles::{CONTRIBUTOR, OWNER, assignments, last};
use crate::templates::versions;

/// Assignments at exactly the scope of a group; none where the group is gone.
pub(crate) async fn assignments_at(client: &Client, group: &str) -> Result<Vec<Value>, StepError> {
    let path = format!("{group}/providers/Microsoft.Authorization/roleAssignments");
    let found = client.list_with(&path, versions::AUTHORIZATION, &[("$filter", "atScope()")]).await;
    let mut found = match found {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        found => found?,
    };
    let at = |assignment: &Value| {
        assignment["properties"]["scope"].as_str().is_some_and(|scope| scope.eq_ignore_ascii_case(group))
    };
    found.retain(at);
    Ok(found)
}

/// Last part of the role definition's id.
pub(crate) fn role_of(assignment: &Value) -> &str {
    last(assignment["properties"]["roleDefinitionId"].as_str().unwrap_or_default())
}

fn principal_of(assignment: &Value) -> &str {
    assignment["properties"]["principalId"].as_str().unwrap_or_default()
}

/// The cluster's principal, and no earlier one, contributes to the group. What others have assigned stays.
pub(crate) async fn create_or_update_cluster_service_principal_rbac(
    context: &Context,
) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    let principal = document.principal();
    if principal.is_empty() {
        return Err(StepError::other("the object id of the cluster's service principal is not known"));
    }
    let mut there = false;
    for assignment in assignments_at(&client, document.group_id()).await? {
        let contributes = role_of(&assignment).eq_ignore_ascii_case(CONTRIBUTOR);
        if contributes && principal_of(&assignment).eq_ignore_ascii_case(principal) {
            there = true;
        } else if contributes && is_made_by_us(context, &assignment) {
            delete(&client, &assignment).await?;
        }
    }
    cleanup::remove_role_definitions(&client, document.group_id()).await?;
    if there {
        return Ok(());
    }
    let wanted = assignments::only(vec![assignments::of_service_principal(principal)]);
    deploy(context, "clustersp", &wanted, &Value::Object(Map::new())).await.map(|_| ())
}

/// The service made it; where Azure does not tell who did, an application's assignment is taken for ours.
fn is_made_by_us(context: &Context, assignment: &Value) -> bool {
    let of = &assignment["properties"];
    match of["createdBy"].as_str() {
        Some(by) if !by.is_empty() => by.eq_ignore_ascii_case(&context.env.fp_service_principal),
        _ => of["principalType"].as_str().is_none_or(|kind| kind == "ServicePrincipal"),
    }
}

pub(crate) async fn delete(client: &Client, assignment: &Value) -> Result<(), StepError> {
    let id = assignment["id"].as_str().unwrap_or_default();
    Ok(client.delete(id, versions::AUTHORIZATION).await?)
}

/// Every platform identity has the roles of its operator in the group, and of no other.
pub(crate) async fn ensure_platform_workload_identity_rbac(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    let roles = context.operator_roles().await?;
    let there = assignments_at(&client, document.group_id()).await?;
    let mut missing = Vec::new();
    for (operator, identity) in document.identities() {
        let wanted: Vec<&str> = roles
            .iter()
            .filter(|role| role.operator_name == operator)
            .map(|role| last(&role.role_definition_id))
            .collect();
        if wanted.is_empty() {
            return Err(StepError::other(format!("role not found for identity {operator}")));
        }
        let own = there.iter().filter(|found| principal_of(found).eq_ignore_ascii_case(identity.object_id));
        let own: Vec<&Value> = own.collect();
        for assignment in &own {
            let role = role_of(assignment);
            let stays = wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(role));
            if !stays && !role.eq_ignore_ascii_case(OWNER) {
                delete(&client, assignment).await?;
            }
        }
        let lacks =
            |role: &&&str| !own.iter().any(|assignment| role_of(assignment).eq_ignore_ascii_case(role));
        missing.extend(
            wanted.iter().filter(lacks).map(|role| assignments::of_identity(role, identity.object_id)),
        );
    }
    if missing.is_empty() {
        return Ok(());
    }
    let wanted = assignments::only(missing);
    deploy(context, "platformworkloadidentityrbac", &wanted, &Value::Object(Map::new())).await.map(|_| ())
}

/// Custom role definitions that can be assigned in that group and nowhere else, and were made for a cluster.
pub(crate) async fn own_definitions(client: &Client, group: &str) -> Result<Vec<Value>, StepError> {
    let path = format!("{group}/providers/Microsoft.Authorization/roleDefinitions");
    let query = [("$filter", "Type eq 'CustomRole'")];
    let found = match client.list_with(&path, versions::ROLE_DEFINITIONS, &query).await {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        found => found?,
    };
    let ours = |definition: &&Value| {
        let of = &definition["properties"];
        let named =
            of["roleName"].as_str().is_some_and(|name| name.starts_with("Azure Red Hat OpenShift cluster"));
        let scopes = items(of, "assignableScopes");
        named
            && matches!(scopes, [one] if one.as_str().is_some_and(|scope| scope.eq_ignore_ascii_case(group)))
    };
    Ok(found.iter().filter(ours).cloned().collect())
}
