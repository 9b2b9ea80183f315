//! The plans: which steps run in which order, as pure lists (`contract/cluster.md` §2–5). They are reviewed as
//! `tests/plans/*.txt`.

use std::time::Duration;

use rp_documents::cluster::{ClusterSecret, InstallPhase, MaintenanceTask};

use crate::context::Context;
use crate::installer::Installation;
use crate::manager::Operation;
use crate::step::{LONG_ACTION, Step};
use crate::{action, authorization_retrying, condition};
use crate::{
    certificates, cleanup, cluster_data, conditions, credentials, day_one, install, kubeconfigs,
    machine_config, operator, resources, validation, values,
};

/// The properties of cluster and region that decide which steps a plan has. They do not change during an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanInputs {
    /// Platform identities instead of a service principal.
    pub workload_identity: bool,
    /// The customer's own network security groups.
    pub preconfigured_nsg: bool,
    /// The cluster reaches the service through the gateway.
    pub gateway_enabled: bool,
    /// The region has a gateway.
    pub gateway: bool,
    /// Certificates of API and ingress are ordered.
    pub signed_certificates: bool,
    /// Machines reach the outside through the public load balancer.
    pub balanced: bool,
    /// Disks are encrypted with the customer's own keys.
    pub disk_encryption_set: bool,
    /// The image registry needs a token.
    pub registry: bool,
    /// Others than we are refused changes in the managed resource group.
    pub deny_assignment: bool,
    /// Samples and catalogues of operators stay as they are.
    pub pull_secret: bool,
    /// `maintenanceTask`; `None`: we do not know it.
    pub task: Option<MaintenanceTask>,
    /// V1 of the architecture, with other names.
    pub first_architecture: bool,
    /// 4.19 and later serve machine configurations in another way.
    pub legacy_machine_config: bool,
    /// The region's installer makes machines too; else the steps do.
    pub whole_installer: bool,
    /// 4.7 and later take updates of the operator; false for a version that cannot be read.
    pub operator_updates: bool,
}

/// The phase of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The only phase of an operation.
    Only,
    Bootstrap,
    RemoveBootstrap,
}

impl Phase {
    /// As it is stored and logged; empty for operations of one part.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Only => "",
            Self::Bootstrap => InstallPhase::Bootstrap.name(),
            Self::RemoveBootstrap => InstallPhase::RemoveBootstrap.name(),
        }
    }
}

impl PlanInputs {
    /// Of a running operation.
    pub fn from_context(context: &Context) -> Self {
        let (document, env) = (context.document(), &context.env);
        let worker = document.worker_profiles().first();
        Self {
            workload_identity: document.is_workload_identity(),
            preconfigured_nsg: document.is_nsg_preconfigured(),
            gateway_enabled: document.is_gateway_enabled(),
            gateway: env.gateways.is_some(),
            signed_certificates: certificates::are_signed(context),
            balanced: document.is_outbound_balanced(),
            disk_encryption_set: worker.is_some_and(|worker| !worker.disk_encryption_set_id.is_empty()),
            registry: !env.registry_id.is_empty() && !env.features.development,
            deny_assignment: !env.features.disable_deny_assignments,
            pull_secret: ClusterSecret::PullSecret.sealed_in(&document).is_some()
                && !env.features.development,
            task: task_named(&document.properties.maintenance_task),
            first_architecture: document.architecture() == 0,
            legacy_machine_config: document.minor().is_none_or(|minor| minor < (4, 19)),
            whole_installer: matches!(env.installation, Installation::Whole(_)),
            operator_updates: document.minor().is_some_and(|minor| minor >= (4, 7)),
        }
    }
}

/// The task of this name; without a name it is everything.
pub(crate) fn task_named(name: &str) -> Option<MaintenanceTask> {
    if name.is_empty() { Some(MaintenanceTask::Everything) } else { MaintenanceTask::named(name) }
}

/// The steps of an operation's phase.
pub(crate) fn for_operation(operation: Operation, phase: Phase, inputs: &PlanInputs) -> Vec<Step> {
    match (operation, phase) {
        (Operation::Create, Phase::RemoveBootstrap) => remove_bootstrap(inputs),
        (Operation::Create, _) => bootstrap(inputs),
        (Operation::Update, _) => update(inputs),
        (Operation::AdminUpdate, _) => admin_update(inputs),
        (Operation::Delete, _) => delete(inputs),
    }
}

/// A list of steps without those that a cluster does not need.
#[derive(Debug, Default)]
struct Plan(Vec<Step>);

impl Plan {
    fn add(&mut self, step: Step) {
        self.0.push(step);
    }

    fn add_if(&mut self, needed: bool, step: Step) {
        if needed {
            self.0.push(step);
        }
    }
}

const API: Step = condition!("apiServersReady", 30, conditions::api_servers_ready);
const PLATFORM_IDS: Step =
    action!("platformWorkloadIdentityIDs", resources::identities::platform_workload_identity_ids);
const CLUSTER_IDS: Step =
    authorization_retrying!("clusterIdentityIDs", resources::identities::cluster_identity_ids);
const MSI_CERTIFICATE: Step =
    action!("ensureClusterMsiCertificate", resources::identities::ensure_cluster_msi_certificate);
const MSI_TENANT: Step =
    action!("fixupClusterMsiTenantID", resources::identities::fixup_cluster_msi_tenant_id);
const VALIDATE: Step = authorization_retrying!("validateResources", validation::validate_resources);
const FEDERATE: Step =
    action!("federateIdentityCredentials", resources::federated::federate_identity_credentials);
const DENY: Step = action!("createOrUpdateDenyAssignment", resources::base::create_or_update_deny_assignment);
const START: Step = action!("startVMs", resources::machines::start_vms);
const API_CERTIFICATE: Step =
    action!("configureAPIServerCertificate", certificates::configure_api_server_certificate);
const INGRESS_CERTIFICATE: Step =
    action!("configureIngressCertificate", certificates::configure_ingress_certificate);
const ISSUER: Step = action!("correctCertificateIssuer", certificates::correct_certificate_issuer);
const USER_KUBECONFIG: Step = action!("fixUserAdminKubeconfig", kubeconfigs::fix_user_admin_kubeconfig);
const NETWORK_KIND: Step =
    action!("reconcileSoftwareDefinedNetwork", cluster_data::reconcile_software_defined_network);
const ENDPOINTS: Step = action!("ensureServiceEndpoints", resources::subnets::ensure_service_endpoints);
const GROUP: Step = action!("ensureResourceGroup", resources::group::ensure_resource_group);
const BILL: Step = action!("ensureBillingRecord", install::ensure_billing_record);
const ROTATE: Step = action!("rotateACRTokenPassword", resources::registry::rotate_acr_token_password);
const FIX_SSH: Step = action!("fixSSH", resources::machines::fix_ssh);
const REGISTRY_ACCOUNT: Step =
    action!("populateRegistryStorageAccountName", cluster_data::populate_registry_storage_account_name);
const OPERATOR_READY: Step = condition!("aroDeploymentReady", 20, operator::aro_deployment_ready);
const SYNC_CLUSTER: Step = action!("syncClusterObject", operator::sync_cluster_object);

/// `contract/cluster.md` §2.1.
fn bootstrap(inputs: &PlanInputs) -> Vec<Step> {
    let mut plan = Plan::default();
    let workload = inputs.workload_identity;
    plan.add_if(workload, MSI_CERTIFICATE);
    plan.add_if(workload, PLATFORM_IDS);
    plan.add(VALIDATE);
    plan.add(authorization_retrying!("validateZones", resources::zones::validate_zones));
    plan.add_if(workload, CLUSTER_IDS);
    plan.add_if(
        !workload,
        authorization_retrying!("clusterSPObjectID", resources::identities::cluster_sp_object_id),
    );
    plan.add_if(
        inputs.preconfigured_nsg,
        action!("ensurePreconfiguredNSG", values::ensure_preconfigured_nsg),
    );
    plan.add_if(inputs.registry, action!("ensureACRToken", resources::registry::ensure_acr_token));
    plan.add(action!("ensureInfraID", values::ensure_infra_id));
    plan.add(action!("ensureSSHKey", values::ensure_ssh_key));
    plan.add(action!("ensureStorageSuffix", values::ensure_storage_suffix));
    plan.add(action!("populateMTUSize", values::populate_mtu_size));
    plan.add(action!("createDNS", resources::dns::create_dns));
    plan.add_if(workload, action!("createOIDC", resources::oidc::create_oidc));
    bootstrap_resources(inputs, &mut plan);
    plan.add_if(
        inputs.signed_certificates,
        action!("createCertificates", certificates::create_certificates).within(Duration::from_mins(35)),
    );
    installation(inputs, &mut plan);
    plan.add(BILL);
    plan.add(API);
    plan.add(action!("installAROOperator", operator::install));
    plan.add(action!("enableOperatorReconciliation", operator::enable_reconciliation));
    plan.add(action!("incrInstallPhase", values::incr_install_phase));
    plan.0
}

/// The steps that install OpenShift. Kubeconfigs come after the installer, whose authorities sign them
/// (`contract/cluster.md` §12).
fn installation(inputs: &PlanInputs, plan: &mut Plan) {
    let kubeconfigs = action!("generateKubeconfigs", kubeconfigs::generate_kubeconfigs);
    if inputs.whole_installer {
        plan.add(action!("runInstaller", install::run_installer));
        plan.add(condition!("installationComplete", 60, install::installation_complete));
        plan.add(kubeconfigs);
        return;
    }
    plan.add(authorization_retrying!("runInstaller", install::run_installer).within(LONG_ACTION));
    plan.add(kubeconfigs);
    plan.add(authorization_retrying!("deployMachines", install::deploy_machines).within(LONG_ACTION));
    plan.add(condition!("bootstrapComplete", 60, install::bootstrap_complete));
}

/// The steps that create the Azure resources before OpenShift is installed.
fn bootstrap_resources(inputs: &PlanInputs, plan: &mut Plan) {
    plan.add(GROUP);
    plan.add_if(!inputs.gateway_enabled, ENDPOINTS);
    plan.add(action!("setMasterSubnetPolicies", resources::subnets::set_master_subnet_policies));
    plan.add(
        authorization_retrying!("deployBaseResourceTemplate", resources::base::deploy_base_resource_template)
            .within(LONG_ACTION),
    );
    plan.add_if(inputs.workload_identity, FEDERATE);
    plan.add_if(
        !inputs.preconfigured_nsg,
        authorization_retrying!("attachNSGs", resources::subnets::attach_nsgs),
    );
    plan.add(authorization_retrying!("updateAPIIPEarly", resources::addresses::update_api_ip_early));
    plan.add(authorization_retrying!(
        "createOrUpdateRouterIPEarly",
        resources::addresses::create_or_update_router_ip_early
    ));
    plan.add_if(
        inputs.gateway,
        authorization_retrying!("ensureGatewayCreate", resources::endpoints::ensure_gateway_create),
    );
    plan.add(authorization_retrying!(
        "createAPIServerPrivateEndpoint",
        resources::endpoints::create_api_server_private_endpoint
    ));
}

/// `contract/cluster.md` §2.2.
fn remove_bootstrap(inputs: &PlanInputs) -> Vec<Step> {
    let mut plan = Plan::default();
    plan.add(action!("removeBootstrap", resources::bootstrap::remove_bootstrap));
    plan.add(action!("removeBootstrapIgnition", resources::bootstrap::remove_bootstrap_ignition));
    plan.add(API);
    plan.add_if(inputs.signed_certificates, API_CERTIFICATE);
    plan.add(API);
    plan.add(condition!("minimumWorkerNodesReady", 30, conditions::minimum_worker_nodes_ready));
    plan.add(condition!("operatorConsoleExists", 30, conditions::operator_console_exists));
    plan.add(action!("updateConsoleBranding", day_one::update_console_branding));
    plan.add(condition!("operatorConsoleReady", 20, conditions::operator_console_ready));
    plan.add_if(!inputs.pull_secret, action!("disableSamples", day_one::disable_samples));
    plan.add_if(
        !inputs.pull_secret,
        action!("disableOperatorHubSources", day_one::disable_operator_hub_sources),
    );
    plan.add(action!("disableUpdates", day_one::disable_updates));
    plan.add(condition!("clusterVersionReady", 30, conditions::cluster_version_ready));
    plan.add(OPERATOR_READY);
    plan.add(action!("updateClusterData", cluster_data::update_cluster_data));
    plan.add_if(inputs.signed_certificates, INGRESS_CERTIFICATE);
    plan.add(condition!("ingressControllerReady", 30, conditions::ingress_controller_ready));
    plan.add_if(
        inputs.disk_encryption_set,
        action!("configureDefaultStorageClass", day_one::configure_default_storage_class),
    );
    plan.add_if(
        inputs.workload_identity,
        action!("removeAzureFileCSIStorageClass", day_one::remove_azure_file_storage_class),
    );
    plan.add(action!("disableOperatorReconciliation", operator::disable_reconciliation));
    plan.add(condition!("clusterOperatorsHaveSettled", 30, conditions::cluster_operators_have_settled));
    plan.add(action!("finishInstallation", values::finish_installation));
    plan.0
}

/// `contract/cluster.md` §3.
fn update(inputs: &PlanInputs) -> Vec<Step> {
    let mut plan = Plan::default();
    let workload = inputs.workload_identity;
    plan.add_if(workload, MSI_TENANT);
    plan.add_if(workload, MSI_CERTIFICATE);
    plan.add_if(workload, PLATFORM_IDS);
    plan.add(VALIDATE);
    if workload {
        plan.add(CLUSTER_IDS);
        plan.add(action!(
            "ensurePlatformWorkloadIdentityRBAC",
            resources::rbac::ensure_platform_workload_identity_rbac
        ));
        plan.add(FEDERATE);
    } else {
        plan.add(authorization_retrying!(
            "fixupClusterSPObjectID",
            resources::identities::fixup_cluster_sp_object_id
        ));
        plan.add(action!(
            "createOrUpdateClusterServicePrincipalRBAC",
            resources::rbac::create_or_update_cluster_service_principal_rbac
        ));
    }
    plan.add_if(inputs.deny_assignment, DENY);
    plan.add(START);
    plan.add(API);
    plan.add_if(inputs.registry, ROTATE);
    if inputs.signed_certificates {
        plan.0.extend([ISSUER, API_CERTIFICATE, INGRESS_CERTIFICATE]);
    }
    plan.add(USER_KUBECONFIG);
    plan.add_if(
        inputs.balanced && !inputs.first_architecture,
        action!("reconcileLoadBalancerProfile", resources::balancer::reconcile_load_balancer_profile),
    );
    plan.add(NETWORK_KIND);
    plan.add(action!("ensureCredentialsRequest", operator::ensure_credentials_request));
    if workload {
        plan.add(action!("ensureUpgradeAnnotation", credentials::ensure_upgrade_annotation));
        plan.add(action!(
            "deployPlatformWorkloadIdentitySecrets",
            credentials::deploy_platform_workload_identity_secrets
        ));
    } else {
        plan.add(action!("updateOpenShiftSecret", credentials::update_openshift_secret));
        plan.add(condition!(
            "aroCredentialsRequestReconciled",
            3,
            operator::aro_credentials_request_reconciled
        ));
        plan.add(action!("updateAROSecret", credentials::update_aro_secret));
        plan.add(action!("restartAROOperatorMaster", operator::restart_master));
        plan.add(OPERATOR_READY.within(Duration::from_mins(5)));
    }
    plan.0
}

/// `contract/cluster.md` §4: the prologue, then the blocks of the task.
fn admin_update(inputs: &PlanInputs) -> Vec<Step> {
    let mut plan = Plan::default();
    plan.add(BILL);
    plan.add(action!("ensureDefaults", values::ensure_defaults));
    if inputs.workload_identity {
        plan.0.extend([MSI_TENANT, MSI_CERTIFICATE, CLUSTER_IDS, PLATFORM_IDS]);
    } else {
        plan.add(action!("fixupClusterSPObjectID", resources::identities::fixup_cluster_sp_object_id));
    }
    plan.add(action!("fixInfraID", values::fix_infra_id));
    match inputs.task {
        Some(MaintenanceTask::Everything) => {
            general_fixes(inputs, &mut plan);
            certificate_renewal(inputs, &mut plan);
            operator_update(inputs, &mut plan);
            plan.add(action!("updateProvisionedBy", values::update_provisioned_by));
        }
        Some(MaintenanceTask::CertificatesRenewal) => certificate_renewal(inputs, &mut plan),
        Some(MaintenanceTask::MigrateLoadBalancer) => {
            plan.add(
                action!(
                    "migrateInternalLoadBalancerZones",
                    resources::zone_migration::migrate_internal_load_balancer_zones
                )
                .within(LONG_ACTION),
            );
            plan.add(FIX_SSH);
        }
        Some(MaintenanceTask::OperatorUpdate) => operator_update(inputs, &mut plan),
        Some(MaintenanceTask::SyncClusterObject) => plan.0.extend([START, API, SYNC_CLUSTER]),
        Some(MaintenanceTask::Pending | MaintenanceTask::None | MaintenanceTask::CustomerActionNeeded)
        | None => {}
    }
    plan.0
}

fn general_fixes(inputs: &PlanInputs, plan: &mut Plan) {
    plan.add(GROUP);
    plan.add_if(inputs.deny_assignment, DENY);
    plan.add_if(!inputs.gateway_enabled, ENDPOINTS);
    plan.add(FIX_SSH);
    plan.add(START);
    plan.add(API);
    // After the API is there: it asks the cluster (`contract/cluster.md` "Do better" 18).
    plan.add(REGISTRY_ACCOUNT);
    plan.add(
        action!("migrateStorageAccounts", resources::base::migrate_storage_accounts).within(LONG_ACTION),
    );
    plan.add(action!("fixSREKubeconfig", kubeconfigs::fix_sre_kubeconfig));
    plan.add(USER_KUBECONFIG);
    plan.add(action!("createOrUpdateRouterIPFromCluster", cluster_data::router_ip_from_cluster));
    plan.add_if(
        inputs.gateway,
        action!("ensureGatewayUpgrade", resources::endpoints::ensure_gateway_upgrade),
    );
    plan.add_if(inputs.registry, ROTATE);
    plan.add(action!("ensureMTUSize", cluster_data::ensure_mtu_size));
    plan.add(NETWORK_KIND);
}

fn certificate_renewal(inputs: &PlanInputs, plan: &mut Plan) {
    plan.add(START);
    plan.add(API);
    plan.add(action!("populateDatabaseIntIP", resources::addresses::populate_database_int_ip));
    plan.add_if(inputs.signed_certificates, ISSUER);
    plan.add_if(inputs.legacy_machine_config, action!("fixMCSCert", machine_config::fix_mcs_cert));
    plan.add(action!("fixMCSUserData", machine_config::fix_mcs_user_data));
    if inputs.signed_certificates {
        plan.0.extend([API_CERTIFICATE, INGRESS_CERTIFICATE]);
    }
    plan.add_if(inputs.workload_identity, MSI_CERTIFICATE);
}

/// The `Cluster` is synchronised once the new version runs, so that flags that change meet it and nodes restart once.
fn operator_update(inputs: &PlanInputs, plan: &mut Plan) {
    if !inputs.operator_updates {
        return;
    }
    plan.add(START);
    plan.add(API);
    plan.add(action!("ensureAROOperator", operator::update));
    plan.add(OPERATOR_READY);
    plan.add(condition!("ensureAROOperatorRunningDesiredVersion", 5, operator::running_desired_version));
    plan.add(SYNC_CLUSTER);
}

/// `contract/cluster.md` §5.
fn delete(inputs: &PlanInputs) -> Vec<Step> {
    let mut plan = Plan::default();
    plan.add(action!("ensureResourceGroup", resources::group::ensure_resource_group_for_delete));
    plan.add(action!("deleteDNS", cleanup::delete_dns));
    plan.add(action!("deletePrivateEndpoint", cleanup::delete_private_endpoint));
    plan.add_if(inputs.workload_identity, action!("deleteOIDC", cleanup::delete_oidc));
    plan.add(action!("deleteRoleAssignments", cleanup::delete_role_assignments));
    plan.add(action!("deleteRoleDefinitions", cleanup::delete_role_definitions));
    plan.add_if(inputs.gateway, action!("deleteGateway", cleanup::delete_gateway));
    plan.add(action!("deleteResourceGroup", cleanup::delete_resource_group).within(Duration::from_mins(120)));
    plan.add_if(
        inputs.workload_identity,
        action!("deleteFederatedCredentials", cleanup::delete_federated_credentials),
    );
    plan.add_if(inputs.signed_certificates, action!("deleteCertificates", certificates::delete_certificates));
    plan.add_if(inputs.registry, action!("deleteRegistryToken", cleanup::delete_registry_token));
    plan.add(action!("removeInstallation", install::remove_installation));
    plan.add(action!("endBillingRecord", install::end_billing_record));
    plan.0
}
