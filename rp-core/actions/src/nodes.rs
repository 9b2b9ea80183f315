//! Nodes that take no new pods, and nodes that do again.

use http::Method;
use serde_json::json;

use crate::{ActionError, Change, ClusterApi, Mode, Resource, rules};

/// The resource of nodes.
pub fn node_resource() -> Resource {
    Resource::v1("", "nodes", "Node")
}

/// The path of a node, under the rules of objects.
fn node_path<E>(node: &str) -> Result<String, ActionError<E>> {
    let resource = node_resource();
    rules::write(&resource, "", node)?;
    Ok(resource.path("", node))
}

/// Cordons a node, or uncordons it; a node that is so already is not changed.
///
/// # Errors
/// The name is none, or the API server's.
pub async fn set_unschedulable<A: ClusterApi>(
    api: &A,
    node: &str,
    wanted: bool,
    mode: Mode,
) -> Result<Change, ActionError<A::Error>> {
    let path = node_path(node)?;
    let before = api.call(Method::GET, &path, None).await?["spec"]["unschedulable"] == true;
    if before != wanted {
        let patch = json!({"spec": {"unschedulable": wanted}});
        api.call(Method::PATCH, &mode.path(&path), Some(&patch)).await?;
    }
    Ok(Change::new(schedulable(before), schedulable(wanted)))
}

/// The word of a node's state.
pub(crate) const fn schedulable(cordoned: bool) -> &'static str {
    if cordoned { "cordoned" } else { "schedulable" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_api::TestApi;

    #[tokio::test]
    async fn a_node_is_patched_only_when_it_differs() {
        let api = TestApi::new().with("/api/v1/nodes/n", json!({"spec": {"unschedulable": true}}));
        let change = set_unschedulable(&api, "n", true, Mode::Change).await.unwrap();
        assert_eq!((change.before.as_str(), change.changes()), ("cordoned", false));
        assert_eq!(api.writes(), [] as [&str; 0]);
        let change = set_unschedulable(&api, "n", false, Mode::Change).await.unwrap();
        assert_eq!(change, Change::new("cordoned", "schedulable"));
        set_unschedulable(&api, "n", false, Mode::DryRun).await.unwrap();
        assert_eq!(api.writes(), ["PATCH /api/v1/nodes/n", "PATCH /api/v1/nodes/n?dryRun=All"]);
        let wrong = set_unschedulable(&api, "../n", true, Mode::Change).await;
        assert!(matches!(wrong, Err(ActionError::Rule(rules::RuleError::Invalid(_)))), "{wrong:?}");
    }
}
