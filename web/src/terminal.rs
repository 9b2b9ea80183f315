//! `{RES}/terminal`: a shell in a container or on a machine, or what is asked before one.

use serde::Deserialize;

use crate::access_dialog::AccessQuestion;
use crate::cluster::Cluster;
use crate::filters;
use crate::frame::Frame;
use crate::parts::{Badge, Failure};
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
    /// Open in the cluster, to watch.
    pub open: Vec<TerminalOpen>,
    /// What there is to choose from.
    pub choice: TerminalChoice,
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
    /// A session to watch, in place of both.
    pub watch: String,
    /// What narrows the pods to choose from.
    pub q: String,
}

/// What a terminal may be opened in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalChoice {
    /// What narrows the pods.
    pub q: String,
    /// Pods that match, those with a problem first; not all of them.
    pub pods: Vec<TerminalPod>,
    /// How many match; none: the pods are not known yet.
    pub matched: Option<u64>,
    /// Machines, masters first.
    pub machines: Vec<TerminalMachine>,
}

/// A pod to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its node, or empty.
    pub node: String,
    /// How it is.
    pub badge: Badge,
    /// Its containers, the first first.
    pub containers: Vec<String>,
}

/// A machine to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalMachine {
    /// Its name.
    pub name: String,
    /// It is a master.
    pub control_plane: bool,
    /// Its node is ready.
    pub ready: bool,
    /// Power of its virtual machine; none: not known.
    pub power: Option<Badge>,
    /// How it is reached, e.g. `through a master`.
    pub way: String,
}

impl TerminalPod {
    /// Where a container of it is opened.
    #[must_use]
    pub fn query(&self, container: &str) -> TerminalQuery {
        TerminalQuery {
            namespace: self.namespace.clone(),
            pod: self.name.clone(),
            container: container.to_owned(),
            ..TerminalQuery::default()
        }
    }
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
    pub fn href(&self, base: impl AsRef<str>) -> String {
        let mut url = Query::new(base.as_ref());
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

    /// Path of the terminals of this cluster.
    fn base(&self) -> String {
        format!("{}/terminal", self.cluster.path)
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
