//! What can be said of the log at once: the ends of the chains, what was signed, where copies have got to.

use rp_base::{Digest, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Audit;

/// A statement of where the log stands, made of what this process holds; nothing is read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "AuditProof")]
pub struct Proof {
    /// The ends of the newest chains, newest chain first; at most 32.
    pub heads: Vec<ProofHead>,
    /// Chains that are known of: one for each start of a process.
    pub writers: u64,
    /// The last one of this process.
    pub checkpoint: Option<ProofCheckpoint>,
    /// Entries of this process after its last checkpoint.
    pub unsigned: u64,
    pub sinks: Vec<SinkState>,
    /// The time of the last entry that searches find by the index; newer ones are looked through.
    pub indexed_to: Option<Timestamp>,
}

/// The end of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProofHead {
    pub writer: String,
    pub seq: u64,
    /// SHA-256 of the last entry.
    pub digest: Digest,
    /// When the last entry was made.
    pub at: Option<Timestamp>,
    /// It is this process's.
    pub living: bool,
}

/// What a checkpoint says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProofCheckpoint {
    pub writer: String,
    pub number: u64,
    pub at: Timestamp,
    /// It covers the writer's entries up to here, and what the statement says of others.
    pub seq: u64,
    pub digest: Digest,
    /// Name of the key that signed it.
    pub key: String,
}

/// How a sink is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SinkState {
    pub name: String,
    /// Where to, without secrets.
    pub to: String,
    /// `refuse` or `alarm`.
    pub policy: &'static str,
    /// Whether this process is the one that ships.
    pub here: bool,
    /// When it last took something.
    pub taken_at: Option<Timestamp>,
    /// Up to which entry: when that was made.
    pub taken_to: Option<Timestamp>,
    pub failing_since: Option<Timestamp>,
    /// What it last answered.
    pub error: Option<String>,
}

impl Audit {
    /// Where the log stands, from what this process holds: nothing is read.
    pub fn proof(&self) -> Proof {
        let status = self.0.status.borrow().clone();
        let (known, writers) = self.0.heads.all();
        let own = ProofHead {
            writer: status.head.writer.clone(),
            seq: status.head.seq,
            digest: status.head.digest,
            at: Some(status.at),
            living: true,
        };
        let others = known.into_iter().filter(|(head, _)| head.writer != own.writer);
        let mut heads: Vec<ProofHead> = others
            .map(|(head, at)| ProofHead {
                writer: head.writer,
                seq: head.seq,
                digest: head.digest,
                at,
                living: false,
            })
            .collect();
        heads.push(own);
        heads.sort_by(|a, b| a.writer.cmp(&b.writer));
        Proof {
            heads,
            writers: writers.max(1),
            checkpoint: status.checkpoint,
            unsigned: status.unsigned,
            sinks: self.0.copies.as_ref().map(|copies| copies.states()).unwrap_or_default(),
            indexed_to: self.0.index.indexed_to(),
        }
    }
}
