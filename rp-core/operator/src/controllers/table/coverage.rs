//! Whatever a controller applies is watched, and its rights are enough for both.

use std::collections::BTreeMap;

use rp_operator_api::deployment::permissions::{CONTROLLERS, Rule};
use rp_operator_api::{Cluster, ClusterSpec, Flags, Managed};
use rp_operator_objects::{Change, ObjectRef, Plan, Version, upgrade_operator};
use rp_operator_objects::{
    dnsmasq, etc_hosts, guardrails, image_config, logging, machine_health_check, network_policy, node_names,
    rbac, workaround,
};
use serde_json::json;

use super::*;
use crate::kinds::Kind;

const NEW: Version = Version::new(4, 18, 1);

/// Kinds whose objects have no generation: a change of theirs is seen only where every change counts.
const WITHOUT_GENERATION: [&Kind; 9] = [
    &kinds::NAMESPACE,
    &kinds::SECRET,
    &kinds::CONFIG_MAP,
    &kinds::SERVICE_ACCOUNT,
    &kinds::CLUSTER_ROLE,
    &kinds::CLUSTER_ROLE_BINDING,
    &kinds::ROLE,
    &kinds::ROLE_BINDING,
    &kinds::SECURITY_CONSTRAINTS,
];

/// An object that a controller writes.
#[derive(Debug)]
struct Written {
    object: ObjectRef,
    /// The `Cluster` owns it.
    owned: bool,
    /// It is created where it is missing; else members of somebody else's object are changed.
    created: bool,
}

fn spec() -> ClusterSpec {
    ClusterSpec {
        acr_domain: "arosvc.azurecr.io".to_owned(),
        domain: "cluster.example.com".to_owned(),
        location: "eastus".to_owned(),
        api_int_ip: "10.0.0.4".to_owned(),
        ingress_ip: "10.0.2.4".to_owned(),
        gateway_private_endpoint_ip: "10.0.0.9".to_owned(),
        gateway_telemetry_domain: "telemetry.eastus.example.com".to_owned(),
        ..ClusterSpec::default()
    }
}

fn flags(set: &[(&str, &str)]) -> Flags {
    let set: BTreeMap<_, _> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Flags::resolve(&set)
}

fn of_plan(plan: &Plan, owned: bool) -> Vec<Written> {
    let written = |change: &Change| {
        let created = match change {
            Change::Apply(_) | Change::Create(_) => true,
            Change::Merge { .. } => false,
            Change::Delete(_) => return None,
        };
        Some(Written { object: change.object(), owned, created })
    };
    plan.changes.iter().filter_map(written).collect()
}

fn edited(kind: &'static Kind, namespace: &str, name: &str) -> Vec<Written> {
    let object = ObjectRef::in_namespace(&kind.api_version(), kind.kind, namespace, name);
    vec![Written { object, owned: false, created: false }]
}

fn logging() -> Plan {
    let privileged = json!({ "a": 1, "b": 2, "c": 3, "d": 4 });
    let (spec, flags) = (spec(), flags(&[]));
    let input = logging::Input {
        spec: &spec,
        flags: &flags,
        version: NEW,
        privileged: &privileged,
        daemon_sets: &[],
    };
    logging::plan(&input).unwrap()
}

fn workarounds() -> Vec<Written> {
    let flags = flags(&[("aro.autosizednodes.enabled", "false")]);
    let (network, pool) = (json!({}), json!({ "metadata": { "name": "worker" } }));
    let input =
        workaround::Input { flags: &flags, version: NEW, network: &network, worker_pool: Some(&pool) };
    let all = workaround::workarounds(&input);
    assert!(all.iter().all(|one| one.required));
    all.into_iter().flat_map(|one| of_plan(&one.plan, false)).collect()
}

fn banner() -> Plan {
    let mut cluster = Cluster::default();
    cluster.spec.banner.content = "ContactSupport".to_owned();
    Plan::apply(banner::notification(&cluster).unwrap())
}

/// What a controller writes when everything that it can keep is wanted.
fn written(controller: &str) -> Vec<Written> {
    let names = || node_names::read(&spec()).unwrap();
    match controller {
        "Alertwebhook" => edited(&kinds::SECRET, alert_webhook::NAMESPACE, alert_webhook::NAME),
        "AutoSizedNodes" => of_plan(&Plan::apply([auto_sized_nodes::kubelet_config()]), true),
        "Banner" => of_plan(&banner(), false),
        "CloudProviderConfig" => edited(&kinds::CONFIG_MAP, cloud_provider::NAMESPACE, cloud_provider::NAME),
        "ClusterOperatorARO" => edited(&kinds::CLUSTER_OPERATOR, "", cluster_operator::NAME),
        "DnsmasqCluster" | "DnsmasqMachineConfig" | "DnsmasqMachineConfigPool" => {
            of_plan(&dnsmasq::plan("infra", &names(), true, true), false)
        }
        "EtcHostsCluster" | "EtcHostsMachineConfig" => of_plan(&etc_hosts::plan("infra", &names()), false),
        "GenevaLogging" => of_plan(&logging(), true),
        "GuardRails" => of_plan(&guardrails::decide(&flags(&[]), NEW).plan, false),
        "ImageConfig" => {
            let image = json!({ "spec": { "registrySources": { "allowedRegistries": ["a"] } } });
            of_plan(&image_config::plan(&spec(), &image).unwrap(), false)
        }
        "IngressControllerARO" => edited(&kinds::INGRESS_CONTROLLER, ingress::NAMESPACE, ingress::NAME),
        "MachineHealthCheck" => of_plan(&machine_health_check::plan(Managed::Deploy, true), true),
        "MachineSet" => edited(&kinds::MACHINE_SET, machine_sets::NAMESPACE, "any"),
        "ManagedUpgradeOperator" => {
            let settings = upgrade_operator::Settings::of(&spec(), &flags(&[]), NEW);
            of_plan(&upgrade_operator::plan(Managed::Deploy, &settings), true)
        }
        "Monitoring" => edited(&kinds::CONFIG_MAP, monitoring::NAMESPACE, monitoring::NAME),
        "NetworkPolicy" => of_plan(&network_policy::plan(true, NEW), false),
        "Node" => edited(&kinds::NODE, "", "any"),
        "PullSecret" => edited(&kinds::SECRET, pull_secret::USER.0, pull_secret::USER.1),
        "RBAC" => of_plan(&rbac::plan(), true),
        "Workaround" => workarounds(),
        // Checks, what only deletes, and what is kept in Azure.
        "InternetChecker"
        | "ClusterDNSChecker"
        | "IngressCertificateChecker"
        | "ServicePrincipalChecker"
        | "CPMSController"
        | "Machine"
        | "PreviewFeature"
        | "RouteFix"
        | "StorageAccounts"
        | "AzureSubnets" => Vec::new(),
        other => panic!("say here what controller {other} writes"),
    }
}

fn kind_of(object: &ObjectRef) -> &'static Kind {
    Kind::named(&object.api_version, &object.kind)
        .unwrap_or_else(|| panic!("{object} has no row of its kind"))
}

/// Whether a change of the object, of which the operator had written everything, is noticed.
fn notices(watched: &Watched, written: &Written) -> bool {
    let (object, kind) = (&written.object, kind_of(&written.object));
    let in_scope = match watched.scope {
        Scope::All => true,
        Scope::Namespace(namespace) => namespace == object.namespace,
        Scope::One(namespace, name) => (namespace, name) == (&object.namespace, &object.name),
    };
    watched.kind == kind
        && in_scope
        && watched.takes(&object.name)
        && (written.owned || !watched.owned)
        && (watched.changes == All || !WITHOUT_GENERATION.contains(&kind))
}

fn allows(rule: &Rule, written: &Written, verb: &str) -> bool {
    let kind = kind_of(&written.object);
    rule.group == kind.group
        && rule.resources.contains(&kind.plural)
        && (rule.names.is_empty() || rule.names.contains(&written.object.name.as_str()))
        && rule.verbs.contains(&verb)
}

#[test]
fn whatever_a_controller_writes_is_watched() {
    for one in TABLE {
        let all = written(one.name);
        // Controllers of one section share their objects.
        let rows = TABLE.iter().filter(|row| row.section == one.section);
        let watched: Vec<_> = rows.flat_map(|row| row.watched).collect();
        for written in &all {
            let seen = watched.iter().any(|watched| notices(watched, written));
            assert!(seen, "{} writes {} and does not watch it", one.name, written.object);
        }
    }
}

#[test]
fn the_rights_are_enough_for_what_is_written_and_watched() {
    for one in TABLE {
        let rules = CONTROLLERS.iter().find(|rights| rights.controller == one.name).unwrap().rules;
        for written in written(one.name) {
            let created = if written.created { &["create"][..] } else { &[] };
            for verb in ["get", "list", "watch", "patch"].iter().chain(created) {
                let allowed = rules.iter().any(|rule| allows(rule, &written, verb));
                assert!(allowed, "{} may not {verb} {}", one.name, written.object);
            }
        }
    }
}

#[test]
fn a_watch_that_is_missing_or_too_coarse_is_noticed() {
    let role = ObjectRef::in_namespace("rbac.authorization.k8s.io/v1", "Role", "a", "b");
    let written = Written { object: role, owned: false, created: true };
    let of = |changes, namespace| Watched::new(&kinds::ROLE, Scope::One(namespace, "b"), changes);
    assert!(notices(&of(All, "a"), &written));
    assert!(!notices(&of(All, "other"), &written), "another namespace");
    assert!(!notices(&of(Metadata, "a"), &written), "a Role has no generation");
    assert!(!notices(&of(All, "a").owned(), &written), "nobody owns it");
    assert!(!notices(&of(All, "a").named(("c", "")), &written), "another name");
}
