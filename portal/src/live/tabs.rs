//! Which tab shows which kinds, and what renders its parts.

use std::sync::Arc;

use rp_observe::{ClusterSnapshot, Kind};
use web::{Frame, Tab};

use crate::index::Entry;
use crate::pages::{objects, operations, workloads};
use crate::state::PortalState;
use crate::user::CurrentUser;

/// What the parts of a tab are rendered from.
#[derive(Debug, Clone)]
pub(crate) struct TabInput<'a> {
    pub(crate) state: &'a PortalState,
    pub(crate) entry: &'a Entry,
    pub(crate) user: &'a CurrentUser,
    /// `now` is fixed while a page is open: the script counts ages, and unchanged parts render to the same bytes.
    pub(crate) frame: &'a Frame,
    pub(crate) snapshot: Arc<ClusterSnapshot>,
    /// The path after the tab; empty on lists.
    pub(crate) item: &'a str,
    /// The page's query, as asked.
    pub(crate) query: &'a str,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Id of its element.
    pub(crate) id: String,
    /// The element, whole.
    pub(crate) html: String,
}

/// Renders the parts of a tab. Runs a few times a second for each viewer, so it must not send requests.
pub(crate) type Fragments = fn(&TabInput<'_>) -> Vec<Fragment>;

/// A tab that follows its cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveTab {
    pub(crate) tab: Tab,
    pub(crate) kinds: &'static [Kind],
    pub(crate) fragments: Fragments,
}

/// Every tab that follows its cluster.
static TABLE: &[LiveTab] = &[
    objects(Tab::Overview, |input| objects::fragments(Tab::Overview, input)),
    objects(Tab::Operators, |input| objects::fragments(Tab::Operators, input)),
    objects(Tab::Nodes, |input| objects::fragments(Tab::Nodes, input)),
    objects(Tab::Machines, |input| objects::fragments(Tab::Machines, input)),
    objects(Tab::MachineSets, |input| objects::fragments(Tab::MachineSets, input)),
    objects(Tab::ControlPlane, |input| objects::fragments(Tab::ControlPlane, input)),
    objects(Tab::Operations, operations::fragments),
    LiveTab { tab: Tab::Pods, kinds: &workloads::POD_KINDS, fragments: workloads::pod_fragments },
    LiveTab {
        tab: Tab::Workloads,
        kinds: &workloads::WORKLOAD_KINDS,
        fragments: workloads::workload_fragments,
    },
    LiveTab { tab: Tab::Events, kinds: &workloads::EVENT_KINDS, fragments: workloads::event_fragments },
];

/// A tab of what a cluster is made of.
const fn objects(tab: Tab, fragments: Fragments) -> LiveTab {
    LiveTab { tab, kinds: &objects::KINDS, fragments }
}

/// The row of a tab.
pub(crate) fn row(tab: Tab) -> Option<&'static LiveTab> {
    TABLE.iter().find(|row| row.tab == tab)
}
