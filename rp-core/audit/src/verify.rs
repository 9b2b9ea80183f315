//! Checks the log: every hash, every number, every checkpoint, and what each chain says of the one before it.
//!
//! The log is walked from its end to its beginning, so what newer parts say of older ones is known in time. Where
//! retention removed the beginning of a chain, a signed tombstone says how much, and nothing else may be missing.

mod chain;
mod lines;
mod verdict;

use std::collections::HashMap;

use rp_base::Digest;
use rp_database::SharedStore;
use rp_documents::Collection;

use crate::batch::{Head, id};
use crate::checkpoint::SignedCheckpoint;
use crate::tombstone::{Removed, SignedTombstone};
use crate::{AuditError, CheckpointKey};
use chain::Chain;

pub use lines::LineVerifier;
pub use verdict::{Finding, FindingKind, Verdict};

/// Documents that are asked of the store at once.
const PAGE: u32 = 16;

/// Ends of chains that must be found, by writer.
type ExpectedHeads = HashMap<String, Vec<Head>>;

/// What retention removed, by writer.
type RemovedByWriter = HashMap<String, Removed>;

pub(crate) async fn verify(
    store: &SharedStore,
    key: &CheckpointKey,
    kept: &[SignedCheckpoint],
    own: Option<&Head>,
) -> Result<Verdict, AuditError> {
    let mut verdict = Verdict::default();
    let mut expected = ExpectedHeads::new();
    if let Some(head) = own {
        expected.entry(head.writer.clone()).or_default().push(head.clone());
    }
    for checkpoint in kept {
        check_checkpoint(checkpoint, key, &mut expected, &mut verdict);
    }
    let retired = tombstones(store, key, &mut verdict).await?;
    // Also of chains that were removed whole: what came before them is not forgotten.
    for head in retired.values().filter_map(|removed| removed.predecessor.as_ref()) {
        expected.entry(head.writer.clone()).or_default().push(head.clone());
    }
    checkpoints(store, key, &retired, &mut expected, &mut verdict).await?;
    batches(store, &retired, &mut expected, &mut verdict).await?;
    report_missing(expected, &retired, &mut verdict);
    Ok(verdict)
}

/// Reports the expected heads that no chain had.
fn report_missing(expected: ExpectedHeads, retired: &RemovedByWriter, verdict: &mut Verdict) {
    let mut expected: Vec<(String, Vec<Head>)> = expected.into_iter().collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    for (writer, heads) in expected {
        let removed = retired.get(&writer);
        let left = heads.iter().filter(|head| !removed.is_some_and(|removed| covered(head, removed)));
        let Some(seq) = left.map(|head| head.seq).max() else { continue };
        let at = removed.map(|removed| removed.until);
        let what = format!("the whole chain up to entry {seq} is missing");
        verdict.find_at(FindingKind::Truncated, &writer, seq, at, what);
    }
}

/// Whether what was said of an entry agrees with its having been removed by retention.
fn covered(head: &Head, removed: &Removed) -> bool {
    head.seq < removed.last || (head.seq == removed.last && head.digest == removed.digest)
}

/// Reads every tombstone; a forged one takes nothing out.
async fn tombstones(
    store: &SharedStore,
    key: &CheckpointKey,
    verdict: &mut Verdict,
) -> Result<RemovedByWriter, AuditError> {
    let (mut retired, mut continuation) = (RemovedByWriter::new(), None);
    loop {
        let page = store.list(Collection::AuditTombstones, None, continuation.as_deref(), PAGE).await?;
        for stored in page.items {
            let Ok(signed) = serde_json::from_str::<SignedTombstone>(&stored.body) else {
                let what = format!("the tombstone {} cannot be read", stored.id);
                verdict.find(FindingKind::Malformed, &stored.partition, 0, what);
                continue;
            };
            check_tombstone(&signed, key, &mut retired, verdict);
        }
        continuation = page.continuation;
        if continuation.is_none() {
            return Ok(retired);
        }
    }
}

/// Checks a tombstone's signature and takes over what it states. The widest of a writer counts.
fn check_tombstone(
    signed: &SignedTombstone,
    key: &CheckpointKey,
    retired: &mut RemovedByWriter,
    verdict: &mut Verdict,
) {
    let Some(removal) = signed.read() else {
        return verdict.find(FindingKind::Malformed, "", 0, "a tombstone cannot be read");
    };
    let (writer, removed) = (removal.writer, removal.removed);
    let whole = removed.first == 1 && removed.count == removed.last && removed.last > 0;
    let what = match key.check(&signed.key, &signed.statement, &signed.signature) {
        Some(true) if whole => {
            let wider = retired.get(&writer).is_none_or(|known| known.last < removed.last);
            if wider {
                let before = retired.insert(writer, removed.clone());
                verdict.tombstones += u64::from(before.is_none());
                verdict.retired += removed.count - before.map_or(0, |before| before.count);
            }
            return;
        }
        Some(true) => "the tombstone does not speak of the beginning of its chain".to_owned(),
        Some(false) => "the tombstone's signature is wrong".to_owned(),
        None => format!("the tombstone was signed by the key {}, which is not known", signed.key),
    };
    verdict.find_at(FindingKind::TombstoneForged, &writer, removed.last, Some(removed.until), what);
}

/// Checks a checkpoint's signature and takes over the heads that it states.
fn check_checkpoint(
    signed: &SignedCheckpoint,
    key: &CheckpointKey,
    expected: &mut ExpectedHeads,
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
            let what = "the checkpoint's signature is wrong";
            verdict.find_at(FindingKind::CheckpointForged, writer, number, Some(statement.at), what);
            return None;
        }
        None => {
            let what = format!("the checkpoint was signed by the key {}, which is not known", signed.key);
            verdict.find_at(FindingKind::CheckpointForged, writer, number, Some(statement.at), what);
            return None;
        }
    }
    let head = Head { writer: writer.clone(), seq: statement.seq, digest: statement.digest };
    for head in [head].into_iter().chain(statement.others) {
        expected.entry(head.writer.clone()).or_default().push(head);
    }
    Some((number, statement.previous))
}

/// Reads every checkpoint; within a writer they are numbered and chained. Newest first.
async fn checkpoints(
    store: &SharedStore,
    key: &CheckpointKey,
    retired: &RemovedByWriter,
    expected: &mut ExpectedHeads,
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
            let Some((number, previous)) = check_checkpoint(&signed, key, expected, verdict) else {
                continue;
            };
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
                first_checkpoint(newer.as_ref(), retired, verdict);
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
            first_checkpoint(newer.as_ref(), retired, verdict);
            return Ok(());
        }
    }
}

/// A writer's oldest checkpoint is number 1, or follows those that retention removed.
fn first_checkpoint(
    oldest: Option<&(String, u64, Digest)>,
    retired: &RemovedByWriter,
    verdict: &mut Verdict,
) {
    let Some((writer, number, previous)) = oldest.filter(|(_, number, _)| *number != 1) else { return };
    let fits = retired.get(writer).is_some_and(|removed| {
        *number <= removed.checkpoints
            || (*number == removed.checkpoints + 1 && *previous == removed.checkpoint)
    });
    if !fits {
        let what = "the checkpoints before this one are missing";
        verdict.find(FindingKind::CheckpointRemoved, writer, *number, what);
    }
}

/// Reads every batch, newest first, chain by chain.
async fn batches(
    store: &SharedStore,
    retired: &RemovedByWriter,
    expected: &mut ExpectedHeads,
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
                chain = Some(Chain::new(&stored.partition, retired.get(&stored.partition), expected));
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
