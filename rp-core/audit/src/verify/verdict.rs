//! What a check says of the log.

use rp_base::Timestamp;
use serde::Serialize;

/// Findings that are listed at most; one already shows that the log was changed.
const MOST_FINDINGS: usize = 1000;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Entries are missing between others, or at the start of a chain.
    Removed,
    /// An entry is not what its follower, or its batch, says it was.
    Changed,
    /// Entries stand in another order than they were written in.
    Reordered,
    /// Lines whose newest entry stands first: nothing is said of them but that they are to be turned round.
    NewestFirst,
    /// Entries are missing at the end of a chain, or the whole chain is.
    Truncated,
    /// A chain fits itself but not what was signed, or what the next chain says of it: it was made anew.
    Rechained,
    /// A document is not of the form that we write.
    Malformed,
    /// A checkpoint is missing.
    CheckpointRemoved,
    /// A checkpoint's signature is wrong, or its key is unknown.
    CheckpointForged,
    /// A tombstone's signature is wrong, or its key is unknown.
    TombstoneForged,
}

impl FindingKind {
    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Reordered => "reordered",
            Self::NewestFirst => "newest-first",
            Self::Truncated => "truncated",
            Self::Rechained => "rechained",
            Self::Malformed => "malformed",
            Self::CheckpointRemoved => "checkpoint-removed",
            Self::CheckpointForged => "checkpoint-forged",
            Self::TombstoneForged => "tombstone-forged",
        }
    }
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    pub writer: String,
    /// The entry's number, or the checkpoint's.
    pub seq: u64,
    /// When the entry was made, or the nearest that is there.
    pub at: Option<Timestamp>,
    /// One sentence.
    pub what: String,
}

/// What a check found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Verdict {
    pub writers: u64,
    pub batches: u64,
    pub entries: u64,
    pub checkpoints: u64,
    /// Chains whose beginning was removed by retention.
    pub tombstones: u64,
    /// Entries that were removed so.
    pub retired: u64,
    /// At most 1000.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_intact(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn find(&mut self, kind: FindingKind, writer: &str, seq: u64, what: impl Into<String>) {
        self.find_at(kind, writer, seq, None, what);
    }

    pub(super) fn find_at(
        &mut self,
        kind: FindingKind,
        writer: &str,
        seq: u64,
        at: Option<Timestamp>,
        what: impl Into<String>,
    ) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(Finding { kind, writer: writer.to_owned(), seq, at, what: what.into() });
        }
    }
}
