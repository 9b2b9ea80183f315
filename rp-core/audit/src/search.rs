//! Search: the newest first, a bounded part of the log per call.

use rp_base::text::contains_ignore_case;
use rp_base::{Id, Timestamp};
use rp_database::{SharedStore, Stored};
use rp_documents::{Collection, Entry, ResourceId};

use crate::AuditError;
use crate::batch::Batch;

/// Batches that one call looks at, at most.
const MOST_BATCHES: usize = 128;
/// Batches that are asked of the store at once.
const PAGE: u32 = 16;
/// Most entries of an answer.
const MOST_ENTRIES: usize = 500;

/// What to look for; everything given must match.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The actor's subject, or name in any case.
    pub person: Option<String>,
    pub target: Option<ResourceId>,
    pub verb: Option<String>,
    /// Anywhere in the entry's JSON, in any case.
    pub text: Option<String>,
    pub grant: Option<Id>,
    pub from: Option<Timestamp>,
    /// Exclusive.
    pub to: Option<Timestamp>,
    /// At most 500; 0: 100.
    pub limit: usize,
    /// From the last answer.
    pub continuation: Option<String>,
}

/// A part of the answer.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub entries: Vec<Entry>,
    /// There may be more, also when `entries` is empty: the log was only searched in part.
    pub continuation: Option<String>,
}

/// How far a search came: within the page that the store's `page` starts, everything up to entry `seq` of
/// batch `batch` was looked at. New batches may have come in front of the first page meanwhile.
#[derive(Debug, Clone, Default)]
struct Place {
    page: Option<String>,
    batch: Option<String>,
    seq: u64,
}

impl Place {
    fn read(text: &str) -> Result<Self, AuditError> {
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().ok_or(AuditError::Continuation);
        let (seq, batch, page) = (part()?, part()?, part()?);
        let seq = seq.parse().map_err(|_| AuditError::Continuation)?;
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self { page: some(page), batch: some(batch), seq })
    }

    fn text(&self) -> String {
        format!("{}.{}.{}", self.seq, self.batch.as_deref().unwrap_or(""), self.page.as_deref().unwrap_or(""))
    }
}

pub(crate) async fn search(store: &SharedStore, query: &Query) -> Result<Found, AuditError> {
    let matcher = Matcher::new(query);
    let limit = if query.limit == 0 { 100 } else { query.limit.min(MOST_ENTRIES) };
    let mut place = query.continuation.as_deref().map_or_else(|| Ok(Place::default()), Place::read)?;
    let (mut found, mut looked_at) = (Found::default(), 0);
    loop {
        let page = store.list(Collection::AuditBatches, None, place.page.as_deref(), PAGE).await?;
        for stored in &page.items {
            // Ids count down: what sorts before the place was seen, or is newer than the search.
            let resumed = match place.batch.as_deref() {
                Some(at) if stored.id.as_str() < at => continue,
                Some(at) => (stored.id == at).then_some(place.seq),
                None => None,
            };
            (place.batch, place.seq) = (Some(stored.id.clone()), 0);
            if let Some(seq) = matcher.look(stored, resumed, limit, &mut found.entries) {
                place.seq = seq;
                found.continuation = Some(place.text());
                return Ok(found);
            }
            looked_at += 1;
        }
        let Some(next) = page.continuation else { return Ok(found) };
        place = Place { page: Some(next), batch: None, seq: 0 };
        if looked_at >= MOST_BATCHES {
            found.continuation = Some(place.text());
            return Ok(found);
        }
    }
}

struct Matcher<'a> {
    query: &'a Query,
    text: Option<String>,
}

impl<'a> Matcher<'a> {
    fn new(query: &'a Query) -> Self {
        Self { query, text: query.text.as_deref().map(str::to_ascii_lowercase) }
    }

    /// Looks at a batch from its end, below `resumed`. Gives the last number looked at when `limit` is reached.
    /// What cannot be read is left to verify.
    fn look(&self, stored: &Stored, resumed: Option<u64>, limit: usize, out: &mut Vec<Entry>) -> Option<u64> {
        let batch: Batch = serde_json::from_str(&stored.body).ok()?;
        // Nothing was looked at yet in a batch at which a search stopped with 0.
        let below = resumed.filter(|seq| *seq > 0).unwrap_or(u64::MAX);
        for (at, text) in batch.entries.iter().enumerate().rev() {
            let seq = batch.first_seq.saturating_add(u64::try_from(at).unwrap_or(0));
            if seq >= below
                || !self.text.as_ref().is_none_or(|needle| contains_ignore_case(text.get(), needle))
            {
                continue;
            }
            let Ok(entry) = serde_json::from_str::<Entry>(text.get()) else { continue };
            if !self.matches(&entry) {
                continue;
            }
            out.push(entry);
            if out.len() >= limit {
                return Some(seq);
            }
        }
        None
    }

    fn matches(&self, entry: &Entry) -> bool {
        let query = self.query;
        let person =
            |person: &String| entry.actor.sub == *person || entry.actor.name.eq_ignore_ascii_case(person);
        query.person.as_ref().is_none_or(person)
            && query.target.as_ref().is_none_or(|target| entry.target.as_ref() == Some(target))
            && query.verb.as_ref().is_none_or(|verb| entry.verb == *verb)
            && query.grant.as_ref().is_none_or(|grant| entry.grant.as_ref() == Some(grant))
            && query.from.is_none_or(|from| entry.at >= from)
            && query.to.is_none_or(|to| entry.at < to)
    }
}
