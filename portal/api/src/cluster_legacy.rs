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
use rp_openshift::{self as openshift, Time, Whole, WholeText};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cluster_objects::{known_cluster, unavailable};
use crate::prom::ClusterPath;

#[cfg(test)]
mod tests;

/// `2021-03-09 13:48:16 +0000 UTC`; a missing instant is Go's zero time.
fn time(at: Time) -> String {
    optional_time(at).unwrap_or_else(|| "0001-01-01 00:00:00 +0000 UTC".to_owned())
}

fn written(at: Timestamp) -> String {
    let text = Timestamp::from_seconds(at.seconds()).to_string();
    text.replace('T', " ").replace('Z', " +0000 UTC")
}

/// An optional instant; none is left out.
fn optional_time(at: Time) -> Option<String> {
    at.0.map(written)
}

fn text(text: &WholeText) -> String {
    text.as_str().to_owned()
}

fn or(text: &WholeText, otherwise: &str) -> String {
    non_empty(text).unwrap_or_else(|| otherwise.to_owned())
}

fn non_empty(text: &WholeText) -> Option<String> {
    (!text.is_empty()).then(|| text.as_str().to_owned())
}

async fn fetch<O: DeserializeOwned, T: Send>(
    state: &PortalState,
    path: &(String, String, String),
    kind: Kind,
    of: fn(&O) -> T,
) -> Result<Vec<T>, Fault> {
    let id = known_cluster(state, path)?;
    let mut found = Vec::new();
    state
        .model
        .clusters
        .observer
        .list(&id, kind, |object: &O| found.push(of(object)))
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

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListedOperator")]
struct Operator {
    name: String,
    available: String,
    progressing: String,
    degraded: String,
    conditions: Vec<OperatorCondition>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedOperatorCondition")]
struct OperatorCondition {
    #[serde(rename = "type")]
    kind: String,
    last_updated: String,
    status: String,
    reason: String,
    message: String,
}

fn operator(object: &openshift::ClusterOperator<Whole>) -> Operator {
    let conditions = &object.status.conditions;
    let status = |kind: &str| {
        let found = openshift::condition(conditions, kind);
        found.map_or_else(|| "Unknown".to_owned(), |condition| text(&condition.status))
    };
    Operator {
        name: text(&object.metadata.name),
        available: status("Available"),
        progressing: status("Progressing"),
        degraded: status("Degraded"),
        conditions: conditions.iter().map(operator_condition).collect(),
    }
}

fn operator_condition(condition: &openshift::Condition<Whole>) -> OperatorCondition {
    OperatorCondition {
        kind: text(&condition.kind),
        last_updated: time(condition.last_transition_time),
        status: text(&condition.status),
        reason: text(&condition.reason),
        message: text(&condition.message),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListedOperators")]
pub struct Operators {
    operators: Vec<Operator>,
}

/// `contract/portal.md` §8.6.
pub async fn operators(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    json(&Operators { operators: fetch(&state, &path, Kind::Operators, operator).await? })
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedNode")]
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedAmounts")]
struct Amounts {
    cpu: String,
    storage_volume: String,
    memory: String,
    pods: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListedVolume")]
struct Volume {
    name: String,
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedTaint")]
struct Taint {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    effect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_added: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedNodeCondition")]
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

fn amounts(capacity: &openshift::Capacity<Whole>) -> Amounts {
    Amounts {
        cpu: or(&capacity.cpu, "0"),
        storage_volume: or(&capacity.ephemeral_storage, "0"),
        memory: or(&capacity.memory, "0"),
        pods: or(&capacity.pods, "0"),
    }
}

fn map(labels: &openshift::Labels<Whole>) -> BTreeMap<String, String> {
    labels.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn node(object: &openshift::Node<Whole>) -> Node {
    let (metadata, status) = (&object.metadata, &object.status);
    let volume = |volume: &openshift::AttachedVolume<Whole>| Volume {
        name: text(&volume.name),
        path: text(&volume.device_path),
    };
    Node {
        name: text(&metadata.name),
        created_time: time(metadata.creation_timestamp),
        capacity: amounts(&status.capacity),
        volumes: status.volumes_attached.iter().map(volume).collect(),
        allocatable: amounts(&status.allocatable),
        taints: object.spec.taints.iter().map(taint).collect(),
        conditions: status.conditions.iter().map(node_condition).collect(),
        labels: map(&metadata.labels),
        annotations: map(&metadata.annotations),
    }
}

fn taint(taint: &openshift::Taint<Whole>) -> Taint {
    Taint {
        key: text(&taint.key),
        value: non_empty(&taint.value),
        effect: text(&taint.effect),
        time_added: optional_time(taint.time_added),
    }
}

fn node_condition(condition: &openshift::Condition<Whole>) -> NodeCondition {
    NodeCondition {
        kind: text(&condition.kind),
        status: text(&condition.status),
        last_heartbeat_time: optional_time(condition.last_heartbeat_time),
        last_transition_time: optional_time(condition.last_transition_time),
        reason: non_empty(&condition.reason),
        message: non_empty(&condition.message),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListedNodes")]
pub struct Nodes {
    nodes: Vec<Node>,
}

/// `contract/portal.md` §8.7.
pub async fn nodes(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    json(&Nodes { nodes: fetch(&state, &path, Kind::Nodes, node).await? })
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedMachine")]
pub struct Machine {
    name: String,
    created_time: String,
    last_updated: String,
    error_reason: String,
    error_message: String,
    last_operation: String,
    last_operation_date: String,
    status: String,
}

fn machine(object: &openshift::Machine<Whole>) -> Machine {
    let (metadata, status) = (&object.metadata, &object.status);
    let operation = &status.last_operation;
    let unknown = |at: Time| optional_time(at).unwrap_or_else(|| "Unknown".to_owned());
    Machine {
        name: text(&metadata.name),
        created_time: time(metadata.creation_timestamp),
        last_updated: unknown(status.last_updated),
        error_reason: or(&status.error_reason, "None"),
        error_message: or(&status.error_message, "None"),
        last_operation: or(&operation.description, "Unknown"),
        last_operation_date: unknown(operation.last_updated),
        status: or(&status.phase, "Unknown"),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}s")]
pub struct Machines<T> {
    machines: Vec<T>,
}

/// `contract/portal.md` §8.8.
pub async fn machines(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    json(&Machines { machines: fetch(&state, &path, Kind::Machines, machine).await? })
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ListedMachineSet")]
pub struct MachineSet {
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

fn machine_set(object: &openshift::MachineSet<Whole>) -> MachineSet {
    let (metadata, status) = (&object.metadata, &object.status);
    let nothing = openshift::ProviderSpec::default();
    let provider = object.spec.template.spec.provider_spec.value.as_ref().unwrap_or(&nothing);
    MachineSet {
        name: text(&metadata.name),
        r#type: object.role().to_owned(),
        created_at: time(metadata.creation_timestamp),
        desired: object.desired(),
        replicas: status.replicas.or_zero(),
        error_reason: or(&status.error_reason, "None"),
        error_message: or(&status.error_message, "None"),
        load_balancer: text(&provider.public_load_balancer),
        vm_size: text(&provider.vm_size),
        storage: text(&provider.os_disk.managed_disk.storage_account_type),
        subnet: text(&provider.subnet),
        vnet: text(&provider.vnet),
    }
}

/// `contract/portal.md` §8.9; the list's key is `machines`.
pub async fn machine_sets(
    State(state): State<PortalState>,
    Path(path): ClusterPath,
) -> Result<Response, Fault> {
    json(&Machines { machines: fetch(&state, &path, Kind::MachineSets, machine_set).await? })
}
