//! `{RES}/resources…`: the kinds that a cluster serves, the objects of a kind, one object.

use serde::Deserialize;

use crate::cluster::Cluster;
use crate::code::{DiffRow, Node};
use crate::components::Condition;
use crate::events::EventLine;
use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link, Notice};
use crate::query::Query;
use crate::tabs::Tab;

/// The kinds that a cluster serves.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "resources.html", blocks = ["list"])]
pub struct ResourcesPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// What is asked.
    pub query: KindQuery,
    /// Groups with their kinds, those of OpenShift and of the customer before Kubernetes' own.
    pub groups: Vec<KindGroup>,
    /// Kinds in all.
    pub total: u64,
    /// Groups that did not answer, and the like.
    pub notices: Vec<Notice>,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// What is asked of the kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KindQuery {
    /// Part of a kind, a plural, a short name or a group.
    pub q: String,
    /// `1`: count the objects of the kinds that match.
    pub count: String,
}

impl KindQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self, base: &str) -> String {
        let mut url = Query::new(&format!("{base}/resources"));
        url.add("q", &self.q);
        url.add("count", &self.count);
        url.done()
    }

    /// The same with counts.
    pub(crate) fn counted(&self, base: &str) -> String {
        Self { count: "1".into(), ..self.clone() }.href(base)
    }
}

/// Kinds of one group.
#[derive(Clone, Debug, Default)]
pub struct KindGroup {
    /// `config.openshift.io`; empty for the core.
    pub name: String,
    /// Its kinds.
    pub kinds: Vec<KindRow>,
}

/// One kind.
#[derive(Clone, Debug, Default)]
pub struct KindRow {
    /// `ClusterOperator`.
    pub kind: String,
    /// `clusteroperators`.
    pub plural: String,
    /// `v1`.
    pub version: String,
    /// Short names.
    pub short: Vec<String>,
    /// Lives in a namespace.
    pub namespaced: bool,
    /// Its list; empty where it cannot be listed.
    pub href: String,
    /// Why it is not shown.
    pub locked: bool,
    /// Objects, where they were counted.
    pub count: Option<String>,
}

/// The objects of a kind.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "objects.html", blocks = ["list"])]
pub struct ObjectsPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// The kind.
    pub kind: KindRow,
    /// Its group.
    pub group: String,
    /// Path of this list without a query.
    pub base: String,
    /// What is asked.
    pub query: ObjectQuery,
    /// Columns that the cluster names: words, and whether they matter less.
    pub columns: Vec<(String, bool)>,
    /// Objects.
    pub rows: Vec<ObjectRow>,
    /// The rest of the list; empty on its last part.
    pub next: String,
    /// Objects after this part, where the cluster says.
    pub remaining: Option<u64>,
    /// What is missing.
    pub notices: Vec<Notice>,
    /// In place of the list.
    pub failure: Option<Failure>,
}

/// What is asked of the objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ObjectQuery {
    /// Part of a name.
    pub q: String,
    /// Namespace.
    pub namespace: String,
    /// Label selector.
    pub label: String,
    /// Where the part before ended.
    #[serde(rename = "continue")]
    pub next: String,
}

impl ObjectQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self, base: &str) -> String {
        let mut url = Query::new(base);
        url.add("q", &self.q);
        url.add("namespace", &self.namespace);
        url.add("label", &self.label);
        url.add("continue", &self.next);
        url.done()
    }

    pub(crate) fn after(&self, base: &str, next: &str) -> String {
        Self { next: next.to_owned(), ..self.clone() }.href(base)
    }

    pub(crate) fn narrows(&self) -> bool {
        !(self.q.is_empty() && self.namespace.is_empty() && self.label.is_empty())
    }
}

/// One object of a list.
#[derive(Clone, Debug, Default)]
pub struct ObjectRow {
    /// Name.
    pub name: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Its page.
    pub href: String,
    /// Cells beside the name, as many as there are columns.
    pub cells: Vec<String>,
}

/// One object.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "object.html")]
pub struct ObjectPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// What it is.
    pub object: ObjectHead,
    /// How it is shown.
    pub view: ObjectView,
    /// Its content in that form.
    pub body: ObjectBody,
    /// With `managedFields`.
    pub managed: bool,
    /// When this was read.
    pub read_at: i64,
    /// Moments at which this person looked at it, newest first.
    pub moments: Vec<ObjectRevision>,
    /// In place of the content.
    pub failure: Option<Failure>,
}

/// What an object is.
#[derive(Clone, Debug, Default)]
pub struct ObjectHead {
    /// `ClusterOperator`.
    pub kind: String,
    /// Group, or empty.
    pub group: String,
    /// Version.
    pub version: String,
    /// Name.
    pub name: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Path of this page.
    pub path: String,
    /// Path of the list of its kind.
    pub list: String,
    /// Its whole text for scripts and downloads.
    pub raw: String,
    /// Page of ours for things like it: a pod, a node.
    pub page: Option<Link>,
    /// What can be done with it.
    pub acts: Vec<Link>,
}

/// How an object is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectView {
    /// Key-values, conditions, events.
    #[default]
    Describe,
    /// YAML.
    Yaml,
    /// JSON.
    Json,
    /// Two moments side by side.
    Diff,
}

impl ObjectView {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Describe, Self::Yaml, Self::Json, Self::Diff];

    /// The value of `as` in the URL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Yaml => "yaml",
            Self::Json => "json",
            Self::Diff => "diff",
        }
    }

    /// The view of that name; unknown names are no error.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|view| view.name() == name).unwrap_or_default()
    }

    /// Its words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Describe => "Described",
            Self::Yaml => "YAML",
            Self::Json => "JSON",
            Self::Diff => "Compare",
        }
    }
}

/// A version of the object that was read at some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRevision {
    /// Resource version.
    pub version: String,
    /// When.
    pub at: i64,
    /// Whether it is the version that is shown or compared with.
    pub chosen: bool,
}

impl ObjectRevision {
    pub(crate) fn words(&self, now: &i64) -> String {
        format!("version {}, {}", self.version, crate::when::past(self.at, *now))
    }
}

/// The content.
#[derive(Clone, Debug)]
pub enum ObjectBody {
    /// YAML or JSON.
    Text {
        /// Lines.
        lines: Vec<String>,
        /// Values that are folded for their size, or lines left out.
        folded: u64,
    },
    /// As key-values.
    Described(Box<ObjectDescription>),
    /// Side by side.
    Diff {
        /// Before: version and when.
        before: ObjectRevision,
        /// After.
        after: ObjectRevision,
        /// Rows; empty: nothing differs.
        rows: Vec<DiffRow>,
        /// The rest was too long to compare.
        cut: bool,
    },
    /// Only one moment is known yet.
    OneMoment,
}

impl Default for ObjectBody {
    fn default() -> Self {
        Self::Described(Box::default())
    }
}

/// An object as key-values.
#[derive(Clone, Debug, Default)]
pub struct ObjectDescription {
    /// When it was made.
    pub created: Option<i64>,
    /// When its deletion was requested.
    pub deleting: Option<i64>,
    /// Resource version.
    pub resource_version: String,
    /// UID.
    pub uid: String,
    /// Generation.
    pub generation: String,
    /// Those it belongs to.
    pub owners: Vec<Link>,
    /// Finalizers.
    pub finalizers: Vec<String>,
    /// Labels.
    pub labels: Vec<(String, String)>,
    /// Annotations.
    pub annotations: Vec<(String, String)>,
    /// Labels, annotations or conditions that are not shown.
    pub left_out: u64,
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Further members, `spec` and `status` first: name and tree.
    pub members: Vec<(String, Node)>,
    /// Its events, newest first.
    pub events: Vec<EventLine>,
    /// Why they are not known, or empty.
    pub events_missing: String,
}

impl ObjectDescription {
    /// Nothing yet.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.members.is_empty() && self.conditions.is_empty()
    }
}

impl ObjectPage {
    /// This object in another form.
    #[must_use]
    pub fn in_view(&self, view: impl std::borrow::Borrow<ObjectView>) -> String {
        self.href(*view.borrow(), self.managed, "")
    }

    /// Compared with a moment.
    #[must_use]
    pub fn against(&self, version: &str) -> String {
        self.href(ObjectView::Diff, self.managed, version)
    }

    /// With or without `managedFields`.
    #[must_use]
    pub fn toggle_managed(&self) -> String {
        self.href(self.view, !self.managed, "")
    }

    fn href(&self, view: ObjectView, managed: bool, with: &str) -> String {
        let mut url = Query::new(&self.object.path);
        if view != ObjectView::Describe {
            url.add("as", view.name());
        }
        url.add("managed", if managed { "1" } else { "" });
        url.add("with", with);
        url.done()
    }
}

/// What every page of a cluster tells its head.
macro_rules! on_tab {
    ($page:ty, $tab:expr) => {
        impl $page {
            pub(crate) fn active(&self) -> u64 {
                self.active
            }

            pub(crate) fn tab(&self) -> Tab {
                $tab
            }
        }
    };
}
pub(crate) use on_tab;

/// A page with an element that follows its cluster.
pub trait LiveElement: crate::View {
    /// Id of that element.
    fn live_id(&self) -> &'static str;

    /// That element, whole.
    ///
    /// # Errors
    /// Only when formatting fails, which a `String` never does.
    fn element(&self) -> askama::Result<String>;

    /// Fills in what the renderer of the element does not know: active grants, the live status bar, a failure.
    fn complete(&mut self, active: u64, live: Option<crate::LiveBar>, failure: Option<Failure>);
}

/// Implements [`LiveElement`].
macro_rules! follows {
    ($page:ty, $id:literal, $part:ident) => {
        impl crate::resources::LiveElement for $page {
            fn live_id(&self) -> &'static str {
                $id
            }

            fn element(&self) -> askama::Result<String> {
                use askama::Template as _;
                self.$part().render()
            }

            fn complete(
                &mut self,
                active: u64,
                live: Option<crate::LiveBar>,
                failure: Option<crate::parts::Failure>,
            ) {
                self.active = active;
                self.failure = failure;
                if let Some(live) = live {
                    self.live = live;
                }
            }
        }

        impl $page {
            pub(crate) fn waiting(&self) -> bool {
                self.live.state == crate::live::LiveState::Loading && self.live.as_of.is_none()
            }
        }
    };
}
pub(crate) use follows;

on_tab!(ResourcesPage, Tab::Resources);
on_tab!(ObjectsPage, Tab::Resources);
on_tab!(ObjectPage, Tab::Resources);
