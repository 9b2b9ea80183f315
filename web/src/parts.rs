//! Small parts that many pages show: tones, icons, states, notices, failures.

use std::fmt::{self, Display, Formatter};

use askama::filters::Safe;

use crate::assets;
pub use crate::state::{Badge, Rights, State};

/// What a colour says; never the only carrier of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Failed, not ready.
    Bad,
    /// Degraded, near an end.
    Warn,
    /// Well.
    Ok,
    /// Work in progress.
    Busy,
    /// Rights above read-only, and nothing else.
    Power,
    /// Place, selection, data without judgement.
    Accent,
    /// No judgement.
    #[default]
    Mute,
}

impl Display for Tone {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::Ok => "ok",
            Self::Busy => "busy",
            Self::Power => "power",
            Self::Accent => "accent",
            Self::Mute => "mute",
        })
    }
}

/// An icon of the sprite, as markup. `name` is a symbol id of `static/icons.svg`; a test holds every
/// name that any sample uses.
#[must_use]
pub(crate) fn icon(name: &str) -> Safe<String> {
    Safe(format!(
        "<svg class=\"icon\" aria-hidden=\"true\"><use href=\"{}#{name}\"/></svg>",
        assets::url("icons.svg")
    ))
}

/// A link: words and where to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its words.
    pub text: String,
    /// Its address.
    pub href: String,
}

impl Link {
    /// A link.
    pub fn new(text: impl Into<String>, href: impl Into<String>) -> Self {
        Self { text: text.into(), href: href.into() }
    }

    /// Whether a question follows.
    pub(crate) fn asks(&self) -> bool {
        asks(&self.text)
    }
}

/// Whether a question follows a link of these words: they end with an ellipsis, and its page is a dialog.
pub(crate) fn asks(words: &str) -> bool {
    words.ends_with('…')
}

/// One thing to know, with at most one action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Its colour.
    pub tone: Tone,
    /// First words, bold.
    pub lead: String,
    /// The rest.
    pub text: String,
    /// What can be done.
    pub action: Option<Link>,
}

impl Notice {
    /// The icon that goes with the tone.
    #[must_use]
    pub fn icon(&self) -> &'static str {
        match self.tone {
            Tone::Bad => "failed",
            Tone::Warn => "degraded",
            Tone::Ok => "ok",
            Tone::Busy => "busy",
            Tone::Power => "power",
            Tone::Accent | Tone::Mute => "info",
        }
    }
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The request, or the person's rights.
    You,
    /// This service.
    #[default]
    Us,
    /// The cluster.
    Cluster,
}

impl Side {
    /// "your side", "our side", "cluster side".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::You => "your side",
            Self::Us => "our side",
            Self::Cluster => "cluster side",
        }
    }
}

/// What failed, whose side it is on, what to do; shown in place of the content it hinders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// HTTP status.
    pub status: u16,
    /// What failed, as a short sentence without a full stop.
    pub what: String,
    /// How we know, and what it means.
    pub why: String,
    /// Whose fault it is.
    pub side: Side,
    /// What to do; the first is the main one.
    pub actions: Vec<Link>,
    /// The request id, to be given to the person who helps.
    pub request_id: String,
}

impl Failure {
    /// Its colour: red when something is broken, quiet when the person only lacks a right.
    #[must_use]
    pub fn tone(&self) -> Tone {
        match (self.side, self.status) {
            (Side::You, 401 | 403 | 404 | 405 | 410) => Tone::Mute,
            (Side::You, _) => Tone::Warn,
            _ => Tone::Bad,
        }
    }

    /// Its shape.
    #[must_use]
    pub fn icon(&self) -> &'static str {
        match (self.side, self.status) {
            (_, 401) => "clock",
            (_, 403) => "lock",
            (_, 404) => "search",
            (_, 410) => "trash",
            (_, 429) => "wait",
            (Side::Cluster, _) => "away",
            (Side::You, _) => "degraded",
            (Side::Us, _) => "failed",
        }
    }
}

impl Failure {
    /// "504 Gateway Timeout".
    #[must_use]
    pub fn status_words(&self) -> String {
        crate::statuses::words(self.status)
    }
}

/// One step of something long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Its state.
    pub state: StepState,
    /// What it does.
    pub text: String,
    /// Its duration or result, at the end of the line.
    pub note: String,
    /// What it waits for, or why it failed.
    pub hint: String,
    /// Since when it runs.
    pub since: Option<i64>,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepState {
    /// Done.
    Done,
    /// Runs now.
    Now,
    /// Held by something.
    Held,
    /// Failed.
    Failed,
    /// Not yet begun.
    #[default]
    Waiting,
}

impl StepState {
    /// Its colour.
    #[must_use]
    pub fn tone(self) -> Tone {
        match self {
            Self::Done => Tone::Ok,
            Self::Now => Tone::Busy,
            Self::Held => Tone::Warn,
            Self::Failed => Tone::Bad,
            Self::Waiting => Tone::Mute,
        }
    }

    /// Its shape.
    #[must_use]
    pub fn icon(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Now => "busy",
            Self::Held => "degraded",
            Self::Failed => "failed",
            Self::Waiting => "wait",
        }
    }

    /// Its word, for those who see neither.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Now => "now",
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
        }
    }

    /// Whether it is where things stand.
    #[must_use]
    pub fn current(self) -> bool {
        matches!(self, Self::Now | Self::Held | Self::Failed)
    }
}

// So that filters take them however deep a template's references are.
macro_rules! as_itself {
    ($($part:ty),*) => {$(
        impl AsRef<$part> for $part {
            fn as_ref(&self) -> &Self {
                self
            }
        }
    )*};
}
as_itself!(Badge, Notice, Failure);
