//! The table of controllers. A new one is a row here, a file beside, and a row of permissions in
//! `rp_operator_api::deployment::permissions`.

#[cfg(test)]
mod coverage;
#[cfg(test)]
mod tests;
mod watched;

use std::fmt::Write as _;
use std::time::Duration;

use rp_operator_api::{Flag, SINGLETON};

use self::watched::{CLUSTER, LOGGING, NETWORK, UPGRADE_OPERATOR, VERSION, WANTED_VERSION, plain, settings};
use super::{
    alert_webhook, auto_sized_nodes, banner, cloud_provider, cluster_dns, cluster_operator,
    control_plane_machines, dnsmasq, etc_hosts, flow_logs, geneva_logging, guardrails, image_config, ingress,
    ingress_certificate, internet, machine_health_check, machine_sets, machines, monitoring, network_policy,
    node_drainer, pull_secret, rbac, route_fix, service_principal, storage_accounts, subnets,
    upgrade_operator, workarounds,
};
use crate::controller::Changes::{All, Generation, Metadata};
use crate::controller::{Controller, Off, Reconcile, Scope, Watched};
use crate::kinds;

const HOUR: Option<Duration> = Some(Duration::from_secs(3600));

/// A controller of role master that follows the `Cluster`, has no conditions, and leaves its objects alone while its flag
/// is off.
const fn row(name: &'static str, section: &'static str, flag: Flag, reconcile: Reconcile) -> Controller {
    Controller {
        name,
        section,
        summary: "",
        on_workers: false,
        flag: Some(flag),
        off: Off::Leave,
        state: None,
        watched: &[CLUSTER],
        period: None,
        reconcile,
    }
}

/// Every controller, in the order of the contract.
pub const TABLE: &[Controller] = &[
    Controller {
        summary: "Gives the default receivers of Alertmanager a webhook, so that the platform does not alert that there is none.",
        watched: &[CLUSTER, plain(&kinds::SECRET, alert_webhook::NAMESPACE, alert_webhook::NAME)],
        ..row("Alertwebhook", "8.1", Flag::Alertwebhook, |run| Box::pin(alert_webhook::reconcile(run)))
    },
    Controller {
        summary: "Keeps the KubeletConfig `dynamic-node`; off: removes it. Both only in upgrades, because nodes restart.",
        off: Off::Undo,
        watched: &[CLUSTER, VERSION, Watched::new(&kinds::KUBELET_CONFIG, Scope::All, Metadata).owned()],
        ..row("AutoSizedNodes", "8.2", Flag::AutoSizedNodes, |run| Box::pin(auto_sized_nodes::reconcile(run)))
    },
    Controller {
        summary: "Keeps the message on the console; off: removes it.",
        off: Off::Undo,
        watched: &[CLUSTER, settings(&kinds::CONSOLE_NOTIFICATION, "", banner::NAME)],
        ..row("Banner", "8.3", Flag::Banner, |run| Box::pin(banner::reconcile(run)))
    },
    Controller {
        summary: "Checks that the internet is reachable from a node of its role; off: Unknown.",
        on_workers: true,
        off: Off::Undo,
        period: HOUR,
        ..row("InternetChecker", "8.4", Flag::Checker, |run| Box::pin(internet::reconcile(run)))
    },
    Controller {
        summary: "Checks that no DNS server takes all names away from the cluster; off: Unknown.",
        off: Off::Undo,
        watched: &[CLUSTER, settings(&kinds::DNS, "", "default")],
        period: HOUR,
        ..row("ClusterDNSChecker", "8.5", Flag::Checker, |run| Box::pin(cluster_dns::reconcile(run)))
    },
    Controller {
        summary: "Checks that the default ingress has its certificate; off: Unknown.",
        off: Off::Undo,
        watched: &[
            CLUSTER,
            settings(&kinds::INGRESS_CONTROLLER, ingress::NAMESPACE, ingress::NAME),
            WANTED_VERSION,
        ],
        period: HOUR,
        ..row("IngressCertificateChecker", "8.6", Flag::Checker, |run| {
            Box::pin(ingress_certificate::reconcile(run))
        })
    },
    Controller {
        summary: "Checks that the identity of the cluster can sign in to Azure, and has no right over applications; off: Unknown.",
        off: Off::Undo,
        watched: &[CLUSTER, plain(&kinds::SECRET, "kube-system", "azure-credentials")],
        period: HOUR,
        ..row("ServicePrincipalChecker", "8.7", Flag::Checker, |run| {
            Box::pin(service_principal::reconcile(run))
        })
    },
    Controller {
        summary: "Sets `disableOutboundSNAT` of the cloud provider.",
        watched: &[CLUSTER, plain(&kinds::CONFIG_MAP, cloud_provider::NAMESPACE, cloud_provider::NAME)],
        ..row("CloudProviderConfig", "8.8", Flag::CloudProviderConfig, |run| {
            Box::pin(cloud_provider::reconcile(run))
        })
    },
    Controller {
        summary: "Shows the state of the operator as ClusterOperator `aro`.",
        flag: None,
        watched: &[
            Watched::new(&kinds::CLUSTER, Scope::One("", SINGLETON), All),
            Watched::new(&kinds::CLUSTER_OPERATOR, Scope::One("", cluster_operator::NAME), All),
        ],
        ..row("ClusterOperatorARO", "8.9", Flag::Checker, |run| Box::pin(cluster_operator::reconcile(run)))
    },
    Controller {
        summary: "On: leaves the control plane machine set alone; off: deletes an active one, which comes back inactive.",
        off: Off::Undo,
        watched: &[
            CLUSTER,
            settings(
                &kinds::CONTROL_PLANE_MACHINE_SET,
                control_plane_machines::NAMESPACE,
                control_plane_machines::NAME,
            ),
        ],
        ..row("CPMSController", "8.10", Flag::Cpms, |run| Box::pin(control_plane_machines::reconcile(run)))
    },
    Controller {
        summary: "Keeps the MachineConfig for dnsmasq of every pool; one that is there changes in upgrades only.",
        state: Some("DnsmasqCluster"),
        watched: &[CLUSTER, VERSION],
        ..row("DnsmasqCluster", "8.11", Flag::Dnsmasq, |run| Box::pin(dnsmasq::cluster(run)))
    },
    Controller {
        summary: "The same for the pool of a MachineConfig that was changed or deleted.",
        state: Some("DnsmasqMachineConfig"),
        watched: &[Watched::new(&kinds::MACHINE_CONFIG, Scope::All, Metadata).each().named(dnsmasq::NAMES)],
        ..row("DnsmasqMachineConfig", "8.11", Flag::Dnsmasq, |run| Box::pin(dnsmasq::config(run)))
    },
    Controller {
        summary: "The same for a pool that is new or was changed.",
        state: Some("DnsmasqMachineConfigPool"),
        watched: &[Watched::new(&kinds::MACHINE_CONFIG_POOL, Scope::All, Metadata).each()],
        ..row("DnsmasqMachineConfigPool", "8.11", Flag::Dnsmasq, |run| Box::pin(dnsmasq::pool_changed(run)))
    },
    Controller {
        summary: "Keeps the MachineConfig with host entries of every pool, or removes them, in upgrades only.",
        state: Some("EtcHostsCluster"),
        watched: &[CLUSTER, VERSION],
        ..row("EtcHostsCluster", "8.12", Flag::EtcHosts, |run| Box::pin(etc_hosts::cluster(run)))
    },
    Controller {
        summary: "The same for the pool of a MachineConfig that was changed or deleted.",
        state: Some("EtcHostsMachineConfig"),
        watched: &[Watched::new(&kinds::MACHINE_CONFIG, Scope::All, Metadata).each().named(etc_hosts::NAMES)],
        ..row("EtcHostsMachineConfig", "8.12", Flag::EtcHosts, |run| Box::pin(etc_hosts::config(run)))
    },
    Controller {
        summary: "Keeps the log exporters of the nodes; without an address of the gateway it keeps everything but them.",
        state: Some("GenevaLogging"),
        watched: LOGGING,
        ..row("GenevaLogging", "8.13", Flag::GenevaLogging, |run| Box::pin(geneva_logging::reconcile(run)))
    },
    Controller {
        summary: "Keeps the admission policies; the one against an upgrade to version 5 whatever the flags. Gatekeeper is not deployed.",
        flag: None,
        watched: &[
            CLUSTER,
            WANTED_VERSION,
            Watched::new(&kinds::ADMISSION_POLICY, Scope::All, Metadata).named(guardrails::NAMES),
            Watched::new(&kinds::ADMISSION_BINDING, Scope::All, Metadata).named(guardrails::NAMES),
        ],
        period: HOUR,
        ..row("GuardRails", "8.14", Flag::Guardrails, |run| Box::pin(guardrails::reconcile(run)))
    },
    Controller {
        summary: "Keeps the registries of the service on the allow list of images, and off the block list.",
        state: Some("ImageConfig"),
        watched: &[CLUSTER, settings(&kinds::IMAGE, "", "cluster")],
        ..row("ImageConfig", "8.15", Flag::ImageConfig, |run| Box::pin(image_config::reconcile(run)))
    },
    Controller {
        summary: "Raises the replicas of the default ingress to two.",
        state: Some("IngressControllerARO"),
        watched: &[CLUSTER, settings(&kinds::INGRESS_CONTROLLER, ingress::NAMESPACE, ingress::NAME)],
        ..row("IngressControllerARO", "8.16", Flag::Ingress, |run| Box::pin(ingress::reconcile(run)))
    },
    Controller {
        summary: "Checks number, disks and images of machines; off: Unknown.",
        off: Off::Undo,
        watched: &[
            CLUSTER,
            Watched::new(&kinds::MACHINE, Scope::Namespace(machine_sets::NAMESPACE), Metadata),
            Watched::new(&kinds::MACHINE_SET, Scope::Namespace(machine_sets::NAMESPACE), Generation),
        ],
        ..row("Machine", "8.17", Flag::Machine, |run| Box::pin(machines::reconcile(run)))
    },
    Controller {
        summary: "Keeps the health check of worker machines, paused in upgrades, or removes it.",
        state: Some("MachineHealthCheck"),
        watched: &[
            CLUSTER,
            VERSION,
            Watched::new(&kinds::MACHINE_HEALTH_CHECK, Scope::Namespace(machine_sets::NAMESPACE), Metadata)
                .owned(),
        ],
        ..row("MachineHealthCheck", "8.18", Flag::MachineHealthCheck, |run| {
            Box::pin(machine_health_check::reconcile(run))
        })
    },
    Controller {
        summary: "Raises the number of worker machines to two, unless the customer has machine sets of their own.",
        state: Some("MachineSet"),
        watched: &[
            CLUSTER,
            Watched::new(&kinds::MACHINE_SET, Scope::Namespace(machine_sets::NAMESPACE), Metadata),
        ],
        ..row("MachineSet", "8.19", Flag::MachineSet, |run| Box::pin(machine_sets::reconcile(run)))
    },
    Controller {
        summary: "Removes persistent storage from the configuration of cluster monitoring.",
        state: Some("Monitoring"),
        watched: &[CLUSTER, plain(&kinds::CONFIG_MAP, monitoring::NAMESPACE, monitoring::NAME)],
        ..row("Monitoring", "8.20", Flag::Monitoring, |run| Box::pin(monitoring::reconcile(run)))
    },
    Controller {
        summary: "Deploys the managed upgrade operator, or removes it.",
        watched: UPGRADE_OPERATOR,
        period: HOUR,
        ..row("ManagedUpgradeOperator", "8.21", Flag::Muo, |run| Box::pin(upgrade_operator::reconcile(run)))
    },
    Controller {
        summary: "Keeps the policy that closes the profiler of the cloud credential operator; off: removes it.",
        off: Off::Undo,
        state: Some("NetworkPolicy"),
        watched: &[CLUSTER, WANTED_VERSION, settings(&kinds::ADMIN_NETWORK_POLICY, "", network_policy::NAME)],
        ..row("NetworkPolicy", "8.22", Flag::CcoPprof, |run| Box::pin(network_policy::reconcile(run)))
    },
    Controller {
        summary: "Deletes the pods of a worker node whose drain takes more than an hour.",
        state: Some("Node"),
        watched: &[Watched::new(&kinds::NODE, Scope::All, Metadata).each()],
        ..row("Node", "8.23", Flag::NodeDrainer, |run| Box::pin(node_drainer::reconcile(run)))
    },
    Controller {
        summary: "Keeps flow logs of network security groups as `PreviewFeature` `cluster` says; without the object nothing.",
        flag: None,
        watched: &[settings(&kinds::PREVIEW_FEATURE, "", SINGLETON)],
        period: HOUR,
        ..row("PreviewFeature", "8.24", Flag::Checker, |run| Box::pin(flow_logs::reconcile(run)))
    },
    Controller {
        summary: "Keeps the service's entries in the global pull secret; reports the registries of Red Hat for which there is a key.",
        state: Some("PullSecret"),
        watched: &[
            CLUSTER,
            plain(&kinds::SECRET, pull_secret::USER.0, pull_secret::USER.1),
            plain(&kinds::SECRET, pull_secret::OURS.0, pull_secret::OURS.1),
        ],
        ..row("PullSecret", "8.25", Flag::PullSecret, |run| Box::pin(pull_secret::reconcile(run)))
    },
    Controller {
        summary: "Keeps the ClusterRoles `system:aro-sre` and `system:aro-diagnostics` and their bindings.",
        watched: &[
            CLUSTER,
            Watched::new(&kinds::CLUSTER_ROLE, Scope::All, All).owned().named(("system:aro-", "")),
            Watched::new(&kinds::CLUSTER_ROLE_BINDING, Scope::All, All).owned().named(("system:aro-", "")),
        ],
        ..row("RBAC", "8.26", Flag::Rbac, |run| Box::pin(rbac::reconcile(run)))
    },
    Controller {
        summary: "Removes an old fix of routes.",
        watched: &[CLUSTER, plain(&kinds::NAMESPACE, "", route_fix::NAME)],
        ..row("RouteFix", "8.27", Flag::RouteFix, |run| Box::pin(route_fix::reconcile(run)))
    },
    Controller {
        summary: "Adds the subnets of cluster and service to the firewalls of the storage accounts; removes none.",
        watched: NETWORK,
        period: HOUR,
        ..row("StorageAccounts", "8.28", Flag::StorageAccounts, |run| {
            Box::pin(storage_accounts::reconcile(run))
        })
    },
    Controller {
        summary: "Keeps network security groups and service endpoints of the subnets.",
        watched: NETWORK,
        period: HOUR,
        ..row("AzureSubnets", "8.29", Flag::Subnets, |run| Box::pin(subnets::reconcile(run)))
    },
    Controller {
        summary: "Applies temporary fixes to the versions that need them, and removes them elsewhere, in upgrades only.",
        watched: &[
            CLUSTER,
            VERSION,
            Watched::new(&kinds::MACHINE_CONFIG, Scope::All, Metadata).named(workarounds::MACHINE_CONFIGS),
            Watched::new(&kinds::KUBELET_CONFIG, Scope::All, Metadata).named(workarounds::KUBELET_CONFIG),
            Watched::new(&kinds::MACHINE_CONFIG_POOL, Scope::All, Metadata).named(workarounds::POOL),
        ],
        period: HOUR,
        ..row("Workaround", "8.30", Flag::Workaround, |run| Box::pin(workarounds::reconcile(run)))
    },
];

/// The table for people, in Markdown.
pub fn markdown() -> String {
    let mut out = String::from(
        "| Controller | Flag | While the flag is off | Runs at least every | What it does |\n|---|---|---|---|---|\n",
    );
    for one in TABLE {
        let flag = one.flag.map_or_else(|| "always on".to_owned(), |flag| format!("`{}`", flag.name()));
        let off = match (one.flag, one.off) {
            (None, _) => "–",
            (_, Off::Leave) => "its objects are left alone",
            (_, Off::Undo) => "see the last column",
        };
        let again = one.period.map_or(10, |period| period.as_secs() / 3600);
        // A string takes whatever is written.
        let _ = writeln!(out, "| `{}` | {flag} | {off} | {again} h | {} |", one.name, one.summary);
    }
    out
}
