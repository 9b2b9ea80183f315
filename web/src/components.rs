//! The one pattern for what is not there yet, not there, or only partly there (`docs/guides/add-a-page.md`), and small
//! parts that pages of many kinds show. Each is a struct with a filter of its name (`src/shows.rs`).

use crate::parts::{Badge, Failure, Link, Tone};

/// Shown where a list or a page has no content: what is empty and what can be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmptyState {
    /// `Ok` when nothing is how it should be, else `Mute`.
    pub tone: Tone,
    /// Symbol id.
    pub icon: &'static str,
    /// What is empty, a short sentence without a full stop.
    pub lead: String,
    /// The rest; may be empty.
    pub text: String,
    /// What can be done; the first is the main one.
    pub actions: Vec<Link>,
    /// `data-testid`; empty: `empty`.
    pub hook: &'static str,
}

impl EmptyState {
    /// Nothing, and so it should be: "No operator is degraded".
    pub fn well(lead: impl Into<String>) -> Self {
        Self { tone: Tone::Ok, icon: "ok", lead: lead.into(), ..Self::default() }
    }

    /// Nothing, without judgement: "No events in the last hour".
    pub fn nothing(icon: &'static str, lead: impl Into<String>) -> Self {
        Self { tone: Tone::Mute, icon, lead: lead.into(), ..Self::default() }
    }

    /// With a second sentence.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// With something to do.
    #[must_use]
    pub fn action(mut self, action: Link) -> Self {
        self.actions.push(action);
        self
    }

    pub(crate) fn hook(&self) -> &'static str {
        if self.hook.is_empty() { "empty" } else { self.hook }
    }
}

/// A placeholder for rows that are still loading; the column heads are already the real ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skeleton {
    /// What is loading, for screen readers: "Nodes".
    pub label: String,
    /// Heads of the columns; none: lines of text.
    pub heads: Vec<String>,
    /// How many rows.
    pub rows: usize,
    /// When it was requested; after 5 s the page shows how long it has waited. None: no wait is shown.
    pub since: Option<i64>,
    /// How long we wait at most, seconds.
    pub patience: i64,
}

impl Skeleton {
    /// A table of so many rows.
    pub fn table(label: impl Into<String>, heads: &[&str], rows: usize) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { label: label.into(), heads, rows, since: None, patience: 30 }
    }

    /// Lines of text.
    pub fn lines(label: impl Into<String>, rows: usize) -> Self {
        Self::table(label, &[], rows)
    }

    /// Shimmering cells, each of another width than its neighbour.
    pub(crate) fn cells(&self) -> Vec<Vec<usize>> {
        let wide = self.heads.len().max(1);
        (0..self.rows.min(50)).map(|row| (0..wide).map(|cell| (row + cell) % 3 + 1).collect()).collect()
    }

    /// Seconds of waiting that are worth telling.
    pub(crate) fn waited(&self, now: &i64) -> Option<i64> {
        self.since.map(|since| now.saturating_sub(since)).filter(|waited| *waited >= 5)
    }
}

/// A part of the shown content that is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingPart {
    /// What: "Machines".
    pub what: String,
    /// Why: "the cluster answered 403".
    pub why: String,
}

/// What there is in a slot of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// Its content, current.
    #[default]
    Ready,
    /// Awaited.
    Loading(Skeleton),
    /// Nothing.
    Empty(EmptyState),
    /// Content, but not all of it.
    Partial(Vec<MissingPart>),
    /// Content as it was, for the source is away: since when, and why.
    LastKnown {
        /// When it was last updated, seconds.
        since: i64,
        /// Why it is away.
        why: String,
    },
    /// Nothing but the failure.
    Failed(Failure),
}

impl Slot {
    /// Whether the content is to be shown (under the notice, if any).
    #[must_use]
    pub fn shows(&self) -> bool {
        matches!(self, Self::Ready | Self::Partial(_) | Self::LastKnown { .. })
    }

    /// Content, or `blank` when there is none of it.
    #[must_use]
    pub fn or_empty(rows: usize, blank: EmptyState) -> Self {
        if rows == 0 { Self::Empty(blank) } else { Self::Ready }
    }
}

/// The last look of the monitor at a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastLook {
    /// When it began, seconds.
    pub at: i64,
    /// How long it took, milliseconds; 0: not known.
    pub took_ms: u64,
    /// Parts that failed, and why.
    pub failed: Vec<MissingPart>,
    /// It should have been looked at again since.
    pub overdue: bool,
}

impl LastLook {
    /// `1.2 s`, `340 ms`.
    #[must_use]
    pub fn took(&self) -> String {
        match self.took_ms {
            0 => String::new(),
            ms @ 1..=999 => format!("{ms} ms"),
            ms => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        }
    }

    /// "2 parts failed", or nothing.
    #[must_use]
    pub fn failed_words(&self) -> String {
        match self.failed.len() {
            0 => String::new(),
            1 => "1 part failed".to_owned(),
            many => format!("{many} parts failed"),
        }
    }

    /// The names of the parts that failed.
    #[must_use]
    pub fn failed_names(&self) -> String {
        self.failed.iter().map(|part| part.what.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// One condition of an object, as a row of the table of conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Its type, e.g. `Ready`.
    pub kind: String,
    /// Its status with the tone that it has here: `True` is well for `Ready`, bad for `MemoryPressure`.
    pub status: Badge,
    /// Reason.
    pub reason: String,
    /// Since when, seconds.
    pub since: Option<i64>,
    /// Message of the cluster, as it is.
    pub message: String,
}

/// A share with its number beside it: load, time left. Above 80 % warn, above 92 % bad.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Thousandths of the whole; none: no data.
    pub share: Option<u32>,
    /// The number beside it: "62 %", "4.1 of 16 GiB".
    pub words: String,
}

impl Meter {
    /// Its colour.
    #[must_use]
    pub fn tone(&self) -> Tone {
        match self.share.unwrap_or(0) {
            921.. => Tone::Bad,
            801.. => Tone::Warn,
            _ => Tone::Accent,
        }
    }

    pub(crate) fn width(&self) -> u32 {
        self.share.unwrap_or(0).min(1000)
    }
}

impl Badge {
    /// A badge with a filled background: colour, icon and word.
    pub fn filled(tone: Tone, icon: &'static str, word: impl Into<String>) -> Self {
        Self { tone, icon, word: word.into(), quiet: false }
    }

    /// A badge without a background, for a state that needs no attention.
    pub fn quiet(tone: Tone, icon: &'static str, word: impl Into<String>) -> Self {
        Self { quiet: true, ..Self::filled(tone, icon, word) }
    }
}

macro_rules! as_itself {
    ($($part:ty),*) => {$(
        impl AsRef<$part> for $part {
            fn as_ref(&self) -> &Self {
                self
            }
        }
    )*};
}
as_itself!(EmptyState, Skeleton, Slot, LastLook, Condition, Meter);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_shows_unless_something_stands_in_its_place() {
        assert!(Slot::Ready.shows() && Slot::Partial(Vec::new()).shows());
        assert!(Slot::LastKnown { since: 0, why: String::new() }.shows());
        assert!(
            !Slot::or_empty(0, EmptyState::well("Nothing")).shows()
                && Slot::or_empty(1, EmptyState::default()).shows()
        );
    }

    #[test]
    fn looks_are_told_in_words() {
        let look = |took_ms| LastLook { took_ms, ..LastLook::default() }.took();
        assert_eq!([look(0), look(340), look(1234)], ["", "340 ms", "1.2 s"]);
    }

    #[test]
    fn meters_warn_before_the_end() {
        let tone = |share| Meter { share: Some(share), words: String::new() }.tone();
        assert_eq!([tone(800), tone(801), tone(921)], [Tone::Accent, Tone::Warn, Tone::Bad]);
    }
}
