//! `/access`: what I have been given.

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Badge, Failure, Link, Notice, Rights, Tone};

/// My access.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "access.html", blocks = ["title", "main", "list"])]
pub struct AccessPage {
    /// What is around it.
    pub frame: Frame,
    /// Active ones, first to end first.
    pub grants: Vec<GrantRow>,
    /// Ended lately, newest first.
    pub ended: Vec<GrantRow>,
    /// How many a person may hold at once; 0 when there is no limit.
    pub limit: u64,
    /// What was just done, e.g. a revocation, for those without scripts.
    pub notice: Option<Notice>,
    /// In place of the rows.
    pub failure: Option<Failure>,
}

/// A grant, wherever grants are listed.
#[derive(Clone, Debug, Default)]
pub struct GrantRow {
    /// Its id.
    pub id: String,
    /// Kind.
    pub kind: GrantKind,
    /// Cluster and its page.
    pub cluster: Link,
    /// Machine, or empty.
    pub machine: String,
    /// Its owner, as a name or account.
    pub owner: String,
    /// Rights.
    pub rights: Rights,
    /// Reason given.
    pub reason: String,
    /// Ticket, or empty.
    pub ticket: String,
    /// Its start.
    pub created: i64,
    /// Its end.
    pub ends: i64,
    /// Last use, if any.
    pub last_used: Option<i64>,
    /// Streams that are open.
    pub streams: u64,
    /// How it stands.
    pub state: GrantState,
    /// The person at the screen may revoke it.
    pub may_revoke: bool,
}

/// Kinds of grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrantKind {
    /// A kubeconfig.
    #[default]
    Kubeconfig,
    /// The command line's own.
    Cli,
    /// SSH to a machine.
    Ssh,
    /// A terminal in the browser.
    Terminal,
    /// PromQL.
    Metrics,
    /// A tunnel.
    Tunnel,
    /// Pages of the portal.
    Page,
    /// A robot's.
    Robot,
}

impl GrantKind {
    /// Its word.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Kubeconfig => "Kubeconfig",
            Self::Cli => "Command line",
            Self::Ssh => "SSH",
            Self::Terminal => "Terminal",
            Self::Metrics => "Metrics",
            Self::Tunnel => "Tunnel",
            Self::Page => "Pages",
            Self::Robot => "Robot",
        }
    }

    /// Its shape.
    #[must_use]
    pub fn icon(self) -> &'static str {
        match self {
            Self::Kubeconfig => "key",
            Self::Cli | Self::Ssh => "ssh",
            Self::Terminal => "terminal",
            Self::Metrics => "chart",
            Self::Tunnel => "tunnel",
            Self::Page => "eye",
            Self::Robot => "robot",
        }
    }
}

/// How a grant stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GrantState {
    /// It works.
    #[default]
    Active,
    /// It ran out.
    Expired,
    /// It was revoked.
    Revoked {
        /// When.
        at: i64,
        /// By whom; `you` for the person at the screen.
        by: String,
        /// Why, or empty.
        why: String,
    },
}

impl GrantState {
    /// How it is shown.
    #[must_use]
    pub fn badge(&self) -> Badge {
        let (tone, icon, word) = match self {
            Self::Active => (Tone::Ok, "ok", "Active"),
            Self::Expired => (Tone::Mute, "clock", "Ran out"),
            Self::Revoked { .. } => (Tone::Bad, "revoke", "Revoked"),
        };
        Badge { tone, icon, word: word.to_owned(), quiet: true }
    }
}

impl GrantRow {
    /// Whether it works.
    #[must_use]
    pub fn active(&self) -> bool {
        self.state == GrantState::Active
    }

    /// When it ended: at its end, or when it was revoked.
    #[must_use]
    pub fn ended_at(&self) -> &i64 {
        match &self.state {
            GrantState::Revoked { at, .. } => at,
            GrantState::Active | GrantState::Expired => &self.ends,
        }
    }

    /// What ended it, as a sentence.
    #[must_use]
    pub fn ending(&self) -> String {
        match &self.state {
            GrantState::Active => String::new(),
            GrantState::Expired => "Ran out".to_owned(),
            GrantState::Revoked { by, why, .. } if why.is_empty() => format!("Revoked by {by}"),
            GrantState::Revoked { by, why, .. } => format!("Revoked by {by}: “{why}”"),
        }
    }
}
