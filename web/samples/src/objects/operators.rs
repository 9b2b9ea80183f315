//! Cluster operators, the version, events and etcd.

use std::sync::Arc;

use rp_rows::{Available, ConditionState, Etcd, Event, History, Operator, RelatedObject, Status, Version};
use web::objects::OperatorRow;

use super::{INFRA, at, condition, meta};
use crate::{DAY, HOUR, MINUTE, NOW};

pub(super) fn state(status: Status, since: i64, reason: &str, message: &str) -> ConditionState {
    ConditionState { status, since: at(since), reason: reason.into(), message: message.into() }
}

pub(super) fn operator(name: &str) -> OperatorRow {
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
pub(super) fn odd_operator(name: &str, change: impl FnOnce(&mut Operator)) -> OperatorRow {
    let mut row = operator(name);
    change(Arc::make_mut(&mut row.operator));
    row
}

pub(super) fn operators() -> Vec<OperatorRow> {
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

pub(super) fn version() -> Version {
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

pub(super) fn events() -> Vec<Event> {
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

pub(super) fn etcd() -> Etcd {
    let row = |kind: &str, message: &str| condition(kind, Status::True, NOW - 46 * MINUTE, kind, message);
    let conditions = vec![
        row("EtcdMembersAvailable", "2 of 3 members are available"),
        row("EtcdMembersDegraded", "harbor-prod-weu-01-x7k2p-master-2 is unhealthy"),
    ];
    Etcd { meta: meta("", "cluster"), conditions, ..Etcd::default() }
}
