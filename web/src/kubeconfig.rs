//! `{RES}/kubeconfig`: the dialog that takes a kubeconfig.
//!
//! `GET` shows it; the form posts `rights`, `life`, `reason`, `ticket` and the CSRF token to
//! `{RES}/kubeconfig/new`, which answers the file, or 422 with this page and its errors.

use serde::Deserialize;

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link, Rights};

/// Least length of a reason, in characters.
pub const LEAST_REASON: usize = 10;

/// The dialog.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "kubeconfig.html", blocks = ["title", "main", "dialog"])]
pub struct KubeconfigPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster's name.
    pub cluster: String,
    /// Path of its pages.
    pub path: String,
    /// Rights to choose from: read, write, admin.
    pub choices: Vec<RightsChoice>,
    /// Lengths of life to choose from, in seconds, shortest first.
    pub lives: Vec<u64>,
    /// What was filled in.
    pub form: KubeconfigForm,
    /// What is wrong with it.
    pub errors: KubeconfigErrors,
    /// Active kubeconfigs of the person for this cluster.
    pub held: u64,
    /// Whom the cluster will see, e.g. `system:aro-sre, with your name as an extra`.
    pub identity: String,
    /// In place of the form: no rights, unknown cluster.
    pub failure: Option<Failure>,
}

/// One of the rights.
#[derive(Clone, Debug, Default)]
pub struct RightsChoice {
    /// Which.
    pub rights: Rights,
    /// Why the person may not choose it; none when they may.
    pub barred: Option<String>,
    /// How to come by it, when it is barred: the form that asks for an elevation.
    pub way: Option<Link>,
    /// A condition that holds, e.g. "You are elevated until 03:36 UTC; this ends with it."
    pub note: String,
}

impl RightsChoice {
    /// What it allows, in a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.rights {
            Rights::Read => "Get, list, watch and logs. No secrets, no exec, no port-forward.",
            Rights::Write => "Also change, delete, exec and port-forward. No secrets, no RBAC.",
            Rights::Admin => "Everything, as system:masters.",
        }
    }
}

/// The form as it is posted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KubeconfigForm {
    /// `read`, `write` or `admin`; empty means read.
    pub rights: String,
    /// Seconds; empty means the default.
    pub life: String,
    /// Reason.
    pub reason: String,
    /// Ticket, or empty.
    pub ticket: String,
}

impl KubeconfigForm {
    /// Whether a right is the chosen one.
    #[must_use]
    pub fn has(&self, rights: &Rights) -> bool {
        self.rights == rights.name() || (self.rights.is_empty() && *rights == Rights::Read)
    }
}

/// One sentence for each field that is wrong: what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeconfigErrors {
    /// Rights.
    pub rights: Option<String>,
    /// Length of life.
    pub life: Option<String>,
    /// Reason.
    pub reason: Option<String>,
    /// Ticket.
    pub ticket: Option<String>,
    /// About all of it: limit reached, store away.
    pub form: Option<Failure>,
}

impl KubeconfigErrors {
    /// Whether anything is wrong.
    #[must_use]
    pub fn any(&self) -> bool {
        self != &Self::default()
    }
}

impl KubeconfigPage {
    /// The length of life that is chosen: the posted one, else the second shortest.
    #[must_use]
    pub fn chosen(&self, life: &u64) -> bool {
        crate::durations::is_chosen(&self.lives, &self.form.life, *life)
    }

    /// "4 h", and "8 h, the most" for the longest.
    #[must_use]
    pub fn life_words(&self, life: &u64) -> String {
        crate::durations::words(&self.lives, *life)
    }
}
