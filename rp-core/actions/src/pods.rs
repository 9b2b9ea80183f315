//! Pods that are deleted.

use http::Method;
use serde_json::{Value, json};

use crate::{ActionError, Change, ClusterApi, Mode, Resource, controller, rules, shown_at, text_at};

/// What people are shown of a pod before they delete it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodFacts {
    pub phase: String,
    pub node: String,
    /// `Kind/name`; empty: nothing makes the pod anew.
    pub controller: String,
}

fn resource() -> Resource {
    Resource::v1("", "pods", "Pod")
}

/// How a pod stands.
///
/// # Errors
/// It is not the platform's, or the API server's.
pub async fn pod_facts<A: ClusterApi>(
    api: &A,
    namespace: &str,
    name: &str,
) -> Result<PodFacts, ActionError<A::Error>> {
    Ok(PodFacts::new(&read(api, namespace, name).await?))
}

/// Deletes a pod, with its time to end. `force`: at once, without waiting for its kubelet.
///
/// # Errors
/// It is not the platform's, or the API server's.
pub async fn delete_pod<A: ClusterApi>(
    api: &A,
    namespace: &str,
    name: &str,
    force: bool,
    mode: Mode,
) -> Result<Change, ActionError<A::Error>> {
    let pod = read(api, namespace, name).await?;
    let facts = PodFacts::new(&pod);
    let mut options = mode.delete_options(text_at(&pod, "/metadata/uid"));
    if force {
        options["gracePeriodSeconds"] = json!(0);
    }
    api.call(Method::DELETE, &resource().path(namespace, name), Some(&options)).await?;
    let before = match facts.node.as_str() {
        "" => facts.phase,
        node => format!("{} on {node}", facts.phase),
    };
    Ok(Change::new(before, "deleted"))
}

async fn read<A: ClusterApi>(api: &A, namespace: &str, name: &str) -> Result<Value, ActionError<A::Error>> {
    rules::write(&resource(), namespace, name)?;
    Ok(api.call(Method::GET, &resource().path(namespace, name), None).await?)
}

impl PodFacts {
    fn new(pod: &Value) -> Self {
        Self {
            phase: shown_at(pod, "/status/phase"),
            node: shown_at(pod, "/spec/nodeName"),
            controller: controller(pod),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_api::TestApi;

    #[tokio::test]
    async fn the_pod_that_was_seen_is_deleted_and_no_other() {
        let path = "/api/v1/namespaces/openshift-dns/pods/p";
        let pod =
            json!({"metadata": {"uid": "u"}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}});
        let api = TestApi::new().with(path, pod);
        let change = delete_pod(&api, "openshift-dns", "p", false, Mode::Change).await.unwrap();
        assert_eq!(change, Change::new("Running on n", "deleted"));
        delete_pod(&api, "openshift-dns", "p", true, Mode::DryRun).await.unwrap();
        assert_eq!(api.writes(), [format!("DELETE {path}"), format!("DELETE {path}")]);
        let bodies = api.bodies();
        assert_eq!(bodies[0]["preconditions"]["uid"], "u");
        assert_eq!((&bodies[0]["dryRun"], &bodies[1]["dryRun"]), (&Value::Null, &json!(["All"])));
        assert_eq!(
            (&bodies[0]["gracePeriodSeconds"], &bodies[1]["gracePeriodSeconds"]),
            (&Value::Null, &json!(0))
        );
        let customers = delete_pod(&api, "default", "p", false, Mode::Change).await;
        assert!(matches!(customers, Err(ActionError::Rule(rules::RuleError::Forbidden(_)))), "{customers:?}");
    }
}
