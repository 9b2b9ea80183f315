//! The pages of one cluster and the bar that leads to them.

use crate::parts::Tone;

/// Pages of a cluster, in the order of the bar: how it is, what it is made of, what runs in it, who
/// and what works on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tab {
    /// What is wrong, and what it is.
    #[default]
    Overview,
    /// Cluster operators.
    Operators,
    /// The ARO operator: conditions and flags.
    AroOperator,
    /// Nodes.
    Nodes,
    /// Machines.
    Machines,
    /// Machine sets.
    MachineSets,
    /// Control-plane machine set and its machines.
    ControlPlane,
    /// Pods of the system namespaces.
    Pods,
    /// Deployments, daemon sets and stateful sets there.
    Workloads,
    /// Events.
    Events,
    /// Objects of any kind.
    Resources,
    /// Private link, names, addresses.
    Network,
    /// What fires.
    Alerts,
    /// Charts of its control plane.
    Statistics,
    /// PromQL.
    Explore,
    /// Who has access.
    Access,
    /// Asynchronous operations and maintenance.
    Operations,
}

impl Tab {
    /// All of them, as the bar has them.
    pub const ALL: [Self; 17] = [
        Self::Overview,
        Self::Operators,
        Self::AroOperator,
        Self::Nodes,
        Self::Machines,
        Self::MachineSets,
        Self::ControlPlane,
        Self::Pods,
        Self::Workloads,
        Self::Events,
        Self::Resources,
        Self::Network,
        Self::Alerts,
        Self::Statistics,
        Self::Explore,
        Self::Access,
        Self::Operations,
    ];

    /// Its segment of the path after the resource id.
    #[must_use]
    pub const fn segment(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Operators => "operators",
            Self::AroOperator => "aro-operator",
            Self::Nodes => "nodes",
            Self::Machines => "machines",
            Self::MachineSets => "machinesets",
            Self::ControlPlane => "controlplane",
            Self::Pods => "pods",
            Self::Workloads => "workloads",
            Self::Events => "events",
            Self::Resources => "resources",
            Self::Network => "network",
            Self::Alerts => "alerts",
            Self::Statistics => "statistics",
            Self::Explore => "explore",
            Self::Access => "access",
            Self::Operations => "operations",
        }
    }

    /// The page of that segment.
    #[must_use]
    pub fn from_segment(segment: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.segment().eq_ignore_ascii_case(segment))
    }

    /// Its name.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Operators => "Operators",
            Self::AroOperator => "ARO operator",
            Self::Nodes => "Nodes",
            Self::Machines => "Machines",
            Self::MachineSets => "Machine sets",
            Self::ControlPlane => "Control plane",
            Self::Pods => "Pods",
            Self::Workloads => "Workloads",
            Self::Events => "Events",
            Self::Resources => "Resources",
            Self::Network => "Network",
            Self::Alerts => "Alerts",
            Self::Statistics => "Statistics",
            Self::Explore => "Explore",
            Self::Access => "Access",
            Self::Operations => "Operations",
        }
    }

    /// Key that opens it, or empty.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Explore => "q",
            _ => "",
        }
    }

    /// Its page has a script of its own, so that it is loaded and left whole.
    #[must_use]
    pub const fn scripted(self) -> bool {
        matches!(self, Self::Statistics | Self::Explore)
    }

    /// It stands behind "More": the bar has room for one row at 1280 pixels.
    #[must_use]
    pub const fn folded(self) -> bool {
        matches!(
            self,
            Self::AroOperator | Self::MachineSets | Self::ControlPlane | Self::Network | Self::Statistics
        )
    }

    /// A new group of the bar begins with it.
    #[must_use]
    pub const fn begins_group(self) -> bool {
        matches!(self, Self::Pods | Self::Alerts | Self::Access)
    }
}

/// A number beside a tab: how many need attention there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TabCount {
    /// The tab.
    pub tab: Tab,
    /// How many; nothing is shown for none.
    pub count: u64,
    /// How bad the worst is.
    pub tone: Tone,
}
