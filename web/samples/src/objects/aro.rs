//! The ARO operator: conditions and flags.

use web::objects::{
    AroOperator, ConditionHealth, ObservedRows, OperatorCondition, OperatorFlag, aro_panel, flags_panel,
};
use web::{ClusterPage, Tab};

use super::{Board, ClusterObjects, one_of};
use crate::{DAY, HOSTILE, MINUTE, NOW, endless};

fn condition(kind: &str, health: ConditionHealth, status: &'static str, message: &str) -> OperatorCondition {
    OperatorCondition {
        kind: kind.into(),
        status,
        health,
        message: message.into(),
        since: Some(NOW - 47 * MINUTE),
        meaning: format!("What {kind} is about, in one sentence."),
        action: if health == ConditionHealth::Healthy {
            String::new()
        } else {
            "Check the firewall, route tables and network security groups of the customer for the URL in the message.".into()
        },
    }
}

fn healthy() -> Vec<OperatorCondition> {
    let names =
        ["DefaultClusterDNS", "DefaultIngressCertificate", "InternetReachableFromMaster", "MachineValid"];
    let one = |name: &str| condition(name, ConditionHealth::Healthy, "True", "All is as it should be");
    names.into_iter().map(one).collect()
}

/// One check fails, one is off, one controller is at work.
pub(super) fn failing() -> ObservedRows<AroOperator> {
    let url = "https://arosvc.azurecr.io/: dial tcp 20.62.128.1:443: i/o timeout";
    let mut conditions = vec![
        condition("InternetReachableFromWorker", ConditionHealth::Wrong, "False", url),
        condition("ServicePrincipalValid", ConditionHealth::Unknown, "Unknown", ""),
        condition(
            "ImageConfigControllerProgressing",
            ConditionHealth::Progressing,
            "True",
            "waits for a pool",
        ),
        condition("GuardRailsStatus", ConditionHealth::Unrated, "True", ""),
    ];
    conditions.extend(healthy());
    ObservedRows::live(vec![AroOperator { version: "v20261120.2".into(), conditions }])
}

pub(super) fn fine() -> ObservedRows<AroOperator> {
    ObservedRows::live(vec![AroOperator { version: "v20261120.2".into(), conditions: healthy() }])
}

pub(super) fn strange() -> ObservedRows<AroOperator> {
    let condition = OperatorCondition {
        kind: HOSTILE.into(),
        status: "False",
        health: ConditionHealth::Wrong,
        message: endless(),
        since: Some(NOW + DAY),
        meaning: HOSTILE.into(),
        action: endless(),
    };
    ObservedRows::live(vec![AroOperator { version: HOSTILE.into(), conditions: vec![condition; 3] }])
}

fn flag(name: &str, about: &str, value: &str, default: &str) -> OperatorFlag {
    OperatorFlag {
        name: name.into(),
        about: about.into(),
        document: Some(value.into()),
        cluster: Some(value.into()),
        default: Some(default.into()),
        effective: Some(value.into()),
        changed: value != default,
        ..OperatorFlag::default()
    }
}

fn flags() -> Vec<OperatorFlag> {
    let usual = |name: &str, about: &str| flag(name, about, "true", "true");
    vec![
        usual("aro.alertwebhook.enabled", "The webhook of the default receivers of Alertmanager."),
        flag("aro.banner.enabled", "The message on the console; off: it is removed.", "true", "false"),
        usual("aro.checker.enabled", "The four checkers; off: their conditions are Unknown."),
        usual(
            "aro.guardrails.policies.aro-privileged-namespace-deny.managed",
            "Policy for namespaces of the platform.",
        ),
        OperatorFlag {
            cluster: Some("true".into()),
            effective: Some("true".into()),
            pending: true,
            ..flag("aro.machineset.enabled", "The least number of worker machines.", "false", "true")
        },
        OperatorFlag {
            effective: Some("true".into()),
            problem: "flag aro.rbac.enabled takes true or false; \"yes\" is not".into(),
            ..flag("aro.rbac.enabled", "ClusterRoles of the people who operate the service.", "yes", "true")
        },
        OperatorFlag {
            document: None,
            cluster: None,
            default: None,
            effective: None,
            changed: false,
            ..flag("rh.srep.muo.deploy.pullspec", "Image of the managed upgrade operator.", "", "")
        },
        OperatorFlag {
            name: "aro.dnsmasq.enable".into(),
            document: Some("true".into()),
            cluster: Some("true".into()),
            changed: true,
            problem: "flag \"aro.dnsmasq.enable\" is not known".into(),
            ..OperatorFlag::default()
        },
    ]
}

fn of(page: &ClusterPage, estate: &ClusterObjects, flags: &[OperatorFlag], note: &str) -> ClusterPage {
    let base = page.cluster.path.clone();
    let board = Board::full_width(vec![aro_panel(&estate.aro), flags_panel(flags, Some(&base), note)]);
    ClusterPage { tab: Tab::AroOperator, board, ..one_of(page, estate) }
}

/// The tab in its states: what fails, all well, a cluster without the operator, one that does not answer, hostile texts.
pub(super) fn samples(
    page: &ClusterPage,
    strange_page: &ClusterPage,
    states: [(&'static str, ClusterObjects); 4],
) -> Vec<(&'static str, ClusterPage)> {
    let away =
        "The cluster's own flags are not known now. The values are worked out from the cluster's document.";
    let odd =
        OperatorFlag { problem: endless(), pending: true, ..flag(HOSTILE, HOSTILE, &endless(), HOSTILE) };
    let odd_estate = ClusterObjects { aro: strange(), ..ClusterObjects::default() };
    let mut all = vec![("aro-operator-hostile", of(strange_page, &odd_estate, &[odd], HOSTILE))];
    for (name, estate) in states {
        let note = if estate.aro.known() { "" } else { away };
        all.push((name, of(page, &estate, &flags(), note)));
    }
    all
}
