//! Clients by identity: who asks Azure for what.

use std::fmt;

use rp_base::Secret;
use rp_net::tls::TlsError;

use crate::arm::{Arm, ArmOptions, Habits};
use crate::credential::Credential;
use crate::error::{AzureError, ErrorKind};

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

/// What [`CloudClients`] are made of.
pub struct CloudOptions {
    /// The options of a client with that credential.
    pub options: Box<dyn Fn(Credential) -> ArmOptions + Send + Sync>,
    pub first_party: Credential,
    pub managed_identity: Credential,
    pub habits: Habits,
}

impl fmt::Debug for CloudOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudOptions").field("habits", &self.habits).finish_non_exhaustive()
    }
}

/// [`AzureClients`] of one cloud.
#[derive(Debug)]
pub struct CloudClients {
    first_party: Arm,
    managed_identity: Arm,
    told: CloudOptions,
}

impl CloudClients {
    /// Clients. Nothing is asked yet.
    ///
    /// # Errors
    /// The extra CA cannot be used.
    pub fn new(told: CloudOptions) -> Result<Self, TlsError> {
        let arm = |credential| Arm::with((told.options)(credential), told.habits.clone());
        let (first_party, own) = (arm(told.first_party.clone())?, arm(told.managed_identity.clone())?);
        Ok(Self { first_party, managed_identity: own, told })
    }

    fn own(&self, credential: Credential) -> Result<Arm, AzureError> {
        let not =
            |error: TlsError| AzureError::new("make a client", ErrorKind::Credential, &error.to_string());
        Arm::with((self.told.options)(credential), self.told.habits.clone()).map_err(not)
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
        self.own(Credential::Secret { client_id: client_id.to_owned(), secret })
    }

    fn cluster_identity(
        &self,
        client_id: &str,
        certificate: Secret<String>,
        key: Secret<String>,
    ) -> Result<Arm, AzureError> {
        self.own(Credential::CertificateText { client_id: client_id.to_owned(), certificate, key })
    }
}
