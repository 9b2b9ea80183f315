//! `{RES}/events`: what the cluster says has happened, newest first.

use serde::Deserialize;

use crate::cluster::Cluster;
use crate::filters;
use crate::frame::Frame;
use crate::live::LiveBar;
use crate::parts::{Failure, Link, Notice, Tone};
use crate::query::Query;
use crate::resources::{follows, on_tab};
use crate::tabs::Tab;

/// The events.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "events.html", blocks = ["list"])]
pub struct EventsPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// How current it is.
    pub live: LiveBar,
    /// What is asked.
    pub query: EventQuery,
    /// Namespaces to choose from.
    pub namespaces: Vec<String>,
    /// Kinds of objects to choose from.
    pub kinds: Vec<String>,
    /// Events, newest first.
    pub rows: Vec<EventLine>,
    /// How many match.
    pub matched: u64,
    /// Of how many that are known.
    pub total: u64,
    /// What is missing.
    pub notices: Vec<Notice>,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// What is asked of the events, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct EventQuery {
    /// Part of reason, message or object.
    pub q: String,
    /// `Warning` or `Normal`.
    #[serde(rename = "type")]
    pub kind_of: String,
    /// Namespace.
    pub namespace: String,
    /// Kind of the object.
    pub kind: String,
}

impl EventQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self, base: &str) -> String {
        let mut url = Query::new(&format!("{base}/events"));
        url.add("q", &self.q);
        url.add("type", &self.kind_of);
        url.add("namespace", &self.namespace);
        url.add("kind", &self.kind);
        url.done()
    }

    /// Whether anything narrows it.
    #[must_use]
    pub fn narrows(&self) -> bool {
        [&self.q, &self.kind_of, &self.namespace, &self.kind].iter().any(|v| !v.is_empty())
    }
}

/// One event.
#[derive(Clone, Debug, Default)]
pub struct EventLine {
    /// Last time it was seen.
    pub at: Option<i64>,
    /// First time, where it is another.
    pub first: Option<i64>,
    /// How often.
    pub count: u64,
    /// A warning.
    pub warning: bool,
    /// Kind of the object.
    pub kind: String,
    /// The object and its page, or no address.
    pub object: Link,
    /// Its namespace.
    pub namespace: String,
    /// Reason.
    pub reason: String,
    /// Message.
    pub message: String,
    /// Who tells it.
    pub source: String,
}

impl EventLine {
    /// Its colour.
    #[must_use]
    pub fn tone(&self) -> Tone {
        if self.warning { Tone::Warn } else { Tone::Mute }
    }

    /// Its shape.
    #[must_use]
    pub fn icon(&self) -> &'static str {
        if self.warning { "degraded" } else { "info" }
    }

    /// Its word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.warning { "Warning" } else { "Normal" }
    }
}

on_tab!(EventsPage, Tab::Events);
follows!(EventsPage, "live-events", as_list);
