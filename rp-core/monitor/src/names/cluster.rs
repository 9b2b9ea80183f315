//! Metrics of a cluster (`contract/monitor.md` §8–§11).

use super::Kind::{Count, Gauge, Info, PerObject, State};
use super::{
    Account, Dim, Exposed, Kind, Metric, Scope, Spread, Wire, dim, exposed, held, label, same, text,
};

const NODE: Dim = dim("nodeName", "node_name");
const MACHINE: Dim = dim("machineName", "machine_name");
const SPOT: Dim = dim("spotInstance", "spot_instance");
const ACTUAL: Dim = dim("actualVersion", "actual_version");
const DESIRED: Dim = dim("desiredVersion", "desired_version");
const MINOR: Dim = dim("actualMinorVersion", "actual_minor_version");
const PROVISIONING_STATE: Dim = dim("provisioningState", "provisioning_state");

const CODE: &[Dim] = &[same("code")];

const fn healthz(name: &'static str, endpoint: &'static [(&'static str, &'static str)]) -> Metric {
    Metric {
        name,
        wire: Wire::Int,
        kind: State,
        account: Account::Cluster,
        scope: Scope::Cluster,
        dims: CODE,
        exposed: exposed("aro_cluster_apiserver_healthz", endpoint),
        help: "Status of the API server's health endpoints; code 0: no answer. ping is asked only after a failed healthz.",
    }
}

pub static HEALTHZ: Metric = healthz("apiserver.healthz.code", &[("endpoint", "healthz")]);
pub static PING: Metric = healthz("apiserver.healthz.ping.code", &[("endpoint", "ping")]);
pub static PROVISIONING: Metric = held(
    Info,
    "cluster.provisioning",
    "aro_cluster_provisioning_info",
    &[PROVISIONING_STATE, dim("failedProvisioningState", "failed_provisioning_state")],
    "State of the cluster's document; hourly in statsd.",
);
pub static VERSIONS: Metric = held(
    Info,
    "cluster.versions",
    "aro_cluster_version_info",
    &[
        ACTUAL,
        DESIRED,
        MINOR,
        dim("provisionedByResourceProviderVersion", "provisioned_by"),
        dim("resourceProviderVersion", "resource_provider_version"),
        dim("operatorVersion", "operator_version"),
        dim("availableRP", "available_resource_provider_version"),
    ],
    "Versions of the cluster, of its operator and of the services that made it and watch it.",
);
pub static OPENSHIFT5: Metric = held(
    State,
    "cluster.openshift5.versions",
    "aro_cluster_openshift5_info",
    &[ACTUAL, DESIRED],
    "The cluster is, or is becoming, OpenShift 5.",
);
pub static SUMMARY: Metric = held(
    Info,
    "cluster.summary",
    "aro_cluster_summary_info",
    &[
        ACTUAL,
        MINOR,
        DESIRED,
        text("masterCount"),
        text("workerCount"),
        PROVISIONING_STATE,
        text("createdAt"),
    ],
    "The cluster in one line; hourly in statsd.",
);
pub static AUTHENTICATION: Metric = held(
    Info,
    "cluster.AuthenticationType",
    "aro_cluster_authentication_info",
    &[same("type")],
    "How the cluster signs in to Azure: managedIdentity or servicePrincipal.",
);
pub static MAINTENANCE: Metric = held(
    Info,
    "cluster.maintenance.pucm",
    "aro_cluster_maintenance_state",
    &[same("state")],
    "Maintenance of the cluster: none, pending, planned, unplanned or customerActionNeeded.",
);
pub static FLAGS: Metric = Metric {
    name: "cluster.nonstandard.operator.featureflags",
    wire: Wire::Int,
    kind: State,
    account: Account::Cluster,
    scope: Scope::Cluster,
    dims: &[],
    exposed: Some(Exposed {
        name: "aro_cluster_nonstandard_flag",
        fixed: &[],
        spread: Spread::Each { name: "flag", text: "value" },
    }),
    help: "Operator flags that differ from the default; DNE: missing.",
};
pub static BANNER: Metric = held(
    State,
    "cluster.nonstandard.banner",
    "aro_cluster_banner",
    &[text("msg"), label("content")],
    "The cluster shows the banner that asks its owner to contact support.",
);

pub static ARO_OPERATOR_HEARTBEAT: Metric = held(
    Gauge,
    "arooperator.heartbeat",
    "aro_cluster_operator_deployment_ready",
    &[same("name")],
    "1 while a deployment of the ARO operator is ready.",
);
pub static ARO_OPERATOR_CONDITIONS: Metric = held(
    State,
    "arooperator.conditions",
    "aro_cluster_aro_operator_condition",
    &[same("type"), same("status")],
    "Conditions of the ARO operator that are not as they should be.",
);
pub static NSG_RECONCILIATIONS: Metric = held(
    State,
    "nsg.reconciliations",
    "aro_cluster_nsg_reconciliation",
    &[],
    "The ARO operator repaired a subnet less than 70 s ago.",
);
pub static CLUSTER_VERSION_CONDITIONS: Metric = held(
    State,
    "clusterversion.conditions",
    "aro_cluster_clusterversion_conditions",
    &[same("type"), same("status")],
    "Conditions of the ClusterVersion that are not as they should be.",
);
pub static OPERATOR_CONDITIONS: Metric = held(
    State,
    "clusteroperator.conditions",
    "aro_cluster_clusteroperator_conditions",
    &[same("name"), same("type"), same("status")],
    "Conditions of cluster operators that are not as they should be.",
);
pub static OPERATOR_COUNT: Metric =
    held(Gauge, "clusteroperator.count", "aro_cluster_operators", &[], "Cluster operators.");
pub static OPERATOR_VERSIONS: Metric = held(
    State,
    "clusteroperator.versions",
    "aro_cluster_clusteroperator_versions",
    &[same("name"), same("version")],
    "Cluster operators whose version is not the cluster's desired one.",
);

pub static POOL_CONDITIONS: Metric = held(
    State,
    "machineconfigpool.conditions",
    "aro_cluster_machineconfigpool_conditions",
    &[same("name"), same("type"), same("status")],
    "Conditions of machine config pools that are not as they should be.",
);
pub static POOL_COUNT: Metric =
    held(Gauge, "machineconfigpool.count", "aro_cluster_machine_config_pools", &[], "Machine config pools.");
pub static POOL_UNMANAGED: Metric = held(
    Gauge,
    "machineconfigpool.unmanagednodescount",
    "aro_cluster_machineconfigpool_unmanagednodes",
    &[],
    "Nodes without the machines of all machine config pools; absent when none is left over.",
);
pub static MACHINE_PHASE: Metric = held(
    PerObject,
    "machine.phase",
    "aro_cluster_machine_phase",
    &[MACHINE, same("phase"), SPOT, same("role"), same("machineset")],
    "Phase of each machine.",
);
pub static MACHINE_COUNT: Metric = held(Gauge, "machine.count", "aro_cluster_machines", &[], "Machines.");
pub static NODE_CONDITIONS: Metric = held(
    State,
    "node.conditions",
    "aro_cluster_node_conditions",
    &[NODE, same("type"), same("status"), SPOT, same("role"), same("machineset")],
    "Conditions of nodes that are not as they should be.",
);
pub static NODE_KUBELET: Metric = held(
    PerObject,
    "node.kubelet.version",
    "aro_cluster_node_kubelet_version",
    &[NODE, same("role"), dim("kubeletVersion", "kubelet_version")],
    "Kubelet of each node.",
);
pub static NODE_COUNT: Metric =
    held(Gauge, "node.count", "aro_cluster_nodes", &[same("role")], "Nodes by role.");

pub static DAEMONSET_STATUSES: Metric = held(
    State,
    "daemonset.statuses",
    "aro_cluster_daemonset_statuses",
    &[same("name"), same("namespace"), text("desiredNumberScheduled"), text("numberAvailable")],
    "Daemon sets of the log exporter that are not available on all nodes.",
);
pub static OTEL_CANNOT_START: Metric = held(
    State,
    "genevalogging.otel.cannotstart",
    "aro_cluster_log_exporter_unavailable",
    &[same("name"), text("namespace"), text("desiredNumberScheduled"), text("numberAvailable")],
    "Daemon sets of the log exporter that are available on no node.",
);
pub static POD_CONDITIONS: Metric = held(
    State,
    "pod.conditions",
    "aro_cluster_pod_conditions",
    &[same("name"), same("namespace"), NODE, same("type"), same("status")],
    "Conditions of pods of the platform that are not as they should be.",
);
pub static POD_CONTAINERS: Metric = held(
    State,
    "pod.containerstatuses",
    "aro_cluster_pod_containerstatuses",
    &[
        same("name"),
        same("namespace"),
        NODE,
        dim("containername", "container"),
        same("reason"),
        dim("lastTerminationState", "last_termination_state"),
    ],
    "Containers of the platform that wait to run.",
);
pub static POD_RESTARTS: Metric = held(
    Gauge,
    "pod.restartcounter",
    "aro_cluster_pod_restarts",
    &[same("name"), same("namespace")],
    "Restarts of pods of the platform with ten or more.",
);
pub static VMI_INFO: Metric = held(
    PerObject,
    "cnv.virtualmachineinstance.info",
    "aro_cluster_vmi_info",
    &[
        same("namespace"),
        same("name"),
        same("phase"),
        same("os"),
        same("workload"),
        same("flavor"),
        same("guest_os_kernel_release"),
        same("guest_os_arch"),
        same("guest_os_name"),
        same("guest_os_version_id"),
    ],
    "Virtual machines that run in the cluster.",
);

pub static ALERTS_COUNT: Metric = held(
    Gauge,
    "prometheus.alerts.count",
    "aro_cluster_alerts_firing",
    &[],
    "Alerts that the cluster's Alertmanager holds, before any is left out.",
);
pub static ALERTS: Metric = held(
    Gauge,
    "prometheus.alerts",
    "aro_cluster_alerts",
    &[same("alert"), same("severity")],
    "Firing alerts of the platform by name.",
);
pub static TARGETED_ALERTS: Metric = held(
    Gauge,
    "prometheus.targeted.alerts",
    "aro_cluster_targeted_alerts",
    &[same("alert"), same("severity"), same("target"), same("secondary_target")],
    "Firing alerts of the platform that name what they are about.",
);
pub static CERTIFICATE_EXPIRATION: Metric = held(
    Gauge,
    "certificate.expirationdate",
    "aro_cluster_certificate_not_after_timestamp_seconds",
    &[same("namespace"), same("name"), same("subject"), same("thumbprint")],
    "End of a certificate: whole days left in statsd, the time itself in Prometheus.",
);
pub static CERTIFICATE_MISSING: Metric = held(
    State,
    "certificate.secretnotfound",
    "aro_cluster_certificate_missing",
    &[same("namespace"), same("name")],
    "A certificate that should be there is not.",
);
pub static PROXY_STATUS: Metric = held(
    Info,
    "clusterWideProxy.status",
    "aro_cluster_proxy_problem",
    &[text("status"), text("Message"), label("reason")],
    "The cluster-wide proxy: reason disabled, ok, not_applied or missing_entries.",
);
pub static NETWORK_MTU: Metric = held(
    Info,
    "network.mtu",
    "aro_cluster_network_mtu",
    &[same("mtu"), same("network_type")],
    "MTU and type of the cluster's network.",
);

/// A metric of the NSG monitor: `[D]`, cluster account.
const fn nsg(
    kind: Kind,
    name: &'static str,
    dims: &'static [Dim],
    exposed: Option<Exposed>,
    help: &'static str,
) -> Metric {
    Metric {
        name,
        wire: Wire::Int,
        kind,
        account: Account::Cluster,
        scope: Scope::Document,
        dims,
        exposed,
        help,
    }
}

const NSG_ERRORS: &str = "aro_cluster_nsg_monitor_errors_total";
const NSG_ERRORS_HELP: &str = "Looks at network security groups that could not be made, by kind.";

pub static NSG_ENABLED: Metric = nsg(
    Info,
    "monitor.preconfigurednsg.enabled",
    &[],
    exposed("aro_cluster_nsg_preconfigured", &[]),
    "The cluster's network security groups are its owner's.",
);
pub static NSG_FAILED_CREATION: Metric = nsg(
    Count,
    "monitor.preconfigurednsg.failedmonitorcreation",
    &[],
    exposed(NSG_ERRORS, &[("kind", "credential")]),
    NSG_ERRORS_HELP,
);
pub static NSG_SUBNET_FORBIDDEN: Metric = nsg(
    State,
    "monitor.preconfigurednsg.subnetaccessforbidden",
    &[same("subnet"), dim("vNet", "vnet"), text("nsgresourcegroup")],
    exposed("aro_cluster_nsg_subnet_forbidden", &[]),
    "Subnets that may not be read.",
);
/// Not in the contract: errors that are no refusal are counted by kind.
pub static NSG_SUBNET_ERROR: Metric = nsg(
    Count,
    "monitor.preconfigurednsg.subnetaccesserror",
    &[same("kind")],
    exposed(NSG_ERRORS, &[]),
    NSG_ERRORS_HELP,
);
pub static NSG_INVALID_RULE: Metric = nsg(
    State,
    "monitor.preconfigurednsg.invaliddenyrule",
    &[
        text("nsgresourcegroup"),
        dim("networksecuritygroup", "nsg"),
        dim("rulename", "rule"),
        text("sources"),
        text("destinations"),
        same("direction"),
        same("priority"),
        // Not in the contract: "no" where an allowing rule of higher priority covers all that the rule would deny.
        label("effective"),
    ],
    exposed("aro_cluster_nsg_invalid_deny_rule", &[]),
    "Rules that deny traffic which the cluster needs.",
);

pub static HIVE_CONDITIONS: Metric = held(
    State,
    "hive.clusterdeployment.conditions",
    "aro_cluster_hive_condition",
    &[same("type"), same("reason")],
    "Conditions of the cluster's ClusterDeployment that are not as they should be.",
);
pub static HIVE_SYNC: Metric = held(
    PerObject,
    "hive.clustersync",
    "aro_cluster_hive_sync",
    &[same("name"), same("status"), same("type"), text("reason")],
    "Result of each sync set of the cluster.",
);
