//! Pages of a cluster that follow it: `GET {RES}/live/{tab}[/{item}]` sends the parts of a page that changed.
//!
//! Server-sent events (HTML Standard §9.2): `fragment` with the element's id and its HTML, `state` with how current the
//! page is, `end` with why nothing more comes. Watches are shared among all who look (`rp_observe`); each viewer is one
//! entry at the start and one at the end of the audit trail.

mod limits;
mod stream;
pub(crate) mod tabs;
mod viewer;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::time::Duration;

use rp_base::Timestamp;
use rp_observe::{ClusterSnapshot, Kind, SliceState, WatchGuard};
use web::{LiveBar, LiveState, Tab};

pub use limits::LiveLimits;
pub(crate) use limits::{LiveMetrics, PageLimiter};
pub(crate) use stream::stream;
pub(crate) use tabs::{Fragment, TabInput};

use crate::index::Entry;
use crate::operations::OperationsWatch;
use crate::state::PortalState;

/// How long a page waits for the first response of a cluster; later data arrives by the live stream.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1_500);

/// Starts to watch the kinds that a tab shows; `None`: the tab is not live.
pub(crate) fn watch(state: &PortalState, entry: &Entry, tab: Tab) -> Option<WatchGuard> {
    let row = tabs::row(tab)?;
    Some(state.0.clusters.observer.watch(&entry.id, row.kinds))
}

/// Begins to follow the cluster's operations, for the tabs that show them; `None`: the tab does not, or it is no cluster
/// of ours.
pub(crate) async fn watch_operations(
    state: &PortalState,
    entry: &Entry,
    tab: Tab,
) -> Option<OperationsWatch> {
    if entry.imported.is_some() || !matches!(tab, Tab::Overview | Tab::Operations) {
        return None;
    }
    Some(state.0.operations.watch(entry.id.key()).await)
}

/// The kinds that a tab watches in the cluster; none while the cluster is unreachable.
pub(crate) fn kinds(entry: &Entry, row: &tabs::LiveTab) -> &'static [Kind] {
    if entry.reachable { row.kinds } else { &[] }
}

/// The line that says how current the page is and leads to what follows; `fragments` are those of the page.
pub(crate) fn bar(input: &TabInput<'_>, tab: Tab, fragments: &[Fragment]) -> LiveBar {
    let kinds = tabs::row(tab).map_or(&[][..], |row| kinds(input.entry, row));
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
pub(crate) struct Freshness {
    pub(crate) state: LiveState,
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) why: String,
}

/// The worst state of the kinds that are shown. A kind that the cluster refuses or does not serve shows that in its own
/// panel and does not count here.
pub(crate) fn freshness(snapshot: &ClusterSnapshot, kinds: &[Kind]) -> Freshness {
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
    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.id, &self.html).hash(&mut hasher);
        hasher.finish()
    }
}
