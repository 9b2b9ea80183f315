//! The sealed members of a cluster: where each stands and the name that it is sealed under (`contract/api.md` §1.3).

use super::envelope::OpenShiftCluster;
use super::member::{Intent, Outcome};
use crate::Sealed;

/// A sealed member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClusterSecret {
    AdminKubeconfig,
    BoundServiceAccountSigningKey,
    ClientSecret,
    ClusterAuthorities,
    KubeadminPassword,
    PullSecret,
    /// Of the registry profile at that place.
    RegistryPassword(usize),
    ServiceKubeconfig,
    SreKubeconfig,
    SshKey,
    UserAdminKubeconfig,
}

impl ClusterSecret {
    /// The name of the member.
    pub const fn member(self) -> &'static str {
        match self {
            Self::AdminKubeconfig => "adminKubeconfig",
            Self::BoundServiceAccountSigningKey => "boundServiceAccountSigningKey",
            Self::ClientSecret => "clientSecret",
            Self::ClusterAuthorities => "clusterAuthorities",
            Self::KubeadminPassword => "kubeadminPassword",
            Self::PullSecret => "pullSecret",
            Self::RegistryPassword(_) => "password",
            Self::ServiceKubeconfig => "aroServiceKubeconfig",
            Self::SreKubeconfig => "aroSREKubeconfig",
            Self::SshKey => "sshKey",
            Self::UserAdminKubeconfig => "userAdminKubeconfig",
        }
    }

    /// The associated data for which a value of that document is sealed: `OpenShiftClusters/ID/MEMBER`.
    pub fn place(self, document: &str) -> String {
        format!("OpenShiftClusters/{document}/{}", self.member())
    }

    /// The sealed value; `None`: there is none, or it is empty.
    pub fn sealed_in(self, cluster: &OpenShiftCluster) -> Option<&Sealed> {
        let properties = &cluster.properties;
        let sealed = match self {
            Self::AdminKubeconfig => properties.admin_kubeconfig.get(),
            Self::BoundServiceAccountSigningKey => {
                properties.cluster_profile.bound_service_account_signing_key.get()
            }
            Self::ClientSecret => properties.service_principal_profile.client_secret.get(),
            Self::ClusterAuthorities => properties.cluster_authorities.get(),
            Self::KubeadminPassword => properties.kubeadmin_password.get(),
            Self::PullSecret => properties.cluster_profile.pull_secret.get(),
            Self::RegistryPassword(at) => {
                properties.registry_profiles.get().and_then(|all| all.get(at)?.password.get())
            }
            Self::ServiceKubeconfig => properties.service_kubeconfig.get(),
            Self::SreKubeconfig => properties.sre_kubeconfig.get(),
            Self::SshKey => properties.ssh_key.get(),
            Self::UserAdminKubeconfig => properties.user_admin_kubeconfig.get(),
        };
        sealed.filter(|sealed| !sealed.0.is_empty())
    }

    /// The member, for the worker; `None`: the customer's own, or the cluster has no such profile.
    pub fn outcome_mut(self, cluster: &mut OpenShiftCluster) -> Option<&mut Outcome<Sealed>> {
        let properties = &mut cluster.properties;
        Some(match self {
            Self::PullSecret | Self::ClientSecret => return None,
            Self::AdminKubeconfig => &mut properties.admin_kubeconfig,
            Self::BoundServiceAccountSigningKey => {
                &mut properties.cluster_profile.bound_service_account_signing_key
            }
            Self::ClusterAuthorities => &mut properties.cluster_authorities,
            Self::KubeadminPassword => &mut properties.kubeadmin_password,
            Self::RegistryPassword(at) => {
                &mut properties.registry_profiles.elements_mut().get_mut(at)?.password
            }
            Self::ServiceKubeconfig => &mut properties.service_kubeconfig,
            Self::SreKubeconfig => &mut properties.sre_kubeconfig,
            Self::SshKey => &mut properties.ssh_key,
            Self::UserAdminKubeconfig => &mut properties.user_admin_kubeconfig,
        })
    }

    /// The member, for the edge; `None`: the cluster's own.
    pub fn intent_mut(self, cluster: &mut OpenShiftCluster) -> Option<&mut Intent<Sealed>> {
        let properties = &mut cluster.properties;
        match self {
            Self::PullSecret => Some(&mut properties.cluster_profile.pull_secret),
            Self::ClientSecret => Some(&mut properties.service_principal_profile.client_secret),
            _ => None,
        }
    }

    /// Puts the plain text in the place of the sealed one, in a copy of the cluster that is not stored.
    pub fn open_in(self, copy: &mut OpenShiftCluster, plain: String) {
        let plain = Some(Sealed(plain));
        if let Some(member) = self.intent_mut(copy) {
            member.put(plain);
        } else if let Some(member) = self.outcome_mut(copy) {
            member.put(plain);
        }
    }
}
