//! Keys that all replicas of the service share and that it made itself. Writer: the first replica that needs the key.

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Sealed, Unknown};

/// A private key of the service: `ssh-host-ed25519`, `ssh-host-ca`, `ssh-user-ca` and so on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServiceKey {
    pub id: String,
    /// The private key in OpenSSH's format, sealed with the id as associated data.
    pub sealed: Sealed,
    pub created: Timestamp,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for ServiceKey {
    const COLLECTION: Collection = Collection::ServiceKeys;

    fn id(&self) -> &str {
        &self.id
    }
}
