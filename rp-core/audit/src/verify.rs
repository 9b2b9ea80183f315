//! Checks the log: every hash, every number, every checkpoint, and what each chain says of the one before it.
//!
//! The log is walked from its end to its beginning, so what newer parts say of older ones is known in time.

mod chain;

use std::collections::HashMap;

use rp_base::Digest;
use rp_database::SharedStore;
use rp_documents::Collection;

use crate::batch::{Head, id};
use crate::checkpoint::SignedCheckpoint;
use crate::{AuditError, CheckpointKey};
use chain::Chain;

/// Documents that are asked of the store at once.
const PAGE: u32 = 16;
/// Findings that are told; one is enough to know.
const MOST_FINDINGS: usize = 1000;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// Entries are missing between others, or at the start of a chain.
    Removed,
    /// An entry is not what its follower, or its batch, says it was.
    Changed,
    /// Entries stand in another order than they were written in.
    Reordered,
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
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    pub writer: String,
    /// The entry's number, or the checkpoint's.
    pub seq: u64,
    /// One sentence.
    pub what: String,
}

/// What a check found.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    pub writers: u64,
    pub batches: u64,
    pub entries: u64,
    pub checkpoints: u64,
    /// At most 1000.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_intact(&self) -> bool {
        self.findings.is_empty()
    }

    fn find(&mut self, kind: FindingKind, writer: &str, seq: u64, what: impl Into<String>) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(Finding { kind, writer: writer.to_owned(), seq, what: what.into() });
        }
    }
}

/// Ends of chains that must be found, by writer.
type Expected = HashMap<String, Vec<Head>>;

pub(crate) async fn verify(
    store: &SharedStore,
    key: &CheckpointKey,
    kept: &[SignedCheckpoint],
    own: Option<&Head>,
) -> Result<Verdict, AuditError> {
    let mut verdict = Verdict::default();
    let mut expected = Expected::new();
    if let Some(head) = own {
        expected.entry(head.writer.clone()).or_default().push(head.clone());
    }
    for checkpoint in kept {
        believe(checkpoint, key, &mut expected, &mut verdict);
    }
    checkpoints(store, key, &mut expected, &mut verdict).await?;
    batches(store, &mut expected, &mut verdict).await?;
    // What is left was expected of chains that are not there.
    let mut gone: Vec<(String, Vec<Head>)> = expected.into_iter().collect();
    gone.sort_by(|a, b| a.0.cmp(&b.0));
    for (writer, heads) in gone {
        let seq = heads.iter().map(|head| head.seq).max().unwrap_or(0);
        verdict.find(
            FindingKind::Truncated,
            &writer,
            seq,
            format!("the whole chain up to entry {seq} is missing"),
        );
    }
    Ok(verdict)
}

/// Takes a checkpoint's word, if the signature is good.
fn believe(
    signed: &SignedCheckpoint,
    key: &CheckpointKey,
    expected: &mut Expected,
    verdict: &mut Verdict,
) -> Option<(u64, Digest)> {
    let Some(statement) = signed.read() else {
        verdict.find(FindingKind::Malformed, "", 0, "a checkpoint cannot be read");
        return None;
    };
    let (writer, number) = (&statement.writer, statement.number);
    match key.check(&signed.key, &signed.statement, &signed.signature) {
        Some(true) => {}
        Some(false) => {
            verdict.find(
                FindingKind::CheckpointForged,
                writer,
                number,
                "the checkpoint's signature is wrong",
            );
            return None;
        }
        None => {
            let what = format!("the checkpoint was signed by the key {}, which is not known", signed.key);
            verdict.find(FindingKind::CheckpointForged, writer, number, what);
            return None;
        }
    }
    let head = Head { writer: writer.clone(), seq: statement.seq, digest: statement.digest };
    expected.entry(writer.clone()).or_default().push(head);
    Some((number, statement.previous))
}

/// Reads every checkpoint; within a writer they are numbered and chained. Newest first.
async fn checkpoints(
    store: &SharedStore,
    key: &CheckpointKey,
    expected: &mut Expected,
    verdict: &mut Verdict,
) -> Result<(), AuditError> {
    let mut continuation = None;
    // Of the checkpoint before, which is the newer one: writer, number, digest of the one that must come next.
    let mut newer: Option<(String, u64, Digest)> = None;
    loop {
        let page = store.list(Collection::Checkpoints, None, continuation.as_deref(), PAGE).await?;
        for stored in page.items {
            verdict.checkpoints += 1;
            let Ok(signed) = serde_json::from_str::<SignedCheckpoint>(&stored.body) else {
                verdict.find(
                    FindingKind::Malformed,
                    &stored.partition,
                    0,
                    format!("the checkpoint {} cannot be read", stored.id),
                );
                continue;
            };
            let Some((number, previous)) = believe(&signed, key, expected, verdict) else { continue };
            if stored.id != id(&stored.partition, number) {
                verdict.find(
                    FindingKind::Malformed,
                    &stored.partition,
                    number,
                    "the checkpoint stands in another's place",
                );
            }
            let same = newer.as_ref().is_some_and(|(writer, ..)| *writer == stored.partition);
            if !same {
                first_checkpoint(newer.as_ref(), verdict);
            }
            if let Some((writer, newer, previous)) = newer.as_ref().filter(|_| same)
                && (*newer != number + 1 || *previous != signed.digest())
            {
                verdict.find(
                    FindingKind::CheckpointRemoved,
                    writer,
                    number + 1,
                    "a checkpoint before the next one is missing",
                );
            }
            newer = Some((stored.partition, number, previous));
        }
        continuation = page.continuation;
        if continuation.is_none() {
            first_checkpoint(newer.as_ref(), verdict);
            return Ok(());
        }
    }
}

/// A writer's oldest checkpoint is number 1.
fn first_checkpoint(oldest: Option<&(String, u64, Digest)>, verdict: &mut Verdict) {
    if let Some((writer, number, _)) = oldest.filter(|(_, number, _)| *number != 1) {
        verdict.find(
            FindingKind::CheckpointRemoved,
            writer,
            *number,
            "the checkpoints before this one are missing",
        );
    }
}

/// Reads every batch, newest first, chain by chain.
async fn batches(
    store: &SharedStore,
    expected: &mut Expected,
    verdict: &mut Verdict,
) -> Result<(), AuditError> {
    let mut continuation = None;
    let mut chain: Option<Chain> = None;
    loop {
        let page = store.list(Collection::AuditBatches, None, continuation.as_deref(), PAGE).await?;
        for stored in page.items {
            verdict.batches += 1;
            if chain.as_ref().is_none_or(|chain| chain.writer != stored.partition) {
                if let Some(done) = chain.take() {
                    done.finish(expected, verdict);
                }
                verdict.writers += 1;
                chain = Some(Chain::new(&stored.partition, expected));
            }
            if let Some(chain) = &mut chain {
                chain.batch(&stored, verdict);
            }
        }
        continuation = page.continuation;
        if continuation.is_none() {
            if let Some(done) = chain {
                done.finish(expected, verdict);
            }
            return Ok(());
        }
    }
}
