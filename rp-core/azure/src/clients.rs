//! Clients of Azure by identity.

use std::fmt;

use rp_base::Secret;

use crate::arm::Arm;
use crate::credential::Credential;
use crate::error::AzureError;

/// Gives clients by identity; [`Arm::in_tenant`] binds one to a tenant.
pub trait AzureClients: Send + Sync + fmt::Debug + 'static {
    /// The first-party application.
    fn first_party(&self) -> Arm;

    /// The service's own managed identity: its resource group, DNS zone, vaults, registry.
    fn managed_identity(&self) -> Arm;

    /// A cluster's service principal. Its tokens are its own: clusters never share them.
    ///
    /// # Errors
    /// The client cannot be made.
    fn service_principal(&self, client_id: &str, secret: Secret<String>) -> Result<Arm, AzureError>;

    /// A cluster's managed identity, with the certificate that the data plane of identities gave; PEM.
    ///
    /// # Errors
    /// The client cannot be made.
    fn cluster_identity(
        &self,
        client_id: &str,
        certificate: Secret<String>,
        key: Secret<String>,
    ) -> Result<Arm, AzureError>;

    /// Forgets the first-party tokens of a tenant: rights that were just given are seen with new ones only.
    fn renew_first_party(&self, tenant: &str) {
        self.first_party().in_tenant(tenant).renew();
    }
}

/// [`AzureClients`] of one cloud. Clusters' identities ask as the first-party application does: over its connections,
/// with its policy.
#[derive(Debug)]
pub struct CloudClients {
    first_party: Arm,
    managed_identity: Arm,
}

impl CloudClients {
    /// Clients of these two identities, which may be one.
    pub const fn new(first_party: Arm, managed_identity: Arm) -> Self {
        Self { first_party, managed_identity }
    }
}

impl AzureClients for CloudClients {
    fn first_party(&self) -> Arm {
        self.first_party.clone()
    }

    fn managed_identity(&self) -> Arm {
        self.managed_identity.clone()
    }

    fn service_principal(&self, client_id: &str, secret: Secret<String>) -> Result<Arm, AzureError> {
        let credential = Credential::Secret { client_id: client_id.to_owned(), secret };
        Ok(self.first_party.with_credential(credential))
    }

    fn cluster_identity(
        &self,
        client_id: &str,
        certificate: Secret<String>,
        key: Secret<String>,
    ) -> Result<Arm, AzureError> {
        let credential = Credential::CertificateText { client_id: client_id.to_owned(), certificate, key };
        Ok(self.first_party.with_credential(credential))
    }
}
