//! What can be reached, and with which credentials.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use rp_base::Secret;
use rp_documents::ResourceId;
use url::Url;

/// Whose cluster it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Aro,
    Imported,
}

/// Where its API server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Behind the private endpoint of that address (`contract/portal.md` §12.1).
    Private { ip: IpAddr },
    /// At an ordinary address.
    Direct { url: Url },
}

/// How we sign in to an API server.
#[derive(Debug, Clone)]
pub enum Credential {
    /// PEM chain and PEM private key.
    Certificate { chain_pem: String, key_pem: Secret<String> },
    /// A bearer token.
    Token(Secret<String>),
}

/// A private key by which we sign in to machines.
#[derive(Debug, Clone)]
pub enum SshKey {
    /// RSA as PKCS#1 DER (RFC 8017 A.1.2): `properties.sshKey` of a cluster of ours.
    Pkcs1Der(Secret<Vec<u8>>),
    /// PEM in OpenSSH's, PKCS#8 or PKCS#1 form, without a passphrase.
    Pem(Secret<String>),
}

/// A machine that an import names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshMachine {
    pub name: String,
    /// Host name or IP address.
    pub address: String,
    pub port: u16,
    /// `TYPE BASE64` or `@cert-authority TYPE BASE64`; empty: trusted at first sight by an administrator.
    pub host_keys: Vec<String>,
}

/// How machines are signed in to.
#[derive(Debug, Clone)]
pub struct SshTarget {
    pub user: String,
    pub key: SshKey,
    /// Imported clusters: every machine that there is; of ours none, for the cluster is asked.
    pub machines: Vec<SshMachine>,
}

impl std::hash::Hash for SshTarget {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.user.hash(state);
        match &self.key {
            SshKey::Pkcs1Der(key) => key.expose().hash(state),
            SshKey::Pem(key) => key.expose().hash(state),
        }
        for machine in &self.machines {
            (&machine.name, &machine.address, machine.port, &machine.host_keys).hash(state);
        }
    }
}

/// One cluster, ready to be dialled.
#[derive(Debug, Clone)]
pub struct Target {
    pub id: ResourceId,
    pub source: Source,
    pub endpoint: Endpoint,
    /// The name the server's certificate must carry.
    pub server_name: String,
    /// PEM certificates that may have signed it; nothing else is trusted.
    pub ca_pem: String,
    /// Credential of read-only grants.
    pub read: Credential,
    /// Credential of write and admin grants.
    pub admin: Credential,
    /// Imported clusters: groups to impersonate for a person; empty means the credential is shared.
    pub as_groups: Vec<String>,
    /// How machines are signed in to; `None`: there is no way.
    pub ssh: Option<SshTarget>,
    /// Changes whenever address, trust or credentials do: pools built for another value are dropped.
    pub fingerprint: u64,
}

impl Target {
    /// Sets [`Target::fingerprint`] from the other members.
    #[must_use]
    pub fn fingerprinted(mut self) -> Self {
        let mut hasher = DefaultHasher::new();
        match &self.endpoint {
            Endpoint::Private { ip } => ip.hash(&mut hasher),
            Endpoint::Direct { url } => url.as_str().hash(&mut hasher),
        }
        (&self.server_name, &self.ca_pem, &self.as_groups, &self.ssh).hash(&mut hasher);
        for credential in [&self.read, &self.admin] {
            match credential {
                Credential::Certificate { chain_pem, key_pem } => {
                    (chain_pem, key_pem.expose()).hash(&mut hasher);
                }
                Credential::Token(token) => token.expose().hash(&mut hasher),
            }
        }
        self.fingerprint = hasher.finish();
        self
    }

    /// The path below which the API server's paths begin; empty for most.
    pub fn base_path(&self) -> &str {
        match &self.endpoint {
            Endpoint::Private { .. } => "",
            Endpoint::Direct { url } => url.path().trim_end_matches('/'),
        }
    }
}

/// Why a target could not be given.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// No cluster of that id.
    #[error("no cluster has this resource id")]
    Unknown,
    /// The cluster exists but cannot be reached yet (or any more); the text says what is missing.
    #[error("the cluster cannot be reached: {0}")]
    NotReachable(&'static str),
    /// What is stored about it cannot be used: our fault.
    #[error("the stored access to the cluster cannot be used: {0}")]
    Unusable(&'static str),
    /// The store did not answer.
    #[error("the directory did not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Finds targets. An implementation caches and follows the store, so that a call costs no query.
#[async_trait]
pub trait Directory: Send + Sync + std::fmt::Debug + 'static {
    /// The target of that id.
    async fn find(&self, id: &ResourceId) -> Result<Arc<Target>, DirectoryError>;
}
