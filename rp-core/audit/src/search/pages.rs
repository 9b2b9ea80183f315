//! A search as the callers of the log ask for it: one page after the other.

use rp_base::Timestamp;
use rp_documents::Entry;

use super::{Outcome, Query, search};
use crate::cursor::{CursorKey, SearchPosition};
use crate::{Audit, AuditError};

/// A part of the answer.
#[derive(Debug, Clone, Default)]
pub struct SearchPage {
    pub entries: Vec<Entry>,
    /// There may be more, also when `entries` is empty: the log was only searched in part.
    pub continuation: Option<String>,
    /// With a continuation: how far back the search came.
    pub searched_to: Option<Timestamp>,
}

/// A part of the answer, each entry as it is stored, byte for byte.
#[derive(Debug, Clone, Default)]
pub struct SearchLinesPage {
    pub lines: Vec<String>,
    pub continuation: Option<String>,
    pub searched_to: Option<Timestamp>,
}

impl Audit {
    /// Searches, newest first over all chains. Looks at a bounded part of the log per call.
    ///
    /// # Errors
    /// The store does not answer; the continuation is not one that we gave for this query, or is over an hour old.
    pub async fn search(&self, query: &Query) -> Result<SearchPage, AuditError> {
        let (found, continuation) = self.search_on(query).await?;
        let entries = found.hits.into_iter().map(|hit| hit.entry).collect();
        Ok(SearchPage { entries, continuation, searched_to: found.searched_to })
    }

    /// As [`Audit::search`]; gives each entry as it is stored, byte for byte.
    ///
    /// # Errors
    /// As [`Audit::search`].
    pub async fn search_lines(&self, query: &Query) -> Result<SearchLinesPage, AuditError> {
        let (found, continuation) = self.search_on(query).await?;
        let lines = found.hits.into_iter().map(|hit| hit.line).collect();
        Ok(SearchLinesPage { lines, continuation, searched_to: found.searched_to })
    }

    async fn search_on(&self, query: &Query) -> Result<(Outcome, Option<String>), AuditError> {
        let (store, random, now) = (&self.0.store, &*self.0.random, self.0.clock.now());
        let cursors = self.0.cursors.get_or_try_init(|| CursorKey::open(store, random));
        let place = match &query.continuation {
            Some(text) => cursors.await?.open_text(text, query, now)?,
            None => SearchPosition::START,
        };
        let found = search(&self.0.index, query, place, self.0.search_within).await?;
        let continuation = match found.place {
            Some(place) => {
                let cursors = self.0.cursors.get_or_try_init(|| CursorKey::open(store, random));
                Some(cursors.await?.seal(place, query, now))
            }
            None => None,
        };
        Ok((found, continuation))
    }
}
