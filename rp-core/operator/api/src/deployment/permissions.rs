//! What the operator may do in a cluster: what its controllers need and no more
//! (`contract/operator.md` §5.3, "Do better" 2). A controller is a row here and a row of the table of controllers. Secrets
//! are named one by one.

use serde_json::{Value, json};

/// One rule of a role.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub group: &'static str,
    pub resources: &'static [&'static str],
    /// Empty: all.
    pub names: &'static [&'static str],
    pub verbs: &'static [&'static str],
}

/// What one controller needs, beside reading the `Cluster` and writing its status.
#[derive(Debug, Clone, Copy)]
pub struct Permissions {
    pub controller: &'static str,
    pub rules: &'static [Rule],
}

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "patch"];
const KEEP: &[&str] = &["create", "patch", "delete"];
/// Of objects whose names are known.
const KEPT: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
/// Of an object of somebody else, of which some members are changed.
const EDIT: &[&str] = &["get", "list", "watch", "patch"];

const fn all(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { group, resources, names: &[], verbs }
}

const fn named(
    group: &'static str,
    resources: &'static [&'static str],
    names: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { group, resources, names, verbs }
}

const CONFIG: &str = "config.openshift.io";
const OPERATOR: &str = "operator.openshift.io";
const MACHINE: &str = "machine.openshift.io";
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const VERSION: Rule = all(CONFIG, &["clusterversions"], READ);
const PROXY: Rule = named(CONFIG, &["proxies"], &["cluster"], &["get"]);
/// Machines name the subnets of the cluster.
const NETWORK: Rule = all(MACHINE, &["machines", "machinesets"], READ);
const POOLS: Rule = all(MACHINE_CONFIG, &["machineconfigpools"], READ);
/// An owner reference that blocks the deletion of the owner takes the right to its finalizers.
const POOL_OWNER: Rule = all(MACHINE_CONFIG, &["machineconfigpools/finalizers"], &["update"]);
const MACHINE_CONFIGS: Rule = all(MACHINE_CONFIG, &["machineconfigs"], READ);
const ADD_MACHINE_CONFIGS: Rule = all(MACHINE_CONFIG, &["machineconfigs"], WRITE);
const KEEP_MACHINE_CONFIGS: Rule = all(MACHINE_CONFIG, &["machineconfigs"], KEEP);
const DNSMASQ: &[Rule] = &[VERSION, POOLS, POOL_OWNER, MACHINE_CONFIGS, ADD_MACHINE_CONFIGS];
const ETC_HOSTS: &[Rule] = &[VERSION, POOLS, POOL_OWNER, MACHINE_CONFIGS, KEEP_MACHINE_CONFIGS];
const ROLES: &[&str] = &["clusterroles", "clusterrolebindings"];
const SECURITY: &str = "security.openshift.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const POLICIES: &[&str] = &[
    "aro-cluster-version-major-upgrade-deny",
    "aro-cluster-version-major-upgrade-protection",
    "aro-machines-deny",
    "aro-nodes-deny",
    "aro-machine-config-deny",
    "aro-privileged-namespace-deny",
    "aro-master-toleration-pod-deny",
    "aro-pull-secret-deny",
];
const POLICY_BINDINGS: &[&str] = &[
    "aro-cluster-version-major-upgrade-deny-binding",
    "aro-cluster-version-major-upgrade-protection-binding",
    "aro-machines-deny-binding",
    "aro-nodes-deny-binding",
    "aro-machine-config-deny-binding",
    "aro-privileged-namespace-deny-binding",
    "aro-master-toleration-pod-deny-binding",
    "aro-pull-secret-deny-binding",
];
const UPGRADE_OPERATOR: &str = "managed-upgrade-operator";
const UPGRADE_ROLES: &[&str] = &[
    UPGRADE_OPERATOR,
    "muo-monitoring-reader",
    "muo-monitoring-interactor",
    "muo-pullsecret-reader",
    "prometheus-k8s",
];
const OUR_ROLES: &[&str] = &["system:aro-sre", "system:aro-diagnostics"];

/// Every controller, by name.
pub const CONTROLLERS: &[Permissions] = &[
    Permissions {
        controller: "AzureSubnets",
        rules: &[NETWORK, named("aro.openshift.io", &["clusters"], &["cluster"], &["patch"])],
    },
    Permissions {
        controller: "PreviewFeature",
        rules: &[NETWORK, all("preview.aro.openshift.io", &["previewfeatures"], READ)],
    },
    Permissions {
        controller: "ServicePrincipalChecker",
        // Watched, and not read: the credential comes with the pod.
        rules: &[named("", &["secrets"], &["azure-credentials"], &["list", "watch"])],
    },
    Permissions {
        controller: "StorageAccounts",
        rules: &[NETWORK, named("imageregistry.operator.openshift.io", &["configs"], &["cluster"], &["get"])],
    },
    Permissions {
        controller: "Alertwebhook",
        rules: &[named("", &["secrets"], &["alertmanager-main"], EDIT)],
    },
    Permissions {
        controller: "AutoSizedNodes",
        rules: &[
            VERSION,
            all(MACHINE_CONFIG, &["kubeletconfigs"], READ),
            named(MACHINE_CONFIG, &["kubeletconfigs"], &["dynamic-node"], KEEP),
        ],
    },
    Permissions {
        controller: "Banner",
        rules: &[
            all("console.openshift.io", &["consolenotifications"], READ),
            named("console.openshift.io", &["consolenotifications"], &["openshift-aro-sre"], KEEP),
        ],
    },
    Permissions {
        controller: "CPMSController",
        rules: &[named(
            MACHINE,
            &["controlplanemachinesets"],
            &["cluster"],
            &["get", "list", "watch", "delete"],
        )],
    },
    Permissions {
        controller: "CloudProviderConfig",
        rules: &[named("", &["configmaps"], &["cloud-provider-config"], EDIT)],
    },
    Permissions {
        controller: "ClusterDNSChecker",
        rules: &[named(OPERATOR, &["dnses"], &["default"], READ)],
    },
    Permissions {
        controller: "ClusterOperatorARO",
        rules: &[
            all(CONFIG, &["clusteroperators"], READ),
            named(CONFIG, &["clusteroperators", "clusteroperators/status"], &["aro"], WRITE),
        ],
    },
    Permissions { controller: "DnsmasqCluster", rules: DNSMASQ },
    Permissions { controller: "DnsmasqMachineConfig", rules: DNSMASQ },
    Permissions { controller: "DnsmasqMachineConfigPool", rules: DNSMASQ },
    Permissions { controller: "EtcHostsCluster", rules: ETC_HOSTS },
    Permissions { controller: "EtcHostsMachineConfig", rules: ETC_HOSTS },
    Permissions {
        controller: "GenevaLogging",
        rules: &[
            VERSION,
            named("", &["namespaces"], &["openshift-azure-logging"], KEPT),
            named("", &["serviceaccounts"], &["geneva"], KEPT),
            named("", &["configmaps"], &["otel-config-master", "otel-config-worker"], KEPT),
            named("apps", &["daemonsets"], &["otel-exporter-master", "otel-exporter-worker"], KEPT),
            named(SECURITY, &["securitycontextconstraints"], &["privileged"], &["get"]),
            named(SECURITY, &["securitycontextconstraints"], &["privileged-genevalogging"], KEPT),
            named(RBAC, &["roles", "rolebindings"], &["prometheus-k8s"], KEPT),
            named(RBAC, &["roles"], &["prometheus-k8s"], &["bind", "escalate"]),
            named("monitoring.coreos.com", &["podmonitors"], &["otel-exporter"], KEPT),
            named("monitoring.coreos.com", &["prometheusrules"], &["otel-exporter-alerts"], KEPT),
            // Objects of earlier versions.
            named("apps", &["daemonsets"], &["mdsd"], &["delete"]),
            named("", &["configmaps"], &["fluent-config", "gateway-ca", "otel-config"], &["delete"]),
            named("", &["secrets"], &["certificates"], &["delete"]),
        ],
    },
    Permissions {
        controller: "GuardRails",
        rules: &[
            VERSION,
            all(ADMISSION, &["validatingadmissionpolicies", "validatingadmissionpolicybindings"], READ),
            named(ADMISSION, &["validatingadmissionpolicies"], POLICIES, KEEP),
            named(ADMISSION, &["validatingadmissionpolicybindings"], POLICY_BINDINGS, KEEP),
        ],
    },
    Permissions { controller: "ImageConfig", rules: &[named(CONFIG, &["images"], &["cluster"], EDIT)] },
    Permissions {
        controller: "IngressCertificateChecker",
        rules: &[VERSION, named(OPERATOR, &["ingresscontrollers"], &["default"], READ)],
    },
    Permissions {
        controller: "IngressControllerARO",
        rules: &[named(OPERATOR, &["ingresscontrollers"], &["default"], EDIT)],
    },
    Permissions { controller: "InternetChecker", rules: &[PROXY] },
    Permissions { controller: "Machine", rules: &[all(MACHINE, &["machines", "machinesets"], READ)] },
    Permissions {
        controller: "MachineHealthCheck",
        rules: &[
            VERSION,
            all(MACHINE, &["machinehealthchecks"], READ),
            named(MACHINE, &["machinehealthchecks"], &["aro-machinehealthcheck"], KEEP),
            named("monitoring.coreos.com", &["prometheusrules"], &["mhc-remediation-alert"], &["delete"]),
        ],
    },
    Permissions {
        controller: "MachineSet",
        rules: &[all(MACHINE, &["machinesets"], READ), all(MACHINE, &["machinesets"], &["patch"])],
    },
    Permissions {
        controller: "Monitoring",
        rules: &[
            named("", &["configmaps"], &["cluster-monitoring-config"], EDIT),
            // The name of an object that is created by POST is not known to the authoriser.
            all("", &["configmaps"], &["create"]),
            all("", &["persistentvolumeclaims"], &["list", "delete"]),
        ],
    },
    Permissions {
        controller: "ManagedUpgradeOperator",
        rules: &[
            VERSION,
            named("", &["namespaces"], &["openshift-managed-upgrade-operator"], KEPT),
            named("", &["serviceaccounts"], &[UPGRADE_OPERATOR], KEPT),
            named("", &["configmaps"], &["trusted-ca-bundle", "managed-upgrade-operator-config"], KEPT),
            named("apps", &["deployments"], &[UPGRADE_OPERATOR], KEPT),
            named(
                "apiextensions.k8s.io",
                &["customresourcedefinitions"],
                &["upgradeconfigs.upgrade.managed.openshift.io"],
                KEPT,
            ),
            named(
                "monitoring.coreos.com",
                &["prometheusrules"],
                &["sre-managed-upgrade-operator-alerts"],
                KEPT,
            ),
            all(RBAC, ROLES, READ),
            named(RBAC, ROLES, &[UPGRADE_OPERATOR], KEEP),
            named(RBAC, &["roles", "rolebindings"], UPGRADE_ROLES, KEPT),
            // They grant more than the operator itself has.
            named(RBAC, &["clusterroles"], &[UPGRADE_OPERATOR], &["bind", "escalate"]),
            named(RBAC, &["roles"], UPGRADE_ROLES, &["bind", "escalate"]),
        ],
    },
    Permissions {
        controller: "NetworkPolicy",
        rules: &[
            VERSION,
            all("policy.networking.k8s.io", &["adminnetworkpolicies"], READ),
            named("policy.networking.k8s.io", &["adminnetworkpolicies"], &["aro-cco-deny-pprof"], KEEP),
        ],
    },
    Permissions {
        controller: "Node",
        rules: &[
            all("", &["nodes"], READ),
            all("", &["nodes"], &["patch"]),
            all("", &["pods"], &["list", "delete"]),
        ],
    },
    Permissions {
        controller: "PullSecret",
        rules: &[
            named("", &["secrets"], &["pull-secret"], &["get", "list", "watch", "create", "patch", "delete"]),
            named("", &["secrets"], &["cluster"], READ),
        ],
    },
    Permissions {
        controller: "RBAC",
        rules: &[
            all(RBAC, ROLES, READ),
            named(RBAC, ROLES, OUR_ROLES, WRITE),
            // The roles grant more than the operator itself has.
            named(RBAC, &["clusterroles"], OUR_ROLES, &["bind", "escalate"]),
        ],
    },
    Permissions {
        controller: "RouteFix",
        rules: &[
            named("", &["namespaces"], &["openshift-azure-routefix"], &["get", "list", "watch", "delete"]),
            named(RBAC, &["clusterrolebindings"], &["routefix"], &["delete"]),
        ],
    },
    Permissions {
        controller: "Workaround",
        rules: &[
            VERSION,
            POOLS,
            named(MACHINE_CONFIG, &["machineconfigpools"], &["worker"], &["patch"]),
            MACHINE_CONFIGS,
            KEEP_MACHINE_CONFIGS,
            all(MACHINE_CONFIG, &["kubeletconfigs"], READ),
            named(MACHINE_CONFIG, &["kubeletconfigs"], &["aro-limits"], KEEP),
            named(OPERATOR, &["networks"], &["cluster"], &["get"]),
        ],
    },
];

/// What every process needs.
const COMMON: &[Rule] = &[
    all("aro.openshift.io", &["clusters"], READ),
    all("aro.openshift.io", &["clusters/status"], &["get", "patch", "update"]),
    // Who may read the metrics.
    all("authentication.k8s.io", &["tokenreviews"], &["create"]),
    all("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
];
const OWNER: Rule = all("aro.openshift.io", &["clusters/finalizers"], &["update"]);

/// The rules of role master: each once, in the order of the controllers.
pub fn master() -> Vec<Value> {
    let controllers = CONTROLLERS.iter().flat_map(|one| one.rules);
    let mut rules = Vec::new();
    for rule in COMMON.iter().chain([&OWNER]).chain(controllers).copied().map(Rule::to_json) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

/// The rules of role worker.
pub fn worker() -> Vec<Value> {
    // The internet checker honours the proxy of the cluster.
    COMMON.iter().chain([&PROXY]).copied().map(Rule::to_json).collect()
}

impl Rule {
    fn to_json(self) -> Value {
        let mut rule = json!({ "apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs });
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }
}
