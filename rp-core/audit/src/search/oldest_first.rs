//! What a search finds, the oldest first: the order of a chain.
//!
//! The index leads from the newest entry to the oldest. So the search first runs to the beginning of the log and keeps only
//! where each of its pages begins and ends; then it reads the pages again, from the last to the first, and turns each round.
//! Entries that are written meanwhile are left out.

use super::{Hit, MOST_ENTRIES, Outcome, Query, search};
use crate::cursor::SearchPosition;
use crate::{Audit, AuditError};

/// A page that was found: hits before `from`, the last of them at `to` or after it.
#[derive(Debug, Clone, Copy)]
struct FoundPage {
    from: SearchPosition,
    /// `None`: it reaches to the beginning of the log.
    to: Option<SearchPosition>,
}

/// A search whose entries come the oldest first, each as it is stored, byte for byte.
#[derive(Debug)]
pub struct OldestFirst {
    audit: Audit,
    query: Query,
    /// Where the way to the beginning goes on; `None`: it has been gone.
    ahead: Option<SearchPosition>,
    /// Newest first.
    pages: Vec<FoundPage>,
}

impl Audit {
    /// A search whose entries come the oldest first. The limit and the continuation of the query do not count.
    pub fn search_oldest_first(&self, query: Query) -> OldestFirst {
        let query = Query { limit: MOST_ENTRIES, continuation: None, ..query };
        OldestFirst { audit: self.clone(), query, ahead: Some(SearchPosition::START), pages: Vec::new() }
    }
}

impl OldestFirst {
    /// Some more lines; `None` at the end. Empty while the beginning of the log is looked for: the work of one call is
    /// bounded.
    ///
    /// # Errors
    /// The store does not answer; the call can be made again.
    pub async fn next(&mut self) -> Result<Option<Vec<String>>, AuditError> {
        if let Some(place) = self.ahead {
            let found = self.look(place).await?;
            if let Some(newest) = found.hits.first() {
                self.pages.push(FoundPage { from: just_after(newest, place), to: found.place });
            }
            self.ahead = found.place;
            return Ok(Some(Vec::new()));
        }
        let Some(page) = self.pages.last().copied() else { return Ok(None) };
        let lines = self.read(page).await?;
        self.pages.pop();
        Ok(Some(lines))
    }

    /// The lines of a page, the oldest first. A look may end earlier than the one that found the page: it depends on time.
    async fn read(&self, page: FoundPage) -> Result<Vec<String>, AuditError> {
        let order = |place: SearchPosition| (place.seq, place.at);
        let (mut lines, mut place) = (Vec::new(), page.from);
        loop {
            let found = self.look(place).await?;
            let within = |hit: &Hit| page.to.is_none_or(|to| (hit.seq, hit.at) >= order(to));
            lines.extend(found.hits.into_iter().take_while(within).map(|hit| hit.line));
            match found.place {
                Some(next) if page.to.is_none_or(|to| order(next) > order(to)) => place = next,
                Some(_) | None => break,
            }
        }
        lines.reverse();
        Ok(lines)
    }

    async fn look(&self, place: SearchPosition) -> Result<Outcome, AuditError> {
        let inner = &self.audit.0;
        search(&inner.index, &self.query, place, inner.search_within).await
    }
}

/// The position from which a page begins with this hit, so that nothing newer comes into it when it is read again.
fn just_after(newest: &Hit, place: SearchPosition) -> SearchPosition {
    SearchPosition { seq: newest.seq, at: newest.at.saturating_add(1), below: place.below }
}
