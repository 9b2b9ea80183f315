//! Clusters that are not ours, put under the portal by an admin (`design.md` §1, §5). Writer: portal.

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, ResourceId, Sealed, Unknown};

/// How we sign in to an imported cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    Certificate,
    Token,
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
