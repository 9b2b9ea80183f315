//! `/robots`: identities of programs; their tokens are shown once.
//!
//! The form posts its fields and the CSRF token to `/robots`. A mistake answers 422 with this page and
//! everything that was typed.

use crate::filters;
use crate::frame::Frame;
use crate::grants::GrantKind;
use crate::parts::{Badge, Failure, Rights, Tone};

/// Robots.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "robots.html", blocks = ["list"])]
pub struct RobotsPage {
    /// What is around it.
    pub frame: Frame,
    /// All of them, by name.
    pub robots: Vec<RobotRow>,
    /// A token that was just made: shown in this answer and never again.
    pub token: Option<NewToken>,
    /// What was filled in.
    pub form: RobotForm,
    /// What is wrong with it.
    pub errors: RobotErrors,
    /// Kinds of grants that a robot may take.
    pub kinds: Vec<GrantKind>,
    /// Longest life of a robot, in days.
    pub most_days: u64,
    /// In place of the rows.
    pub failure: Option<Failure>,
}

/// One robot.
#[derive(Clone, Debug, Default)]
pub struct RobotRow {
    /// Its name.
    pub name: String,
    /// Its clusters; none: all of them.
    pub clusters: Vec<String>,
    /// Kinds of grants that it may take.
    pub kinds: Vec<GrantKind>,
    /// Most rights.
    pub rights: Rights,
    /// What it is for.
    pub reason: String,
    /// Who made it.
    pub by: String,
    /// When.
    pub created: i64,
    /// Its end.
    pub ends: i64,
    /// Last use, if any.
    pub last_used: Option<i64>,
    /// Tokens that work now: two while one is rotated out.
    pub tokens: u64,
    /// How many grants it may hold at once.
    pub most_grants: u64,
    /// Its state.
    pub state: RobotState,
}

/// The state of a robot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RobotState {
    /// It works.
    #[default]
    Active,
    /// It ran out.
    Expired,
    /// It was revoked, by whom.
    Revoked(String),
}

impl RobotState {
    /// How it is shown.
    #[must_use]
    pub fn badge(&self) -> Badge {
        let (tone, icon, word) = match self {
            Self::Active => (Tone::Ok, "ok", "Active"),
            Self::Expired => (Tone::Mute, "clock", "Ran out"),
            Self::Revoked(_) => (Tone::Bad, "revoke", "Revoked"),
        };
        Badge { tone, icon, word: word.to_owned(), quiet: true }
    }
}

impl RobotRow {
    /// Whether it works.
    #[must_use]
    pub fn active(&self) -> bool {
        self.state == RobotState::Active
    }

    /// Where a step on it is taken: `rotate`, `revoke`.
    #[must_use]
    pub fn path(&self, step: &str) -> String {
        format!("/robots/{}/{step}", crate::text::encode(&self.name))
    }

    /// Its kinds in one line.
    #[must_use]
    pub fn kind_words(&self) -> String {
        self.kinds.iter().map(|kind| kind.words()).collect::<Vec<_>>().join(", ")
    }
}

/// A token in the one answer that shows it. It is not printed.
#[derive(Clone, Default)]
pub struct NewToken {
    /// Whose.
    pub robot: String,
    /// The token.
    pub token: String,
    /// Its end.
    pub ends: i64,
    /// When older tokens end, after a rotation.
    pub older_end: Option<i64>,
    /// Address of the portal, for the command beside it.
    pub portal: String,
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewToken").field("robot", &self.robot).finish_non_exhaustive()
    }
}

/// The form as it is posted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotForm {
    /// Name.
    pub name: String,
    /// Names or resource ids of clusters, separated by commas, blanks or lines; empty: all.
    pub clusters: String,
    /// Kinds.
    pub kinds: Vec<String>,
    /// `read`, `write` or `admin`; empty means read.
    pub rights: String,
    /// Days.
    pub days: String,
    /// Reason.
    pub reason: String,
}

impl RobotForm {
    /// Whether a kind is ticked; none posted yet: kubeconfig.
    #[must_use]
    pub fn has_kind(&self, kind: &GrantKind) -> bool {
        let first = self == &Self::default() && *kind == GrantKind::Kubeconfig;
        first || self.kinds.iter().any(|name| name == kind.name())
    }

    /// Whether a right is the chosen one.
    #[must_use]
    pub fn has(&self, rights: &Rights) -> bool {
        self.rights == rights.name() || (self.rights.is_empty() && *rights == Rights::Read)
    }
}

/// One sentence for each field that is wrong: what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotErrors {
    /// Name.
    pub name: Option<String>,
    /// Clusters.
    pub clusters: Option<String>,
    /// Kinds.
    pub kinds: Option<String>,
    /// Rights.
    pub rights: Option<String>,
    /// Days.
    pub days: Option<String>,
    /// Reason.
    pub reason: Option<String>,
    /// About all of it.
    pub form: Option<Failure>,
}
