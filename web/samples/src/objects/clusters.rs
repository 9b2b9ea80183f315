//! All objects of a cluster, in every state that they can be in.

use std::sync::Arc;

use rp_base::Timestamp;
use rp_rows::{
    Amounts, Available, Condition, ConditionState, ControlPlaneMachineSet, Event, History, Machine,
    MachineSet, Meta, Node, Operator, Pool, RelatedObject, Status, Taint, Version,
};
use web::objects::{ClusterObjects, MachineRow, ObservationState, ObservedRows, OperatorRow, Row as _, Vm};
use web::{Failure, Link, Side};

use super::nodes::{machine, machines, node, nodes, set};
use super::operators::{etcd, events, operator, operators, version};
use super::{aro, at, meta};
use crate::{DAY, HOSTILE, MINUTE, NOW, endless};

/// The night of the lost etcd member.
pub(crate) fn degraded() -> ClusterObjects {
    let workers = ObservedRows::live(vec![
        set("worker-weu1", 2, 2),
        set("worker-weu2", 2, 1),
        set("worker-weu3", 1, 0),
    ]);
    ClusterObjects {
        version: ObservedRows::live(vec![version()]),
        operators: ObservedRows::live(operators()),
        aro: aro::failing(),
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
pub(crate) fn well() -> ClusterObjects {
    let fine = degraded();
    let at_rest = Version { updating: None, desired: "4.18.22".into(), conditions: Vec::new(), ..version() };
    let mut etcd = etcd();
    etcd.conditions.truncate(1);
    ClusterObjects {
        version: ObservedRows::live(vec![at_rest]),
        operators: ObservedRows::live(
            ["dns", "etcd", "ingress", "monitoring"].into_iter().map(operator).collect(),
        ),
        aro: aro::fine(),
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
pub(super) fn all_in(state: &ObservationState, rows: ClusterObjects) -> ClusterObjects {
    fn with_state<T>(seen: ObservedRows<T>, state: &ObservationState) -> ObservedRows<T> {
        ObservedRows { state: state.clone(), ..seen }
    }
    ClusterObjects {
        version: with_state(rows.version, state),
        operators: with_state(rows.operators, state),
        aro: with_state(rows.aro, state),
        nodes: with_state(rows.nodes, state),
        machines: with_state(rows.machines, state),
        sets: with_state(rows.sets, state),
        control_plane: with_state(rows.control_plane, state),
        pools: with_state(rows.pools, state),
        events: with_state(rows.events, state),
        etcd: with_state(rows.etcd, state),
    }
}

pub(super) fn stale() -> ObservationState {
    ObservationState::Stale {
        since: NOW - 6 * MINUTE,
        why: "It did not accept a connection on its private link within 5 s.".into(),
    }
}

pub(super) fn failed() -> ObservationState {
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

pub(super) fn forbidden() -> ObservationState {
    ObservationState::Forbidden("machines.machine.openshift.io is forbidden: User \"system:serviceaccount:sre\" cannot list resource \"machines\"".into())
}

/// An imported cluster that is plain Kubernetes.
pub(super) fn plain() -> ClusterObjects {
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

pub(super) fn many() -> ClusterObjects {
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

pub(super) fn hostile() -> ClusterObjects {
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
        aro: aro::strange(),
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
