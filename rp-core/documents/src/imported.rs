//! Clusters that are not ours, put under the portal by an admin (`contract/rules.md` §1, §5.6). Writer:
//! portal.

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, ResourceId, Sealed, Unknown};

/// How the portal authenticates to an imported cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    Certificate,
    Token,
}

/// A machine of an imported cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedMachine {
    pub name: String,
    /// Host name or IP address.
    pub address: String,
    pub port: u16,
    /// `TYPE BASE64` or `@cert-authority TYPE BASE64`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_keys: Vec<String>,
}

/// SSH access to the machines of an imported cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImportedSsh {
    pub user: String,
    /// PEM of a private key, sealed.
    pub ssh_key: Sealed,
    pub machines: Vec<ImportedMachine>,
}

/// What `aro tunnel` may reach of an imported cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedTunnel {
    /// `host:port`, or `host:port=address:port` where the host's name is known to browsers only.
    pub destinations: Vec<String>,
    /// Address of its web console, of a host among the destinations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// PEM CA certificates of the destinations; `None`: publicly trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_pem: Option<String>,
}

/// An imported cluster. The id is its lower-case name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImportedCluster {
    /// Lower-case name.
    pub id: String,
    pub resource_id: ResourceId,
    /// `https://host:port[/path]`.
    pub server: String,
    /// Name the server's certificate must carry, when it is not the host of `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// PEM certificates that may have signed the server's certificate.
    pub ca_pem: String,
    pub credential: CredentialKind,
    /// A sealed [`ImportedCredential`].
    pub sealed: Sealed,
    /// Groups to impersonate for a person with more than read rights; empty: the credential is shared.
    #[serde(default)]
    pub as_groups: Vec<String>,
    /// `None`: its machines cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<ImportedSsh>,
    /// `None`: `aro tunnel` cannot reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<ImportedTunnel>,
    #[serde(default)]
    pub version: String,
    pub imported_by: String,
    pub imported_at: Timestamp,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for ImportedCluster {
    const COLLECTION: Collection = Collection::ImportedClusters;

    fn id(&self) -> &str {
        &self.id
    }
}
