//! Text search over recordings: reads them, newest first, within bounds; no index that would hold what was shown.

use std::time::Duration;

use rp_base::Timestamp;
use rp_base::text::contains_ignore_case;
use rp_documents::Recording;
use tokio::time::Instant;

use crate::plain::{Line, PlainTextParser, events, instant};
use crate::recordings::RecordingStore;
use crate::{ReadError, RecordingQuery, Recordings};

/// Characters of a shown line.
const SNIPPET: usize = 200;
/// Of one recording, and in all.
const HITS_EACH: usize = 5;
const HITS: usize = 100;
/// Opened bytes read for one answer.
const BYTES: usize = 256 * 1024 * 1024;

/// A text search over recordings.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    /// In which recordings; its limit is how many of them are read for one answer.
    pub listing: RecordingQuery,
    /// Letters of either case are the same.
    pub text: String,
    /// Longest that one answer takes.
    pub within: Duration,
}

/// A line that contains the text.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Milliseconds since the begin.
    pub at: u64,
    pub when: Timestamp,
    /// Without control characters.
    pub line: String,
}

/// The results of one call.
#[derive(Debug, Clone, Default)]
pub struct SearchResults {
    /// Recordings with their first hits.
    pub found: Vec<(Recording, Vec<Hit>)>,
    /// Recordings that were read, and those that could not be.
    pub read: usize,
    pub unreadable: usize,
    /// Where to go on; `None`: that was all.
    pub next: Option<String>,
}

impl Recordings {
    /// Searches what was shown (not what was typed and not echoed).
    ///
    /// # Errors
    /// The store's; [`ReadError::Continuation`].
    pub async fn search(&self, search: &SearchQuery) -> Result<SearchResults, ReadError> {
        let home = self.home()?;
        let listed = self.list(&search.listing).await?;
        let mut answer = SearchResults { next: listed.next, ..SearchResults::default() };
        let (until, mut bytes, mut hits) = (Instant::now() + search.within, 0, 0);
        let mut left = listed.recordings.into_iter().peekable();
        while let Some(recording) = left.next() {
            let last = recording.id.to_string();
            answer.read += 1;
            match tokio::time::timeout_at(until, home.look(&recording, &search.text, &mut bytes)).await {
                Ok(Ok(found)) if found.is_empty() => {}
                Ok(Ok(found)) => {
                    hits += found.len();
                    answer.found.push((recording, found));
                }
                Ok(Err(error)) => {
                    tracing::warn!(recording = %recording.id, error = %rp_base::chain(&error), "a recording could not be searched");
                    answer.unreadable += 1;
                }
                // One that takes longer than an answer may is passed over, or nothing would come after it.
                Err(_) => answer.unreadable += 1,
            }
            if (Instant::now() >= until || bytes >= BYTES || hits >= HITS) && left.peek().is_some() {
                answer.next = Some(last);
                break;
            }
        }
        Ok(answer)
    }
}

impl RecordingStore {
    async fn look(
        &self,
        recording: &Recording,
        text: &str,
        bytes: &mut usize,
    ) -> Result<Vec<Hit>, ReadError> {
        let mut reader = self.read(recording).await?;
        let (mut shown, mut errors, mut at) = (PlainTextParser::default(), PlainTextParser::default(), 0u64);
        let mut hits = Vec::new();
        let line = |line: Line, hits: &mut Vec<Hit>| {
            if hits.len() < HITS_EACH && contains_ignore_case(&line.text, text) {
                let when = instant(recording.started, line.at);
                hits.push(Hit { at: line.at, when, line: snippet(&line.text, text) });
            }
        };
        while let Some(chunk) = reader.next().await? {
            let Some(lines) = chunk.text else { continue };
            *bytes += lines.len();
            for (after, code, data) in events(&lines) {
                at = at.saturating_add(after);
                match code {
                    'o' => shown.take(at, &data, |found| line(found, &mut hits)),
                    'e' => errors.take(at, &data, |found| line(found, &mut hits)),
                    _ => {}
                }
            }
            if hits.len() >= HITS_EACH || *bytes >= BYTES {
                break;
            }
            // A search is no reason to keep others waiting.
            tokio::task::yield_now().await;
        }
        for rest in [shown.rest(), errors.rest()].into_iter().flatten() {
            line(rest, &mut hits);
        }
        Ok(hits)
    }
}

/// The part of a line around what was searched for.
fn snippet(line: &str, text: &str) -> String {
    let place = line.to_lowercase().find(&text.to_lowercase()).unwrap_or(0);
    let before = line.char_indices().take_while(|(at, _)| *at < place).count();
    let from = before.saturating_sub(SNIPPET / 3);
    let part: String = line.chars().skip(from).take(SNIPPET).collect();
    rp_base::text::clean(&part, SNIPPET)
}
