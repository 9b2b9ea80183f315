//! The default receivers of Alertmanager (`contract/operator.md` §8.1): without a webhook the platform alerts that receivers
//! are not configured.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::yaml;
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{ObjectName, SECRET};

pub(super) const NAMESPACE: &str = "openshift-monitoring";
pub(super) const NAME: &str = "alertmanager-main";
const KEY: &str = "alertmanager.yaml";
const WHAT: &str = "alertmanager.yaml in Secret openshift-monitoring/alertmanager-main";
/// The health listener of the operator, which takes any method.
const URL: &str = "http://aro-operator-master.openshift-azure-operator.svc.cluster.local:8080/healthz/ready";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    run.api().edit(ObjectName::in_namespace(&SECRET, NAMESPACE, NAME), change).await?;
    Ok(Outcome::done())
}

fn change(secret: Option<&Value>) -> Result<Option<Value>, ReconcileError> {
    let data = secret.and_then(|secret| secret.get("data")?.get(KEY)?.as_str());
    let Some(data) = data else { return Ok(None) };
    let text = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(|| ReconcileError::invalid(format!("{WHAT} is not text")))?;
    let mut config = yaml::read(&text, WHAT)?;
    if !set_webhooks(&mut config) {
        return Ok(None);
    }
    let text = yaml::write(&config, WHAT)?;
    Ok(Some(json!({ "data": { KEY: STANDARD.encode(text) } })))
}

/// Whether a receiver was changed.
fn set_webhooks(config: &mut Value) -> bool {
    let wanted = json!([{ "url": URL }]);
    let mut changed = false;
    for receiver in config.get_mut("receivers").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_default = matches!(receiver.get("name").and_then(Value::as_str), Some("null" | "Default"));
        let present = receiver.get("webhook_configs").and_then(Value::as_array);
        let is_set = present.is_some_and(|all| all.len() == 1 && all.iter().all(|one| one["url"] == URL));
        if is_default && !is_set {
            receiver["webhook_configs"] = wanted.clone();
            changed = true;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_receivers_get_the_webhook_and_others_stay() {
        let text = "route:\n  receiver: Default\nreceivers:\n- name: Default\n- name: \"null\"\n- name: mine\n  webhook_configs:\n  - url: http://mine\n";
        let secret = json!({ "data": { KEY: STANDARD.encode(text), "other": "eA==" } });
        let patch = change(Some(&secret)).unwrap().unwrap();
        let data = STANDARD.decode(patch["data"][KEY].as_str().unwrap()).unwrap();
        let config = yaml::read(std::str::from_utf8(&data).unwrap(), WHAT).unwrap();
        for number in [0, 1] {
            assert_eq!(config["receivers"][number]["webhook_configs"], json!([{ "url": URL }]));
        }
        assert_eq!(config["receivers"][2]["webhook_configs"], json!([{ "url": "http://mine" }]));
        assert_eq!(config["route"]["receiver"], "Default");
        assert_eq!(change(Some(&patch)).unwrap(), None, "what is right is not written");
    }

    #[test]
    fn a_cluster_without_the_secret_or_with_another_form_is_left_alone() {
        assert_eq!(change(None).unwrap(), None);
        assert_eq!(
            change(Some(&json!({ "data": { KEY: STANDARD.encode("receivers: none") } }))).unwrap(),
            None
        );
        assert!(change(Some(&json!({ "data": { KEY: STANDARD.encode("a: [") } }))).is_err());
    }
}
