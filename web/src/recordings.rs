//! `/recordings`: recorded sessions, their search, and the player.

use serde::Deserialize;

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Badge, Failure, Link, Tone};
use crate::query::Query;

/// Recorded sessions.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "recordings.html", blocks = ["list"])]
pub struct RecordingsPage {
    /// What is around it.
    pub frame: Frame,
    /// What is asked.
    pub query: RecordingsQuery,
    /// Whether the recordings of all people are shown, not only the person's own.
    pub everybody: bool,
    /// `off`, `wanted` or `required`; empty: none are kept here.
    pub policy: String,
    /// Newest first.
    pub rows: Vec<RecordingRow>,
    /// Of a search: recordings that were read, and those of them that could not be.
    pub searched: Option<(u64, u64)>,
    /// Where older ones go on.
    pub next: Option<String>,
    /// What is wrong with the range of time.
    pub range_error: Option<String>,
    /// In place of the list.
    pub failure: Option<Failure>,
}

/// One recorded session and its player.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "recording.html")]
pub struct RecordingPage {
    /// What is around it.
    pub frame: Frame,
    /// The session.
    pub row: RecordingRow,
    /// Id of the grant it was opened with.
    pub grant: String,
    /// When it is removed.
    pub keep_until: i64,
    /// Address of the cast.
    pub cast: String,
    /// Milliseconds from the begin where the player starts.
    pub start: u64,
    /// What the search looked for.
    pub find: String,
    /// In place of the player.
    pub failure: Option<Failure>,
}

/// What is asked of recordings, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RecordingsQuery {
    /// Text that was shown.
    pub q: String,
    /// Person, by a part of the name.
    pub person: String,
    /// Cluster: name or resource id.
    pub cluster: String,
    /// Id of the access that they were opened with.
    pub grant: String,
    /// Begun at or after: `2026-11-21T03:00`; UTC without a zone.
    pub from: String,
    /// Begun before, in the same form.
    pub to: String,
    /// Recordings older than this one.
    pub after: String,
}

impl RecordingsQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self) -> String {
        let mut url = Query::new("/recordings");
        url.add("q", &self.q);
        url.add("person", &self.person);
        url.add("cluster", &self.cluster);
        url.add("grant", &self.grant);
        url.add("from", &self.from);
        url.add("to", &self.to);
        url.add("after", &self.after);
        url.done()
    }

    /// The same from a place on; an empty one is the newest page.
    #[must_use]
    pub fn older(&self, place: &str) -> String {
        Self { after: place.to_owned(), ..self.clone() }.href()
    }

    /// The same of every access.
    #[must_use]
    pub fn of_any_access(&self) -> String {
        Self { grant: String::new(), after: String::new(), ..self.clone() }.href()
    }

    /// Whether anything narrows it.
    #[must_use]
    pub fn narrows(&self) -> bool {
        [&self.q, &self.person, &self.cluster, &self.grant, &self.from, &self.to]
            .iter()
            .any(|text| !text.is_empty())
    }
}

/// A recorded session.
#[derive(Clone, Debug, Default)]
pub struct RecordingRow {
    /// Its id.
    pub id: String,
    /// `ssh`, `exec` or `terminal`.
    pub kind: &'static str,
    /// Who it was.
    pub person: String,
    /// The cluster.
    pub cluster: Link,
    /// Machine, or namespace, pod and container.
    pub place: String,
    /// What was run; empty for a login shell.
    pub command: String,
    /// When it began.
    pub started: i64,
    /// Seconds that it took; none while it runs, or when it is unknown.
    pub took: Option<i64>,
    /// Whether it runs.
    pub state: RecordingState,
    /// How it ended.
    pub outcome: String,
    /// Bytes that were shown.
    pub bytes: usize,
    /// Of a search: milliseconds from the begin, and the line.
    pub hits: Vec<(u64, String)>,
}

/// Whether a recorded session runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordingState {
    /// Over.
    #[default]
    Ended,
    /// It runs.
    Running,
    /// Its writer died.
    BrokenOff,
}

impl RecordingState {
    fn badge(self) -> Badge {
        match self {
            Self::Ended => Badge::new(Tone::Mute, "check", "Ended", true),
            Self::Running => Badge::new(Tone::Busy, "busy", "Running", false),
            Self::BrokenOff => Badge::new(Tone::Warn, "degraded", "Broken off", false),
        }
    }
}

impl RecordingRow {
    /// The player's address.
    #[must_use]
    pub fn href(&self) -> String {
        format!("/recordings/{}", crate::text::encode(&self.id))
    }

    /// The player's address at a line that was found.
    #[must_use]
    pub fn at(&self, millis: &u64, find: &str) -> String {
        let mut url = Query::new(&self.href());
        // A moment before: what led to it is seen.
        url.add("t", &millis.saturating_sub(1000).to_string());
        url.add("find", find);
        url.done()
    }

    fn size(&self) -> String {
        crate::text::size(self.bytes)
    }

    fn took(&self) -> String {
        self.took.map(crate::when::span).unwrap_or_default()
    }

    fn what(&self) -> &str {
        if self.command.is_empty() { "a login shell" } else { &self.command }
    }
}

/// `1:02:03` of milliseconds.
pub(crate) fn at(millis: &u64) -> String {
    let seconds = millis / 1000;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}
