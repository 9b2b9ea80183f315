//! What pages that follow their cluster share with their stream: the kinds of each tab, the parts, and the line that says
//! how current they are.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use portal_model::index::Entry;
use portal_model::operations::OperationsWatch;
use portal_model::state::PortalState;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_observe::{ClusterSnapshot, Kind, SliceState, WatchGuard};
use web::{Frame, LiveBar, LiveState, Tab};

/// What the pages of pods follow.
static POD_KINDS: [Kind; 2] = [Kind::Pods, Kind::Events];
/// What the pages of workloads follow.
static WORKLOAD_KINDS: [Kind; 5] =
    [Kind::Deployments, Kind::DaemonSets, Kind::StatefulSets, Kind::Pods, Kind::Events];
/// What the page of events follows.
static EVENT_KINDS: [Kind; 1] = [Kind::Events];

/// What the pages of objects follow: the same for all, so that navigation between them sends no requests.
static OBJECT_KINDS: [Kind; 10] = [
    Kind::Version,
    Kind::Operators,
    Kind::AroCluster,
    Kind::Nodes,
    Kind::Machines,
    Kind::MachineSets,
    Kind::ControlPlaneMachineSets,
    Kind::Pools,
    Kind::Events,
    Kind::Etcd,
];

/// The kinds that a tab follows; `None`: the tab is not live.
pub const fn kinds_of(tab: Tab) -> Option<&'static [Kind]> {
    match tab {
        Tab::Overview
        | Tab::Operators
        | Tab::AroOperator
        | Tab::Nodes
        | Tab::Machines
        | Tab::MachineSets
        | Tab::ControlPlane
        | Tab::Operations => Some(&OBJECT_KINDS),
        Tab::Pods => Some(&POD_KINDS),
        Tab::Workloads => Some(&WORKLOAD_KINDS),
        Tab::Events => Some(&EVENT_KINDS),
        _ => None,
    }
}

/// What the parts of a tab are rendered from.
#[derive(Debug, Clone)]
pub struct TabInput<'a> {
    pub state: &'a PortalState,
    pub entry: &'a Entry,
    pub user: &'a CurrentUser,
    /// `now` is fixed while a page is open: the script counts ages, and unchanged parts render to the same bytes.
    pub frame: &'a Frame,
    pub snapshot: Arc<ClusterSnapshot>,
    /// The path after the tab; empty on lists.
    pub item: &'a str,
    /// The page's query, as asked.
    pub query: &'a str,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Id of its element.
    pub id: String,
    /// The element, whole.
    pub html: String,
}

/// How long a page waits for the first response of a cluster; later data arrives by the live stream.
pub const PATIENCE: Duration = Duration::from_millis(1_500);

/// Starts to watch the kinds that a tab shows; `None`: the tab is not live.
pub fn watch(state: &PortalState, entry: &Entry, tab: Tab) -> Option<WatchGuard> {
    Some(state.model.clusters.observer.watch(&entry.id, kinds_of(tab)?))
}

/// Begins to follow the cluster's operations, for the tabs that show them; `None`: the tab does not, or it is no cluster
/// of ours.
pub async fn watch_operations(state: &PortalState, entry: &Entry, tab: Tab) -> Option<OperationsWatch> {
    if entry.imported.is_some() || !matches!(tab, Tab::Overview | Tab::Operations) {
        return None;
    }
    Some(state.model.operations.watch(entry.id.key()).await)
}

/// The kinds that a tab watches in the cluster; none while the cluster is unreachable, or when the tab is not live.
pub fn kinds(entry: &Entry, tab: Tab) -> &'static [Kind] {
    kinds_of(tab).filter(|_| entry.reachable).unwrap_or_default()
}

/// The line that says how current the page is and leads to what follows; `fragments` are those of the page.
pub fn bar(input: &TabInput<'_>, tab: Tab, fragments: &[Fragment]) -> LiveBar {
    let kinds = kinds(input.entry, tab);
    let now = freshness(&input.snapshot, kinds);
    let mut seen = input.frame.now.to_string();
    for fragment in fragments {
        seen.push_str(&format!(",{:x}", fragment.digest()));
    }
    let item = if input.item.is_empty() { String::new() } else { format!("/{}", encoded(input.item)) };
    let query = if input.query.is_empty() { String::new() } else { format!("?{}", input.query) };
    LiveBar {
        url: format!("{}/live/{}{item}{query}", input.entry.id.key(), tab.segment()),
        seen,
        state: now.state,
        as_of: now.as_of.map(Timestamp::seconds),
        why: now.why,
    }
}

fn encoded(item: &str) -> String {
    item.split('/').map(web::text::encode).collect::<Vec<_>>().join("/")
}

/// How current a page is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freshness {
    pub state: LiveState,
    pub as_of: Option<Timestamp>,
    pub why: String,
}

/// The worst state of the kinds that are shown. A kind that the cluster refuses or does not serve shows that in its own
/// panel and does not count here.
pub fn freshness(snapshot: &ClusterSnapshot, kinds: &[Kind]) -> Freshness {
    let all: Vec<_> = kinds.iter().map(|kind| snapshot.summary(*kind)).collect();
    let heard = all.iter().filter_map(|each| each.as_of).max();
    let broken = all.iter().find_map(|each| match &each.state {
        SliceState::Stale { why, .. } | SliceState::Failed(why) => Some((why.to_string(), each.as_of)),
        _ => None,
    });
    if let Some((why, as_of)) = broken {
        return Freshness { state: LiveState::Stale, as_of, why };
    }
    let loading = all.iter().any(|each| !each.state.is_settled());
    let state = if loading { LiveState::Loading } else { LiveState::Live };
    Freshness { state, as_of: heard, why: String::new() }
}

impl Fragment {
    /// Digest that distinguishes fragments; the same in every process of one build.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.id, &self.html).hash(&mut hasher);
        hasher.finish()
    }
}
