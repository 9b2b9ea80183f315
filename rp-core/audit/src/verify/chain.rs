//! One chain, walked from its end to its beginning.

use rp_base::{Digest, Timestamp, sha256};
use rp_database::Stored;
use rp_documents::Entry;

use super::{ExpectedHeads, FindingKind, Verdict, covered};
use crate::WRITER_STARTED;
use crate::batch::{Batch, Head, id};
use crate::tombstone::Removed;

/// One writer's chain while it is walked backwards.
pub(super) struct Chain {
    pub(super) writer: String,
    /// Number and `prev` of the oldest entry so far.
    newer: Option<(u64, Digest)>,
    expected: Vec<Head>,
    /// What the first entry says of the chain before.
    predecessor: Option<Head>,
    /// What retention removed.
    retired: Option<Removed>,
    /// When the oldest entry so far was made.
    at: Option<Timestamp>,
}

/// An entry of a batch: its number, its digest, and when it was made, if that can be read.
type EntryLink = (u64, Digest, Option<Timestamp>);

impl Chain {
    pub(super) fn new(writer: &str, retired: Option<&Removed>, expected: &mut ExpectedHeads) -> Self {
        let writer = writer.to_owned();
        let mut expected = expected.remove(&writer).unwrap_or_default();
        if let Some(Removed { last, digest, .. }) = retired {
            // While retention is not done, that entry may still be there.
            expected.push(Head { writer: writer.clone(), seq: *last, digest: *digest });
        }
        Self { expected, writer, newer: None, predecessor: None, retired: retired.cloned(), at: None }
    }

    pub(super) fn batch(&mut self, stored: &Stored, verdict: &mut Verdict) {
        let Ok(batch) = serde_json::from_str::<Batch>(&stored.body) else {
            let what = format!("the batch {} cannot be read", stored.id);
            return verdict.find_at(FindingKind::Malformed, &self.writer, 0, Some(stored.written), what);
        };
        if batch.writer != self.writer || stored.id != id(&self.writer, batch.first_seq) {
            let what = format!("the batch {} stands in another's place", stored.id);
            verdict.find_at(
                FindingKind::Malformed,
                &self.writer,
                batch.first_seq,
                Some(stored.written),
                what,
            );
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
        self.at = digests.iter().find_map(|seen| seen.2).or(self.at);
    }

    /// Checks a batch within itself; gives number and digest of each entry.
    fn entries(&mut self, batch: &Batch, verdict: &mut Verdict) -> Vec<EntryLink> {
        let read = |text: &str| serde_json::from_str::<Entry>(text).ok();
        let entries: Vec<Option<Entry>> = batch.entries.iter().map(|text| read(text.get())).collect();
        let numbers: Vec<u64> =
            entries.iter().map(|entry| entry.as_ref().map_or(0, |entry| entry.seq)).collect();
        let times = entries.iter().map(|entry| entry.as_ref().map(|entry| entry.at)).collect::<Vec<_>>();
        self.numbers(batch, &numbers, times.iter().find_map(|at| *at), verdict);
        let mut prev = batch.first_prev;
        let mut out = Vec::with_capacity(entries.len());
        let in_order = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        for (at, (text, entry)) in batch.entries.iter().zip(&entries).enumerate() {
            let seq = batch.first_seq.saturating_add(u64::try_from(at).unwrap_or(0));
            match entry {
                None => {
                    let near = times.iter().find_map(|at| *at);
                    verdict.find_at(
                        FindingKind::Malformed,
                        &self.writer,
                        seq,
                        near,
                        "the entry cannot be read",
                    );
                }
                Some(entry) if entry.writer != self.writer => {
                    let what = "the entry names another writer";
                    verdict.find_at(FindingKind::Changed, &self.writer, seq, Some(entry.at), what);
                }
                Some(entry) if entry.prev != prev && in_order => {
                    let before = seq.saturating_sub(1);
                    let what = format!("entry {before} is not what entry {seq} was chained to");
                    verdict.find_at(FindingKind::Changed, &self.writer, before, Some(entry.at), what);
                }
                Some(entry) => self.first(entry),
            }
            prev = sha256(text.get().as_bytes());
            out.push((seq, prev, entry.as_ref().map(|entry| entry.at)));
        }
        if prev != batch.head && in_order {
            let (last, at) = out.last().map_or((0, None), |last| (last.0, last.2));
            let what = format!("entry {last} is not what its batch was sealed with");
            verdict.find_at(FindingKind::Changed, &self.writer, last, at, what);
        }
        out
    }

    /// The numbers of a batch: none missing, none twice, in order.
    fn numbers(&self, batch: &Batch, numbers: &[u64], at: Option<Timestamp>, verdict: &mut Verdict) {
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
            let what = "entries stand in another order than they were written in";
            return verdict.find_at(FindingKind::Reordered, &self.writer, seq, at, what);
        }
        for seq in wanted.iter().filter(|seq| sorted.binary_search(seq).is_err()) {
            verdict.find_at(FindingKind::Removed, &self.writer, *seq, at, format!("entry {seq} is missing"));
        }
        for seq in numbers.iter().filter(|seq| wanted.binary_search(seq).is_err()) {
            let what = format!("entry {seq} does not belong into its batch");
            verdict.find_at(FindingKind::Changed, &self.writer, *seq, at, what);
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
            let what = format!("entries {end} to {} are missing", seq - 1);
            verdict.find_at(FindingKind::Removed, &self.writer, end, self.at, what);
        } else if seq == end && prev != digest {
            let last = end.saturating_sub(1);
            let what = format!("entry {last} is not what entry {seq} was chained to");
            verdict.find_at(FindingKind::Changed, &self.writer, last, self.at, what);
        } else if seq < end {
            let what = format!("entry {seq} stands in two batches");
            verdict.find_at(FindingKind::Changed, &self.writer, seq, self.at, what);
        }
    }

    /// Checks what was signed or named of entries in this batch.
    fn expect(&mut self, digests: &[EntryLink], verdict: &mut Verdict) {
        let (Some(first), Some(last)) = (digests.first(), digests.last()) else { return };
        if self.newer.is_none() {
            let end = self.expected.iter().map(|head| head.seq).max().unwrap_or(0);
            if end > last.0 {
                let what = format!("the chain ends at entry {}, but entry {end} was written", last.0);
                verdict.find_at(FindingKind::Truncated, &self.writer, last.0 + 1, last.2, what);
            }
        }
        let (writer, mut wrong) = (&self.writer, Vec::new());
        self.expected.retain(|head| {
            if head.seq < first.0 || head.seq > last.0 {
                return head.seq < first.0;
            }
            let found = digests.iter().find(|seen| seen.0 == head.seq);
            if found.is_none_or(|seen| seen.1 != head.digest) {
                wrong.push((head.seq, found.and_then(|seen| seen.2)));
            }
            false
        });
        wrong.sort_unstable();
        wrong.dedup();
        for (seq, at) in wrong {
            let what = format!("entry {seq} is not the one that was signed, or named by the next chain");
            verdict.find_at(FindingKind::Rechained, writer, seq, at, what);
        }
    }

    /// At the chain's beginning.
    pub(super) fn finish(self, expected: &mut ExpectedHeads, verdict: &mut Verdict) {
        if let Some((seq, prev)) = self.newer.filter(|(seq, _)| *seq != 1) {
            self.beginning(seq, prev, verdict);
        }
        if let Some(head) = self.predecessor {
            expected.entry(head.writer.clone()).or_default().push(head);
        }
    }

    /// The oldest entry that is there is not the first: does a tombstone say so?
    fn beginning(&self, seq: u64, prev: Digest, verdict: &mut Verdict) {
        let Some(removed) = &self.retired else {
            let what = format!("entries 1 to {} are missing", seq - 1);
            return verdict.find_at(FindingKind::Removed, &self.writer, 1, self.at, what);
        };
        let next = removed.last.saturating_add(1);
        if seq > next {
            let what = format!("entries {next} to {} are missing: the tombstone ends before them", seq - 1);
            verdict.find_at(FindingKind::Removed, &self.writer, next, self.at, what);
        } else if seq == next && prev != removed.digest {
            let what = format!("entry {seq} is not chained to what the tombstone says was removed before it");
            verdict.find_at(FindingKind::Rechained, &self.writer, seq, self.at, what);
        }
        for head in self.expected.iter().filter(|head| head.seq < seq && !covered(head, removed)) {
            let what = format!("entry {} was signed, but the tombstone says otherwise", head.seq);
            verdict.find_at(FindingKind::Rechained, &self.writer, head.seq, Some(removed.until), what);
        }
    }
}
