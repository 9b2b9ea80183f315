//! `/audit`: what was done, by whom, and the proof that nothing is missing.

use serde::Deserialize;

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link, Tone};
use crate::query::Query;

/// The audit.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "audit.html", blocks = ["list"])]
pub struct AuditPage {
    /// What is around it.
    pub frame: Frame,
    /// What is asked.
    pub query: AuditQuery,
    /// Entries, newest first.
    pub entries: Vec<AuditRow>,
    /// Cursor of the next page, older; none on the last.
    pub next: Option<String>,
    /// How many match, where that is known.
    pub matched: Option<u64>,
    /// What is wrong with the range of time.
    pub range_error: Option<String>,
    /// State of the chain.
    pub chain: Chain,
    /// In place of the entries.
    pub failure: Option<Failure>,
}

/// What of the audit is shown: value in the URL, words.
const SHOWN: [(&str, &str); 3] = [("", "All"), ("changes", "Changes"), ("refused", "Refused")];

/// The query of the audit, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AuditQuery {
    /// Person: account or name.
    pub person: String,
    /// Cluster: name or resource id.
    pub cluster: String,
    /// Verb, e.g. `get`, `exec`, `grant.issue`.
    pub verb: String,
    /// Id of a grant.
    pub grant: String,
    /// From: `2026-11-21T03:00`, or with a zone; UTC without one.
    pub from: String,
    /// To, exclusive, in the same form.
    pub to: String,
    /// `changes` or `refused`; empty: everything.
    pub show: String,
    /// Free text.
    pub q: String,
    /// Cursor: entries older than it.
    pub before: String,
}

impl AuditPage {
    fn shown(&self) -> [(&'static str, &'static str, String, bool); 3] {
        SHOWN.map(|(show, words)| (show, words, self.query.showing(show), self.query.show == show))
    }
}

impl AuditQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self) -> String {
        let mut url = Query::new("/audit");
        url.add("person", &self.person);
        url.add("cluster", &self.cluster);
        url.add("verb", &self.verb);
        url.add("grant", &self.grant);
        url.add("from", &self.from);
        url.add("to", &self.to);
        url.add("show", &self.show);
        url.add("q", &self.q);
        url.add("before", &self.before);
        url.done()
    }

    /// The same from a cursor on; an empty one is the newest page.
    #[must_use]
    pub fn older(&self, cursor: &str) -> String {
        Self { before: cursor.to_owned(), ..self.clone() }.href()
    }

    /// The newest page of the same, with all entries or some of them alone.
    #[must_use]
    pub fn showing(&self, show: &str) -> String {
        Self { show: show.to_owned(), before: String::new(), ..self.clone() }.href()
    }

    /// Whether anything narrows it.
    #[must_use]
    pub fn narrows(&self) -> bool {
        let all =
            [&self.person, &self.cluster, &self.verb, &self.grant, &self.from, &self.to, &self.show, &self.q];
        all.iter().any(|v| !v.is_empty())
    }
}

/// One entry.
#[derive(Clone, Debug, Default)]
pub struct AuditRow {
    /// `writer/seq`.
    pub id: String,
    /// When.
    pub at: i64,
    /// Who, as a name or account.
    pub person: String,
    /// Cluster, if it is about one.
    pub cluster: Option<Link>,
    /// Verb.
    pub verb: String,
    /// What it was about, in one line: `pods/log openshift-etcd/etcd-0`, a command, a reason.
    pub what: String,
    /// `start`, `end`, `single`.
    pub phase: String,
    /// How it went.
    pub result: AuditResult,
    /// Status or word of the result, e.g. `200`, `403`.
    pub status: String,
    /// Every field: name and value, in the order of the entry.
    pub fields: Vec<(String, String)>,
}

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditResult {
    /// Done.
    #[default]
    Done,
    /// Not allowed.
    Refused,
    /// Failed.
    Failed,
    /// Not over yet.
    Open,
}

impl AuditResult {
    /// Colour only for what was refused or failed.
    #[must_use]
    pub fn tone(self) -> Tone {
        match self {
            Self::Done | Self::Open => Tone::Mute,
            Self::Refused => Tone::Warn,
            Self::Failed => Tone::Bad,
        }
    }

    /// Its shape.
    #[must_use]
    pub fn icon(self) -> &'static str {
        match self {
            Self::Done => "check",
            Self::Refused => "lock",
            Self::Failed => "failed",
            Self::Open => "wait",
        }
    }

    /// Its word.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Done => "Done",
            Self::Refused => "Refused",
            Self::Failed => "Failed",
            Self::Open => "Open",
        }
    }
}

/// State of the hash chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chain {
    /// Not yet known.
    #[default]
    Unknown,
    /// Whole and signed up to an instant.
    Proven {
        /// Last signed checkpoint.
        up_to: i64,
        /// Entries under it, where known.
        entries: Option<u64>,
    },
    /// Whole, but the last checkpoint is late.
    Late {
        /// Last signed checkpoint.
        up_to: i64,
    },
    /// Broken.
    Broken {
        /// First entry that does not fit: `writer/seq`.
        at: String,
        /// What is wrong with it.
        why: String,
    },
}
