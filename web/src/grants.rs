//! `/access`: grants, mine and those of others.

use serde::Deserialize;

use crate::filters;
use crate::frame::Frame;
use crate::grant_state::GrantState;
use crate::parts::{Failure, Link, Notice, Rights};
use crate::query::Query;

/// Grants.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "access.html", blocks = ["list"])]
pub struct AccessPage {
    /// What is around it.
    pub frame: Frame,
    /// What is asked.
    pub query: GrantQuery,
    /// The rows: without a filter of state those that work, first to end first.
    pub grants: Vec<GrantRow>,
    /// Cursor of the next page; none on the last.
    pub next: Option<String>,
    /// Grants that ended recently, newest first; shown only beside the unfiltered list of the person's own grants.
    pub ended: Vec<GrantRow>,
    /// How many the person holds now.
    pub held: u64,
    /// How many a person may hold at once; 0 when there is no limit.
    pub limit: u64,
    /// Where the page asks whether anything has changed; empty: it does not.
    pub live: String,
    /// What was just done, e.g. a revocation, for those without scripts.
    pub notice: Option<Notice>,
    /// In place of the rows.
    pub failure: Option<Failure>,
}

/// The query of the grants, as in the URL; whatever does not fit is left out by the reader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GrantQuery {
    /// Empty: mine; `cluster`: one cluster's; `all`: everybody's.
    pub view: String,
    /// Kind of the grant, e.g. `kubeconfig`.
    pub kind: String,
    /// Empty: active; `ended`, `expired`, `revoked`, `any`.
    pub state: String,
    /// Person: account or subject.
    pub person: String,
    /// Cluster: name or resource id.
    pub cluster: String,
    /// Free text.
    pub q: String,
    /// Cursor: grants after it.
    pub after: String,
    /// Digest of what the page showed; see [`AccessPage::live`].
    pub seen: String,
}

/// The lists of grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantView {
    /// The person's own.
    Mine,
    /// Those on one cluster.
    Cluster,
    /// Everybody's.
    All,
}

impl GrantQuery {
    /// The list that is requested.
    #[must_use]
    pub fn list(&self) -> GrantView {
        match self.view.as_str() {
            "cluster" => GrantView::Cluster,
            "all" => GrantView::All,
            _ => GrantView::Mine,
        }
    }

    /// Whether it is that list.
    #[must_use]
    pub fn is(&self, list: impl std::borrow::Borrow<GrantView>) -> bool {
        self.list() == *list.borrow()
    }

    /// The path with this query.
    #[must_use]
    pub fn href(&self) -> String {
        let mut url = Query::new("/access");
        url.add("view", &self.view);
        url.add("kind", &self.kind);
        url.add("state", &self.state);
        url.add("person", &self.person);
        url.add("cluster", &self.cluster);
        url.add("q", &self.q);
        url.add("after", &self.after);
        url.done()
    }

    /// The same from a cursor on; an empty one is the first page.
    #[must_use]
    pub fn from(&self, cursor: &str) -> String {
        Self { after: cursor.to_owned(), ..self.clone() }.href()
    }

    /// The same list without filters; by cluster it keeps the cluster.
    #[must_use]
    pub fn plain(&self) -> String {
        let cluster = if self.is(GrantView::Cluster) { self.cluster.clone() } else { String::new() };
        Self { view: self.view.clone(), cluster, ..Self::default() }.href()
    }

    /// Whether anything narrows the list.
    #[must_use]
    pub fn narrows(&self) -> bool {
        let cluster = if self.is(GrantView::Cluster) { "" } else { &self.cluster };
        [&self.kind, &self.state, &self.person, &self.q].iter().any(|v| !v.is_empty()) || !cluster.is_empty()
    }

    /// Whether only ended ones, or all, are listed.
    #[must_use]
    pub fn has_state(&self, state: &str) -> bool {
        self.state == state
    }

    /// Whether the list is filtered by that kind.
    #[must_use]
    pub fn has_kind(&self, kind: &GrantKind) -> bool {
        self.kind == kind.name()
    }
}

impl AccessPage {
    /// Heading of the list.
    #[must_use]
    pub fn heading(&self) -> &'static str {
        match self.query.list() {
            GrantView::Mine => "My grants",
            GrantView::Cluster => "Grants on a cluster",
            GrantView::All => "Everybody's grants",
        }
    }

    /// Where "revoke all" of this list leads; none where it would have no name, or is not this person's.
    #[must_use]
    pub fn revoke_all(&self) -> Option<Link> {
        let admin = self.frame.person.as_ref().is_some_and(|p| p.may_admin);
        let mut url = Query::new("/access/revoke");
        let words = match self.query.list() {
            GrantView::Mine => {
                url.add("mine", "true");
                "Revoke all mine…"
            }
            GrantView::Cluster if admin && !self.query.cluster.is_empty() => {
                url.add("cluster", &self.query.cluster);
                "Revoke all on this cluster…"
            }
            GrantView::All if admin && !self.query.person.is_empty() => {
                url.add("person", &self.query.person);
                "Revoke all of this person…"
            }
            GrantView::All if admin => {
                url.add("everything", "true");
                "Revoke everything…"
            }
            GrantView::Cluster | GrantView::All => return None,
        };
        Some(Link::new(words, url.done()))
    }
}

/// A grant, wherever grants are listed.
#[derive(Clone, Debug, Default)]
pub struct GrantRow {
    /// Its id.
    pub id: String,
    /// Kind.
    pub kind: GrantKind,
    /// Cluster and its page; without text: the portal itself.
    pub cluster: Link,
    /// Machine, or empty.
    pub machine: String,
    /// Its owner, as a name or account.
    pub owner: String,
    /// Rights as given.
    pub rights: Rights,
    /// Rights that it has now, when they are fewer: its elevation or a group ended.
    pub fell_to: Option<Rights>,
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
    /// Its state.
    pub state: GrantState,
    /// The person at the screen may revoke it.
    pub may_revoke: bool,
    /// The person at the screen may extend it.
    pub may_extend: bool,
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
    /// Every kind, in the order of lists.
    pub const EVERY: [Self; 8] = [
        Self::Kubeconfig,
        Self::Cli,
        Self::Ssh,
        Self::Terminal,
        Self::Metrics,
        Self::Tunnel,
        Self::Page,
        Self::Robot,
    ];

    /// Its value in forms and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubeconfig => "kubeconfig",
            Self::Cli => "cli",
            Self::Ssh => "ssh",
            Self::Terminal => "terminal",
            Self::Metrics => "metrics",
            Self::Tunnel => "tunnel",
            Self::Page => "page",
            Self::Robot => "robot",
        }
    }

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

impl GrantRow {
    /// Whether it works.
    #[must_use]
    pub fn active(&self) -> bool {
        self.state == GrantState::Active
    }

    /// Its own page.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/access/{}", crate::text::encode(&self.id))
    }

    /// What it opens, in words.
    #[must_use]
    pub fn place(&self) -> &str {
        if self.cluster.text.is_empty() { "this portal" } else { &self.cluster.text }
    }

    /// When it ended: at its end, when it was revoked, or when its elevation was over; none where that is not known.
    #[must_use]
    pub fn ended_at(&self) -> Option<i64> {
        match &self.state {
            GrantState::Revoked { at, .. } => Some(*at),
            GrantState::Active | GrantState::Expired => Some(self.ends),
            GrantState::Ended { at, .. } => *at,
        }
    }

    /// What ended it, as a sentence.
    #[must_use]
    pub fn ending(&self) -> String {
        match &self.state {
            GrantState::Active => String::new(),
            GrantState::Expired => "Expired".to_owned(),
            GrantState::Ended { reason, .. } => format!("Ended: {}", reason.words()),
            GrantState::Revoked { by, why, .. } if why.is_empty() => format!("Revoked by {by}"),
            GrantState::Revoked { by, why, .. } => format!("Revoked by {by}: “{why}”"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant_state::GrantEnd;

    #[test]
    fn what_ended_a_grant_is_said() {
        let revoked = GrantState::Revoked { at: 7, by: "Mirela Kask".to_owned(), why: String::new() };
        let states = [
            (GrantState::Expired, "Expired", Some(9)),
            (revoked, "Revoked by Mirela Kask", Some(7)),
            (
                GrantState::Ended { reason: GrantEnd::ElevationOver, at: Some(8) },
                "Ended: elevation over",
                Some(8),
            ),
            (GrantState::Ended { reason: GrantEnd::RightsLost, at: None }, "Ended: rights lost", None),
        ];
        for (state, words, at) in states {
            let row = GrantRow { ends: 9, state, ..GrantRow::default() };
            assert!(!row.active());
            assert_eq!((row.ending().as_str(), row.ended_at()), (words, at));
            let badge = row.state.badge().word;
            assert!(words.starts_with(&badge), "{words}: {badge}");
        }
        for reason in GrantEnd::EVERY {
            let row = GrantRow { state: GrantState::Ended { reason, at: None }, ..GrantRow::default() };
            assert_eq!(row.state.badge().word, row.ending(), "{reason:?}");
        }
    }
}
