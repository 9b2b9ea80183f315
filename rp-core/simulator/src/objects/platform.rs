//! What the platform configures itself by: machine config pools, the ARO operator's object, network, proxy, DNS and
//! ingress.

use serde_json::{Value, json};

use super::nodes::nodes;
use super::{AGE, Cell, Column, Kind, NAME, View, column, condition, metadata, single, status_of};
use crate::fleet::ClusterShape;

pub(super) const POOLS: Kind = Kind {
    short: &["mcp"],
    columns: POOL_COLUMNS,
    ..single(
        "machineconfiguration.openshift.io",
        "machineconfigpools",
        "machineconfigpool",
        "MachineConfigPool",
        pools,
    )
};
const POOL_COLUMNS: &[Column] = &[
    NAME,
    column("Updated", Cell::Of(|pool| status_of(pool, "Updated"))),
    column("Updating", Cell::Of(|pool| status_of(pool, "Updating"))),
    column("Degraded", Cell::Of(|pool| status_of(pool, "Degraded"))),
    AGE,
];
pub(super) const ARO: Kind =
    Kind { version: "v1alpha1", ..single("aro.openshift.io", "clusters", "cluster", "Cluster", aro) };
pub(super) const PROXIES: Kind = single("config.openshift.io", "proxies", "proxy", "Proxy", proxies);
pub(super) const NETWORKS: Kind = single("config.openshift.io", "networks", "network", "Network", networks);
pub(super) const DNSES: Kind = single("operator.openshift.io", "dnses", "dns", "DNS", dnses);
pub(super) const INGRESSCONTROLLERS: Kind = Kind {
    namespaced: true,
    ..single(
        "operator.openshift.io",
        "ingresscontrollers",
        "ingresscontroller",
        "IngressController",
        ingresscontrollers,
    )
};

pub(super) const INGRESSES: Kind =
    single("config.openshift.io", "ingresses", "ingress", "Ingress", ingresses);

/// An object without its status.
fn object(view: &View<'_>, kind: &Kind, namespace: Option<&str>, name: &str, spec: &Value) -> Value {
    json!({"kind": kind.kind, "apiVersion": kind.api_version(), "spec": spec,
        "metadata": metadata(view, kind.plural, namespace, name, &json!({}))})
}

fn pools(view: &View<'_>) -> Vec<Value> {
    let cluster = view.cluster;
    let all = nodes(view);
    let pool = |name: &str, masters: bool| {
        let members = all.iter().filter(|node| node.master == masters).count();
        let ready = all.iter().filter(|node| node.master == masters && node.ready).count();
        // Masters are brought up to date before workers.
        let updating = cluster.shape == ClusterShape::Upgrading && !masters;
        let since = cluster.since;
        let mut pool = object(view, &POOLS, None, name, &json!({"paused": false}));
        pool["status"] = json!({
            "machineCount": members, "readyMachineCount": ready, "updatedMachineCount": ready,
            "unavailableMachineCount": members - ready, "degradedMachineCount": 0, "observedGeneration": 2,
            "conditions": [
                condition("Updated", !updating, "", "", since), condition("Updating", updating, "", "", since),
                condition("Degraded", false, "", "", since), condition("NodeDegraded", false, "", "", since),
                condition("RenderDegraded", false, "", "", since),
            ],
        });
        pool
    };
    vec![pool("master", true), pool("worker", false)]
}

/// What the operator checks, and its words when all is well (`contract/operator.md` §3).
const CHECKS: [(&str, &str, &str); 6] = [
    ("InternetReachableFromMaster", "CheckDone", "Outgoing connection successful"),
    ("InternetReachableFromWorker", "CheckDone", "Outgoing connection successful"),
    ("ServicePrincipalValid", "ValidationSuccessful", "Service Principal is valid"),
    ("DefaultIngressCertificate", "CheckDone", "Default ingress certificate is in use"),
    ("DefaultClusterDNS", "CheckDone", "no in-cluster upstream DNS servers"),
    ("MachineValid", "CheckDone", "All machines valid"),
];
/// Controllers that report a state.
const CONTROLLERS: [&str; 14] = [
    "DnsmasqCluster",
    "DnsmasqMachineConfig",
    "DnsmasqMachineConfigPool",
    "EtcHostsCluster",
    "EtcHostsMachineConfig",
    "GenevaLogging",
    "ImageConfig",
    "IngressControllerARO",
    "MachineHealthCheck",
    "MachineSet",
    "Monitoring",
    "NetworkPolicy",
    "Node",
    "PullSecret",
];

/// Of a degraded cluster one check and one controller fail.
fn aro_conditions(view: &View<'_>) -> Vec<Value> {
    let cluster = view.cluster;
    let troubled = cluster.shape == ClusterShape::Degraded && !cluster.troubles().is_empty();
    let mut dice = cluster.dice("aro");
    let (check, controller) = (dice.below(2), dice.below(CONTROLLERS.len()));
    let since = |wrong: bool| if wrong { cluster.troubled_since() } else { cluster.created };
    let checks = CHECKS.iter().enumerate().map(|(number, (kind, reason, message))| {
        let wrong = troubled && number == check;
        let failure = "https://arosvc.azurecr.io/: dial tcp 20.62.128.1:443: i/o timeout";
        let (reason, message) = if wrong { ("CheckFailed", failure) } else { (*reason, *message) };
        condition(kind, !wrong, reason, message, since(wrong))
    });
    let states = CONTROLLERS.iter().enumerate().flat_map(|(number, name)| {
        let wrong = troubled && number == controller;
        let error = if wrong { "Operation cannot be fulfilled: the object has been modified" } else { "" };
        [
            condition(&format!("{name}ControllerAvailable"), true, "", "", cluster.created),
            condition(&format!("{name}ControllerProgressing"), false, "", "", cluster.created),
            condition(&format!("{name}ControllerDegraded"), wrong, "", error, since(wrong)),
        ]
    });
    checks.chain(states).collect()
}

fn aro(view: &View<'_>) -> Vec<Value> {
    let cluster = view.cluster;
    let spec = json!({
        "resourceId": cluster.id(), "location": cluster.location, "domain": cluster.domain, "infraId": cluster.infra_id,
        "gatewayDomains": [], "banner": {"content": ""},
    });
    let mut object = object(view, &ARO, None, "cluster", &spec);
    object["status"] = json!({"conditions": aro_conditions(view), "operatorVersion": "simulated"});
    vec![object]
}

fn proxies(view: &View<'_>) -> Vec<Value> {
    let mut object = object(view, &PROXIES, None, "cluster", &json!({"trustedCA": {"name": ""}}));
    object["status"] = json!({});
    vec![object]
}

fn networks(view: &View<'_>) -> Vec<Value> {
    let spec = json!({"networkType": "OVNKubernetes", "serviceNetwork": ["172.30.0.0/16"],
        "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}], "externalIP": {"policy": {}}});
    let mut object = object(view, &NETWORKS, None, "cluster", &spec);
    object["status"] = spec;
    object["status"]["clusterNetworkMTU"] = json!(1400);
    vec![object]
}

fn dnses(view: &View<'_>) -> Vec<Value> {
    let mut object = object(view, &DNSES, None, "default", &json!({"operatorLogLevel": "Normal"}));
    object["status"] = json!({"clusterIP": "172.30.0.10", "clusterDomain": "cluster.local"});
    vec![object]
}

fn ingresscontrollers(view: &View<'_>) -> Vec<Value> {
    let strategy = json!({"type": "LoadBalancerService", "loadBalancer": {"scope": "External", "dnsManagementPolicy": "Managed"}});
    let spec = json!({"defaultCertificate": {"name": format!("{}-ingress", view.cluster.infra_id)}, "replicas": 2,
        "endpointPublishingStrategy": strategy});
    let namespace = Some("openshift-ingress-operator");
    let mut object = object(view, &INGRESSCONTROLLERS, namespace, "default", &spec);
    object["status"] = json!({"availableReplicas": 2, "domain": format!("apps.{}", view.cluster.domain),
        "endpointPublishingStrategy": strategy});
    vec![object]
}

fn ingresses(view: &View<'_>) -> Vec<Value> {
    let domain = format!("apps.{}", view.cluster.domain);
    let mut object = object(view, &INGRESSES, None, "cluster", &json!({"domain": domain}));
    object["status"] = json!({"defaultPlacement": "Workers"});
    vec![object]
}
