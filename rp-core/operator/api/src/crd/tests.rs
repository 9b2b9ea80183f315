use std::collections::BTreeSet;

use super::*;
use crate::cluster::Condition;
use crate::preview::NsgFlowLogs;

fn fields(crd: &Value, part: &str) -> BTreeSet<String> {
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][part];
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn the_schema_has_the_fields_of_the_contract_and_of_the_types() {
    let crd = cluster();
    let spec = fields(&crd, "spec");
    assert_eq!(spec, keys(&serde_json::to_value(ClusterSpec::default()).unwrap()));
    for field in
        ["resourceId", "apiIntIP", "ingressIP", "gatewayPrivateEndpointIP", "operatorflags", "infraId"]
    {
        assert!(spec.contains(field), "{field}");
    }
    assert_eq!(spec.len(), 20);
    assert_eq!(fields(&crd, "status"), keys(&serde_json::to_value(ClusterStatus::default()).unwrap()));
    assert_eq!(crd["metadata"]["name"], "clusters.aro.openshift.io");
    let flow_logs = &fields(&preview_feature(), "spec");
    assert_eq!(flow_logs, &BTreeSet::from(["nsgFlowLogs".to_owned()]));
}

/// What apiextensions.k8s.io/v1 demands of a structural schema and the generator might break.
fn assert_structural(schema: &Value, at: &str) {
    let members = schema.as_object().unwrap_or_else(|| panic!("{at}: not a schema: {schema}"));
    let kind = members.get("type").and_then(Value::as_str).unwrap_or_else(|| panic!("{at}: no single type"));
    let known = [
        "type",
        "description",
        "properties",
        "additionalProperties",
        "items",
        "required",
        "format",
        "enum",
        "default",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
    ];
    for word in members.keys() {
        assert!(known.contains(&word.as_str()), "{at}: {word}");
    }
    assert!(kind != "array" || members.contains_key("items"), "{at}: no items");
    for (name, field) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
        assert_structural(field, &format!("{at}.{name}"));
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = members.get(inner).filter(|inner| inner.is_object()) {
            assert_structural(inner, &format!("{at}[]"));
        }
    }
}

#[test]
fn the_schemas_are_structural() {
    for crd in [cluster(), preview_feature()] {
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert_structural(&schema["spec"], "spec");
        assert_structural(&schema["status"], "status");
    }
}

#[test]
fn only_declared_defaults_and_required_fields_are_in_the_schemas() {
    assert!(!cluster().to_string().contains("\"default\""));
    let crd = preview_feature();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    let logs = &schema["nsgFlowLogs"];
    let default = serde_json::to_value(NsgFlowLogs::default()).unwrap();
    for field in ["version", "retentionDays", "trafficAnalyticsInterval"] {
        assert_eq!(logs["properties"][field]["default"], default[field], "{field}");
    }
    assert_eq!(logs["required"], json!(["enabled"]));
    assert_eq!(logs["properties"]["trafficAnalyticsInterval"]["enum"], json!(["60m", "10m"]));
    let conditions = &fields_of(&cluster(), "conditions")["items"];
    assert_eq!(conditions["required"], json!(["type"]));
    let filled = Condition {
        kind: "T".into(),
        reason: "R".into(),
        message: "M".into(),
        last_transition_time: Some("x".into()),
        ..Condition::default()
    };
    assert_eq!(keys(&conditions["properties"]), keys(&serde_json::to_value(filled).unwrap()));
}

fn fields_of(crd: &Value, name: &str) -> Value {
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"][name]
        .clone()
}
