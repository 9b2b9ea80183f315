//! What has to change of a subnet.

use rp_operator_api::ClusterSpec;
use serde_json::{Value, json};

use super::list::SubnetOf;

/// Services whose endpoints the subnets need.
const ENDPOINTS: [&str; 2] = ["Microsoft.ContainerRegistry", "Microsoft.Storage"];

/// Which parts are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) groups: bool,
    pub(super) endpoints: bool,
}

/// A change of a subnet.
#[derive(Debug, PartialEq)]
pub(super) struct SubnetChange {
    /// The subnet as it should be, whole.
    pub(super) body: Value,
    /// The network security group before (`None`: there was none) and after.
    pub(super) group: Option<(Option<String>, String)>,
}

/// What differs; `None`: nothing.
pub(super) fn changed(
    present: &Value,
    spec: &ClusterSpec,
    subnet: &SubnetOf,
    wanted: Wanted,
) -> Result<Option<SubnetChange>, String> {
    let mut body = present.clone();
    let mut group = None;
    if wanted.groups {
        let new = right_group(spec, subnet.master)?;
        let old = present.pointer("/properties/networkSecurityGroup/id").and_then(Value::as_str);
        if old.is_none_or(|old| !old.eq_ignore_ascii_case(&new)) {
            body["properties"]["networkSecurityGroup"] = json!({ "id": new });
            group = Some((old.map(str::to_owned), new));
        }
    }
    let endpoints = wanted.endpoints && add_endpoints(&mut body);
    Ok((group.is_some() || endpoints).then_some(SubnetChange { body, group }))
}

fn right_group(spec: &ClusterSpec, master: bool) -> Result<String, String> {
    let suffix = match (spec.architecture_version, master) {
        (0, true) => "-controlplane-nsg",
        (0, false) => "-node-nsg",
        (1, _) => "-nsg",
        (other, _) => return Err(format!("unknown architecture version {other}")),
    };
    let (group, infra) = (&spec.cluster_resource_group_id, &spec.infra_id);
    Ok(format!("{group}/providers/Microsoft.Network/networkSecurityGroups/{infra}{suffix}"))
}

/// Whether one was missing. One that is there is not added again, whatever its state (`contract/operator.md` "Do
/// better" 19).
fn add_endpoints(body: &mut Value) -> bool {
    let present = body.pointer("/properties/serviceEndpoints").and_then(Value::as_array).cloned();
    let mut all = present.unwrap_or_default();
    let before = all.len();
    for service in ENDPOINTS {
        let is = |one: &Value| one["service"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(service));
        if !all.iter().any(is) {
            all.push(json!({ "service": service, "locations": ["*"] }));
        }
    }
    if all.len() == before {
        return false;
    }
    body["properties"]["serviceEndpoints"] = Value::Array(all);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(version: i64) -> ClusterSpec {
        ClusterSpec {
            cluster_resource_group_id: "/subscriptions/s/resourceGroups/m".to_owned(),
            infra_id: "c-abcde".to_owned(),
            architecture_version: version,
            ..ClusterSpec::default()
        }
    }

    fn master() -> SubnetOf {
        SubnetOf { id: "x".to_owned(), master: true }
    }

    #[test]
    fn a_wrong_or_missing_group_is_replaced_and_the_rest_stays() {
        let only = Wanted { groups: true, endpoints: false };
        let present = json!({ "etag": "e", "properties": { "addressPrefix": "10.0.0.0/24", "natGateway": { "id": "n" } } });
        let change = changed(&present, &spec(0), &master(), only).unwrap().unwrap();
        let right = "/subscriptions/s/resourceGroups/m/providers/Microsoft.Network/networkSecurityGroups/c-abcde-controlplane-nsg";
        assert_eq!(change.group, Some((None, right.to_owned())));
        assert_eq!(change.body["properties"]["natGateway"]["id"], "n");
        let mut upper = change.body;
        upper["properties"]["networkSecurityGroup"]["id"] = json!(right.to_uppercase());
        assert_eq!(changed(&upper, &spec(0), &master(), only).unwrap(), None);
        let other = changed(&upper, &spec(1), &master(), only).unwrap().unwrap();
        assert!(other.group.unwrap().1.ends_with("/c-abcde-nsg"));
        assert_eq!(changed(&upper, &spec(2), &master(), only).unwrap_err(), "unknown architecture version 2");
    }

    #[test]
    fn missing_endpoints_are_added_once() {
        let only = Wanted { groups: false, endpoints: true };
        let present = json!({ "properties": { "serviceEndpoints": [{ "service": "microsoft.storage", "provisioningState": "Updating" }] } });
        let change = changed(&present, &spec(1), &master(), only).unwrap().unwrap();
        let all = change.body["properties"]["serviceEndpoints"].as_array().unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all[1], json!({ "service": "Microsoft.ContainerRegistry", "locations": ["*"] }));
        assert_eq!(changed(&change.body, &spec(1), &master(), only).unwrap(), None);
        let none = json!({ "properties": { "serviceEndpoints": null } });
        assert!(changed(&none, &spec(1), &master(), only).unwrap().is_some());
    }
}
