//! `{RES}/terminal`: a shell in a container or on a machine, or what is asked before one.

use serde::Deserialize;

use crate::access_dialog::AccessQuestion;
use crate::cluster::Cluster;
use crate::filters;
use crate::frame::Frame;
use crate::parts::Failure;
use crate::query::Query;

/// A terminal.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "terminal.html")]
pub struct TerminalPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Where it leads, as in the URL; nothing: to be chosen.
    pub query: TerminalQuery,
    /// What is asked before it opens.
    pub ask: Option<AccessQuestion>,
    /// The terminal of another person that is watched.
    pub watching: Option<TerminalOpen>,
    /// Open in the cluster, to look on at.
    pub open: Vec<TerminalOpen>,
    /// Machines to choose from.
    pub machines: Vec<String>,
    /// Containers of the pod, the first first.
    pub containers: Vec<String>,
    /// The access that opens it.
    pub access: TerminalAccess,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// Where a terminal leads, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TerminalQuery {
    /// Namespace of the pod.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// Its container; empty: the first.
    pub container: String,
    /// The machine, in place of a pod.
    pub machine: String,
    /// A session to look on at, in place of both.
    pub watch: String,
}

/// A terminal that is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalOpen {
    /// Its id.
    pub id: String,
    /// Who types.
    pub person: String,
    /// It is the viewer's own.
    pub own: bool,
    /// Where it leads.
    pub place: String,
    /// Since when.
    pub began: i64,
    /// Who looks on.
    pub watchers: Vec<String>,
}

/// The access that opens a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalAccess {
    /// Id of the grant.
    pub id: String,
    /// Its ticket; empty: none.
    pub ticket: String,
    /// Its reason.
    pub reason: String,
    /// Its end.
    pub until: i64,
}

impl TerminalQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self, base: &str) -> String {
        let mut url = Query::new(base);
        url.add("namespace", &self.namespace);
        url.add("pod", &self.pod);
        url.add("container", &self.container);
        url.add("machine", &self.machine);
        url.add("watch", &self.watch);
        url.done()
    }

    /// Whether it says where to.
    #[must_use]
    pub fn is_chosen(&self) -> bool {
        self.is_watch() || self.is_machine() || !self.pod.is_empty()
    }

    /// Whether it leads to a machine.
    #[must_use]
    pub fn is_machine(&self) -> bool {
        !self.machine.is_empty()
    }

    /// Whether the page watches another person's terminal.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        !self.watch.is_empty()
    }

    /// For people: `pod / container`, or the machine.
    #[must_use]
    pub fn words(&self) -> String {
        match (self.is_machine(), self.container.is_empty()) {
            (true, _) => self.machine.clone(),
            (false, true) => self.pod.clone(),
            (false, false) => format!("{} / {}", self.pod, self.container),
        }
    }

    fn at(&self, container: &str) -> Self {
        Self { container: container.to_owned(), ..self.clone() }
    }
}

impl TerminalPage {
    /// Whether the terminal itself is on the page.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.failure.is_none() && self.ask.is_none() && self.query.is_chosen()
    }

    fn is_barred_watch(&self) -> bool {
        self.watching.is_some() && self.ask.is_some()
    }

    /// For people: where it leads.
    pub(crate) fn words(&self) -> String {
        self.watching.as_ref().map_or_else(|| self.query.words(), |open| open.place.clone())
    }

    /// Containers beside the one that is opened.
    fn others(&self) -> Vec<TerminalQuery> {
        let here = if self.query.container.is_empty() {
            self.containers.first().map_or("", String::as_str)
        } else {
            self.query.container.as_str()
        };
        let others = self.containers.iter().filter(|name| name.as_str() != here);
        others.map(|name| self.query.at(name)).collect()
    }
}

/// Notes beside the screen: name, tone and icon of each state that a session may be in.
pub(crate) const fn terminal_notes() -> [(&'static str, &'static str, &'static str); 8] {
    [
        ("connecting", "busy", "busy"),
        ("back", "ok", "ok"),
        ("away", "warn", "away"),
        ("idle", "warn", "clock"),
        ("ended", "mute", "info"),
        ("cut", "bad", "revoke"),
        ("refused", "bad", "failed"),
        ("lost", "warn", "away"),
    ]
}
