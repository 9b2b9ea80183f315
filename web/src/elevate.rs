//! `/elevate`: asks for rights above read-only; `/elevate?way=break-glass`: takes them at once.
//!
//! The form posts `cluster`, `rights`, `life`, `reason`, `ticket`, `way` and the CSRF token to
//! `/elevate`. A mistake answers 422 with this page and everything that was typed.

use serde::Deserialize;

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link, Rights};

/// The form.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "elevate.html")]
pub struct ElevatePage {
    /// What is around it.
    pub frame: Frame,
    /// What was filled in.
    pub form: ElevateForm,
    /// What is wrong with it.
    pub errors: ElevateErrors,
    /// Write and admin, with what each needs.
    pub choices: Vec<ElevateChoice>,
    /// Lengths of life to choose from, in seconds, shortest first.
    pub lives: Vec<u64>,
    /// The policy has break-glass.
    pub break_glass: bool,
    /// Where to sign in again and come back; needed before the form can be sent.
    pub sign_in_again: Option<Link>,
    /// Minutes that a waiting request lives.
    pub request_minutes: u64,
    /// In place of the form: the person may not elevate.
    pub failure: Option<Failure>,
}

/// A right to ask for.
#[derive(Clone, Debug, Default)]
pub struct ElevateChoice {
    /// Which.
    pub rights: Rights,
    /// The person gets it without an approver.
    pub alone: bool,
}

impl ElevateChoice {
    /// What it allows.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.rights {
            Rights::Read => "Get, list, watch and logs.",
            Rights::Write => "Change and delete, exec, port-forward. No secrets, no RBAC.",
            Rights::Admin => "Everything, as system:masters.",
        }
    }
}

/// The longest address that sign-in comes back to.
const MOST_ADDRESS: usize = 1900;

/// The form as it is posted, and as a link fills it in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ElevateForm {
    /// Cluster: name or resource id; empty with `scope=all`.
    pub cluster: String,
    /// `all`: every cluster.
    pub scope: String,
    /// `write` or `admin`; empty means write.
    pub rights: String,
    /// Seconds; empty means the shortest but one.
    pub life: String,
    /// Reason.
    pub reason: String,
    /// Ticket, or empty.
    pub ticket: String,
    /// `break-glass`: at once, without an approver.
    pub way: String,
    /// `yes`: has read what break-glass does.
    pub understood: String,
    /// Path and query of the page to go on to, or empty. Its parameters `reason` and `ticket`, where it names them empty,
    /// take those of the elevation.
    pub back: String,
    /// Not to be sent yet: the form turns to this way, with everything that was typed.
    pub turn: String,
}

impl ElevateForm {
    /// Whether it is break-glass.
    #[must_use]
    pub fn breaks_glass(&self) -> bool {
        self.way == "break-glass"
    }

    /// Whether the elevation is requested for every cluster.
    #[must_use]
    pub fn everywhere(&self) -> bool {
        self.scope == "all"
    }

    /// Whether a right is the chosen one.
    #[must_use]
    pub fn has(&self, rights: &Rights) -> bool {
        self.rights == rights.name() || (self.rights.is_empty() && *rights == Rights::Write)
    }

    /// The page with what was filled in so far, for the way back from sign-in. A reason that is too long
    /// for an address is left out; the script of the page keeps it.
    #[must_use]
    pub fn href(&self) -> String {
        let whole = self.address();
        if whole.len() <= MOST_ADDRESS {
            whole
        } else {
            Self { reason: String::new(), ..self.clone() }.address()
        }
    }

    fn address(&self) -> String {
        let mut url = crate::query::Query::new("/elevate");
        url.add("way", &self.way);
        url.add("cluster", &self.cluster);
        url.add("scope", &self.scope);
        url.add("rights", &self.rights);
        url.add("life", &self.life);
        url.add("ticket", &self.ticket);
        url.add("back", &self.back);
        url.add("reason", &self.reason);
        url.done()
    }
}

/// One sentence for each field that is wrong: what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElevateErrors {
    /// Cluster.
    pub cluster: Option<String>,
    /// Right.
    pub rights: Option<String>,
    /// Length of life.
    pub life: Option<String>,
    /// Reason.
    pub reason: Option<String>,
    /// Ticket.
    pub ticket: Option<String>,
    /// The tick that break-glass was understood.
    pub understood: Option<String>,
    /// About all of it.
    pub form: Option<Failure>,
}

impl ElevateErrors {
    /// Whether anything is wrong.
    #[must_use]
    pub fn any(&self) -> bool {
        self != &Self::default()
    }
}

impl ElevatePage {
    /// The length of life that is chosen: the posted one, else the second shortest.
    #[must_use]
    pub fn chosen(&self, life: &u64) -> bool {
        crate::durations::is_chosen(&self.lives, &self.form.life, *life)
    }

    /// "1 h", and "4 h (maximum)" for the longest.
    #[must_use]
    pub fn life_words(&self, life: &u64) -> String {
        crate::durations::words(&self.lives, *life)
    }

    /// Whether no right is the person's own to take.
    #[must_use]
    pub fn always_asks(&self) -> bool {
        self.choices.iter().all(|choice| !choice.alone)
    }
}
