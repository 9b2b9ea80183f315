//! What the SSH server of a cluster's machine shows (`contract/portal.md` "Do better" 21). Writer: proxy.

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, ResourceId, Unknown};

/// How a machine's host keys were learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKeySource {
    /// Read on the machine through the cluster's API.
    Cluster,
    /// Given in the import.
    Import,
    /// Trusted at first sight by an administrator.
    Person,
}

/// A presented key that is not one of the machine's known keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedKey {
    pub at: Timestamp,
    /// `TYPE BASE64`.
    pub key: String,
}

/// The host keys of one machine. The id is `CLUSTER KEY|MACHINE UID`: a replaced machine has another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostKey {
    pub id: String,
    pub target: ResourceId,
    /// The machine's name when it was learned.
    pub machine: String,
    /// `TYPE BASE64`, one for each algorithm; a host certificate's authority stands as `@cert-authority TYPE BASE64`.
    pub keys: Vec<String>,
    pub learned: HostKeySource,
    pub at: Timestamp,
    /// Who trusted it, when a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The last key that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedKey>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl HostKey {
    /// The id of a machine's keys.
    pub fn id_of(target: &ResourceId, uid: &str) -> String {
        format!("{}|{}", target.key(), uid.to_ascii_lowercase())
    }
}

impl Document for HostKey {
    const COLLECTION: Collection = Collection::HostKeys;

    fn id(&self) -> &str {
        &self.id
    }

    /// A cluster's machines share a partition.
    fn partition(&self) -> &str {
        self.target.key()
    }
}
