//! What the steps of Azure read from a cluster's document beyond what all steps do.

use std::collections::BTreeMap;

use rp_documents::ProvisioningState;

use crate::document::Document;
use crate::templates::id;

/// An identity that one of the platform's operators works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlatformIdentity<'a> {
    pub(crate) resource_id: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) object_id: &'a str,
}

/// A subnet of a cluster and the member of the document that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedSubnet {
    pub(crate) id: String,
    /// As customers know it: `properties.masterProfile.subnetId`.
    pub(crate) path: String,
    pub(crate) is_master: bool,
}

/// A disk encryption set and the member that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedSet {
    pub(crate) id: String,
    pub(crate) path: String,
}

impl Document {
    pub(crate) fn is_creating(&self) -> bool {
        self.properties.provisioning_state.get() == Some(&ProvisioningState::Creating)
    }

    pub(crate) fn is_admin_updating(&self) -> bool {
        self.properties.provisioning_state.get() == Some(&ProvisioningState::AdminUpdating)
    }

    /// Three load balancers and two security groups.
    pub(crate) fn is_first_architecture(&self) -> bool {
        self.architecture() == 0
    }

    /// Storage account of the cluster's own state.
    pub(crate) fn state_account(&self) -> String {
        format!("cluster{}", self.storage_suffix())
    }

    /// Storage account of the cluster's image registry.
    pub(crate) fn registry_account(&self) -> String {
        match &*self.properties.image_registry_storage_account_name {
            "" => format!("imageregistry{}", self.storage_suffix()),
            name => name.to_owned(),
        }
    }

    /// Object id of the cluster's service principal.
    pub(crate) fn principal(&self) -> &str {
        &self.properties.service_principal_profile.object_id
    }

    pub(crate) fn client_id(&self) -> &str {
        &self.properties.service_principal_profile.client_id
    }

    /// How many outbound addresses we manage; a profile without the member has one.
    pub(crate) fn managed_addresses(&self) -> usize {
        let count = self.properties.network_profile.load_balancer_profile.managed_outbound_ips.count.get();
        count.and_then(|count| usize::try_from(*count).ok()).unwrap_or(1)
    }

    /// Ids of the outbound addresses in use.
    pub(crate) fn effective_addresses(&self) -> Vec<&str> {
        let all = self.properties.network_profile.load_balancer_profile.effective_outbound_ips.iter();
        all.filter_map(|address| address.id.get()).map(String::as_str).collect()
    }

    pub(crate) fn gateway_ip(&self) -> &str {
        &self.properties.network_profile.gateway_private_endpoint_ip
    }

    pub(crate) fn master_size(&self) -> &str {
        &self.properties.master_profile.vm_size
    }

    pub(crate) fn master_encryption_set(&self) -> Option<&str> {
        Some(&*self.properties.master_profile.disk_encryption_set_id).filter(|id| !id.is_empty())
    }

    pub(crate) fn is_master_host_encrypted(&self) -> bool {
        &*self.properties.master_profile.encryption_at_host == "Enabled"
    }

    pub(crate) fn upgradeable_to(&self) -> Option<&str> {
        let to = &*self.properties.platform_workload_identity_profile.upgradeable_to;
        Some(to).filter(|version| !version.is_empty())
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.properties.cluster_profile.oidc_issuer
    }

    /// Platform identities by operator.
    pub(crate) fn identities(&self) -> BTreeMap<&str, PlatformIdentity<'_>> {
        let all = self.properties.platform_workload_identity_profile.platform_workload_identities.iter();
        all.map(|(operator, identity)| {
            let identity = PlatformIdentity {
                resource_id: &identity.resource_id,
                client_id: &identity.client_id,
                object_id: &identity.object_id,
            };
            (operator.as_str(), identity)
        })
        .collect()
    }

    /// Whose member workers are read from.
    fn worker_member(&self) -> &'static str {
        match &*self.properties.worker_profiles_status {
            [] => "workerProfiles",
            _ => "workerProfilesStatus",
        }
    }

    /// The control plane's subnet and the workers', each once, in any case.
    pub(crate) fn named_subnets(&self) -> Vec<NamedSubnet> {
        let master = NamedSubnet {
            id: self.master_subnet().to_owned(),
            path: "properties.masterProfile.subnetId".to_owned(),
            is_master: true,
        };
        let mut all = vec![master];
        for (at, id) in self.worker_subnets().into_iter().enumerate() {
            if !all.iter().any(|known| known.id.eq_ignore_ascii_case(id)) {
                let path = format!("properties.{}[{at}].subnetId", self.worker_member());
                all.push(NamedSubnet { id: id.to_owned(), path, is_master: false });
            }
        }
        all
    }

    /// Disk encryption sets, each once, with the member that names it.
    pub(crate) fn named_encryption_sets(&self) -> Vec<NamedSet> {
        let master = self.master_encryption_set().map(|id| NamedSet {
            id: id.to_owned(),
            path: "properties.masterProfile.diskEncryptionSetId".to_owned(),
        });
        let mut all: Vec<NamedSet> = master.into_iter().collect();
        for (at, worker) in self.worker_profiles().iter().enumerate() {
            let id = &*worker.disk_encryption_set_id;
            if !id.is_empty() && !all.iter().any(|known| known.id.eq_ignore_ascii_case(id)) {
                let path = format!("properties.workerProfiles[{at}].diskEncryptionSetId");
                all.push(NamedSet { id: id.to_owned(), path });
            }
        }
        all
    }

    /// The cluster's own security group for a subnet (`contract/api.md` §3).
    pub(crate) fn security_group(&self, subnet: &str) -> String {
        let behind = match (self.is_first_architecture(), self.is_worker_subnet(subnet)) {
            (false, _) => "-nsg",
            (true, true) => "-node-nsg",
            (true, false) => "-controlplane-nsg",
        };
        let name = format!("{}{behind}", self.infra_id());
        id(self.group_id(), "Microsoft.Network/networkSecurityGroups", &name)
    }

    fn is_worker_subnet(&self, subnet: &str) -> bool {
        self.worker_subnets().iter().any(|id| id.eq_ignore_ascii_case(subnet))
    }

    /// The one user-assigned identity of a cluster with workload identities.
    ///
    /// # Errors
    /// There is none, or more than one.
    pub(crate) fn own_identity(&self) -> Result<&str, &'static str> {
        let mut all = self.managed_service_identity.user_assigned_identities.iter();
        match (all.next(), all.next()) {
            (Some((id, _)), None) => Ok(id),
            (None, _) => Err("could not find cluster MSI in cluster doc"),
            (Some(_), Some(_)) => Err("unexpectedly found more than one cluster MSI in cluster doc"),
        }
    }
}
