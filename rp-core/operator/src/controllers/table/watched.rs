//! What several controllers watch, and the objects of the controllers that keep many. That everything is watched that is
//! applied is a test (`coverage`).

use rp_operator_api::SINGLETON;
use rp_operator_objects::{logging, upgrade_operator};

use crate::controller::Changes::{All, Generation, Metadata};
use crate::controller::{Scope, Watched};
use crate::kinds::{self, Kind};

/// The `Cluster`, when its settings change.
pub(super) const CLUSTER: Watched = Watched::new(&kinds::CLUSTER, Scope::One("", SINGLETON), Generation);
/// The version of the cluster: its status begins and ends upgrades.
pub(super) const VERSION: Watched = Watched::new(&kinds::CLUSTER_VERSION, Scope::One("", "version"), All);
/// The version that is wanted.
pub(super) const WANTED_VERSION: Watched = settings(&kinds::CLUSTER_VERSION, "", "version");

/// What names the subnets of the cluster.
pub(super) const NETWORK: &[Watched] = &[
    CLUSTER,
    Watched::new(&kinds::MACHINE, Scope::Namespace(super::machine_sets::NAMESPACE), Generation),
    Watched::new(&kinds::MACHINE_SET, Scope::Namespace(super::machine_sets::NAMESPACE), Generation),
];

/// The settings of one object of a namespace, or of the cluster where the namespace is empty.
pub(super) const fn settings(kind: &'static Kind, namespace: &'static str, name: &'static str) -> Watched {
    Watched::new(kind, Scope::One(namespace, name), Generation)
}

/// One object that the operator keeps, of a kind with a generation: its labels and annotations are kept too, its status is
/// not looked at.
const fn kept(kind: &'static Kind, namespace: &'static str, name: &'static str) -> Watched {
    Watched::new(kind, Scope::One(namespace, name), Metadata)
}

/// One object of a kind without settings of its own, which has no generation: every change counts.
pub(super) const fn plain(kind: &'static Kind, namespace: &'static str, name: &'static str) -> Watched {
    Watched::new(kind, Scope::One(namespace, name), All)
}

/// The log exporters.
pub(super) const LOGGING: &[Watched] = &[
    CLUSTER,
    WANTED_VERSION,
    plain(&kinds::NAMESPACE, "", logging::NAMESPACE),
    plain(&kinds::SERVICE_ACCOUNT, logging::NAMESPACE, "geneva"),
    plain(&kinds::SECURITY_CONSTRAINTS, "", "privileged-genevalogging"),
    plain(&kinds::ROLE, logging::NAMESPACE, "prometheus-k8s"),
    plain(&kinds::ROLE_BINDING, logging::NAMESPACE, "prometheus-k8s"),
    plain(&kinds::CONFIG_MAP, logging::NAMESPACE, "otel-config-master"),
    plain(&kinds::CONFIG_MAP, logging::NAMESPACE, "otel-config-worker"),
    kept(&kinds::DAEMON_SET, logging::NAMESPACE, super::geneva_logging::EXPORTERS[0]),
    kept(&kinds::DAEMON_SET, logging::NAMESPACE, super::geneva_logging::EXPORTERS[1]),
    kept(&kinds::POD_MONITOR, logging::NAMESPACE, "otel-exporter"),
    kept(&kinds::PROMETHEUS_RULE, logging::NAMESPACE, "otel-exporter-alerts"),
];

const MUO: &str = upgrade_operator::NAMESPACE;
const MONITORING: &str = "openshift-monitoring";

/// The managed upgrade operator.
pub(super) const UPGRADE_OPERATOR: &[Watched] = &[
    CLUSTER,
    WANTED_VERSION,
    kept(&kinds::RESOURCE_DEFINITION, "", "upgradeconfigs.upgrade.managed.openshift.io"),
    plain(&kinds::NAMESPACE, "", MUO),
    plain(&kinds::CONFIG_MAP, MUO, "trusted-ca-bundle"),
    plain(&kinds::CONFIG_MAP, MUO, "managed-upgrade-operator-config"),
    plain(&kinds::SERVICE_ACCOUNT, MUO, upgrade_operator::NAME),
    // Of these there is one watch for all, which other controllers need too.
    Watched::new(&kinds::CLUSTER_ROLE, Scope::All, All).owned().named((upgrade_operator::NAME, "")),
    Watched::new(&kinds::CLUSTER_ROLE_BINDING, Scope::All, All).owned().named((upgrade_operator::NAME, "")),
    plain(&kinds::ROLE, MUO, upgrade_operator::NAME),
    plain(&kinds::ROLE_BINDING, MUO, upgrade_operator::NAME),
    plain(&kinds::ROLE, MONITORING, "muo-monitoring-reader"),
    plain(&kinds::ROLE_BINDING, MONITORING, "muo-monitoring-reader"),
    plain(&kinds::ROLE, MONITORING, "muo-monitoring-interactor"),
    plain(&kinds::ROLE_BINDING, MONITORING, "muo-monitoring-interactor"),
    plain(&kinds::ROLE, "openshift-config", "muo-pullsecret-reader"),
    plain(&kinds::ROLE_BINDING, "openshift-config", "muo-pullsecret-reader"),
    plain(&kinds::ROLE, MUO, "prometheus-k8s"),
    plain(&kinds::ROLE_BINDING, MUO, "prometheus-k8s"),
    kept(&kinds::DEPLOYMENT, MUO, upgrade_operator::NAME),
    kept(&kinds::PROMETHEUS_RULE, MONITORING, "sre-managed-upgrade-operator-alerts"),
];
