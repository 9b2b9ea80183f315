//! One chain, walked from its end to its beginning.

use rp_base::{Digest, sha256};
use rp_database::Stored;
use rp_documents::Entry;

use super::{Expected, FindingKind, Verdict};
use crate::WRITER_STARTED;
use crate::batch::{Batch, Head, id};

/// One writer's chain while it is walked backwards.
pub(super) struct Chain {
    pub(super) writer: String,
    /// Number and `prev` of the oldest entry so far.
    newer: Option<(u64, Digest)>,
    expected: Vec<Head>,
    /// What the first entry says of the chain before.
    predecessor: Option<Head>,
}

impl Chain {
    pub(super) fn new(writer: &str, expected: &mut Expected) -> Self {
        let writer = writer.to_owned();
        Self {
            expected: expected.remove(&writer).unwrap_or_default(),
            writer,
            newer: None,
            predecessor: None,
        }
    }

    pub(super) fn batch(&mut self, stored: &Stored, verdict: &mut Verdict) {
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
    pub(super) fn finish(self, expected: &mut Expected, verdict: &mut Verdict) {
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
