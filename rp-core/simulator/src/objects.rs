//! The kinds of objects of a simulated cluster, generated on request.

mod access;
mod batch;
mod configuration;
mod events;
mod extensions;
mod machines;
mod metrics;
pub mod nodes;
mod operators;
mod plain;
mod platform;
mod pods;
mod workloads;

use rp_base::Timestamp;
use serde_json::{Value, json};

use super::fleet::Cluster;

pub use operators::OPERATORS;
pub use plain::me;
pub use pods::{containers, pod_names};

/// A cluster at an instant.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub cluster: &'a Cluster,
    pub now: Timestamp,
}

/// One kind.
#[derive(Debug)]
pub struct Kind {
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub singular: &'static str,
    pub kind: &'static str,
    pub namespaced: bool,
    pub short: &'static [&'static str],
    pub categories: &'static [&'static str],
    /// Every object of the kind, in order of namespace and name.
    pub list: fn(&View<'_>) -> Vec<Value>,
    pub columns: &'static [Column],
}

impl Kind {
    /// `secrets`, `consoles.operator.openshift.io`.
    pub fn full(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// `v1` or `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// A column of the printed table.
#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
    /// Greater than 0: only with `-o wide`.
    pub priority: u8,
    pub cell: Cell,
}

impl Column {
    /// The column's type in the table.
    pub fn shape(&self) -> &'static str {
        if self.name == "Restarts" { "integer" } else { "string" }
    }
}

/// Where a cell's value comes from.
#[derive(Debug)]
pub enum Cell {
    /// A JSON pointer.
    At(&'static str),
    /// A JSON pointer to an instant.
    Age(&'static str),
    /// Computed.
    Of(fn(&Value) -> Value),
}

const fn column(name: &'static str, cell: Cell) -> Column {
    Column { name, priority: 0, cell }
}

const fn wide(name: &'static str, cell: Cell) -> Column {
    Column { name, priority: 1, cell }
}

const NAME: Column = column("Name", Cell::At("/metadata/name"));
const AGE: Column = column("Age", Cell::Age("/metadata/creationTimestamp"));

/// A kind of which a cluster has one object.
const fn single(
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    list: fn(&View<'_>) -> Vec<Value>,
) -> Kind {
    Kind {
        group,
        version: "v1",
        plural,
        singular,
        kind,
        namespaced: false,
        short: &[],
        categories: &[],
        list,
        columns: &[NAME, AGE],
    }
}

/// Every kind there is.
pub static KINDS: &[Kind] = &[
    nodes::NODES,
    plain::NAMESPACES,
    pods::PODS,
    events::EVENTS,
    events::NEW_EVENTS,
    plain::CONFIGMAPS,
    plain::SECRETS,
    plain::SERVICES,
    plain::SERVICEACCOUNTS,
    workloads::DEPLOYMENTS,
    workloads::DAEMONSETS,
    workloads::STATEFULSETS,
    operators::CLUSTEROPERATORS,
    operators::CLUSTERVERSIONS,
    operators::INFRASTRUCTURES,
    machines::MACHINES,
    machines::MACHINESETS,
    platform::POOLS,
    platform::ARO,
    platform::PROXIES,
    platform::NETWORKS,
    platform::DNSES,
    platform::INGRESSCONTROLLERS,
    platform::INGRESSES,
    configuration::CONSOLES,
    configuration::CONSOLE_ADDRESSES,
    configuration::SAMPLES,
    configuration::OPERATORHUBS,
    configuration::APISERVERS,
    configuration::STORAGECLASSES,
    configuration::DRIVERS,
    batch::JOBS,
    batch::CRONJOBS,
    extensions::DEFINITIONS,
    extensions::CREDENTIALS,
    extensions::MONITORS,
    access::ROLES,
    access::ROLEBINDINGS,
    access::CLUSTERROLES,
    access::CLUSTERROLEBINDINGS,
    plain::PROJECTS,
    plain::ROUTES,
    plain::USERS,
    metrics::NODES,
    metrics::PODS,
];

/// Every object of a kind as clients see it: what the cluster has by itself, and what was written into it.
pub fn all(kind: &Kind, view: &View<'_>) -> Vec<Value> {
    let mut all = (kind.list)(view);
    if let Some(written) = view.cluster.written() {
        written.over(&kind.full(), &mut all);
    }
    all
}

/// The kind of a path.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.group == group && kind.version == version && kind.plural == plural)
}

/// Metadata of an object, with the label that marks it as simulated.
fn metadata(view: &View<'_>, kind: &str, namespace: Option<&str>, name: &str, labels: &Value) -> Value {
    let part = format!("{kind}/{}/{name}", namespace.unwrap_or_default());
    let mut labels = labels.clone();
    labels["aro.openshift.io/simulated"] = json!("true");
    let mut dice = view.cluster.dice(&part);
    let mut metadata = json!({
        "name": name, "uid": dice.uuid(), "labels": labels,
        "creationTimestamp": instant(view.cluster.began(&part)),
        "resourceVersion": view.cluster.touched().millis().to_string(),
    });
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

/// As Kubernetes writes instants: whole seconds.
fn instant(at: Timestamp) -> Value {
    json!(Timestamp::from_seconds(at.seconds()))
}

/// A condition.
fn condition(kind: &str, status: bool, reason: &str, message: &str, since: Timestamp) -> Value {
    json!({"type": kind, "status": if status { "True" } else { "False" }, "reason": reason, "message": message,
        "lastTransitionTime": instant(since)})
}

/// The status of a condition, as text for a cell.
fn status_of(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    found.map_or_else(|| json!("Unknown"), |condition| condition["status"].clone())
}
