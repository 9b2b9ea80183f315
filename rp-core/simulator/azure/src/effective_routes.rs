//! Effective routes of network interfaces.

use serde_json::{Value, json};

use super::tree::Tree;

/// The routes that apply to a network interface: the network's own, those of the subnet's route table, the way out.
pub(super) fn of(tree: &Tree, card: &Value) -> Vec<Value> {
    let subnet =
        card["properties"]["ipConfigurations"][0]["properties"]["subnet"]["id"].as_str().unwrap_or_default();
    let network =
        subnet.rsplit_once("/subnets/").and_then(|(network, _)| tree.find(network)).unwrap_or_default();
    let route = |source: &str, prefix: &Value, kind: &Value, next: &Value| {
        let next: Vec<&Value> = Some(next).filter(|next| next.is_string()).into_iter().collect();
        json!({"source": source, "state": "Active", "addressPrefix": [prefix], "nextHopType": kind, "nextHopIpAddress": next})
    };
    let own =
        network["properties"]["addressSpace"]["addressPrefixes"].as_array().cloned().unwrap_or_default();
    let mut routes: Vec<Value> =
        own.iter().map(|prefix| route("Default", prefix, &json!("VnetLocal"), &Value::Null)).collect();
    let subnets = network["properties"]["subnets"].as_array().cloned().unwrap_or_default();
    let is = |one: &&Value| one["id"].as_str().is_some_and(|id| id.eq_ignore_ascii_case(subnet));
    let own_subnet = subnets.iter().find(is).cloned().or_else(|| tree.find(subnet)).unwrap_or_default();
    let table = own_subnet["properties"]["routeTable"]["id"].as_str().and_then(|id| tree.find(id));
    for user in table.iter().filter_map(|table| table["properties"]["routes"].as_array()).flatten() {
        let of = &user["properties"];
        routes.push(route("User", &of["addressPrefix"], &of["nextHopType"], &of["nextHopIpAddress"]));
    }
    if !routes.iter().any(|route| route["addressPrefix"][0] == "0.0.0.0/0") {
        routes.push(route("Default", &json!("0.0.0.0/0"), &json!("Internet"), &Value::Null));
    }
    routes
}
