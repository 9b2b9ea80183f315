//! What a cluster is made of, in every state that the pages can be in.

use std::collections::BTreeMap;
use std::sync::Arc;

use rp_base::Timestamp;
use rp_rows::{
    Amounts, Available, Condition, ConditionState, ControlPlaneMachineSet, Etcd, Event, History, Machine,
    MachineSet, Meta, Node, Operator, Pool, RelatedObject, Status, Taint, Version,
};

use crate::{maintenance, runs};
use crate::{DAY, HOSTILE, HOUR, MINUTE, NOW, endless};
use web::objects::{
    ActionRow, Board, ClusterObjects, FiringAlert, MachineRow, MonitorFindings, ObservationState,
    ObservedRows, Operations, OperatorRow, Overview, Row as _, Run, Vm, alerts_panel, control_plane_panels,
    looks, machine_board, machine_set_board, machine_sets_panel, machines_panel, node_board, nodes_panel,
    operations_board, operator_board, operators_panel, overview_board, problems, run_board, version_panel,
};
use web::{
    Badge, Cluster, ClusterPage, Failure, ItemHead, LastLook, Link, LiveBar, LiveState, Side, Slot, Tab,
    TableFilter, TableQuery, Tone,
};

const GIB: i64 = 1 << 30;
const INFRA: &str = "harbor-prod-weu-01-x7k2p";

const fn at(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp::from_seconds(seconds))
}

fn meta(namespace: &str, name: impl Into<String>) -> Meta {
    Meta { namespace: namespace.into(), name: name.into(), created: at(NOW - 411 * DAY), ..Meta::default() }
}

fn condition(kind: &str, status: Status, since: i64, reason: &str, message: &str) -> Condition {
    Condition { kind: kind.into(), status, since: at(since), reason: reason.into(), message: message.into() }
}

fn node(name: &str, role: &str, zone: &str) -> Node {
    let since = NOW - 9 * DAY;
    Node {
        meta: meta("", format!("{INFRA}-{name}")),
        ready: Status::True,
        ready_since: at(since),
        schedulable: true,
        roles: vec![role.into()],
        instance_type: if role == "master" { "Standard_D8s_v5" } else { "Standard_D4s_v5" }.into(),
        zone: zone.into(),
        version: "v1.31.9".into(),
        os: "Red Hat Enterprise Linux CoreOS 418.94".into(),
        kernel: "5.14.0-427.61.1.el9_4.x86_64".into(),
        runtime: "cri-o://1.31.6".into(),
        machine: format!("openshift-machine-api/{INFRA}-{name}"),
        provider_id: format!(
            "azure:///subscriptions/0b6f3c1e/resourceGroups/aro-x7k2p/providers/Microsoft.Compute/virtualMachines/{INFRA}-{name}"
        ),
        conditions: vec![condition(
            "Ready",
            Status::True,
            since,
            "KubeletReady",
            "kubelet is posting ready status",
        )],
        capacity: Amounts {
            cpu_millis: Some(8000),
            memory: Some(32 * GIB),
            storage: Some(1023 * GIB),
            pods: Some(250),
        },
        allocatable: Amounts {
            cpu_millis: Some(7500),
            memory: Some(30 * GIB),
            storage: Some(900 * GIB),
            pods: Some(250),
        },
        addresses: vec![
            ("InternalIP".into(), "10.0.2.7".into()),
            ("Hostname".into(), format!("{INFRA}-{name}")),
        ],
        config_state: "Done".into(),
        volumes_attached: 2,
        labels: BTreeMap::from([
            ("kubernetes.io/arch".into(), "amd64".into()),
            (format!("node-role.kubernetes.io/{role}"), String::new()),
            ("topology.kubernetes.io/zone".into(), format!("westeurope-{zone}")),
        ]),
        annotations: BTreeMap::from([(
            "machine.openshift.io/machine".into(),
            format!("openshift-machine-api/{INFRA}-{name}"),
        )]),
        ..Node::default()
    }
}

fn nodes() -> Vec<Node> {
    let dead = node("master-2", "master", "3");
    let (silent, why) = (NOW - 47 * MINUTE, "Kubelet stopped posting node status.");
    vec![
        node("master-0", "master", "1"),
        node("master-1", "master", "2"),
        Node {
            ready: Status::Unknown,
            ready_since: at(silent),
            ready_reason: "NodeStatusUnknown".into(),
            ready_message: why.into(),
            conditions: vec![condition("Ready", Status::Unknown, silent, "NodeStatusUnknown", why)],
            taints: vec![Taint {
                key: "node.kubernetes.io/unreachable".into(),
                value: String::new(),
                effect: "NoExecute".into(),
                added: at(NOW - 46 * MINUTE),
            }],
            ..dead
        },
        node("worker-weu1-4tq8z", "worker", "1"),
        Node {
            pressures: vec![condition(
                "DiskPressure",
                Status::True,
                NOW - 4 * HOUR - 28 * MINUTE,
                "KubeletHasDiskPressure",
                "4.1 GiB of 128 GiB left on /var",
            )],
            ..node("worker-weu2-9hxkd", "worker", "2")
        },
        Node {
            schedulable: false,
            config_state: "Working".into(),
            version: "v1.30.14".into(),
            ..node("worker-weu2-vv7r2", "worker", "2")
        },
        node("worker-weu3-t5b2n", "worker", "3"),
    ]
}

fn machine(name: &str, role: &str, set: &str) -> MachineRow {
    let created = condition("InstanceExists", Status::True, NOW - 411 * DAY, "", "");
    let machine = Machine {
        meta: meta("openshift-machine-api", format!("{INFRA}-{name}")),
        phase: "Running".into(),
        node: format!("{INFRA}-{name}"),
        set: set.into(),
        role: role.into(),
        zone: "1".into(),
        vm_size: "Standard_D4s_v5".into(),
        provider_id: format!(
            "azure:///subscriptions/0b6f3c1e/resourceGroups/aro-x7k2p/providers/Microsoft.Compute/virtualMachines/{INFRA}-{name}"
        ),
        updated: at(NOW - 2 * HOUR),
        last_operation: "Update".into(),
        last_operation_at: at(NOW - 2 * HOUR),
        conditions: vec![created],
        ..Machine::default()
    };
    MachineRow { machine: Arc::new(machine), vm: vm("running", "") }
}

fn vm(power: &str, message: &str) -> Vm {
    Vm::Known {
        power: power.into(),
        provisioning: "Succeeded".into(),
        message: message.into(),
        href: "https://portal.azure.example/vm".into(),
    }
}

fn machines() -> Vec<MachineRow> {
    let why = "AllocationFailed: not enough capacity for Standard_D8s_v5 in zone 3";
    let MachineRow { machine: lost, vm } = machine("worker-weu3-kkq8w", "worker", &in_infra("worker-weu3"));
    let lost = Machine {
        phase: "Failed".into(),
        node: String::new(),
        error_reason: "CreateError".into(),
        error_message: "failed to create vm: SkuNotAvailable".into(),
        spot: true,
        ..Machine::clone(&lost)
    };
    vec![
        machine("master-0", "master", "cluster"),
        machine("master-1", "master", "cluster"),
        MachineRow { vm: self::vm("deallocated", why), ..machine("master-2", "master", "cluster") },
        machine("worker-weu1-4tq8z", "worker", &in_infra("worker-weu1")),
        machine("worker-weu2-9hxkd", "worker", &in_infra("worker-weu2")),
        MachineRow { machine: Arc::new(lost), vm },
    ]
}

fn in_infra(name: &str) -> String {
    format!("{INFRA}-{name}")
}

fn set(name: &str, desired: i64, ready: i64) -> MachineSet {
    MachineSet {
        meta: meta("openshift-machine-api", in_infra(name)),
        role: "worker".into(),
        desired,
        replicas: desired,
        ready,
        available: ready,
        vm_size: "Standard_D4s_v5".into(),
        zone: "1".into(),
        vnet: "vnet-harbor".into(),
        subnet: "worker-subnet".into(),
        disk_type: "Premium_LRS".into(),
        disk_gb: Some(128),
        ..MachineSet::default()
    }
}

fn state(status: Status, since: i64, reason: &str, message: &str) -> ConditionState {
    ConditionState { status, since: at(since), reason: reason.into(), message: message.into() }
}

fn operator(name: &str) -> OperatorRow {
    let since = NOW - 30 * DAY;
    let fine = |status| state(status, since, "AsExpected", "All is well");
    let row = |kind: &str, status| condition(kind, status, since, "AsExpected", "All is well");
    let operator = Operator {
        meta: meta("", name),
        available: fine(Status::True),
        progressing: fine(Status::False),
        degraded: fine(Status::False),
        upgradeable: fine(Status::True),
        version: "4.18.22".into(),
        versions: vec![("operator".into(), "4.18.22".into()), (name.into(), "4.18.22".into())],
        conditions: vec![
            row("Available", Status::True),
            row("Progressing", Status::False),
            row("Degraded", Status::False),
        ],
        related_objects: vec![
            RelatedObject {
                resource: "namespaces".into(),
                name: format!("openshift-{name}"),
                ..RelatedObject::default()
            },
            RelatedObject {
                group: "operator.openshift.io".into(),
                resource: format!("{name}s"),
                name: "cluster".into(),
                ..RelatedObject::default()
            },
        ],
    };
    OperatorRow {
        operator: Arc::new(operator),
        runbook: format!("https://runbooks.example/operators/{name}"),
    }
}

/// An operator that is not well in one way.
fn odd_operator(name: &str, change: impl FnOnce(&mut Operator)) -> OperatorRow {
    let mut row = operator(name);
    change(Arc::make_mut(&mut row.operator));
    row
}

fn operators() -> Vec<OperatorRow> {
    let mut all: Vec<OperatorRow> =
        ["dns", "image-registry", "ingress", "kube-apiserver", "monitoring", "network", "storage"]
            .into_iter()
            .map(operator)
            .collect();
    all.push(odd_operator("authentication", |operator| {
        operator.available = state(
            Status::False,
            NOW - 41 * MINUTE,
            "OAuthServerRouteEndpointAccessibleController_EndpointUnavailable",
            "Get \"https://oauth-openshift.apps.harbor-prod-weu-01.example.net/healthz\": EOF",
        );
    }));
    all.push(odd_operator("etcd", |operator| {
        operator.degraded = state(
            Status::True,
            NOW - 46 * MINUTE,
            "EtcdMembersDegraded",
            "2 of 3 members are available, harbor-prod-weu-01-x7k2p-master-2 is unhealthy",
        );
    }));
    all.push(odd_operator("machine-config", |operator| {
        operator.progressing = state(Status::True, NOW - 90 * MINUTE, "RollingOut", "Working towards 4.19.9");
    }));
    all
}

fn version() -> Version {
    let past = |version: &str, days: i64| History {
        version: version.into(),
        state: "Completed".into(),
        started: at(NOW - days * DAY - HOUR),
        completed: at(NOW - days * DAY),
        verified: true,
    };
    let update = |version: &str, risk: &str| Available {
        version: version.into(),
        risk: risk.into(),
        ..Available::default()
    };
    let since = NOW - 41 * MINUTE;
    let (failing, why) = ("ClusterOperatorNotAvailable", "Cluster operator authentication is not available");
    Version {
        current: "4.18.22".into(),
        desired: "4.19.9".into(),
        channel: "stable-4.19".into(),
        updating: Some("Working towards 4.19.9: 543 of 880 done (61% complete), waiting on etcd".into()),
        history: vec![
            History {
                version: "4.19.9".into(),
                state: "Partial".into(),
                started: at(NOW - 134 * MINUTE),
                ..History::default()
            },
            past("4.18.22", 70),
            past("4.17.30", 200),
        ],
        conditions: vec![
            condition("Failing", Status::True, since, failing, why),
            condition(
                "Upgradeable",
                Status::False,
                since,
                "",
                "Cluster operator etcd should not be upgraded",
            ),
        ],
        available_updates: vec![update("4.19.10", ""), update("4.19.11", "Known issue")],
        cluster_id: "8f9b1d6e-1111-4222-8333-abcdefabcdef".into(),
        ..Version::default()
    }
}

fn events() -> Vec<Event> {
    let event = |minutes: i64, kind: &str, name: &str, reason: &str, message: &str, count| Event {
        last: at(NOW - minutes * MINUTE),
        kind: "Warning".into(),
        object_kind: kind.into(),
        object_namespace: if kind == "Pod" { "openshift-etcd".into() } else { String::new() },
        object_name: name.into(),
        reason: reason.into(),
        message: message.into(),
        count,
        ..Event::default()
    };
    vec![
        event(
            1,
            "Pod",
            "etcd-master-2",
            "FailedMount",
            "MountVolume.SetUp failed: object \"openshift-etcd\"/\"kube-root-ca.crt\" not registered",
            38,
        ),
        event(
            2,
            "Node",
            &format!("{INFRA}-worker-weu2-9hxkd"),
            "EvictionThresholdMet",
            "Attempting to reclaim ephemeral-storage",
            12,
        ),
        event(46, "Node", &format!("{INFRA}-master-2"), "NodeNotReady", "Node is not ready", 1),
        Event {
            kind: "Normal".into(),
            ..event(3, "Pod", "oauth-openshift-7c9d", "Pulled", "Image already present", 1)
        },
    ]
}

fn etcd() -> Etcd {
    let row = |kind: &str, message: &str| condition(kind, Status::True, NOW - 46 * MINUTE, kind, message);
    let conditions = vec![
        row("EtcdMembersAvailable", "2 of 3 members are available"),
        row("EtcdMembersDegraded", "harbor-prod-weu-01-x7k2p-master-2 is unhealthy"),
    ];
    Etcd { meta: meta("", "cluster"), conditions, ..Etcd::default() }
}

/// The night of the lost etcd member.
pub(super) fn degraded() -> ClusterObjects {
    let workers = ObservedRows::live(vec![
        set("worker-weu1", 2, 2),
        set("worker-weu2", 2, 1),
        set("worker-weu3", 1, 0),
    ]);
    ClusterObjects {
        version: ObservedRows::live(vec![version()]),
        operators: ObservedRows::live(operators()),
        nodes: ObservedRows::live(nodes()),
        machines: ObservedRows::live(machines()),
        sets: workers,
        control_plane: ObservedRows::live(vec![ControlPlaneMachineSet {
            meta: meta("openshift-machine-api", "cluster"),
            state: "Active".into(),
            strategy: "RollingUpdate".into(),
            desired: 3,
            replicas: 3,
            ready: 2,
            updated: 3,
            unavailable: 1,
            vm_size: "Standard_D8s_v5".into(),
            zones: vec!["1".into(), "2".into(), "3".into()],
            conditions: etcd().conditions,
        }]),
        pools: ObservedRows::live(vec![
            Pool {
                meta: meta("", "master"),
                machines: 3,
                ready: 2,
                updated: 2,
                degraded: 1,
                unavailable: 1,
                configuration: "rendered-master-6f1c".into(),
                ..Pool::default()
            },
            Pool {
                meta: meta("", "worker"),
                machines: 4,
                ready: 4,
                updated: 4,
                paused: true,
                configuration: "rendered-worker-91ab".into(),
                ..Pool::default()
            },
        ]),
        events: ObservedRows::live(events()),
        etcd: ObservedRows::live(vec![etcd()]),
    }
}

/// Nothing needs attention.
pub(super) fn well() -> ClusterObjects {
    let fine = degraded();
    let at_rest = Version { updating: None, desired: "4.18.22".into(), conditions: Vec::new(), ..version() };
    let mut etcd = etcd();
    etcd.conditions.truncate(1);
    ClusterObjects {
        version: ObservedRows::live(vec![at_rest]),
        operators: ObservedRows::live(
            ["dns", "etcd", "ingress", "monitoring"].into_iter().map(operator).collect(),
        ),
        nodes: ObservedRows::live(nodes().into_iter().filter(|node| !node.wrong()).collect()),
        machines: ObservedRows::live(machines().into_iter().filter(|machine| !machine.wrong()).collect()),
        sets: ObservedRows::live(vec![set("worker-weu1", 2, 2)]),
        control_plane: ObservedRows::live(Vec::new()),
        pools: ObservedRows {
            rows: fine.pools.rows.into_iter().skip(1).collect(),
            ..ObservedRows::live(Vec::new())
        },
        events: ObservedRows::live(Vec::new()),
        etcd: ObservedRows::live(vec![etcd]),
    }
}

/// Everything in one state, with the rows that there are.
fn all_in(state: &ObservationState, rows: ClusterObjects) -> ClusterObjects {
    fn with_state<T>(seen: ObservedRows<T>, state: &ObservationState) -> ObservedRows<T> {
        ObservedRows { state: state.clone(), ..seen }
    }
    ClusterObjects {
        version: with_state(rows.version, state),
        operators: with_state(rows.operators, state),
        nodes: with_state(rows.nodes, state),
        machines: with_state(rows.machines, state),
        sets: with_state(rows.sets, state),
        control_plane: with_state(rows.control_plane, state),
        pools: with_state(rows.pools, state),
        events: with_state(rows.events, state),
        etcd: with_state(rows.etcd, state),
    }
}

fn stale() -> ObservationState {
    ObservationState::Stale {
        since: NOW - 6 * MINUTE,
        why: "It did not accept a connection on its private link within 5 s.".into(),
    }
}

fn failed() -> ObservationState {
    ObservationState::Failed(Failure {
        status: 502,
        what: "The cluster did not answer".into(),
        why: "It did not accept a connection on its private link within 5 s. It is asked again by itself."
            .into(),
        side: Side::Cluster,
        actions: vec![Link::new("Try again", "?wait=1")],
        request_id: String::new(),
    })
}

fn forbidden() -> ObservationState {
    ObservationState::Forbidden("machines.machine.openshift.io is forbidden: User \"system:serviceaccount:sre\" cannot list resource \"machines\"".into())
}

/// An imported cluster that is plain Kubernetes.
fn plain() -> ClusterObjects {
    let rows = well();
    let nodes = ObservedRows::live(vec![Node {
        machine: String::new(),
        ..node("control-plane", "control-plane", "")
    }]);
    ClusterObjects {
        nodes,
        events: ObservedRows::live(Vec::new()),
        ..all_in(&ObservationState::Missing, ClusterObjects { nodes: ObservedRows::default(), ..rows })
    }
}

fn many() -> ClusterObjects {
    let node = |i: i64| Node {
        ready: if i % 37 == 0 { Status::False } else { Status::True },
        schedulable: i % 23 != 0,
        ready_reason: "NodeStatusUnknown".into(),
        ready_message: "Kubelet stopped posting node status.".into(),
        ..node(&format!("worker-weu{}-{i:04}", i % 3 + 1), "worker", &(i % 3 + 1).to_string())
    };
    let machine = |i: i64| machine(&format!("worker-weu{}-{i:04}", i % 3 + 1), "worker", "worker-weu1");
    ClusterObjects {
        nodes: ObservedRows { left_out: 12, ..ObservedRows::live((0..300).map(node).collect()) },
        machines: ObservedRows::live((0..300).map(machine).collect()),
        ..degraded()
    }
}

fn hostile() -> ClusterObjects {
    let text = || HOSTILE.to_owned();
    let long = endless();
    let ever = Some(Timestamp::from_millis(i64::MAX));
    let condition = || Condition {
        kind: text(),
        status: Status::Unknown,
        reason: text(),
        since: ever,
        message: long.clone(),
    };
    let flag = || ConditionState {
        status: Status::Unknown,
        since: Some(Timestamp::from_millis(i64::MIN)),
        reason: text(),
        message: long.clone(),
    };
    let meta = || Meta { name: text(), ..Meta::default() };
    let bad = Node {
        meta: meta(),
        ready: Status::False,
        ready_since: ever,
        ready_message: long.clone(),
        schedulable: false,
        pressures: vec![Condition { since: at(NOW + DAY), ..condition() }; 4],
        roles: vec![text(); 4],
        instance_type: text(),
        zone: text(),
        version: text(),
        machine: text(),
        provider_id: long.clone(),
        taints: vec![Taint { key: text(), value: text(), effect: text(), added: ever }; 3],
        conditions: vec![condition(); 6],
        addresses: vec![(text(), text())],
        config_reason: long.clone(),
        config_state: text(),
        capacity: Amounts {
            cpu_millis: Some(i64::MIN),
            memory: Some(i64::MAX),
            storage: Some(-1),
            pods: Some(0),
        },
        labels: (0..5).map(|i| (format!("{HOSTILE}{i}"), long.clone())).collect(),
        annotations: (0..5).map(|i| (format!("{long}{i}"), text())).collect(),
        ..Node::default()
    };
    let machine = Machine {
        meta: meta(),
        phase: text(),
        node: text(),
        set: text(),
        role: text(),
        error_reason: text(),
        error_message: long.clone(),
        conditions: vec![condition()],
        ..Machine::default()
    };
    let vm = Vm::Known {
        power: text(),
        provisioning: text(),
        message: long.clone(),
        href: "javascript:alert(1)".into(),
    };
    let operator = Operator {
        meta: meta(),
        available: flag(),
        degraded: flag(),
        version: text(),
        versions: vec![(text(), text())],
        conditions: vec![condition()],
        related_objects: vec![
            RelatedObject {
                group: text(),
                resource: "namespaces".into(),
                namespace: text(),
                name: text()
            };
            3
        ],
        ..Operator::default()
    };
    ClusterObjects {
        version: ObservedRows::live(vec![Version {
            current: text(),
            desired: format!("{HOSTILE}2"),
            updating: Some(long.clone()),
            conditions: vec![Condition {
                kind: "Failing".into(),
                status: Status::True,
                reason: String::new(),
                ..condition()
            }],
            history: vec![History { version: text(), started: ever, ..History::default() }],
            available_updates: vec![Available { version: text(), risk: text(), ..Available::default() }; 30],
            ..Version::default()
        }]),
        operators: ObservedRows::live(vec![OperatorRow {
            operator: Arc::new(operator),
            runbook: "javascript:alert(1)".into(),
        }]),
        nodes: ObservedRows { left_out: u64::MAX, ..ObservedRows::live(vec![bad]) },
        machines: ObservedRows::live(vec![MachineRow { machine: Arc::new(machine), vm }]),
        sets: ObservedRows::live(vec![MachineSet {
            meta: meta(),
            desired: i64::MAX,
            replicas: i64::MIN,
            error_message: long.clone(),
            autoscaled: Some((i64::MIN, i64::MAX)),
            ..MachineSet::default()
        }]),
        control_plane: ObservedRows {
            state: ObservationState::Forbidden(long.clone()),
            ..ObservedRows::default()
        },
        pools: ObservedRows::live(vec![Pool {
            meta: meta(),
            degraded: i64::MAX,
            configuration: long.clone(),
            ..Pool::default()
        }]),
        events: ObservedRows::live(vec![Event {
            last: ever,
            kind: "Warning".into(),
            object_kind: text(),
            object_name: text(),
            reason: text(),
            message: long,
            count: i64::MAX,
            ..Event::default()
        }]),
        etcd: ObservedRows::default(),
    }
}

pub(super) fn last_look() -> MonitorFindings {
    MonitorFindings {
        look: Some(LastLook { at: NOW - 40, took_ms: 1840, failed: Vec::new(), overdue: false }),
        healthz: Some(200),
        certificate: Some(NOW + 6 * DAY),
        operators: vec!["etcd".into()],
        nodes: 7,
        not_ready: 1,
        alerts: vec!["etcdMembersDown".into()],
    }
}

/// The panels of an overview over this estate.
pub(super) fn overview(page: ClusterPage, estate: ClusterObjects, look: MonitorFindings) -> ClusterPage {
    let base = page.cluster.path.clone();
    let found = problems(&base, &estate, &look, NOW);
    let waiting = matches!(estate.nodes.state, ObservationState::Loading);
    let overview = Overview {
        base: base.clone(),
        now: NOW,
        document: page.cluster.verdict.clone(),
        install: page.cluster.install.clone(),
        estate,
        look,
        operation: Vec::new(),
        imported: page.cluster.imported.is_some(),
        unreachable: None,
        run: None,
    };
    let mut board = overview_board(&overview, &found);
    board.side.push(alerts_panel(&base, Slot::Ready, &alerts(), None));
    let cluster = Cluster { looks: looks(&found), ..page.cluster };
    let state = if waiting { LiveState::Loading } else { LiveState::Live };
    ClusterPage { cluster, board, waiting, live: live(state), ..page }
}

fn live(state: LiveState) -> LiveBar {
    LiveBar { state, as_of: Some(NOW - 3), ..LiveBar::default() }
}

fn alerts() -> Vec<FiringAlert> {
    let alert = |name: &str, severity: &str, minutes: i64, summary: &str| FiringAlert {
        name: name.into(),
        severity: severity.into(),
        count: 2,
        since: Some(NOW - minutes * MINUTE),
        summary: summary.into(),
        runbook: "https://runbooks.example/alerts".into(),
    };
    vec![
        alert("etcdMembersDown", "critical", 44, "etcd cluster members are down."),
        alert("KubeNodeUnreachable", "warning", 41, "Node is unreachable."),
    ]
}

fn listed(page: &ClusterPage, tab: Tab, estate: &ClusterObjects, query: &[(&str, &str)]) -> ClusterPage {
    let base = page.cluster.path.clone();
    let query = TableQuery::read(format!("{base}/{}", tab.segment()), query.iter().copied());
    let (panel, what) = match tab {
        Tab::Machines => (machines_panel(&base, &estate.machines, Some(&query)), "machines"),
        Tab::MachineSets => (machine_sets_panel(&base, &estate.sets, Some(&query)), "machine sets"),
        Tab::Operators => (operators_panel(&base, &estate.operators, &query), "operators"),
        _ => (nodes_panel(&base, &estate.nodes, Some(&query)), "nodes"),
    };
    let filter = TableFilter { query, what, problems: Some(2), all: Some(9) };
    ClusterPage { tab, board: Board::full_width(vec![panel]), filter: Some(filter), ..one_of(page, estate) }
}

fn one_of(page: &ClusterPage, estate: &ClusterObjects) -> ClusterPage {
    let mut page = page.clone();
    page.cluster.looks = looks(&problems(&page.cluster.path, estate, &last_look(), NOW));
    page.live = live(LiveState::Live);
    page
}

fn detail(page: &ClusterPage, tab: Tab, estate: &ClusterObjects, name: &str) -> ClusterPage {
    let base = page.cluster.path.clone();
    let board = match tab {
        Tab::Machines => machine_board(&base, name, &estate.machines, &estate.events),
        Tab::MachineSets => machine_set_board(&base, name, &estate.sets, &estate.machines, &estate.events),
        Tab::Operators => operator_board(&base, name, &estate.operators, &estate.events),
        _ => node_board(&base, name, &estate.nodes, &estate.machines, &estate.events),
    };
    let list = Link::new(tab.words(), format!("{base}/{}", tab.segment()));
    let item = Some(ItemHead { list, name: name.into(), badges: Vec::new() });
    ClusterPage { tab, board, item, ..one_of(page, estate) }
}

fn operations(page: &ClusterPage, operations: &Operations) -> ClusterPage {
    let base = page.cluster.path.clone();
    let operations = Operations { base, now: NOW, ..operations.clone() };
    let mut board = operations_board(&operations);
    board.side.push(version_panel(&degraded().version, true, false));
    ClusterPage { tab: Tab::Operations, board, ..one_of(page, &degraded()) }
}

/// The page of one operation that is over.
fn one_run(page: &ClusterPage, run: &Run) -> ClusterPage {
    let list = Link::new("Operations", format!("{}/operations", page.cluster.path));
    let item = Some(ItemHead { list, name: run.id.clone(), badges: Vec::new() });
    ClusterPage { tab: Tab::Operations, board: run_board(run, NOW), item, ..one_of(page, &degraded()) }
}

/// The overview of a cluster that is being made: nothing of it can be asked yet.
fn creating(page: &ClusterPage) -> ClusterPage {
    let state = web::State::Creating;
    let badge = state.badge();
    let verdict = web::Verdict {
        tone: badge.tone,
        icon: badge.icon,
        head: badge.word,
        since: Some(runs::running().started),
        text: "No health check yet. The state is from the resource record.".into(),
    };
    let overview = Overview {
        base: page.cluster.path.clone(),
        now: NOW,
        document: verdict.clone(),
        unreachable: Some("It has no private endpoint yet, so nothing of it can be asked.".into()),
        run: Some(runs::running()),
        ..Overview::default()
    };
    let cluster = Cluster { state, verdict, looks: Vec::new(), ..page.cluster.clone() };
    ClusterPage {
        cluster,
        board: overview_board(&overview, &[]),
        live: live(LiveState::Live),
        ..page.clone()
    }
}

fn done() -> Operations {
    Operations {
        state: Badge::filled(Tone::Busy, "wrench", "Admin update"),
        since: Some(NOW - 134 * MINUTE),
        provisioning: "AdminUpdating".into(),
        last: "Succeeded".into(),
        operation: "0f6c1f6e-4b1f-4a29-9a1f-3d1f9d1c2b3a".into(),
        admin_error: "ensureMTUSize: timed out waiting for machine config pool master (10 m)".into(),
        by: "ops-automation@example.com".into(),
        provisioned_by: "a1c9e07".into(),
        maintenance: "Planned".into(),
        more: vec![("Task".into(), "Everything".into())],
        manifests: runs::manifests(),
        order: maintenance::order_form(),
        done: vec![ActionRow {
            verb: "grant.issue".into(),
            person: "Juno Aaltonen".into(),
            what: "Replace a lost etcd member".into(),
            at: NOW - 31 * MINUTE,
            failed: false,
        }],
        ..Operations::default()
    }
}

/// Pages of what a cluster is made of; `page` is the cluster that they are of.
pub(super) fn samples(page: &ClusterPage, strange: &ClusterPage) -> Vec<(&'static str, ClusterPage)> {
    let (bad, full, odd) = (degraded(), many(), hostile());
    let list = |tab, estate: &ClusterObjects, query: &[(&str, &str)]| listed(page, tab, estate, query);
    let dead = format!("{INFRA}-master-2");
    let in_state = |state: &ObservationState| all_in(state, ClusterObjects::default());
    let control = |estate: &ClusterObjects| {
        let board =
            control_plane_panels(&page.cluster.path, &estate.control_plane, &estate.machines, &estate.pools);
        ClusterPage { tab: Tab::ControlPlane, board, ..one_of(page, estate) }
    };
    let some_forbidden = ClusterObjects {
        machines: ObservedRows { state: forbidden(), ..ObservedRows::default() },
        sets: ObservedRows { state: forbidden(), ..ObservedRows::default() },
        ..degraded()
    };
    let over = |estate| overview(page.clone(), estate, last_look());
    vec![
        ("loading", overview(page.clone(), ClusterObjects::default(), MonitorFindings::default())),
        ("stale", over(all_in(&stale(), degraded()))),
        ("silent", over(in_state(&failed()))),
        ("partly-forbidden", over(some_forbidden)),
        ("plain", over(plain())),
        ("nodes", list(Tab::Nodes, &bad, &[])),
        ("nodes-many", list(Tab::Nodes, &full, &[("sort", "-name"), ("page", "2")])),
        ("nodes-none-match", list(Tab::Nodes, &bad, &[("q", "lighthouse"), ("show", "problems")])),
        ("nodes-loading", list(Tab::Nodes, &ClusterObjects::default(), &[])),
        ("nodes-stale", list(Tab::Nodes, &all_in(&stale(), degraded()), &[])),
        ("nodes-failed", list(Tab::Nodes, &in_state(&failed()), &[])),
        (
            "nodes-empty",
            list(Tab::Nodes, &ClusterObjects { nodes: ObservedRows::live(Vec::new()), ..well() }, &[]),
        ),
        ("nodes-hostile", listed(strange, Tab::Nodes, &odd, &[("q", HOSTILE)])),
        ("node", detail(page, Tab::Nodes, &bad, &dead)),
        ("node-gone", detail(page, Tab::Nodes, &bad, "worker-that-was")),
        ("node-loading", detail(page, Tab::Nodes, &ClusterObjects::default(), &dead)),
        ("node-hostile", detail(strange, Tab::Nodes, &odd, HOSTILE)),
        ("machines", list(Tab::Machines, &bad, &[])),
        ("machines-forbidden", list(Tab::Machines, &in_state(&forbidden()), &[])),
        ("machine", detail(page, Tab::Machines, &bad, &dead)),
        ("machine-hostile", detail(strange, Tab::Machines, &odd, HOSTILE)),
        ("machine-sets", list(Tab::MachineSets, &bad, &[])),
        ("machine-set", detail(page, Tab::MachineSets, &bad, &format!("{INFRA}-worker-weu3"))),
        ("machine-set-hostile", detail(strange, Tab::MachineSets, &odd, HOSTILE)),
        ("control-plane", control(&bad)),
        ("control-plane-missing", control(&in_state(&ObservationState::Missing))),
        ("operators", list(Tab::Operators, &bad, &[])),
        ("operators-well", list(Tab::Operators, &well(), &[("show", "problems")])),
        ("operators-missing", list(Tab::Operators, &in_state(&ObservationState::Missing), &[])),
        ("operator", detail(page, Tab::Operators, &bad, "etcd")),
        ("operator-hostile", detail(strange, Tab::Operators, &odd, HOSTILE)),
        ("operations", operations(page, &done())),
        (
            "operations-none",
            operations(
                page,
                &Operations {
                    state: done().state,
                    done_hidden: "Auditors see it.".into(),
                    ..Operations::default()
                },
            ),
        ),
        (
            "operations-barred",
            operations(page, &Operations { order: maintenance::order_barred(), ..done() }),
        ),
        (
            "operations-mistakes",
            operations(page, &Operations { order: maintenance::order_mistakes(), ..done() }),
        ),
        ("operations-away", operations(page, &Operations { unknown: "The store is away.".into(), ..done() })),
        ("operations-running", operations(page, &Operations { run: Some(runs::running()), ..done() })),
        ("operations-waiting", operations(page, &Operations { run: Some(runs::waiting()), ..done() })),
        ("operations-failed", operations(page, &Operations { run: Some(runs::failed()), ..done() })),
        (
            "operations-many",
            operations(page, &Operations { run: Some(runs::succeeded()), earlier: runs::ten(), ..done() }),
        ),
        (
            "operations-hostile",
            operations(
                strange,
                &Operations {
                    run: Some(runs::strange()),
                    earlier: vec![runs::strange()],
                    order: maintenance::order_strange(),
                    ..done()
                },
            ),
        ),
        ("operation", one_run(page, &runs::failed())),
        ("creating", creating(page)),
        ("overview-hostile", overview(strange.clone(), hostile(), last_look())),
    ]
}
