//! What is filled in just before an accepted request is stored (`contract/api.md` §13).

use serde_json::{Map, Value, json};

const ON: &[&str] = &[
    "aro.alertwebhook.enabled",
    "aro.autosizednodes.enabled",
    "aro.azuresubnets.enabled",
    "aro.azuresubnets.nsg.managed",
    "aro.azuresubnets.serviceendpoint.managed",
    "aro.ccopprof.enabled",
    "aro.checker.enabled",
    "aro.cloudproviderconfig.enabled",
    "aro.dnsmasq.enabled",
    "aro.etchosts.enabled",
    "aro.etchosts.managed",
    "aro.genevalogging.enabled",
    "aro.guardrails.deploy.managed",
    "aro.guardrails.enabled",
    "aro.guardrails.policies.aro-machine-config-deny.managed",
    "aro.guardrails.policies.aro-machines-deny.managed",
    "aro.guardrails.policies.aro-nodes-deny.managed",
    "aro.guardrails.policies.aro-privileged-namespace-deny.managed",
    "aro.imageconfig.enabled",
    "aro.ingress.enabled",
    "aro.machine.enabled",
    "aro.machinehealthcheck.enabled",
    "aro.machinehealthcheck.managed",
    "aro.machineset.enabled",
    "aro.nodedrainer.enabled",
    "aro.pullsecret.enabled",
    "aro.pullsecret.managed",
    "aro.rbac.enabled",
    "aro.routefix.enabled",
    "aro.storageaccounts.enabled",
    "aro.workaround.copyfail.enabled",
    "aro.workaround.dirtyfrag.enabled",
    "aro.workaround.enabled",
    "rh.srep.muo.enabled",
    "rh.srep.muo.managed",
];
const OFF: &[&str] = &[
    "aro.banner.enabled",
    "aro.cpms.enabled",
    "aro.forcereconciliation",
    "aro.monitoring.enabled",
    "aro.restartdnsmasq.enabled",
];
const OTHER: &[(&str, &str)] = &[
    ("aro.genevalogging.otel.profile", "minimal-logs"),
    ("aro.guardrails.method", "auto"),
    ("aro.guardrails.policies.aro-machine-config-deny.enforcement", "dryrun"),
    ("aro.guardrails.policies.aro-machines-deny.enforcement", "deny"),
    ("aro.guardrails.policies.aro-nodes-deny.enforcement", "deny"),
    ("aro.guardrails.policies.aro-privileged-namespace-deny.enforcement", "dryrun"),
];

/// The operator's flags of a new cluster.
pub fn operator_flags() -> impl Iterator<Item = (&'static str, &'static str)> {
    let on = ON.iter().map(|flag| (*flag, "true"));
    let off = OFF.iter().map(|flag| (*flag, "false"));
    on.chain(off).chain(OTHER.iter().copied())
}

/// The same as a member of a cluster.
pub(crate) fn flags() -> Value {
    operator_flags().map(|(flag, value)| (flag.to_owned(), Value::from(value))).collect()
}

/// Fills in what is empty in a stored cluster.
pub fn fill(stored: &mut Value) {
    let Some(Value::Object(properties)) = stored.get_mut("properties") else { return };
    if let Some(master) = properties.get_mut("masterProfile") {
        default(master, "encryptionAtHost", "Disabled");
    }
    for list in ["workerProfiles", "workerProfilesStatus"] {
        let list = properties.get_mut(list).and_then(Value::as_array_mut);
        list.into_iter().flatten().for_each(|profile| default(profile, "encryptionAtHost", "Disabled"));
    }
    default(below(properties, "clusterProfile"), "fipsValidatedModules", "Disabled");
    let updating = properties.get("provisioningState").and_then(Value::as_str) == Some("AdminUpdating");
    let idle = properties.get("maintenanceTask").and_then(Value::as_str).unwrap_or_default().is_empty();
    if updating && idle {
        properties.insert("maintenanceTask".to_owned(), Value::from("Everything"));
    }
    if properties.get("operatorFlags").is_none_or(Value::is_null) {
        properties.insert("operatorFlags".to_owned(), flags());
    }
    let network = below(properties, "networkProfile");
    default(network, "outboundType", "Loadbalancer");
    default(network, "preconfiguredNSG", "Disabled");
    let balanced = network.get("outboundType").and_then(Value::as_str) == Some("Loadbalancer");
    if balanced && network.get("loadBalancerProfile").is_none_or(Value::is_null) {
        network["loadBalancerProfile"] = json!({"managedOutboundIps": {"count": 1}});
    }
}

fn below<'a>(properties: &'a mut Map<String, Value>, name: &str) -> &'a mut Value {
    let value = properties.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value
}

fn default(object: &mut Value, name: &str, value: &str) {
    let empty = object.get(name).and_then(Value::as_str).unwrap_or_default().is_empty();
    if let (true, Value::Object(map)) = (empty, object) {
        map.insert(name.to_owned(), Value::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_members_are_filled_and_others_kept() {
        let mut stored = json!({"properties": {"masterProfile": {"vmSize": "s"}, "workerProfiles": [{}],
            "networkProfile": {"outboundType": "UserDefinedRouting"}}});
        fill(&mut stored);
        let properties = &stored["properties"];
        assert_eq!(properties["masterProfile"]["encryptionAtHost"], "Disabled");
        assert_eq!(properties["workerProfiles"][0]["encryptionAtHost"], "Disabled");
        assert_eq!(properties["clusterProfile"]["fipsValidatedModules"], "Disabled");
        assert_eq!(properties["networkProfile"]["preconfiguredNSG"], "Disabled");
        assert!(properties["networkProfile"].get("loadBalancerProfile").is_none());
        assert_eq!(properties["operatorFlags"].as_object().unwrap().len(), 46);
        assert!(properties.get("maintenanceTask").is_none());

        let mut again = stored.clone();
        again["properties"]["operatorFlags"] = json!({});
        again["properties"]["networkProfile"]["outboundType"] = json!("");
        again["properties"]["provisioningState"] = json!("AdminUpdating");
        fill(&mut again);
        assert_eq!(again["properties"]["operatorFlags"], json!({}));
        assert_eq!(again["properties"]["maintenanceTask"], "Everything");
        let balancer = &again["properties"]["networkProfile"]["loadBalancerProfile"];
        assert_eq!(balancer, &json!({"managedOutboundIps": {"count": 1}}));
    }
}
