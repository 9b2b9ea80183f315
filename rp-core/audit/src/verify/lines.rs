//! The same check over lines: a copy that a sink made, or an export. Sixteen bytes are kept for each entry, so that
//! what comes twice can be told from what was changed.

use std::collections::HashMap;

use rp_base::{Digest, Timestamp, sha256};
use rp_documents::Entry;
use serde::Deserialize;

use super::{
    ExpectedHeads, FindingKind, RemovedByWriter, Verdict, check_checkpoint, check_tombstone, covered,
};
use crate::batch::Head;
use crate::checkpoint::SignedCheckpoint;
use crate::tombstone::{Removed, SignedTombstone};
use crate::{CheckpointKey, WRITER_STARTED};

/// Numbers that may be missing at once before a line counts as nonsense.
const MOST_MISSING: u64 = 10_000_000;
/// The longest line that is read.
const LONGEST: usize = 1 << 20;

type ShortDigest = [u8; 16];
const MISSING: ShortDigest = [0; 16];

/// A line that is no entry.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Statement {
    Checkpoint(SignedCheckpoint),
    Tombstone(SignedTombstone),
}

/// One chain so far.
struct Chain {
    first: u64,
    /// What the first line's entry was chained to.
    first_prev: Digest,
    digests: Vec<ShortDigest>,
    last: Digest,
    at: Timestamp,
}

impl Chain {
    fn next(&self) -> u64 {
        self.first.saturating_add(u64::try_from(self.digests.len()).unwrap_or(u64::MAX))
    }

    fn slot(&mut self, seq: u64) -> Option<&mut ShortDigest> {
        usize::try_from(seq.checked_sub(self.first)?).ok().and_then(|at| self.digests.get_mut(at))
    }
}

/// Checks lines as they come: entries as stored, `{"checkpoint":…}` and `{"tombstone":…}`. Lines of several writers may
/// be mixed, and lines may come twice.
pub struct LineVerifier {
    key: CheckpointKey,
    /// Chains may begin anywhere: the lines are a part of the log.
    part: bool,
    chains: HashMap<String, Chain>,
    expected: ExpectedHeads,
    retired: RemovedByWriter,
    verdict: Verdict,
    lines: u64,
    /// Entries that stand after an earlier one of their chain.
    ascending: u64,
    /// Entries that stand after a later one, before everything of their chain so far.
    descending: u64,
}

impl std::fmt::Debug for LineVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineVerifier").field("lines", &self.lines).finish_non_exhaustive()
    }
}

fn short(digest: Digest) -> ShortDigest {
    let mut out = [0; 16];
    out.copy_from_slice(&digest.0[..16]);
    out
}

impl LineVerifier {
    /// Believes checkpoints and tombstones of `key`. `part`: the lines are a part of the log, chains may begin
    /// anywhere.
    pub fn new(key: CheckpointKey, part: bool) -> Self {
        Self {
            key,
            part,
            chains: HashMap::new(),
            expected: ExpectedHeads::new(),
            retired: RemovedByWriter::new(),
            verdict: Verdict::default(),
            lines: 0,
            ascending: 0,
            descending: 0,
        }
    }

    /// The next line, without its end. Empty ones do not count.
    pub fn line(&mut self, text: &str) {
        self.lines += 1;
        if text.is_empty() {
            return;
        }
        if text.len() > LONGEST {
            return self.nonsense("is too long");
        }
        if let Ok(entry) = serde_json::from_str::<Entry>(text) {
            return self.entry(&entry, sha256(text.as_bytes()));
        }
        match serde_json::from_str::<Statement>(text) {
            Ok(Statement::Checkpoint(signed)) => self.checkpoint(&signed),
            Ok(Statement::Tombstone(signed)) => {
                check_tombstone(&signed, &self.key, &mut self.retired, &mut self.verdict);
            }
            Err(_) => self.nonsense("is neither an entry, a checkpoint nor a tombstone"),
        }
    }

    /// A checkpoint that was kept elsewhere.
    pub fn checkpoint(&mut self, signed: &SignedCheckpoint) {
        self.verdict.checkpoints += 1;
        check_checkpoint(signed, &self.key, &mut self.expected, &mut self.verdict);
    }

    fn nonsense(&mut self, what: &str) {
        let what = format!("line {} {what}", self.lines);
        self.verdict.find(FindingKind::Malformed, "", self.lines, what);
    }

    fn entry(&mut self, entry: &Entry, digest: Digest) {
        let (seq, writer, at) = (entry.seq, &entry.writer, Some(entry.at));
        if seq == 1
            && entry.verb == WRITER_STARTED
            && let Some(head) = Head::from_named(&entry.query)
        {
            self.expected.entry(head.writer.clone()).or_default().push(head);
        }
        let verdict = &mut self.verdict;
        let Some(chain) = self.chains.get_mut(writer) else {
            verdict.writers += 1;
            verdict.entries += 1;
            let digests = vec![short(digest)];
            let chain = Chain { first: seq, first_prev: entry.prev, digests, last: digest, at: entry.at };
            self.chains.insert(writer.clone(), chain);
            return;
        };
        let next = chain.next();
        if seq >= next {
            if seq - next > MOST_MISSING {
                let what = format!("entry {seq} cannot follow entry {}", next - 1);
                return verdict.find_at(FindingKind::Malformed, writer, seq, at, what);
            }
            if seq == next && entry.prev != chain.last {
                let what = format!("entry {} is not what entry {seq} was chained to", next - 1);
                verdict.find_at(FindingKind::Changed, writer, next - 1, at, what);
            }
            chain.digests.extend((next..seq).map(|_| MISSING));
            chain.digests.push(short(digest));
            (chain.last, chain.at) = (digest, entry.at);
            verdict.entries += 1;
            self.ascending += 1;
            return;
        }
        match chain.slot(seq) {
            Some(slot) if *slot == short(digest) => {}
            Some(slot) if *slot == MISSING => {
                *slot = short(digest);
                verdict.entries += 1;
                let what = format!("entry {seq} stands after ones that were written later");
                verdict.find_at(FindingKind::Reordered, writer, seq, at, what);
            }
            Some(_) => {
                let what = format!("entry {seq} stands there twice, and differs");
                verdict.find_at(FindingKind::Changed, writer, seq, at, what);
            }
            None => {
                self.descending += 1;
                let what = format!("entry {seq} stands after ones that were written later");
                verdict.find_at(FindingKind::Reordered, writer, seq, at, what);
            }
        }
    }

    /// What was found, all lines being there. Lines that stand newest first are told from lines that were changed: the
    /// verdict then has [`FindingKind::NewestFirst`] in place of what follows from the order alone.
    pub fn finish(mut self) -> Verdict {
        if self.descending > 0 && self.ascending == 0 {
            return self.newest_first();
        }
        for removed in self.retired.values() {
            if let Some(head) = &removed.predecessor {
                self.expected.entry(head.writer.clone()).or_default().push(head.clone());
            }
        }
        let mut writers: Vec<&String> = self.chains.keys().chain(self.expected.keys()).collect();
        writers.sort();
        writers.dedup();
        let verdict = &mut self.verdict;
        for writer in writers {
            let retired = self.retired.get(writer);
            let heads = self.expected.get(writer).map(Vec::as_slice).unwrap_or_default();
            match self.chains.get(writer) {
                Some(chain) => finish(writer, chain, heads, retired, self.part, verdict),
                None if self.part => {}
                None => {
                    let left = heads.iter().filter(|head| !retired.is_some_and(|gone| covered(head, gone)));
                    if let Some(seq) = left.map(|head| head.seq).max() {
                        let what = format!("the whole chain up to entry {seq} is missing");
                        let at = retired.map(|removed| removed.until);
                        verdict.find_at(FindingKind::Truncated, writer, seq, at, what);
                    }
                }
            }
        }
        self.verdict
    }

    fn newest_first(mut self) -> Verdict {
        let verdict = &mut self.verdict;
        verdict.entries += self.descending;
        verdict.findings.retain(|finding| finding.kind != FindingKind::Reordered);
        let what = "the newest entry stands first, but a chain is checked from the oldest on: turn the lines round, \
                    tac FILE | aro audit verify --lines -";
        verdict.find(FindingKind::NewestFirst, "", 0, what);
        self.verdict
    }
}

/// At the end of a chain: what is missing, and what was said of it.
fn finish(
    writer: &str,
    chain: &Chain,
    heads: &[Head],
    retired: Option<&Removed>,
    part: bool,
    verdict: &mut Verdict,
) {
    let at = Some(chain.at);
    let mut gap: Option<u64> = None;
    for (seq, digest) in (chain.first..).zip(&chain.digests) {
        match (gap, *digest == MISSING) {
            (None, true) => gap = Some(seq),
            (Some(from), false) => {
                let what = format!("entries {from} to {} are missing", seq - 1);
                verdict.find_at(FindingKind::Removed, writer, from, at, what);
                gap = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    let told = retired.map_or(1, |removed| removed.last.saturating_add(1));
    if chain.first > told && !part {
        let what = format!("entries {told} to {} are missing", chain.first - 1);
        verdict.find_at(FindingKind::Removed, writer, told, at, what);
    } else if let Some(removed) = retired.filter(|_| chain.first == told)
        && chain.first_prev != removed.digest
    {
        let what = format!("entry {} is not chained to what the tombstone says was removed", chain.first);
        verdict.find_at(FindingKind::Rechained, writer, chain.first, at, what);
    }
    let last = chain.next().saturating_sub(1);
    let end = heads.iter().map(|head| head.seq).max().unwrap_or(0);
    if end > last {
        let what = format!("the chain ends at entry {last}, but entry {end} was written");
        verdict.find_at(FindingKind::Truncated, writer, last + 1, at, what);
    }
    let mut wrong: Vec<u64> =
        heads.iter().filter(|head| !fits(chain, head, retired)).map(|head| head.seq).collect();
    wrong.sort_unstable();
    wrong.dedup();
    for seq in wrong {
        let what = format!("entry {seq} is not the one that was signed, or named by the next chain");
        verdict.find_at(FindingKind::Rechained, writer, seq, at, what);
    }
}

/// Whether what was said of an entry is so, as far as the entry is there.
fn fits(chain: &Chain, head: &Head, retired: Option<&Removed>) -> bool {
    if head.seq < chain.first {
        return retired.is_none_or(|removed| head.seq > removed.last || covered(head, removed));
    }
    let at = usize::try_from(head.seq - chain.first).ok();
    let digest = at.and_then(|at| chain.digests.get(at)).filter(|digest| **digest != MISSING);
    digest.is_none_or(|digest| *digest == short(head.digest))
}
