//! Checks the log: every hash, every number, every checkpoint, and what each chain says of the one before it.
//!
//! The log is walked from its end to its beginning, so what newer parts say of older ones is known in time.

use std::collections::HashMap;

use rp_base::{Digest, sha256};
use rp_database::{SharedStore, Stored};
use rp_documents::{Collection, Entry};

use crate::batch::{Batch, Head, id};
use crate::checkpoint::SignedCheckpoint;
use crate::{AuditError, CheckpointKey, WRITER_STARTED};

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

/// One writer's chain while it is walked backwards.
struct Chain {
    writer: String,
    /// Number and `prev` of the oldest entry so far.
    newer: Option<(u64, Digest)>,
    expected: Vec<Head>,
    /// What the first entry says of the chain before.
    predecessor: Option<Head>,
}

impl Chain {
    fn new(writer: &str, expected: &mut Expected) -> Self {
        let writer = writer.to_owned();
        Self {
            expected: expected.remove(&writer).unwrap_or_default(),
            writer,
            newer: None,
            predecessor: None,
        }
    }

    fn batch(&mut self, stored: &Stored, verdict: &mut Verdict) {
        let Ok(batch) = serde_json::from_str::<Batch>(&stored.body) else {
            let what = format!("the batch {} cannot be read", stored.id);
            return verdict.find(FindingKind::Malformed, &self.writer, 0, what);
        };
        if batch.writer != self.writer || stored.id != id(&self.writer, batch.first_seq) {
            let what = format!("the batch {} stands in another's place", stored.id);
            verdict.find(FindingKind::Malformed, &self.writer, batch.first_seq, what);
        }
        verdict.entries += u64::try_from(batch.entries.len()).unwrap_or(0);
        let digests = self.entries(&batch, verdict);
        let Some(last) = digests.last().copied() else {
            return verdict.find(
                FindingKind::Malformed,
                &self.writer,
                batch.first_seq,
                "a batch without entries",
            );
        };
        let end = batch.first_seq.saturating_add(u64::try_from(digests.len()).unwrap_or(0));
        self.join(end, last.1, verdict);
        self.expect(&digests, verdict);
        self.newer = Some((batch.first_seq, batch.first_prev));
    }

    /// Checks a batch within itself; gives number and digest of each entry.
    fn entries(&mut self, batch: &Batch, verdict: &mut Verdict) -> Vec<(u64, Digest)> {
        let read = |text: &str| serde_json::from_str::<Entry>(text).ok();
        let entries: Vec<Option<Entry>> = batch.entries.iter().map(|text| read(text.get())).collect();
        let numbers: Vec<u64> =
            entries.iter().map(|entry| entry.as_ref().map_or(0, |entry| entry.seq)).collect();
        self.numbers(batch, &numbers, verdict);
        let mut prev = batch.first_prev;
        let mut out = Vec::with_capacity(entries.len());
        let in_order = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        for (at, (text, entry)) in batch.entries.iter().zip(&entries).enumerate() {
            let seq = batch.first_seq.saturating_add(u64::try_from(at).unwrap_or(0));
            match entry {
                None => verdict.find(FindingKind::Malformed, &self.writer, seq, "the entry cannot be read"),
                Some(entry) if entry.writer != self.writer => {
                    verdict.find(FindingKind::Changed, &self.writer, seq, "the entry names another writer");
                }
                Some(entry) if entry.prev != prev && in_order => {
                    let before = seq.saturating_sub(1);
                    let what = format!("entry {before} is not what entry {seq} was chained to");
                    verdict.find(FindingKind::Changed, &self.writer, before, what);
                }
                Some(entry) => self.first(entry),
            }
            prev = sha256(text.get().as_bytes());
            out.push((seq, prev));
        }
        if prev != batch.head && in_order {
            let last = out.last().map_or(0, |last| last.0);
            verdict.find(
                FindingKind::Changed,
                &self.writer,
                last,
                format!("entry {last} is not what its batch was sealed with"),
            );
        }
        out
    }

    /// The numbers of a batch: none missing, none twice, in order.
    fn numbers(&self, batch: &Batch, numbers: &[u64], verdict: &mut Verdict) {
        let wanted: Vec<u64> =
            (0..batch.count.min(100_000)).map(|n| batch.first_seq.saturating_add(n)).collect();
        if numbers == wanted {
            return;
        }
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        if sorted == wanted {
            let seq =
                numbers.iter().zip(&wanted).find(|(a, b)| a != b).map_or(batch.first_seq, |pair| *pair.1);
            return verdict.find(
                FindingKind::Reordered,
                &self.writer,
                seq,
                "entries stand in another order than they were written in",
            );
        }
        for seq in wanted.iter().filter(|seq| sorted.binary_search(seq).is_err()) {
            verdict.find(FindingKind::Removed, &self.writer, *seq, format!("entry {seq} is missing"));
        }
        for seq in numbers.iter().filter(|seq| wanted.binary_search(seq).is_err()) {
            verdict.find(
                FindingKind::Changed,
                &self.writer,
                *seq,
                format!("entry {seq} does not belong into its batch"),
            );
        }
    }

    fn first(&mut self, entry: &Entry) {
        if entry.seq == 1 && entry.verb == WRITER_STARTED {
            self.predecessor = Head::from_named(&entry.query);
        }
    }

    /// Does this batch, which ends before `end` with `digest`, fit the newer one?
    fn join(&self, end: u64, digest: Digest, verdict: &mut Verdict) {
        let Some((seq, prev)) = self.newer else { return };
        if seq > end {
            verdict.find(
                FindingKind::Removed,
                &self.writer,
                end,
                format!("entries {end} to {} are missing", seq - 1),
            );
        } else if seq == end && prev != digest {
            let last = end.saturating_sub(1);
            verdict.find(
                FindingKind::Changed,
                &self.writer,
                last,
                format!("entry {last} is not what entry {seq} was chained to"),
            );
        } else if seq < end {
            verdict.find(
                FindingKind::Changed,
                &self.writer,
                seq,
                format!("entry {seq} stands in two batches"),
            );
        }
    }

    /// Checks what was signed or named of entries in this batch.
    fn expect(&mut self, digests: &[(u64, Digest)], verdict: &mut Verdict) {
        let (Some(first), Some(last)) = (digests.first(), digests.last()) else { return };
        if self.newer.is_none() {
            let end = self.expected.iter().map(|head| head.seq).max().unwrap_or(0);
            if end > last.0 {
                let what = format!("the chain ends at entry {}, but entry {end} was written", last.0);
                verdict.find(FindingKind::Truncated, &self.writer, last.0 + 1, what);
            }
        }
        let (writer, mut wrong) = (&self.writer, Vec::new());
        self.expected.retain(|head| {
            if head.seq < first.0 || head.seq > last.0 {
                return head.seq < first.0;
            }
            let found = digests.iter().find(|(seq, _)| *seq == head.seq);
            if found.is_none_or(|(_, digest)| *digest != head.digest) {
                wrong.push(head.seq);
            }
            false
        });
        wrong.sort_unstable();
        wrong.dedup();
        for seq in wrong {
            verdict.find(
                FindingKind::Rechained,
                writer,
                seq,
                format!("entry {seq} is not the one that was signed, or named by the next chain"),
            );
        }
    }

    /// At the chain's beginning.
    fn finish(self, expected: &mut Expected, verdict: &mut Verdict) {
        if let Some((seq, _)) = self.newer.filter(|(seq, _)| *seq != 1) {
            verdict.find(
                FindingKind::Removed,
                &self.writer,
                1,
                format!("entries 1 to {} are missing", seq - 1),
            );
        }
        if let Some(head) = self.predecessor {
            expected.entry(head.writer.clone()).or_default().push(head);
        }
    }
}
