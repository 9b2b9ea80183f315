//! `/elevations`: what waits for a decision, what is in force, what break-glass left to be reviewed.

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Badge, Failure, Link, Notice, Rights, Tone};

/// Elevations.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "elevations.html", blocks = ["list"])]
pub struct ElevationsPage {
    /// What is around it.
    pub frame: Frame,
    /// Requests that wait, oldest first; none for those who do not decide.
    pub waiting: Vec<ElevationRow>,
    /// Break-glass elevations that were not reviewed yet.
    pub unreviewed: Vec<ElevationRow>,
    /// Those of other people that are in force, for those who see everybody's.
    pub others: Vec<ElevationRow>,
    /// The person's own, newest first.
    pub mine: Vec<ElevationRow>,
    /// Where the page asks whether anything has changed; empty: it does not.
    pub live: String,
    /// In place of everything.
    pub failure: Option<Failure>,
    /// About the page: the person may not elevate.
    pub notice: Option<Notice>,
}

/// One elevation, wherever elevations are listed.
#[derive(Clone, Debug, Default)]
pub struct ElevationRow {
    /// Its id.
    pub id: String,
    /// Whose, as a name or account.
    pub person: String,
    /// The person at the screen's own.
    pub mine: bool,
    /// Write or admin.
    pub rights: Rights,
    /// The one cluster it is for; none: every cluster.
    pub cluster: Option<Link>,
    /// How it is come by.
    pub way: ElevationMethod,
    /// Its state.
    pub state: ElevationState,
    /// Reason given.
    pub reason: String,
    /// Ticket, or empty.
    pub ticket: String,
    /// When it was requested.
    pub asked: i64,
    /// How long it lasts once given, in seconds.
    pub life: u64,
    /// When the request lapses, while it waits.
    pub lapses: i64,
    /// Its end, once it was given.
    pub ends: Option<i64>,
    /// When it lapsed, was refused, expired or was ended; none while it waits or is in force.
    pub finished: Option<i64>,
    /// Who decided, with what words; both may be empty.
    pub decided: Option<(String, String)>,
    /// Who ended it before its time, with what words.
    pub ended: Option<(String, String)>,
    /// Who reviewed it, whether it was fine, and what they noted.
    pub review: Option<(String, bool, String)>,
    /// The person at the screen may approve and refuse it.
    pub may_decide: bool,
    /// The person at the screen may end it, or withdraw the request.
    pub may_end: bool,
    /// The person at the screen may review it.
    pub may_review: bool,
}

/// How an elevation is come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElevationMethod {
    /// By oneself, on call.
    SelfService,
    /// A second person decides.
    #[default]
    Approval,
    /// At once, with an alarm and a review.
    BreakGlass,
}

impl ElevationMethod {
    /// Its words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::SelfService => "Self-service",
            Self::Approval => "With approval",
            Self::BreakGlass => "Break-glass",
        }
    }
}

/// The state of an elevation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElevationState {
    /// It waits for a decision.
    #[default]
    Waiting,
    /// It was not decided in time.
    Lapsed,
    /// It was refused.
    Refused,
    /// In force.
    Active,
    /// It ran out.
    Expired,
    /// Ended before its time.
    Ended,
}

impl ElevationState {
    /// How it is shown.
    #[must_use]
    pub fn badge(self) -> Badge {
        let (tone, icon, word) = match self {
            Self::Waiting => (Tone::Busy, "wait", "Waiting"),
            Self::Lapsed => (Tone::Mute, "clock", "Lapsed"),
            Self::Refused => (Tone::Warn, "lock", "Refused"),
            Self::Active => (Tone::Power, "power", "In force"),
            Self::Expired => (Tone::Mute, "clock", "Ran out"),
            Self::Ended => (Tone::Mute, "check", "Ended"),
        };
        Badge { tone, icon, word: word.to_owned(), quiet: tone == Tone::Mute }
    }
}

impl ElevationRow {
    /// Where a step on it is taken: `approve`, `refuse`, `end`, `review`.
    #[must_use]
    pub fn path(&self, step: &str) -> String {
        format!("/elevations/{}/{step}", crate::text::encode(&self.id))
    }

    /// Name of its cluster.
    #[must_use]
    pub fn place(&self) -> &str {
        self.cluster.as_ref().map_or("every cluster", |link| &link.text)
    }

    /// "1 h".
    #[must_use]
    pub fn life_words(&self) -> String {
        crate::when::span(i64::try_from(self.life).unwrap_or(i64::MAX))
    }

    /// Whether it was taken without an approver.
    #[must_use]
    pub fn break_glass(&self) -> bool {
        self.way == ElevationMethod::BreakGlass
    }

    /// Whether it is over, one way or another.
    #[must_use]
    pub fn over(&self) -> bool {
        !matches!(self.state, ElevationState::Waiting | ElevationState::Active)
    }

    /// What was decided, done and found, as sentences.
    #[must_use]
    pub fn story(&self) -> String {
        let mut told = vec![self.way.words().to_owned()];
        let said = |who: &str, verb: &str, words: &str| {
            if words.is_empty() {
                format!("{verb} by {who}")
            } else {
                format!("{verb} by {who}: “{words}”")
            }
        };
        if let Some((by, why)) = self.decided.as_ref().filter(|_| self.way == ElevationMethod::Approval) {
            let verb = if self.state == ElevationState::Refused { "refused" } else { "approved" };
            told.push(said(by, verb, why));
        }
        if let Some((by, why)) = &self.ended {
            told.push(said(by, "ended", why));
        }
        match &self.review {
            Some((by, true, note)) => told.push(said(by, "found in order", note)),
            Some((by, false, note)) => told.push(said(by, "objected to", note)),
            None if self.break_glass() && self.state != ElevationState::Waiting => {
                told.push("not reviewed yet".to_owned());
            }
            None => {}
        }
        told.join(", ")
    }
}
