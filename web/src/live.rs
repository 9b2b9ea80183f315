//! The line of a page that follows its cluster: how current it is, and the button that stops it.

use askama::Template;
use askama::filters::Safe;

use crate::filters;
use crate::when::{TimeFormat, When};

/// How current a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveState {
    /// It shows what the cluster has.
    Live,
    /// It shows what was last seen.
    Stale,
    /// The first answer is awaited.
    #[default]
    Loading,
}

impl LiveState {
    /// The word of the event `state`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Stale => "stale",
            Self::Loading => "loading",
        }
    }
}

/// The line. In a template: `{{ live.html(frame.now) }}`, once a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveBar {
    /// What sends the changes, with the page's query; empty: nothing does.
    pub url: String,
    /// The page's clock and digests of its parts.
    pub seen: String,
    /// How current the page is.
    pub state: LiveState,
    /// When the cluster last answered, seconds since 1970 UTC.
    pub as_of: Option<i64>,
    /// Why it is not current.
    pub why: String,
}

impl LiveBar {
    /// Its markup; `now` is the server's clock.
    #[must_use]
    pub fn html(&self, now: &i64) -> Safe<String> {
        // Formatting into a text does not fail.
        Safe(BarView { bar: self, now: *now }.render().unwrap_or_default())
    }
}

#[derive(Template)]
#[template(path = "parts/live_bar.html")]
struct BarView<'a> {
    bar: &'a LiveBar,
    now: i64,
}

impl BarView<'_> {
    fn ago(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, TimeFormat::Past)
    }
}
