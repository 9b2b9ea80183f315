//! Search: the newest first over all chains, a bounded part of the log per call.
//!
//! The order is that of the commits: position of the batch in the change feed, then number within the batch. What
//! the index does not have yet is read from the end of the feed; then come the blocks that the index names.

mod oldest_first;
mod pages;

use std::time::Duration;

use futures_util::future::try_join_all;
use rp_base::text::contains_ignore_case;
use rp_base::{Id, Timestamp};
use rp_database::{StoreError, Stored};
use rp_documents::{Collection, Entry, ResourceId};
use tokio::time::Instant;

use crate::AuditError;
use crate::batch::BatchView;
use crate::cursor::SearchPosition;
use crate::index::part::Block;
use crate::index::{Index, bits, lookup};

pub use oldest_first::OldestFirst;
pub use pages::{SearchLinesPage, SearchPage};

/// Entries that one call looks at, at most.
const MOST_SCANNED: usize = 400_000;
/// Blocks that a call reads before it checks the time limit.
const LEAST_BLOCKS: usize = 8;
/// Batches that are asked of the store at once.
const PAGE: u32 = 128;
/// Positions of the feed that are read at once where there is no index.
const WINDOW: i64 = 64;
/// Blocks that are read at the same time.
const AHEAD: usize = 4;
/// Parts of the index that are looked at together, at most.
const MOST_PARTS: u32 = 128;
/// The clocks of the store and of the processes that write entries differ by less than this.
const CLOCKS_APART: Duration = Duration::from_secs(3600);
/// Most entries of an answer.
const MOST_ENTRIES: usize = 500;

/// Which entries are wanted, by what cannot be looked up in the index.
#[derive(Debug, Clone, Copy)]
pub struct EntryFilter {
    /// Its name; a continuation is good for the filter of one name.
    pub name: &'static str,
    /// Whether an entry is wanted.
    pub takes: fn(&Entry) -> bool,
}

/// What to look for; everything given must match.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The actor's subject, or name in any case.
    pub person: Option<String>,
    pub target: Option<ResourceId>,
    pub verb: Option<String>,
    /// Anywhere in the entry's JSON from its `at` on, in any ASCII case. Four bytes and more are looked up in the
    /// index; shorter ones are looked for in every entry.
    pub text: Option<String>,
    pub grant: Option<Id>,
    /// Looked for in every entry.
    pub filter: Option<EntryFilter>,
    pub from: Option<Timestamp>,
    /// Exclusive.
    pub to: Option<Timestamp>,
    /// At most 500; 0: 100.
    pub limit: usize,
    /// From the last answer. Good for an hour.
    pub continuation: Option<String>,
}

/// An entry that was found.
#[derive(Debug)]
pub(crate) struct Hit {
    /// Position of its batch in the feed.
    pub(crate) seq: i64,
    /// Its number within the batch.
    pub(crate) at: u32,
    pub(crate) line: String,
    pub(crate) entry: Entry,
}

/// What a search came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) hits: Vec<Hit>,
    /// `None`: the whole log was searched.
    pub(crate) place: Option<SearchPosition>,
    pub(crate) searched_to: Option<Timestamp>,
}

/// Searches on from `place`. Stops after `within`, but not before it has looked at a few blocks.
pub(crate) async fn search(
    index: &Index,
    query: &Query,
    place: SearchPosition,
    within: Duration,
) -> Result<Outcome, AuditError> {
    let limit = if query.limit == 0 { 100 } else { query.limit.min(MOST_ENTRIES) };
    let mut search = Search {
        index,
        matcher: Matcher::new(query),
        limit,
        place,
        hits: Vec::new(),
        searched_to: None,
        scanned: 0,
        blocks: 0,
        until: Instant::now() + within,
    };
    let more = search.run(&bits::needed(query)).await?;
    let place = more.then_some(search.place);
    let searched_to = search.searched_to.filter(|_| more);
    Ok(Outcome { hits: search.hits, place, searched_to })
}

struct Search<'a> {
    index: &'a Index,
    matcher: Matcher<'a>,
    limit: usize,
    place: SearchPosition,
    hits: Vec<Hit>,
    searched_to: Option<Timestamp>,
    scanned: usize,
    blocks: usize,
    until: Instant,
}

impl Search<'_> {
    /// Whether there is more to search.
    async fn run(&mut self, rows: &[u16]) -> Result<bool, AuditError> {
        self.index.ready().await?;
        let (open, end, stored) = {
            let open = self.index.open();
            (open.with(rows), open.end, open.stored())
        };
        if self.place.below.is_none() && (self.unindexed(end).await? || self.look(&open).await?) {
            return Ok(true);
        }
        let mut below = self.place.below.unwrap_or_else(|| stored.saturating_add(1));
        let mut parts = 2;
        loop {
            let found = lookup::find_blocks(&self.index.store, rows, below, parts).await?;
            let Some(last) = found.last().map(|part| part.number) else { return Ok(false) };
            let all = found.len() < parts as usize;
            for part in found {
                self.place.below = Some(part.number.saturating_add(1));
                if self.matcher.query.from.is_some_and(|from| is_before(part.written, from)) {
                    return Ok(false);
                }
                if self.look(&part.blocks).await? {
                    return Ok(true);
                }
            }
            if all {
                return Ok(false);
            }
            below = last;
            parts = (parts * 4).min(MOST_PARTS);
        }
    }

    /// Reads from the end of the feed back to where the index ends.
    async fn unindexed(&mut self, end: i64) -> Result<bool, AuditError> {
        let head = self.index.store.head(Collection::AuditBatches).await?;
        let mut last = head.min(self.place.seq);
        while last > end {
            let first = end.max(last - WINDOW) + 1;
            let stored = read(self.index, first, last).await?;
            if self.scan(&stored, first, None) {
                return Ok(true);
            }
            last = first - 1;
        }
        Ok(false)
    }

    /// Looks at blocks, newest first; true: that is enough for now.
    async fn look(&mut self, blocks: &[Block]) -> Result<bool, AuditError> {
        let (seq, at) = (self.place.seq, self.place.at);
        let query = self.matcher.query;
        let wanted: Vec<Block> = blocks
            .iter()
            .filter(|block| (block.first, 0) < (seq, at))
            .filter(|block| query.from.is_none_or(|from| block.to >= from))
            .filter(|block| query.to.is_none_or(|to| block.from < to))
            .copied()
            .collect();
        let mut left = wanted.as_slice();
        let mut ahead = 1;
        while !left.is_empty() {
            let (now, later) = left.split_at(ahead.min(left.len()));
            let reads = now.iter().map(|block| read(self.index, block.first, block.last));
            let found = try_join_all(reads).await?;
            for (block, stored) in now.iter().zip(found) {
                if self.scan(&stored, block.first, Some(block.from)) {
                    return Ok(true);
                }
            }
            left = later;
            ahead = (ahead * 2).min(AHEAD);
        }
        Ok(false)
    }

    /// Looks at batches that begin at `first`, from the last to the first; true: that is enough for now.
    fn scan(&mut self, batches: &[Stored], first: i64, from: Option<Timestamp>) -> bool {
        for stored in batches.iter().rev() {
            let (seq, at) = (self.place.seq, self.place.at);
            let below = if stored.seq < seq { u32::MAX } else { at };
            if stored.seq > seq {
                continue;
            }
            self.searched_to = Some(from.unwrap_or(stored.written));
            match self.matcher.look(stored, below, self.limit, &mut self.hits) {
                ScanEnd::Enough(at) => {
                    (self.place.seq, self.place.at) = (stored.seq, at);
                    return true;
                }
                ScanEnd::All(entries) => self.scanned += entries,
            }
        }
        (self.place.seq, self.place.at) = (first, 0);
        self.blocks += usize::from(!batches.is_empty());
        self.blocks >= LEAST_BLOCKS && (self.scanned >= MOST_SCANNED || Instant::now() >= self.until)
    }
}

/// Whether a part that was stored at `written` ends a search for entries since `from`: no entry of it, or of a part before
/// it, is that new. The times of its entries do not tell: an entry is committed long after its time where it was kept on
/// the local disk meanwhile, so parts before this one may have newer entries.
fn is_before(written: Timestamp, from: Timestamp) -> bool {
    written < from - CLOCKS_APART
}

/// The batches at these positions of the feed, both included.
async fn read(index: &Index, first: i64, last: i64) -> Result<Vec<Stored>, StoreError> {
    let (mut cursor, mut out) = (first - 1, Vec::new());
    while cursor < last {
        let most = u32::try_from(last - cursor).unwrap_or(PAGE).min(PAGE);
        let changes = index.store.changes(Collection::AuditBatches, cursor, most).await?;
        let within = changes.items.into_iter().filter(|change| change.seq <= last);
        out.extend(within.filter_map(|change| change.document));
        if !changes.more {
            break;
        }
        cursor = changes.cursor;
    }
    Ok(out)
}

enum ScanEnd {
    /// The limit was reached at this number of the batch.
    Enough(u32),
    /// That many entries were looked at.
    All(usize),
}

struct Matcher<'a> {
    query: &'a Query,
    text: Option<String>,
    /// What the JSON of a match has in it: saves reading the others.
    pieces: Vec<String>,
}

impl<'a> Matcher<'a> {
    fn new(query: &'a Query) -> Self {
        let piece = |key: &str, value: &str| {
            serde_json::to_string(value).ok().map(|value| format!("\"{key}\":{value}"))
        };
        let verb = query.verb.as_deref().and_then(|verb| piece("verb", verb));
        let grant = query.grant.as_ref().and_then(|grant| piece("grant", grant.as_str()));
        let pieces = verb.into_iter().chain(grant).collect();
        Self { query, text: query.text.as_deref().map(str::to_ascii_lowercase), pieces }
    }

    /// Looks at a batch from its end, below number `below`. A batch that cannot be read is skipped; verify reports it.
    fn look(&self, stored: &Stored, below: u32, limit: usize, out: &mut Vec<Hit>) -> ScanEnd {
        let Ok(batch) = serde_json::from_str::<BatchView<'_>>(&stored.body) else { return ScanEnd::All(0) };
        for (at, text) in batch.entries.iter().enumerate().rev() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            if at >= below || !self.may_match(text.get()) {
                continue;
            }
            let Ok(entry) = serde_json::from_str::<Entry>(text.get()) else { continue };
            if !self.matches(&entry) {
                continue;
            }
            out.push(Hit { seq: stored.seq, at, line: text.get().to_owned(), entry });
            if out.len() >= limit {
                return ScanEnd::Enough(at);
            }
        }
        ScanEnd::All(batch.entries.len())
    }

    fn may_match(&self, entry: &str) -> bool {
        self.pieces.iter().all(|piece| entry.contains(piece))
            && self.text.as_ref().is_none_or(|needle| contains_ignore_case(bits::searchable(entry), needle))
    }

    fn matches(&self, entry: &Entry) -> bool {
        let query = self.query;
        let person =
            |person: &String| entry.actor.sub == *person || entry.actor.name.eq_ignore_ascii_case(person);
        query.person.as_ref().is_none_or(person)
            && query.target.as_ref().is_none_or(|target| entry.target.as_ref() == Some(target))
            && query.verb.as_ref().is_none_or(|verb| entry.verb == *verb)
            && query.grant.as_ref().is_none_or(|grant| entry.grant.as_ref() == Some(grant))
            && query.filter.is_none_or(|filter| (filter.takes)(entry))
            && query.from.is_none_or(|from| entry.at >= from)
            && query.to.is_none_or(|to| entry.at < to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_stops_at_a_part_that_was_stored_before_it_wants_by_more_than_clocks_differ() {
        let from = Timestamp::from_seconds(10_000);
        assert!(is_before(Timestamp::from_seconds(6_399), from));
        assert!(!is_before(Timestamp::from_seconds(6_400), from), "an hour is not enough");
        assert!(!is_before(Timestamp::from_seconds(20_000), from));
    }
}
