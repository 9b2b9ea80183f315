//! The flags, each declared once (`contract/operator.md` §4).

use super::Kind::{self, Choice, Image, Managed, Number, Quantity, Resource, Switch, Words};

/// What holds where a flag is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// This value; it is in the default set of a new cluster.
    Set(&'static str),
    /// This value; a new cluster does not name it.
    Implied(&'static str),
    /// The value of another flag.
    SameAs(Flag),
    /// None: the controller works it out.
    Computed,
}

use self::Fallback::{Computed, Implied, SameAs, Set};

macro_rules! flags {
    ($($variant:ident $name:literal $kind:expr, $default:expr, $doc:literal;)+) => {
        /// A flag of the operator.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Flag { $(#[doc = $doc] $variant),+ }

        impl Flag {
            /// Every flag.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name in `spec.operatorflags`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Which values it takes.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => $kind),+ }
            }

            /// What holds where it is not set.
            pub const fn default(self) -> Fallback {
                match self { $(Self::$variant => $default),+ }
            }

            /// What it does.
            pub const fn effect(self) -> &'static str {
                match self { $(Self::$variant => $doc),+ }
            }
        }
    };
}

const ENFORCEMENT: Kind = Choice(&["deny", "dryrun", "warn"]);
const PROFILE: Kind = Choice(&["max-logs", "reduced-logs", "minimal-logs"]);
const FAILURE: Kind = Choice(&["", "true", "false", "Ignore", "Fail"]);

flags! {
    Alertwebhook "aro.alertwebhook.enabled" Switch, Set("true"), "The webhook of the default receivers of Alertmanager.";
    AutoSizedNodes "aro.autosizednodes.enabled" Switch, Set("true"), "Memory of the system by the size of the node; off: the KubeletConfig is removed.";
    Subnets "aro.azuresubnets.enabled" Switch, Set("true"), "Subnets of the cluster.";
    SubnetsNsg "aro.azuresubnets.nsg.managed" Switch, Set("true"), "Network security groups of the subnets.";
    SubnetsEndpoints "aro.azuresubnets.serviceendpoint.managed" Switch, Set("true"), "Service endpoints of the subnets.";
    Banner "aro.banner.enabled" Switch, Set("false"), "The message on the console; off: it is removed.";
    CcoPprof "aro.ccopprof.enabled" Switch, Set("true"), "The network policy that closes the profiler of the cloud credential operator.";
    Checker "aro.checker.enabled" Switch, Set("true"), "The four checkers; off: their conditions are Unknown.";
    CloudProviderConfig "aro.cloudproviderconfig.enabled" Switch, Set("true"), "Outbound SNAT of the cloud provider.";
    Cpms "aro.cpms.enabled" Switch, Set("false"), "The control plane machine set is left alone; off: it is removed.";
    Dnsmasq "aro.dnsmasq.enabled" Switch, Set("true"), "Name resolution on the nodes.";
    RestartDnsmasq "aro.restartdnsmasq.enabled" Switch, Set("false"), "dnsmasq is restarted when a network interface goes up or down.";
    EtcHosts "aro.etchosts.enabled" Switch, Set("true"), "Host entries on the nodes.";
    EtcHostsManaged "aro.etchosts.managed" Managed, Set("true"), "true: the host entries are kept; false: their MachineConfigs are removed.";
    ForceReconciliation "aro.forcereconciliation" Switch, Set("false"), "Changes that restart nodes are made outside upgrades too.";
    GenevaLogging "aro.genevalogging.enabled" Switch, Set("true"), "Shipping of logs.";
    OtelProfile "aro.genevalogging.otel.profile" PROFILE, Set("minimal-logs"), "Which logs are shipped.";
    Guardrails "aro.guardrails.enabled" Switch, Set("true"), "Admission policies that protect the platform.";
    GuardrailsDeploy "aro.guardrails.deploy.managed" Managed, Set("true"), "true: the policies are deployed; false: they are removed.";
    GuardrailsMethod "aro.guardrails.method" Choice(&["gatekeeper", "vap", "auto"]), Set("auto"), "What enforces the policies.";
    PolicyMachines "aro.guardrails.policies.aro-machines-deny.managed" Managed, Set("true"), "Policy for machines.";
    PolicyMachinesEnforcement "aro.guardrails.policies.aro-machines-deny.enforcement" ENFORCEMENT, Set("deny"), "Enforcement of the policy for machines.";
    PolicyMachineConfigs "aro.guardrails.policies.aro-machine-config-deny.managed" Managed, Set("true"), "Policy for MachineConfigs.";
    PolicyMachineConfigsEnforcement "aro.guardrails.policies.aro-machine-config-deny.enforcement" ENFORCEMENT, Set("dryrun"), "Enforcement of the policy for MachineConfigs.";
    PolicyNodes "aro.guardrails.policies.aro-nodes-deny.managed" Managed, Set("true"), "Policy for nodes.";
    PolicyNodesEnforcement "aro.guardrails.policies.aro-nodes-deny.enforcement" ENFORCEMENT, Set("deny"), "Enforcement of the policy for nodes.";
    PolicyNamespaces "aro.guardrails.policies.aro-privileged-namespace-deny.managed" Managed, Set("true"), "Policy for namespaces of the platform.";
    PolicyNamespacesEnforcement "aro.guardrails.policies.aro-privileged-namespace-deny.enforcement" ENFORCEMENT, Set("dryrun"), "Enforcement of the policy for namespaces of the platform.";
    ImageConfig "aro.imageconfig.enabled" Switch, Set("true"), "Registries in the allow and block lists of images.";
    Ingress "aro.ingress.enabled" Switch, Set("true"), "Replicas of the default ingress.";
    Machine "aro.machine.enabled" Switch, Set("true"), "The check of machines.";
    MachineHealthCheck "aro.machinehealthcheck.enabled" Switch, Set("true"), "The health check of machines.";
    MachineHealthCheckManaged "aro.machinehealthcheck.managed" Managed, Set("true"), "true: the health check is kept; false: it is removed.";
    MachineSet "aro.machineset.enabled" Switch, Set("true"), "The least number of worker machines.";
    Monitoring "aro.monitoring.enabled" Switch, Set("false"), "The configuration of cluster monitoring.";
    NodeDrainer "aro.nodedrainer.enabled" Switch, Set("true"), "Nodes whose drain takes too long.";
    PullSecret "aro.pullsecret.enabled" Switch, Set("true"), "Keys of the pull secret.";
    PullSecretManaged "aro.pullsecret.managed" Managed, Set("true"), "true: the pull secret is repaired.";
    Rbac "aro.rbac.enabled" Switch, Set("true"), "ClusterRoles of the people who operate the service.";
    RouteFix "aro.routefix.enabled" Switch, Set("true"), "Removal of an old fix of routes.";
    StorageAccounts "aro.storageaccounts.enabled" Switch, Set("true"), "Firewalls of the storage accounts.";
    Workaround "aro.workaround.enabled" Switch, Set("true"), "All workarounds.";
    WorkaroundCopyFail "aro.workaround.copyfail.enabled" Switch, Set("true"), "Workaround for CVE-2026-31431.";
    WorkaroundDirtyFrag "aro.workaround.dirtyfrag.enabled" Switch, Set("true"), "Workaround for CVE-2026-31432.";
    Muo "rh.srep.muo.enabled" Switch, Set("true"), "The managed upgrade operator.";
    MuoManaged "rh.srep.muo.managed" Managed, Set("true"), "true: the managed upgrade operator is deployed; false: it is removed.";

    Environment "aro.environment" Words, Implied(""), "Name of the environment of the service.";
    OtelMasterProfile "aro.genevalogging.otel.master.profile" PROFILE, SameAs(Flag::OtelProfile), "Which logs of control plane nodes are shipped.";
    OtelWorkerProfile "aro.genevalogging.otel.worker.profile" PROFILE, SameAs(Flag::OtelProfile), "Which logs of worker nodes are shipped.";
    OtelPullSpec "aro.genevalogging.otel.pullSpec" Image, Computed, "Image of the log exporter.";
    OtelSourceFields "aro.genevalogging.otel.emitsourcefields" Switch, Implied("false"), "Reserved, without effect.";
    GuardrailsNamespace "aro.guardrails.namespace" Resource, Implied("openshift-azure-guardrails"), "Namespace of Gatekeeper.";
    GuardrailsPullSpec "aro.guardrails.deploy.pullspec" Image, Computed, "Image of Gatekeeper.";
    ManagerRequestsCpu "aro.guardrails.deploy.manager.requests.cpu" Quantity, Implied("100m"), "CPU that the manager of Gatekeeper requests.";
    ManagerLimitCpu "aro.guardrails.deploy.manager.limit.cpu" Quantity, Implied("1000m"), "Most CPU of the manager of Gatekeeper.";
    ManagerRequestsMemory "aro.guardrails.deploy.manager.requests.mem" Quantity, Implied("512Mi"), "Memory that the manager of Gatekeeper requests.";
    ManagerLimitMemory "aro.guardrails.deploy.manager.limit.mem" Quantity, Implied("512Mi"), "Most memory of the manager of Gatekeeper.";
    AuditRequestsCpu "aro.guardrails.deploy.audit.requests.cpu" Quantity, Implied("100m"), "CPU that the audit of Gatekeeper requests.";
    AuditLimitCpu "aro.guardrails.deploy.audit.limit.cpu" Quantity, Implied("1000m"), "Most CPU of the audit of Gatekeeper.";
    AuditRequestsMemory "aro.guardrails.deploy.audit.requests.mem" Quantity, Implied("512Mi"), "Memory that the audit of Gatekeeper requests.";
    AuditLimitMemory "aro.guardrails.deploy.audit.limit.mem" Quantity, Implied("512Mi"), "Most memory of the audit of Gatekeeper.";
    ValidatingWebhookManaged "aro.guardrails.validatingwebhook.managed" FAILURE, Implied("Ignore"), "Failure policy of the validating webhook: true is Fail, false is Ignore.";
    ValidatingWebhookTimeout "aro.guardrails.validatingwebhook.timeoutSeconds" Number(1, 30), Implied("3"), "Timeout of the validating webhook, seconds.";
    MutatingWebhookManaged "aro.guardrails.mutatingwebhook.managed" FAILURE, Implied("Ignore"), "Failure policy of the mutating webhook: true is Fail, false is Ignore.";
    MutatingWebhookTimeout "aro.guardrails.mutatingwebhook.timeoutSeconds" Number(1, 30), Implied("1"), "Timeout of the mutating webhook, seconds.";
    GuardrailsMinutes "aro.guardrails.reconciliationMinutes" Number(1, 1440), Implied("60"), "Minutes between two reconciliations of the policies.";
    GuardrailsScc "aro.guardrails.role.scc.resourcename" Resource, Computed, "Security context constraints that Gatekeeper may use.";
    PolicyTolerations "aro.guardrails.policies.aro-master-toleration-pod-deny.managed" Managed, Implied("false"), "Policy for pods that tolerate control plane nodes.";
    PolicyTolerationsEnforcement "aro.guardrails.policies.aro-master-toleration-pod-deny.enforcement" ENFORCEMENT, Implied("dryrun"), "Enforcement of the policy for pods that tolerate control plane nodes.";
    PolicyPullSecret "aro.guardrails.policies.aro-pull-secret-deny.managed" Managed, Implied("false"), "Policy for the pull secret.";
    PolicyPullSecretEnforcement "aro.guardrails.policies.aro-pull-secret-deny.enforcement" ENFORCEMENT, Implied("dryrun"), "Enforcement of the policy for the pull secret.";
    MuoPullSpec "rh.srep.muo.deploy.pullspec" Image, Computed, "Image of the managed upgrade operator.";
}
