//! The configuration of cluster monitoring (`contract/operator.md` §8.20): no storage that nodes cannot carry.

use serde_json::{Value, json};

use super::yaml;
use crate::api::Api;
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{CLAIM, CONFIG_MAP, ObjectName};

pub(super) const NAMESPACE: &str = "openshift-monitoring";
pub(super) const NAME: &str = "cluster-monitoring-config";
const KEY: &str = "config.yaml";
const WHAT: &str = "config.yaml in ConfigMap openshift-monitoring/cluster-monitoring-config";
/// Members that are removed.
const REMOVED: [(&str, &str); 3] = [
    ("prometheusK8s", "retention"),
    ("prometheusK8s", "volumeClaimTemplate"),
    ("alertmanagerMain", "volumeClaimTemplate"),
];
/// Claims that are read: a cluster has two.
const MOST_CLAIMS: usize = 100;

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let name = ObjectName::in_namespace(&CONFIG_MAP, NAMESPACE, NAME);
    if run.api().get(name).await?.is_none() {
        create(run.api()).await?;
    }
    run.api().edit(name, change).await?;
    let claims = run.api().list(&CLAIM, NAMESPACE, "app=prometheus,prometheus=k8s", MOST_CLAIMS).await?;
    for claim in claims.iter().filter_map(ObjectName::of) {
        run.api().delete(claim).await?;
    }
    Ok(Outcome::clear())
}

async fn create(api: &Api) -> Result<(), ReconcileError> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "data": { KEY: "{}\n" },
    });
    match api.create(&object).await {
        Err(error) if !error.already_exists() => Err(error.into()),
        _ => Ok(()),
    }
}

fn change(map: Option<&Value>) -> Result<Option<Value>, ReconcileError> {
    let text = map.and_then(|map| map.get("data")?.get(KEY)?.as_str()).unwrap_or_default();
    let mut config = yaml::read(text, WHAT)?;
    let mut changed = false;
    for (part, member) in REMOVED {
        let part = config.get_mut(part).and_then(Value::as_object_mut);
        changed |= part.is_some_and(|part| part.remove(member).is_some());
    }
    if !changed {
        return Ok(None);
    }
    Ok(Some(json!({ "data": { KEY: yaml::write(&config, WHAT)? } })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_removed_and_everything_else_stays() {
        let text = "prometheusK8s:\n  retention: 15d\n  nodeSelector:\n    a: b\nalertmanagerMain:\n  volumeClaimTemplate:\n    spec: {}\nlater: true\n";
        let patch = change(Some(&json!({ "data": { KEY: text } }))).unwrap().unwrap();
        let config = yaml::read(patch["data"][KEY].as_str().unwrap(), WHAT).unwrap();
        assert_eq!(
            config,
            json!({ "prometheusK8s": { "nodeSelector": { "a": "b" } }, "alertmanagerMain": {}, "later": true })
        );
        assert_eq!(change(Some(&patch)).unwrap(), None);
        assert_eq!(change(Some(&json!({ "data": {} }))).unwrap(), None);
    }
}
