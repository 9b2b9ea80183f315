//! Workloads that are restarted and scaled.

use http::Method;
use rp_base::Timestamp;
use rp_openshift::WorkloadKind;
use serde_json::{Value, json};

use crate::rules::RuleError;
use crate::{ActionError, Change, ClusterApi, Mode, Resource, rules, shown_at};

/// Most replicas that a workload is scaled to.
pub const MOST_REPLICAS: u32 = 1_000;
/// The annotation of a template by which `kubectl rollout restart` makes its pods anew.
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";

fn resource(kind: WorkloadKind) -> Resource {
    let plural = match kind {
        WorkloadKind::Deployment => "deployments",
        WorkloadKind::StatefulSet => "statefulsets",
        WorkloadKind::DaemonSet => "daemonsets",
    };
    Resource::v1("apps", plural, kind.as_str())
}

/// The path of a workload of the platform.
fn path<E>(kind: WorkloadKind, namespace: &str, name: &str) -> Result<String, ActionError<E>> {
    let resource = resource(kind);
    rules::write(&resource, namespace, name)?;
    Ok(resource.path(namespace, name))
}

/// Makes the pods of a workload anew, as `kubectl rollout restart` does.
///
/// # Errors
/// It is not the platform's, or the API server's.
pub async fn restart<A: ClusterApi>(
    api: &A,
    kind: WorkloadKind,
    namespace: &str,
    name: &str,
    now: Timestamp,
    mode: Mode,
) -> Result<Change, ActionError<A::Error>> {
    let path = path(kind, namespace, name)?;
    let workload = api.call(Method::GET, &path, None).await?;
    if workload["spec"]["paused"] == true {
        let message = format!("{} {namespace}/{name} is paused: nothing would roll out", kind.as_str());
        return Err(ActionError::Conflict(message));
    }
    let before = match &workload["spec"]["template"]["metadata"]["annotations"] {
        Value::Object(all) if all.contains_key(RESTARTED) => {
            let at = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";
            format!("restarted at {}", shown_at(&workload, at))
        }
        _ => "not restarted".to_owned(),
    };
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED: now}}}}});
    api.call(Method::PATCH, &mode.path(&path), Some(&patch)).await?;
    Ok(Change::new(before, format!("restarted at {now}")))
}

/// How many replicas a workload is asked to have.
///
/// # Errors
/// Its kind has no number of replicas, it is not the platform's, or the API server's.
pub async fn workload_replicas<A: ClusterApi>(
    api: &A,
    kind: WorkloadKind,
    namespace: &str,
    name: &str,
) -> Result<u32, ActionError<A::Error>> {
    let path = scaled_path(kind, namespace, name)?;
    Ok(replicas(&api.call(Method::GET, &path, None).await?))
}

/// Asks for another number of replicas. `from`: how many it must have now; `None`: any.
///
/// # Errors
/// There are too many, its kind has no number of replicas, it has another number now, it is not the platform's, or the
/// API server's.
pub async fn scale<A: ClusterApi>(
    api: &A,
    (kind, namespace, name): (WorkloadKind, &str, &str),
    from: Option<u32>,
    to: u32,
    mode: Mode,
) -> Result<Change, ActionError<A::Error>> {
    let path = scaled_path(kind, namespace, name)?;
    if to > MOST_REPLICAS {
        return Err(
            RuleError::Invalid(format!("A workload is scaled to 0 to {MOST_REPLICAS} replicas")).into()
        );
    }
    let now = replicas(&api.call(Method::GET, &path, None).await?);
    if let Some(from) = from.filter(|from| *from != now) {
        return Err(ActionError::Conflict(format!("it has {now} replicas now, not {from}")));
    }
    if now != to {
        let patch = json!({"spec": {"replicas": to}});
        api.call(Method::PATCH, &mode.path(&path), Some(&patch)).await?;
    }
    Ok(Change::new(words(now), words(to)))
}

fn words(replicas: u32) -> String {
    let unit = if replicas == 1 { "replica" } else { "replicas" };
    format!("{replicas} {unit}")
}

/// The path of a workload that has a number of replicas.
fn scaled_path<E>(kind: WorkloadKind, namespace: &str, name: &str) -> Result<String, ActionError<E>> {
    if !kind.scales() {
        let message = format!("A {} has one pod on each node: it has no number of replicas", kind.as_str());
        return Err(RuleError::Invalid(message).into());
    }
    path(kind, namespace, name)
}

/// Without a number it has one, as API servers fill in.
fn replicas(workload: &Value) -> u32 {
    workload["spec"]["replicas"].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_api::TestApi;

    const PATH: &str = "/apis/apps/v1/namespaces/openshift-dns/deployments/d";
    const D: (WorkloadKind, &str, &str) = (WorkloadKind::Deployment, "openshift-dns", "d");

    #[tokio::test]
    async fn a_restart_changes_the_annotation_of_the_template() {
        let api = TestApi::new().with(PATH, json!({"spec": {"template": {}}}));
        let now = Timestamp::from_seconds(1_800_000_000);
        let change = restart(&api, D.0, D.1, D.2, now, Mode::Change).await.unwrap();
        assert_eq!(change, Change::new("not restarted", "restarted at 2027-01-15T08:00:00Z"));
        let sent = &api.bodies()[0]["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(sent[RESTARTED], "2027-01-15T08:00:00Z");
        let again = json!({"spec": {"template": {"metadata": {"annotations": sent}}}});
        let again =
            restart(&TestApi::new().with(PATH, again), D.0, D.1, D.2, now, Mode::Change).await.unwrap();
        assert_eq!(again.before, "restarted at 2027-01-15T08:00:00Z");
        let paused = TestApi::new().with(PATH, json!({"spec": {"paused": true}}));
        let told = restart(&paused, D.0, D.1, D.2, now, Mode::Change).await;
        assert!(matches!(told, Err(ActionError::Conflict(_))) && paused.writes().is_empty());
    }

    #[tokio::test]
    async fn a_workload_is_scaled_from_what_was_seen() {
        let api = TestApi::new().with(PATH, json!({"spec": {"replicas": 1}}));
        let change = scale(&api, D, Some(1), 3, Mode::Change).await.unwrap();
        assert_eq!(change, Change::new("1 replica", "3 replicas"));
        assert_eq!(api.bodies()[0], json!({"spec": {"replicas": 3}}));
        let moved = scale(&api, D, Some(2), 3, Mode::Change).await;
        assert!(
            matches!(&moved, Err(ActionError::Conflict(why)) if why.contains("1 replicas now")),
            "{moved:?}"
        );
        assert!(!scale(&api, D, None, 1, Mode::Change).await.unwrap().changes());
        assert_eq!(api.writes(), [format!("PATCH {PATH}")]);
        assert_eq!(workload_replicas(&api, D.0, D.1, D.2).await.unwrap(), 1);
        for (what, to) in [(D, 1_001), ((WorkloadKind::DaemonSet, "openshift-dns", "d"), 1)] {
            let told = scale(&api, what, None, to, Mode::Change).await;
            assert!(matches!(told, Err(ActionError::Rule(RuleError::Invalid(_)))), "{told:?}");
        }
        let customers = scale(&api, (D.0, "shop", "d"), None, 1, Mode::Change).await;
        assert!(matches!(customers, Err(ActionError::Rule(RuleError::Forbidden(_)))), "{customers:?}");
    }
}
