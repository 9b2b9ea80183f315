//! Tombstones: a signed statement of how much of a chain's beginning retention removed. The rest of the chain goes
//! on from the digest that it names, so nothing else can be missing.

use rp_base::{Digest, Timestamp};
use rp_database::Draft;
use serde::{Deserialize, Serialize};

use crate::batch::Head;
use crate::{AuditError, CheckpointKey};

/// What is signed. Tells itself from a checkpoint's statement by `removed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Removal {
    pub(crate) v: u8,
    pub(crate) writer: String,
    pub(crate) removed: Removed,
    /// When it was signed.
    pub(crate) at: Timestamp,
}

/// Entries 1 to `last`, and the checkpoints over them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Removed {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) count: u64,
    /// Digest of entry `last`: what the next one was chained to.
    pub(crate) digest: Digest,
    /// When entry `last` was made.
    pub(crate) until: Timestamp,
    /// What entry 1 said of the chain before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) predecessor: Option<Head>,
    /// Checkpoints 1 to that were removed, and the digest of the last one's statement.
    pub(crate) checkpoints: u64,
    pub(crate) checkpoint: Digest,
}

/// A statement with its signature: the stored document, and a line in every sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedTombstone {
    /// JSON of the statement; this exact text is signed.
    pub statement: String,
    /// Name of the Ed25519 key.
    pub key: String,
    /// Base 64.
    pub signature: String,
}

impl SignedTombstone {
    pub(crate) fn sign(removal: &Removal, key: &CheckpointKey) -> Result<Self, AuditError> {
        let statement = serde_json::to_string(removal)?;
        let signature = key.sign(&statement);
        Ok(Self { statement, key: key.id(), signature })
    }

    /// The statement, which is to be believed only after its signature was checked.
    pub(crate) fn read(&self) -> Option<Removal> {
        serde_json::from_str(&self.statement).ok()
    }

    /// One for each writer; a wider one takes its place.
    pub(crate) fn draft(&self, writer: &str) -> Result<Draft, AuditError> {
        Ok(Draft {
            id: writer.to_owned(),
            partition: writer.to_owned(),
            unique_key: None,
            body: serde_json::to_string(self)?,
            expires_at: None,
        })
    }
}
