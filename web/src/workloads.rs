//! `{RES}/pods…` and `{RES}/workloads…`: what runs in the system namespaces, worst first.

use serde::Deserialize;

use crate::cluster::Cluster;
use crate::components::Condition;
use crate::events::EventLine;
use crate::filters;
use crate::frame::Frame;
use crate::live::LiveBar;
use crate::parts::{Badge, Failure, Link, Notice, Tone};
use crate::query::{Query, page_number};
use crate::resources::{follows, on_tab};
use crate::tabs::Tab;

/// Pods.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "pods.html", blocks = ["list"])]
pub struct PodsPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// How current it is.
    pub live: LiveBar,
    /// What is asked.
    pub query: PodQuery,
    /// Namespaces to choose from.
    pub namespaces: Vec<String>,
    /// Nodes to choose from.
    pub nodes: Vec<String>,
    /// Pods of this page, worst first.
    pub rows: Vec<PodRow>,
    /// How many match.
    pub matched: u64,
    /// Pods with a problem among all.
    pub problems: u64,
    /// Pods in all.
    pub total: u64,
    /// Rows of a page.
    pub per_page: u64,
    /// What is missing.
    pub notices: Vec<Notice>,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// What is asked of the pods, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodQuery {
    /// Part of a name.
    pub q: String,
    /// Namespace.
    pub namespace: String,
    /// Node.
    pub node: String,
    /// `problem`, or a word of the state: `Running`, `Pending`, `CrashLoopBackOff` …
    pub state: String,
    /// At least so many restarts.
    pub restarts: String,
    /// Owner, as `Kind/name`.
    pub owner: String,
    /// Counted from 1.
    #[serde(deserialize_with = "page_number")]
    pub page: u64,
}

impl PodQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self, base: &str) -> String {
        let mut url = Query::new(&format!("{base}/pods"));
        url.add("q", &self.q);
        url.add("namespace", &self.namespace);
        url.add("node", &self.node);
        url.add("state", &self.state);
        url.add("restarts", &self.restarts);
        url.add("owner", &self.owner);
        if self.page > 1 {
            url.add("page", &self.page.to_string());
        }
        url.done()
    }

    /// Those of the same query that have a problem, from the first page.
    pub(crate) fn with_problem(&self, base: &str) -> String {
        Self { state: "problem".to_owned(), page: 1, ..self.clone() }.href(base)
    }

    pub(crate) fn at(&self, base: &str, page: &u64) -> String {
        Self { page: *page, ..self.clone() }.href(base)
    }

    /// Whether anything narrows it.
    #[must_use]
    pub fn narrows(&self) -> bool {
        let all = [&self.q, &self.namespace, &self.node, &self.state, &self.restarts, &self.owner];
        all.iter().any(|v| !v.is_empty())
    }
}

/// States to choose from: value and words.
pub const POD_STATES: [(&str, &str); 8] = [
    ("", "Any state"),
    ("problem", "With a problem"),
    ("Running", "Running"),
    ("Pending", "Pending"),
    ("CrashLoopBackOff", "Crash loop"),
    ("NotReady", "Not ready"),
    ("Failed", "Failed"),
    ("Succeeded", "Completed"),
];

/// Least restarts to choose from: value and words.
pub const POD_RESTARTS: [(&str, &str); 4] =
    [("", "Any restarts"), ("1", "Restarted"), ("5", "5 or more"), ("20", "20 or more")];

/// One pod of the list.
#[derive(Clone, Debug, Default)]
pub struct PodRow {
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
    /// Its page.
    pub href: String,
    /// Its log.
    pub log: String,
    /// How it is.
    pub badge: Badge,
    /// In a few words why.
    pub why: String,
    /// Since when.
    pub since: Option<i64>,
    /// Containers that are ready, of how many.
    pub ready: (u64, u64),
    /// Restarts of all containers.
    pub restarts: u64,
    /// The last of them.
    pub last_restart: Option<i64>,
    /// Node and its page.
    pub node: Option<Link>,
    /// Owner and its page.
    pub owner: Option<Link>,
    /// Created.
    pub created: Option<i64>,
}

impl PodsPage {
    pub(crate) fn last_page(&self) -> u64 {
        self.matched.div_ceil(self.per_page.max(1)).max(1)
    }

    pub(crate) fn shown(&self) -> String {
        let from = (self.query.page.max(1) - 1) * self.per_page;
        let to = from + u64::try_from(self.rows.len()).unwrap_or(0);
        let number = |n: u64| crate::text::number(n);
        if self.matched <= self.per_page {
            crate::text::plural(self.matched, "pod", "pods")
        } else {
            format!("{} to {} of {} pods", number(from + 1), number(to), number(self.matched))
        }
    }
}

/// One pod.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "pod.html", blocks = ["body"])]
pub struct PodPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// How current it is.
    pub live: LiveBar,
    /// The pod.
    pub pod: Pod,
    /// What can be done with it.
    pub acts: Vec<Link>,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// A pod with all that is known of it.
#[derive(Clone, Debug, Default)]
pub struct Pod {
    /// As in the list.
    pub row: PodRow,
    /// Its object.
    pub object: String,
    /// Its phase as the cluster says it.
    pub phase: String,
    /// Its address.
    pub ip: String,
    /// Containers, init containers first.
    pub containers: Vec<ContainerRow>,
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Its events, newest first.
    pub events: Vec<EventLine>,
    /// Other pods of the same owner.
    pub siblings: Option<Link>,
    /// Why it was evicted or failed, as the cluster says it.
    pub message: String,
}

/// One container.
#[derive(Clone, Debug, Default)]
pub struct ContainerRow {
    /// Name.
    pub name: String,
    /// It runs before the others.
    pub init: bool,
    /// How it is.
    pub badge: Badge,
    /// Why, and its message.
    pub why: String,
    /// Since when.
    pub since: Option<i64>,
    /// Restarts.
    pub restarts: u64,
    /// How it ended last: words and when.
    pub last: Option<(String, Option<i64>)>,
    /// Image.
    pub image: String,
    /// Its log.
    pub log: String,
    /// Its log before the last restart; empty where there is none.
    pub previous: String,
}

/// Deployments, daemon sets and stateful sets.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "workloads.html", blocks = ["list"])]
pub struct WorkloadsPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// How current it is.
    pub live: LiveBar,
    /// What is asked.
    pub query: WorkloadQuery,
    /// Namespaces to choose from.
    pub namespaces: Vec<String>,
    /// Those that match, worst first.
    pub rows: Vec<WorkloadRow>,
    /// How many match.
    pub matched: u64,
    /// Off their count among all.
    pub problems: u64,
    /// How many there are.
    pub total: u64,
    /// What is missing.
    pub notices: Vec<Notice>,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// What is asked of the workloads, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct WorkloadQuery {
    /// Part of a name.
    pub q: String,
    /// Namespace.
    pub namespace: String,
    /// `deployment`, `daemonset`, `statefulset`.
    pub kind: String,
    /// `problem`: off their count.
    pub state: String,
}

impl WorkloadQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self, base: &str) -> String {
        let mut url = Query::new(&format!("{base}/workloads"));
        url.add("q", &self.q);
        url.add("namespace", &self.namespace);
        url.add("kind", &self.kind);
        url.add("state", &self.state);
        url.done()
    }

    /// Whether anything narrows it.
    #[must_use]
    pub fn narrows(&self) -> bool {
        [&self.q, &self.namespace, &self.kind, &self.state].iter().any(|v| !v.is_empty())
    }
}

/// Kinds to choose from: value and words.
pub const WORKLOAD_KINDS: [(&str, &str); 4] = [
    ("", "Any kind"),
    ("deployment", "Deployments"),
    ("daemonset", "Daemon sets"),
    ("statefulset", "Stateful sets"),
];

/// One workload.
#[derive(Clone, Debug, Default)]
pub struct WorkloadRow {
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
    /// `Deployment`, `DaemonSet`, `StatefulSet`.
    pub kind: String,
    /// Its page.
    pub href: String,
    /// Its pods.
    pub pods: String,
    /// Its object.
    pub object: String,
    /// How it is.
    pub badge: Badge,
    /// In a few words why.
    pub why: String,
    /// Ready, of how many wanted.
    pub ready: (u64, u64),
    /// Brought up to date.
    pub updated: u64,
    /// Available.
    pub available: u64,
    /// Created.
    pub created: Option<i64>,
}

/// One workload with its pods.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "workload.html", blocks = ["body"])]
pub struct WorkloadPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// How current it is.
    pub live: LiveBar,
    /// The workload.
    pub row: WorkloadRow,
    /// What can be done with it.
    pub acts: Vec<Link>,
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Its pods, worst first.
    pub pods: Vec<PodRow>,
    /// Its events, newest first.
    pub events: Vec<EventLine>,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// The badge of a count: quiet when the wanted number is reached.
#[must_use]
pub fn of_count(ready: u64, wanted: u64) -> Tone {
    match (ready, wanted) {
        (_, 0) => Tone::Mute,
        (0, _) => Tone::Bad,
        (ready, wanted) if ready < wanted => Tone::Warn,
        _ => Tone::Ok,
    }
}

on_tab!(PodsPage, Tab::Pods);
on_tab!(PodPage, Tab::Pods);
on_tab!(WorkloadsPage, Tab::Workloads);
on_tab!(WorkloadPage, Tab::Workloads);
follows!(PodsPage, "live-pods", as_list);
follows!(PodPage, "live-pod", as_body);
follows!(WorkloadsPage, "live-workloads", as_list);
follows!(WorkloadPage, "live-workload", as_body);
