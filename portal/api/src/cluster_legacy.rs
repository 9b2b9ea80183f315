//! `/api/{sub}/{group}/{name}/{clusteroperators|nodes|machines|machine-sets}`: objects of a cluster in the contract's
//! form (`contract/portal.md` §8.6–8.9), each asked of the cluster when somebody asks here. Where the
//! contract sends null for an empty list or map, these are empty (`contract/portal.md` "Do better" 30).

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use rp_base::Timestamp;
use rp_documents::Side;
use rp_observe::{FetchError, Kind};
use serde::Serialize;
use serde_json::Value;

use crate::cluster_objects::{known_cluster, unavailable};
use crate::prom::ClusterPath;

/// `2021-03-09 13:48:16 +0000 UTC`; a missing instant is Go's zero time.
fn time(value: &Value) -> String {
    let at = value.as_str().and_then(|text| Timestamp::parse(text).ok());
    at.map_or_else(|| "0001-01-01 00:00:00 +0000 UTC".to_owned(), written)
}

fn written(at: Timestamp) -> String {
    let text = Timestamp::from_seconds(at.seconds()).to_string();
    text.replace('T', " ").replace('Z', " +0000 UTC")
}

/// An optional instant; none is left out.
fn optional_time(value: &Value) -> Option<String> {
    let at = value.as_str().and_then(|text| Timestamp::parse(text).ok());
    at.map(written)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn or(value: &Value, otherwise: &str) -> String {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(otherwise).to_owned()
}

fn non_empty(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn each<T>(list: &Value, of: impl Fn(&Value) -> T) -> Vec<T> {
    list.as_array().into_iter().flatten().map(of).collect()
}

async fn fetch<T: Send>(
    state: &PortalState,
    path: &(String, String, String),
    kind: Kind,
    of: fn(&Value) -> T,
) -> Result<Vec<T>, Fault> {
    let id = known_cluster(state, path)?;
    let mut found = Vec::new();
    state
        .model
        .clusters
        .observer
        .list(&id, kind, |object| found.push(of(object)))
        .await
        .map_err(|error| failed(&error))?;
    Ok(found)
}

fn failed(error: &FetchError) -> Fault {
    match error {
        FetchError::Away(why) => unavailable(StatusCode::BAD_GATEWAY, why.as_str()),
        FetchError::Forbidden(_) | FetchError::Missing(_) => Fault::new(
            StatusCode::BAD_GATEWAY,
            "cluster_refused",
            Side::Cluster,
            "The cluster refused the list",
        )
        .why(error.to_string()),
    }
}

#[derive(Debug, Serialize)]
struct Operator {
    name: String,
    available: String,
    progressing: String,
    degraded: String,
    conditions: Vec<OperatorCondition>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OperatorCondition {
    #[serde(rename = "type")]
    kind: String,
    last_updated: String,
    status: String,
    reason: String,
    message: String,
}

fn operator(object: &Value) -> Operator {
    let conditions = &object["status"]["conditions"];
    let status = |kind: &str| {
        let found = conditions.as_array().into_iter().flatten().find(|condition| condition["type"] == kind);
        found.map_or_else(|| "Unknown".to_owned(), |condition| text(&condition["status"]))
    };
    Operator {
        name: text(&object["metadata"]["name"]),
        available: status("Available"),
        progressing: status("Progressing"),
        degraded: status("Degraded"),
        conditions: each(conditions, |condition| OperatorCondition {
            kind: text(&condition["type"]),
            last_updated: time(&condition["lastTransitionTime"]),
            status: text(&condition["status"]),
            reason: text(&condition["reason"]),
            message: text(&condition["message"]),
        }),
    }
}

#[derive(Debug, Serialize)]
struct Operators {
    operators: Vec<Operator>,
}

/// `contract/portal.md` §8.6.
pub async fn operators(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    json(&Operators { operators: fetch(&state, &path, Kind::Operators, operator).await? })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    name: String,
    created_time: String,
    capacity: Amounts,
    volumes: Vec<Volume>,
    allocatable: Amounts,
    taints: Vec<Taint>,
    conditions: Vec<NodeCondition>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Amounts {
    cpu: String,
    storage_volume: String,
    memory: String,
    pods: String,
}

#[derive(Debug, Serialize)]
struct Volume {
    name: String,
    path: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Taint {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    effect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_added: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_heartbeat_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_transition_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

fn amounts(value: &Value) -> Amounts {
    let quantity = |name: &str| match &value[name] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => "0".to_owned(),
    };
    Amounts {
        cpu: quantity("cpu"),
        storage_volume: quantity("ephemeral-storage"),
        memory: quantity("memory"),
        pods: quantity("pods"),
    }
}

fn map(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.as_object().into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), text(value))).collect()
}

fn node(object: &Value) -> Node {
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    Node {
        name: text(&metadata["name"]),
        created_time: time(&metadata["creationTimestamp"]),
        capacity: amounts(&status["capacity"]),
        volumes: each(&status["volumesAttached"], |volume| Volume {
            name: text(&volume["name"]),
            path: text(&volume["devicePath"]),
        }),
        allocatable: amounts(&status["allocatable"]),
        taints: each(&spec["taints"], |taint| Taint {
            key: text(&taint["key"]),
            value: non_empty(&taint["value"]),
            effect: text(&taint["effect"]),
            time_added: optional_time(&taint["timeAdded"]),
        }),
        conditions: each(&status["conditions"], |condition| NodeCondition {
            kind: text(&condition["type"]),
            status: text(&condition["status"]),
            last_heartbeat_time: optional_time(&condition["lastHeartbeatTime"]),
            last_transition_time: optional_time(&condition["lastTransitionTime"]),
            reason: non_empty(&condition["reason"]),
            message: non_empty(&condition["message"]),
        }),
        labels: map(&metadata["labels"]),
        annotations: map(&metadata["annotations"]),
    }
}

#[derive(Debug, Serialize)]
struct Nodes {
    nodes: Vec<Node>,
}

/// `contract/portal.md` §8.7.
pub async fn nodes(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    json(&Nodes { nodes: fetch(&state, &path, Kind::Nodes, node).await? })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Machine {
    name: String,
    created_time: String,
    last_updated: String,
    error_reason: String,
    error_message: String,
    last_operation: String,
    last_operation_date: String,
    status: String,
}

fn machine(object: &Value) -> Machine {
    let (metadata, status) = (&object["metadata"], &object["status"]);
    let operation = &status["lastOperation"];
    let unknown = |value: &Value| optional_time(value).unwrap_or_else(|| "Unknown".to_owned());
    Machine {
        name: text(&metadata["name"]),
        created_time: time(&metadata["creationTimestamp"]),
        last_updated: unknown(&status["lastUpdated"]),
        error_reason: or(&status["errorReason"], "None"),
        error_message: or(&status["errorMessage"], "None"),
        last_operation: or(&operation["description"], "Unknown"),
        last_operation_date: unknown(&operation["lastUpdated"]),
        status: or(&status["phase"], "Unknown"),
    }
}

#[derive(Debug, Serialize)]
struct Machines<T> {
    machines: Vec<T>,
}

/// `contract/portal.md` §8.8.
pub async fn machines(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    json(&Machines { machines: fetch(&state, &path, Kind::Machines, machine).await? })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
struct MachineSet {
    name: String,
    r#type: String,
    #[serde(rename = "createdat")]
    created_at: String,
    #[serde(rename = "desiredreplicas")]
    desired: i64,
    replicas: i64,
    #[serde(rename = "errorreason")]
    error_reason: String,
    #[serde(rename = "errormessage")]
    error_message: String,
    #[serde(rename = "publicloadbalancername")]
    load_balancer: String,
    #[serde(rename = "vmsize")]
    vm_size: String,
    #[serde(rename = "accountstoragetype")]
    storage: String,
    subnet: String,
    vnet: String,
}

/// A member of a provider spec, whose keys are matched without regard to case.
fn any_case<'a>(value: &'a Value, key: &str) -> &'a Value {
    let found = value.as_object().and_then(|map| {
        map.get(key).or_else(|| map.iter().find(|(each, _)| each.eq_ignore_ascii_case(key)).map(|(_, v)| v))
    });
    found.unwrap_or(&Value::Null)
}

fn machine_set(object: &Value) -> MachineSet {
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    let template = &spec["template"];
    let provider = &template["spec"]["providerSpec"]["value"];
    let disk = any_case(any_case(provider, "osDisk"), "managedDisk");
    let role = "machine.openshift.io/cluster-api-machine-type";
    let of = |key: &str| text(any_case(provider, key));
    let labels = [&metadata["labels"][role], &template["metadata"]["labels"][role]];
    MachineSet {
        name: text(&metadata["name"]),
        r#type: labels.iter().map(|label| text(label)).find(|label| !label.is_empty()).unwrap_or_default(),
        created_at: time(&metadata["creationTimestamp"]),
        desired: spec["replicas"].as_i64().unwrap_or(1),
        replicas: status["replicas"].as_i64().unwrap_or(0),
        error_reason: or(&status["errorReason"], "None"),
        error_message: or(&status["errorMessage"], "None"),
        load_balancer: of("publicLoadBalancer"),
        vm_size: of("vmSize"),
        storage: text(any_case(disk, "storageAccountType")),
        subnet: of("subnet"),
        vnet: of("vnet"),
    }
}

/// `contract/portal.md` §8.9; the list's key is `machines`.
pub async fn machine_sets(
    State(state): State<PortalState>,
    Path(path): ClusterPath,
) -> Result<Response, Fault> {
    json(&Machines { machines: fetch(&state, &path, Kind::MachineSets, machine_set).await? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn instants_are_written_as_the_contract_writes_them() {
        assert_eq!(time(&json!("2021-03-09T13:48:16Z")), "2021-03-09 13:48:16 +0000 UTC");
        assert_eq!(time(&json!("2021-03-09T14:48:16.5+01:00")), "2021-03-09 13:48:16 +0000 UTC");
        assert_eq!(time(&Value::Null), "0001-01-01 00:00:00 +0000 UTC");
        assert_eq!(optional_time(&json!("never")), None);
    }

    #[test]
    fn an_empty_object_gives_the_words_for_nothing() {
        let machine = serde_json::to_value(machine(&json!({"metadata": {"name": "m"}}))).unwrap();
        assert_eq!(
            machine,
            json!({"name": "m", "createdTime": "0001-01-01 00:00:00 +0000 UTC", "lastUpdated": "Unknown",
                "errorReason": "None", "errorMessage": "None", "lastOperation": "Unknown",
                "lastOperationDate": "Unknown", "status": "Unknown"})
        );
        let node = serde_json::to_value(node(&json!({}))).unwrap();
        let nothing = json!({"cpu": "0", "storageVolume": "0", "memory": "0", "pods": "0"});
        assert_eq!(
            node,
            json!({"name": "", "createdTime": "0001-01-01 00:00:00 +0000 UTC", "capacity": nothing,
                "allocatable": nothing, "volumes": [], "taints": [], "conditions": [], "labels": {}, "annotations": {}})
        );
        let operator = serde_json::to_value(operator(&json!({"metadata": {"name": "dns"}}))).unwrap();
        assert_eq!(
            operator,
            json!({"name": "dns", "available": "Unknown", "progressing": "Unknown", "degraded": "Unknown",
                "conditions": []})
        );
    }

    #[test]
    fn a_machine_set_is_written_with_lower_case_keys() {
        let object = json!({"metadata": {"name": "s", "creationTimestamp": "2021-03-09T13:48:16Z",
                "labels": {"machine.openshift.io/cluster-api-machine-type": "worker"}},
            "spec": {"replicas": 0, "template": {"spec": {"providerSpec": {"value": {"VMSIZE": "big", "vnet": "v",
                "subnet": "n", "publicLoadBalancer": "lb",
                "osDisk": {"managedDisk": {"storageAccountType": "Premium_LRS"}}}}}}},
            "status": {"replicas": 2}});
        assert_eq!(
            serde_json::to_value(machine_set(&object)).unwrap(),
            json!({"name": "s", "type": "worker", "createdat": "2021-03-09 13:48:16 +0000 UTC", "desiredreplicas": 0,
                "replicas": 2, "errorreason": "None", "errormessage": "None", "publicloadbalancername": "lb",
                "vmsize": "big", "accountstoragetype": "Premium_LRS", "subnet": "n", "vnet": "v"})
        );
        let odd = machine_set(&json!({"spec": {"template": {"spec": {"providerSpec": {"value": 7}}}}}));
        assert_eq!((odd.vm_size.as_str(), odd.storage.as_str()), ("", ""));
    }
}
