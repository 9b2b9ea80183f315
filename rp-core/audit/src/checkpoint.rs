//! Checkpoints: a signed statement that a chain had that head at that time, and that the chains of others had
//! theirs, as far as they grew since the last statement. Older chains are covered as well: each chain's first
//! entry names its predecessor's head.

use rp_base::{Digest, Timestamp, sha256};
use rp_database::Draft;
use serde::{Deserialize, Serialize};

use crate::batch::{self, Head};
use crate::proof::ProofCheckpoint;
use crate::{AuditError, CheckpointKey};

/// What is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statement {
    pub(crate) v: u8,
    pub(crate) at: Timestamp,
    pub(crate) writer: String,
    /// 1, 2, 3 … of this writer.
    pub(crate) number: u64,
    pub(crate) seq: u64,
    pub(crate) digest: Digest,
    /// Digest of the writer's previous statement; zero for its first.
    pub(crate) previous: Digest,
    /// Heads of other chains, as seen in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) others: Vec<Head>,
}

/// A statement with its signature: the stored document, and the line in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedCheckpoint {
    /// JSON of the statement; this exact text is signed.
    pub statement: String,
    /// Name of the Ed25519 key.
    pub key: String,
    /// Base 64.
    pub signature: String,
}

impl SignedCheckpoint {
    pub(crate) fn sign(statement: &Statement, key: &CheckpointKey) -> Result<Self, AuditError> {
        let statement = serde_json::to_string(statement)?;
        let signature = key.sign(&statement);
        Ok(Self { statement, key: key.id(), signature })
    }

    /// The statement, which is to be believed only after its signature was checked.
    pub(crate) fn read(&self) -> Option<Statement> {
        serde_json::from_str(&self.statement).ok()
    }

    pub(crate) fn digest(&self) -> Digest {
        sha256(self.statement.as_bytes())
    }

    /// What it says, for people.
    pub(crate) fn proof(&self) -> Option<ProofCheckpoint> {
        let Statement { at, writer, number, seq, digest, .. } = self.read()?;
        Some(ProofCheckpoint { writer, number, at, seq, digest, key: self.key.clone() })
    }
}

/// The checkpoints of one writer so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checkpoints {
    number: u64,
    previous: Digest,
    covered: u64,
}

impl Checkpoints {
    /// Entries that were written after the last checkpoint.
    pub(crate) const fn behind(&self, head: &Head) -> u64 {
        head.seq.saturating_sub(self.covered)
    }

    /// The next checkpoint and its document.
    pub(crate) fn next(
        &self,
        head: &Head,
        others: Vec<Head>,
        at: Timestamp,
        key: &CheckpointKey,
    ) -> Result<(SignedCheckpoint, Draft), AuditError> {
        let number = self.number + 1;
        let (writer, seq, digest) = (head.writer.clone(), head.seq, head.digest);
        let statement = Statement { v: 1, at, writer, number, seq, digest, previous: self.previous, others };
        let signed = SignedCheckpoint::sign(&statement, key)?;
        let draft = Draft {
            id: batch::id(&head.writer, number),
            partition: head.writer.clone(),
            unique_key: None,
            body: serde_json::to_string(&signed)?,
            expires_at: None,
        };
        Ok((signed, draft))
    }

    /// After it was stored.
    pub(crate) fn stored(&mut self, signed: &SignedCheckpoint) {
        let covered = signed.read().map_or(self.covered, |statement| statement.seq);
        *self = Self { number: self.number + 1, previous: signed.digest(), covered };
    }
}
