//! Which recordings there are, newest first.

use std::time::Duration;

use rp_base::Timestamp;
use rp_base::text::contains_ignore_case;
use rp_database::Span;
use rp_documents::{Recording, ResourceId};

use crate::writer::HEARD_EVERY;
use crate::{ReadError, Recordings};

/// Documents read for one answer.
const MOST_READ: usize = 5000;
const PAGE: u32 = 500;

/// The outcome of a session whose writer died, stored by the process that found it.
pub(crate) const BROKEN_OFF: &str = "broken off";

/// Which recordings to list; a field that is `None` does not restrict the list.
#[derive(Debug, Clone, Default)]
pub struct RecordingQuery {
    /// Of the person with this subject.
    pub owner: Option<String>,
    /// Of people whose name contains this.
    pub person: Option<String>,
    pub target: Option<ResourceId>,
    /// Made with this grant, or a child of it.
    pub grant: Option<String>,
    /// Begun at or after, and before.
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Goes on after an earlier answer.
    pub after: Option<String>,
    /// At most so many, 1 to 500.
    pub limit: usize,
}

/// One page of recordings.
#[derive(Debug, Clone, Default)]
pub struct RecordingList {
    pub recordings: Vec<Recording>,
    /// Where to go on; `None`: that was all.
    pub next: Option<String>,
}

/// Whether a session still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordingState {
    Running,
    Ended,
    /// Its writer was not heard of for a while: it was killed, and the recording ends where it was.
    BrokenOff,
}

impl RecordingState {
    /// Of a recording at an instant.
    pub fn from_recording(recording: &Recording, now: Timestamp) -> Self {
        if recording.ended.is_some() {
            if recording.outcome.as_deref() == Some(BROKEN_OFF) { Self::BrokenOff } else { Self::Ended }
        } else if now.since(recording.heard) > HEARD_EVERY * 3 + Duration::from_secs(10) {
            Self::BrokenOff
        } else {
            Self::Running
        }
    }

    /// The word on pages and in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
            Self::BrokenOff => BROKEN_OFF,
        }
    }
}

impl RecordingQuery {
    /// Whether a recording matches the query.
    pub(crate) fn matches(&self, recording: &Recording) -> bool {
        let person = |name: &String| contains_ignore_case(&recording.owner.name, name);
        self.owner.as_ref().is_none_or(|sub| *sub == recording.owner.sub)
            && self.person.as_ref().is_none_or(person)
            && self.target.as_ref().is_none_or(|target| target.key() == recording.target.key())
            && self.grant.as_ref().is_none_or(|grant| grant == recording.grant.as_str())
            && self.since.is_none_or(|since| recording.started >= since)
            && self.until.is_none_or(|until| recording.started < until)
    }
}

impl Recordings {
    /// The recordings that are asked for, newest first. Reads a bounded number of documents, so an answer may be short
    /// or empty and still say where to go on.
    ///
    /// # Errors
    /// The store's; [`ReadError::Continuation`].
    pub async fn list(&self, listing: &RecordingQuery) -> Result<RecordingList, ReadError> {
        let Ok(home) = self.home() else { return Ok(RecordingList::default()) };
        let limit = listing.limit.clamp(1, 500);
        let keys = listing.target.as_ref().map(Recording::unique_key_prefix);
        let span = match (&keys, &listing.owner) {
            (Some(keys), _) => Span::Keys(keys),
            (None, Some(owner)) => Span::Partition(owner),
            (None, None) => Span::All,
        };
        // What goes on is the id: it says nothing that the last answer did not.
        let mut after = match &listing.after {
            Some(id) => {
                let id = rp_base::Id::parse(id).map_err(|_| ReadError::Continuation)?;
                Some(format!("{}{id}", keys.as_deref().unwrap_or_default()))
            }
            None => None,
        };
        let (mut found, mut read) = (Vec::new(), 0);
        loop {
            let page = home.documents.scan(span, after.as_deref(), PAGE).await?;
            for item in page.items {
                read += 1;
                let last = item.value.id.to_string();
                // Newest first: whatever follows is older.
                if listing.since.is_some_and(|since| item.value.started < since) {
                    return Ok(RecordingList { recordings: found, next: None });
                }
                if listing.matches(&item.value) {
                    found.push(item.value);
                }
                if found.len() == limit || read == MOST_READ {
                    return Ok(RecordingList { recordings: found, next: Some(last) });
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(RecordingList { recordings: found, next: None });
            }
        }
    }
}
