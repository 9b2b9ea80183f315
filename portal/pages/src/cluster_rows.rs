//! Converts the structs of the watches to the rows of a cluster's pages.

use portal_session::run_books::RunBooks;
use rp_base::Timestamp;
use rp_observe::objects::{self as seen, ConditionState, Status};
use rp_observe::{ClusterSnapshot, Slice, SliceState};
use web::objects::{
    Amounts, ClusterObjects, ControlPlaneRow, EventRow, Flag, HistoryRow, MachineRow, NodeRow,
    ObservationState, ObservedRows, OperatorRow, PoolRow, RelatedObject, SetRow, Taint, VersionRow, Vm,
    toned,
};
use web::{Condition, Failure, Link, Side};

/// Inputs of the rows besides the objects.
pub struct RowContext<'a> {
    /// Path of the cluster's pages.
    pub base: &'a str,
    pub books: &'a RunBooks,
    /// The state of a virtual machine by its name.
    pub vm: &'a dyn Fn(&str) -> Vm,
}

impl std::fmt::Debug for RowContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowContext").finish_non_exhaustive()
    }
}

/// Every kind that the pages of a cluster show.
pub fn estate(snapshot: &ClusterSnapshot, beside: &RowContext<'_>) -> ClusterObjects {
    let base = beside.base;
    ClusterObjects {
        version: rows(&snapshot.version, base, version),
        operators: rows(&snapshot.operators, base, |each| operator(each, beside.books)),
        nodes: rows(&snapshot.nodes, base, node),
        machines: rows(&snapshot.machines, base, |each| machine(each, beside)),
        sets: rows(&snapshot.machine_sets, base, set),
        control_plane: rows(&snapshot.control_plane_machine_sets, base, control_plane),
        pools: rows(&snapshot.pools, base, pool),
        events: rows(&snapshot.events, base, event),
        etcd: etcd(&snapshot.etcd, base),
    }
}

fn seconds(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::seconds)
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn rows<T, R>(slice: &Slice<T>, base: &str, row: impl Fn(&T) -> R) -> ObservedRows<R> {
    ObservedRows {
        rows: slice.iter().map(row).collect(),
        state: state(slice, base),
        left_out: count(slice.left_out),
    }
}

/// The observation state of a slice; older data is shown with its age.
fn state<T>(slice: &Slice<T>, base: &str) -> ObservationState {
    let known = !slice.items.is_empty();
    let since = slice.as_of.filter(|_| known).map(Timestamp::seconds);
    match (&slice.state, since) {
        (SliceState::Live, _) => ObservationState::Live,
        (SliceState::Stale { since, why }, _) => {
            ObservationState::Stale { since: slice.as_of.unwrap_or(*since).seconds(), why: why.to_string() }
        }
        (SliceState::Failed(why), Some(since)) => ObservationState::Stale { since, why: why.to_string() },
        (SliceState::NotAsked | SliceState::Loading, Some(since)) => {
            ObservationState::Stale { since, why: "The cluster is being asked again.".to_owned() }
        }
        (SliceState::NotAsked | SliceState::Loading, None) => ObservationState::Loading,
        (SliceState::Forbidden(why), _) => ObservationState::Forbidden(why.to_string()),
        (SliceState::Missing, _) => ObservationState::Missing,
        (SliceState::Failed(why), None) => ObservationState::Failed(unreachable(why.as_str(), base)),
    }
}

/// Without a request id, because the same panel is sent to several viewers repeatedly.
fn unreachable(why: &str, base: &str) -> Failure {
    Failure {
        status: 502,
        what: "The cluster did not answer".to_owned(),
        why: format!("{why} It is asked again by itself."),
        side: Side::Cluster,
        actions: vec![Link::new("Try again", format!("{base}/overview?wait=1"))],
        request_id: String::new(),
    }
}

fn as_bool(status: Status) -> Option<bool> {
    match status {
        Status::True => Some(true),
        Status::False => Some(false),
        Status::Unknown => None,
    }
}

fn conditions(all: &[seen::Condition], well: impl Fn(&str) -> Option<bool>) -> Vec<Condition> {
    let condition = |each: &seen::Condition| Condition {
        status: toned(&each.kind, each.status.as_str(), &well),
        kind: each.kind.clone(),
        reason: each.reason.clone(),
        since: seconds(each.since),
        message: each.message.clone(),
    };
    all.iter().map(condition).collect()
}

/// Which status is well, of the types that machines, sets, pools and operators share.
fn common(kind: &str) -> Option<bool> {
    match kind {
        "Available" | "Upgradeable" | "Updated" | "Ready" | "MachineCreated" | "InstanceExists" => Some(true),
        _ if kind.ends_with("Degraded") || kind.ends_with("Failing") => Some(false),
        _ if kind.ends_with("Available") => Some(true),
        _ => None,
    }
}

fn pairs(map: &std::collections::BTreeMap<String, String>) -> Vec<(String, String)> {
    map.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn reason_text(reason: &str, message: &str) -> String {
    match (reason, message) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

fn node(node: &seen::Node) -> NodeRow {
    let amounts = |of: &seen::Amounts| Amounts {
        cpu_millis: of.cpu_millis,
        memory: of.memory,
        storage: of.storage,
        pods: of.pods,
    };
    let (_, machine) = node.machine.rsplit_once('/').unwrap_or(("", &node.machine));
    NodeRow {
        name: node.meta.name.clone(),
        ready: as_bool(node.ready),
        ready_since: seconds(node.ready_since),
        ready_why: reason_text(&node.ready_reason, &node.ready_message),
        schedulable: node.schedulable,
        pressures: node
            .pressures
            .iter()
            .map(|each| (each.kind.clone(), seconds(each.since), reason_text(&each.reason, &each.message)))
            .collect(),
        roles: node.roles.clone(),
        instance_type: node.instance_type.clone(),
        zone: node.zone.clone(),
        version: node.version.clone(),
        os: node.os.clone(),
        kernel: node.kernel.clone(),
        runtime: node.runtime.clone(),
        machine: machine.to_owned(),
        provider_id: node.provider_id.clone(),
        taints: node
            .taints
            .iter()
            .map(|taint| Taint {
                key: taint.key.clone(),
                value: taint.value.clone(),
                effect: taint.effect.clone(),
                added: seconds(taint.added),
            })
            .collect(),
        // Every node condition except Ready reports a problem when true.
        conditions: conditions(&node.conditions, |kind| Some(kind == "Ready")),
        capacity: amounts(&node.capacity),
        allocatable: amounts(&node.allocatable),
        addresses: node.addresses.clone(),
        config_state: node.config_state.clone(),
        config_reason: node.config_reason.clone(),
        volumes: count(node.volumes_attached),
        created: seconds(node.meta.created),
        labels: pairs(&node.labels),
        annotations: pairs(&node.annotations),
    }
}

fn machine(machine: &seen::Machine, beside: &RowContext<'_>) -> MachineRow {
    MachineRow {
        name: machine.meta.name.clone(),
        namespace: machine.meta.namespace.clone(),
        phase: machine.phase.clone(),
        node: machine.node.clone(),
        set: machine.set.clone(),
        role: machine.role.clone(),
        zone: machine.zone.clone(),
        vm_size: machine.vm_size.clone(),
        provider_id: machine.provider_id.clone(),
        error_reason: machine.error_reason.clone(),
        error_message: machine.error_message.clone(),
        created: seconds(machine.meta.created),
        updated: seconds(machine.updated),
        deleting: seconds(machine.meta.deleting),
        last_operation: machine.last_operation.clone(),
        last_operation_at: seconds(machine.last_operation_at),
        spot: machine.spot,
        conditions: conditions(&machine.conditions, common),
        vm: (beside.vm)(machine.vm()),
    }
}

fn set(set: &seen::MachineSet) -> SetRow {
    SetRow {
        name: set.meta.name.clone(),
        namespace: set.meta.namespace.clone(),
        role: set.role.clone(),
        desired: set.desired,
        replicas: set.replicas,
        ready: set.ready,
        available: set.available,
        vm_size: set.vm_size.clone(),
        zone: set.zone.clone(),
        vnet: set.vnet.clone(),
        subnet: set.subnet.clone(),
        disk_type: set.disk_type.clone(),
        disk_gb: set.disk_gb,
        load_balancer: set.public_load_balancer.clone(),
        error_reason: set.error_reason.clone(),
        error_message: set.error_message.clone(),
        spot: set.spot,
        autoscaled: set.autoscaled,
        created: seconds(set.meta.created),
    }
}

fn control_plane(set: &seen::ControlPlaneMachineSet) -> ControlPlaneRow {
    ControlPlaneRow {
        name: set.meta.name.clone(),
        state: set.state.clone(),
        strategy: set.strategy.clone(),
        desired: set.desired,
        replicas: set.replicas,
        ready: set.ready,
        updated: set.updated,
        unavailable: set.unavailable,
        vm_size: set.vm_size.clone(),
        zones: set.zones.clone(),
        conditions: conditions(&set.conditions, common),
        created: seconds(set.meta.created),
    }
}

fn pool(pool: &seen::Pool) -> PoolRow {
    PoolRow {
        name: pool.meta.name.clone(),
        paused: pool.paused,
        machines: pool.machines,
        ready: pool.ready,
        updated: pool.updated,
        degraded: pool.degraded,
        unavailable: pool.unavailable,
        configuration: pool.configuration.clone(),
    }
}

fn flag(condition: &ConditionState) -> Flag {
    Flag {
        status: as_bool(condition.status),
        since: seconds(condition.since),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
    }
}

fn operator(operator: &seen::Operator, books: &RunBooks) -> OperatorRow {
    let name = &operator.meta.name;
    OperatorRow {
        name: name.clone(),
        available: flag(&operator.available),
        progressing: flag(&operator.progressing),
        degraded: flag(&operator.degraded),
        upgradeable: flag(&operator.upgradeable),
        version: operator.version.clone(),
        versions: operator.versions.clone(),
        conditions: conditions(&operator.conditions, common),
        related: operator
            .related_objects
            .iter()
            .map(|each| RelatedObject {
                group: each.group.clone(),
                resource: each.resource.clone(),
                namespace: each.namespace.clone(),
                name: each.name.clone(),
            })
            .collect(),
        runbook: books.for_operator(name),
    }
}

fn version(version: &seen::Version) -> VersionRow {
    let find = |kind: &str| version.conditions.iter().find(|each| each.kind == kind);
    let failing = find("Failing").filter(|each| each.status.is_true());
    let upgradeable = find("Upgradeable");
    VersionRow {
        current: version.current.clone(),
        desired: version.desired.clone(),
        channel: version.channel.clone(),
        updating: version.updating.clone(),
        failing: failing.map(|each| reason_text(&each.reason, &each.message)).unwrap_or_default(),
        // An absent condition counts as upgradeable.
        upgradeable: upgradeable.map_or((Some(true), String::new()), |each| {
            (as_bool(each.status), reason_text(&each.reason, &each.message))
        }),
        history: version
            .history
            .iter()
            .map(|each| HistoryRow {
                version: each.version.clone(),
                completed: each.state == "Completed",
                started: seconds(each.started),
                ended: seconds(each.completed),
                verified: each.verified,
            })
            .collect(),
        conditions: conditions(&version.conditions, common),
        available: version.available_updates.iter().map(|e| (e.version.clone(), e.risk.clone())).collect(),
        cluster_id: version.cluster_id.clone(),
    }
}

fn event(event: &seen::Event) -> EventRow {
    EventRow {
        at: seconds(event.last),
        warning: event.is_warning(),
        kind: event.object_kind.clone(),
        namespace: event.object_namespace.clone(),
        name: event.object_name.clone(),
        reason: event.reason.clone(),
        message: event.message.clone(),
        count: u64::try_from(event.count).unwrap_or(1),
    }
}

/// Its conditions, of the one object that there is.
fn etcd(slice: &Slice<seen::Etcd>, base: &str) -> ObservedRows<Condition> {
    let rows = slice.first().map(|etcd| conditions(&etcd.conditions, common)).unwrap_or_default();
    ObservedRows { rows, state: state(slice, base), left_out: 0 }
}
