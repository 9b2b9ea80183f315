//! Outbound SNAT of the cloud provider (`contract/operator.md` §8.8): the load balancer of the cluster has its own rules
//! for it, so those that the cloud provider would add are switched off.

use serde_json::{Value, json};

use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{CONFIG_MAP, ObjectName};

pub(super) const NAMESPACE: &str = "openshift-config";
pub(super) const NAME: &str = "cloud-provider-config";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let name = ObjectName::in_namespace(&CONFIG_MAP, NAMESPACE, NAME);
    run.api().edit(name, change).await?;
    Ok(Outcome::done())
}

/// Only the one member is changed; members that are not known stay (`contract/operator.md` "Do better" 12).
fn change(map: Option<&Value>) -> Result<Option<Value>, ReconcileError> {
    let missing = "field config in ConfigMap openshift-config/cloud-provider-config is missing";
    let config = map.and_then(|map| map.pointer("/data/config")?.as_str());
    let config = config.ok_or_else(|| ReconcileError::invalid(missing))?;
    let mut config: Value = serde_json::from_str(config).map_err(|_| {
        ReconcileError::invalid(
            "field config in ConfigMap openshift-config/cloud-provider-config is not JSON",
        )
    })?;
    if !config.is_object() || config["disableOutboundSNAT"] == true {
        return Ok(None);
    }
    config["disableOutboundSNAT"] = json!(true);
    Ok(Some(json!({ "data": { "config": format!("{config:#}") } })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_member_changes_and_the_others_stay() {
        let map = json!({ "data": { "config": "{\"cloud\":\"AzurePublicCloud\",\"later\":{\"x\":1}}", "ca": "pem" } });
        let patch = change(Some(&map)).unwrap().unwrap();
        let config: Value = serde_json::from_str(patch["data"]["config"].as_str().unwrap()).unwrap();
        assert_eq!(
            config,
            json!({ "cloud": "AzurePublicCloud", "later": { "x": 1 }, "disableOutboundSNAT": true })
        );
        assert_eq!(change(Some(&json!({ "data": patch["data"] }))).unwrap(), None);
        let missing = change(Some(&json!({}))).unwrap_err().to_string();
        assert_eq!(missing, "field config in ConfigMap openshift-config/cloud-provider-config is missing");
        assert!(change(None).is_err());
    }
}
