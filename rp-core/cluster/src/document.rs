//! A cluster's stored document as the steps read it.

use std::ops::Deref;
use std::sync::Arc;

use rp_documents::cluster::{Shared, WorkerProfile};
use rp_documents::{ClusterDocument, OpenShiftCluster};

use crate::errors::StepError;

/// The whole document; a cheap clone. Reads as the cluster.
#[derive(Clone)]
pub struct Document(Arc<ClusterDocument>);

impl Deref for Document {
    type Target = OpenShiftCluster;

    fn deref(&self) -> &OpenShiftCluster {
        &self.0.cluster
    }
}

impl Document {
    /// Of a stored document.
    pub const fn new(document: Arc<ClusterDocument>) -> Self {
        Self(document)
    }

    /// The document with its envelope.
    pub fn envelope(&self) -> &ClusterDocument {
        &self.0
    }

    /// The document's id, a UUID.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The cluster's resource id in the caller's casing.
    pub fn cluster_id(&self) -> &str {
        self.id.original()
    }

    /// Lower-cased resource id: the key in the store and of the installer.
    pub fn key(&self) -> String {
        self.cluster_id().to_ascii_lowercase()
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        self.cluster_id().rsplit('/').next().unwrap_or_default()
    }

    /// The customer's subscription.
    pub fn subscription_id(&self) -> &str {
        self.cluster_id().split('/').nth(2).unwrap_or_default()
    }

    /// Azure location in lower case.
    pub fn location(&self) -> String {
        self.location.to_ascii_lowercase()
    }

    /// Prefix of resource names; very old clusters have none: `aro`.
    pub fn infra_id(&self) -> &str {
        match &*self.properties.infra_id {
            "" => "aro",
            id => id,
        }
    }

    /// Resource id of the managed resource group.
    pub fn group_id(&self) -> &str {
        &self.properties.cluster_profile.resource_group_id
    }

    /// Its name.
    pub fn group(&self) -> &str {
        self.group_id().rsplit('/').next().unwrap_or_default()
    }

    /// End of the storage accounts' names.
    pub fn storage_suffix(&self) -> &str {
        &self.properties.storage_suffix
    }

    /// OpenShift's version.
    pub fn version(&self) -> &str {
        &self.properties.cluster_profile.version
    }

    /// Major and minor of the version.
    pub fn minor(&self) -> Option<(u32, u32)> {
        let mut parts = self.version().split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }

    /// 0: V1, 1: V2.
    pub fn architecture(&self) -> i64 {
        *self.properties.architecture_version
    }

    /// Whether platform identities take the place of a service principal.
    pub fn is_workload_identity(&self) -> bool {
        self.properties.is_workload_identity()
    }

    /// Whether the API server has a public address.
    pub fn is_api_public(&self) -> bool {
        &*self.properties.apiserver_profile.visibility == "Public"
    }

    /// Whether the default ingress has a public address.
    pub fn is_ingress_public(&self) -> bool {
        self.properties.ingress_profiles.first().is_some_and(|ingress| &*ingress.visibility == "Public")
    }

    /// Address of the default ingress; empty when it is not known.
    pub(crate) fn ingress_ip(&self) -> &str {
        self.properties.ingress_profiles.first().map_or("", |ingress| &ingress.ip)
    }

    /// Whether machines reach the outside through the public load balancer, not the customer's routes.
    pub fn is_outbound_balanced(&self) -> bool {
        &*self.properties.network_profile.outbound_type != "UserDefinedRouting"
    }

    /// Whether the subnets have the customer's own security groups.
    pub fn is_nsg_preconfigured(&self) -> bool {
        &*self.properties.network_profile.preconfigured_nsg == "Enabled"
    }

    /// Whether the cluster reaches the service through the gateway.
    pub fn is_gateway_enabled(&self) -> bool {
        *self.properties.feature_profile.gateway_enabled
    }

    /// Subnet of the control plane.
    pub fn master_subnet(&self) -> &str {
        &self.properties.master_profile.subnet_id
    }

    /// The workers' profiles: as they are, where that is known, else as they were sent.
    pub fn worker_profiles(&self) -> &[Shared<WorkerProfile>] {
        self.properties.workers()
    }

    /// Subnets of the workers, in the profiles' order; an empty text where a profile has none.
    pub fn worker_subnets(&self) -> Vec<&str> {
        self.worker_profiles().iter().map(|profile| &*profile.subnet_id).collect()
    }

    /// Zones of the cluster's own resources.
    pub fn zones(&self) -> Vec<&str> {
        self.properties.zones.iter().filter_map(|zone| zone.get()).map(String::as_str).collect()
    }

    /// The whole domain: a name without a dot gets the parent's.
    pub fn domain(&self, parent: &str) -> String {
        let domain = &*self.properties.cluster_profile.domain;
        if domain.contains('.') { domain.to_owned() } else { format!("{domain}.{parent}") }
    }

    /// First label of a domain that we manage; `None`: it is the customer's own (`contract/cluster.md` §6.4).
    ///
    /// # Errors
    /// It is no domain.
    pub fn managed_prefix(&self, parent: &str) -> Result<Option<&str>, StepError> {
        let domain = &*self.properties.cluster_profile.domain;
        if domain.is_empty() || domain.starts_with('.') || domain.ends_with('.') {
            return Err(StepError::other(format!("invalid domain \"{domain}\"")));
        }
        let prefix = domain.strip_suffix(parent).and_then(|rest| rest.strip_suffix('.')).unwrap_or(domain);
        Ok(Some(prefix).filter(|prefix| !prefix.contains('.')))
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("id", &self.id()).finish_non_exhaustive()
    }
}
