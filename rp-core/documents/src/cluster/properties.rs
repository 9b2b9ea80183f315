//! `properties` of a cluster (`contract/api.md` §3).

use super::identity::{PlatformWorkloadIdentityProfile, ServicePrincipalProfile};
use super::install::Install;
use super::maintenance::MaintenanceState;
use super::member::{Intent, Member, Outcome, Shared};
use super::object::{object, optional_objects, required};
use super::profiles::{
    ApiServerProfile, ClusterProfile, ConsoleProfile, FeatureProfile, HiveProfile, IngressProfile,
    MasterProfile, NetworkProfile, RegistryProfile, WorkerProfile,
};
use super::provisioning::ProvisioningState;
use super::shape::{Instant, Map};
use super::writer::ByRule;
use crate::Sealed;

object! {
    /// Configuration and state of the cluster.
    #[derive(Default)]
    pub struct Properties {
        /// The installer's kubeconfig, valid for ten years. It is never given out.
        "adminKubeconfig" => admin_kubeconfig: Outcome<Sealed>,
        "apiserverProfile" => apiserver_profile: Shared<ApiServerProfile>,
        /// 0: V1, with three load balancers; 1: V2, with two.
        "architectureVersion" => architecture_version: Intent<i64>,
        /// Kubeconfig of `system:aro-sre`.
        "aroSREKubeconfig" => sre_kubeconfig: Outcome<Sealed>,
        /// Kubeconfig of `system:aro-service` (`system:masters`).
        "aroServiceKubeconfig" => service_kubeconfig: Outcome<Sealed>,
        /// The signing authorities of the cluster's certificates, as JSON.
        "clusterAuthorities" => cluster_authorities: Outcome<Sealed>,
        "clusterProfile" => cluster_profile: Shared<ClusterProfile>,
        "consoleProfile" => console_profile: Shared<ConsoleProfile>,
        "createdAt" => created_at: Intent<Instant>,
        /// Commit of the software that made the cluster.
        "createdBy" => created_by: Intent<String>,
        /// The operation that failed; see [`super::provisioning`].
        "failedProvisioningState" => failed_provisioning_state: Member<ProvisioningState, ByRule>,
        "featureProfile" => feature_profile: Intent<FeatureProfile>,
        "hiveProfile" => hive_profile: Outcome<HiveProfile>,
        /// Account of the image registry.
        "imageRegistryStorageAccountName" => image_registry_storage_account_name: Outcome<String>,
        /// Prefix of the names of the cluster's resources.
        "infraId" => infra_id: Outcome<String>,
        "ingressProfiles" => ingress_profiles: Shared<Vec<Shared<IngressProfile>>>,
        /// There only while the cluster is installed.
        "install" => install: Outcome<Install>,
        "kubeadminPassword" => kubeadmin_password: Outcome<Sealed>,
        /// Text of the last failure of an administrators' update; the edge removes it when a new one is accepted.
        "lastAdminUpdateError" => last_admin_update_error: Shared<String>,
        /// The state before the operation that runs; see [`super::provisioning`].
        "lastProvisioningState" => last_provisioning_state: Member<ProvisioningState, ByRule>,
        /// See [`super::maintenance`].
        "maintenanceState" => maintenance_state: Member<MaintenanceState, ByRule>,
        /// What an administrator asked for. The worker removes it at the end, and fills it in where it is missing.
        "maintenanceTask" => maintenance_task: Shared<String>,
        "masterProfile" => master_profile: Shared<MasterProfile>,
        "networkProfile" => network_profile: Shared<NetworkProfile>,
        /// Flags of the operator. The worker turns off flags that conflict with the customer's own security groups.
        "operatorFlags" => operator_flags: Shared<Map<Shared<String>>>,
        /// Pins the operator inside the cluster.
        "operatorVersion" => operator_version: Shared<String>,
        "platformWorkloadIdentityProfile" =>
            platform_workload_identity_profile: Shared<PlatformWorkloadIdentityProfile>,
        /// Commit of the software that made or last updated the cluster.
        "provisionedBy" => provisioned_by: Shared<String>,
        /// See [`super::provisioning`].
        "provisioningState" => provisioning_state: Member<ProvisioningState, ByRule>,
        "registryProfiles" => registry_profiles: Outcome<Vec<Outcome<RegistryProfile>>>,
        "servicePrincipalProfile" => service_principal_profile: Shared<ServicePrincipalProfile>,
        /// Private key of the machines' user `core`, RSA as PKCS#1 DER.
        "sshKey" => ssh_key: Outcome<Sealed>,
        /// End of the names of the cluster's storage accounts.
        "storageSuffix" => storage_suffix: Outcome<String>,
        /// Kubeconfig that customers get.
        "userAdminKubeconfig" => user_admin_kubeconfig: Outcome<Sealed>,
        /// As sent at create. The worker fills in defaults that older documents do not have.
        "workerProfiles" => worker_profiles: Shared<Vec<Shared<WorkerProfile>>>,
        /// As they are, where that is known.
        "workerProfilesStatus" => worker_profiles_status: Shared<Vec<Shared<WorkerProfile>>>,
        /// Zones of the cluster's own resources.
        "zones" => zones: Outcome<Vec<Outcome<String>>>,
    }
}

required!(Properties);
optional_objects!(Properties);

impl Properties {
    /// The workers: as they are, where that is known, else as they were sent.
    pub fn workers(&self) -> &[Shared<WorkerProfile>] {
        match &*self.worker_profiles_status {
            [] => &self.worker_profiles,
            known => known,
        }
    }

    /// Whether platform identities take the place of a service principal.
    pub const fn is_workload_identity(&self) -> bool {
        !self.platform_workload_identity_profile.is_none() && self.service_principal_profile.is_none()
    }
}
