//! The known state of a cluster at one moment.

use std::fmt;
use std::sync::Arc;

use rp_base::Timestamp;
use rp_rows::{
    AroCluster, ControlPlaneMachineSet, Etcd, Event, Infrastructure, IngressController, Machine, MachineSet,
    Network, Node, Operator, Pod, Pool, Proxy, Version, Workload, read,
};
use serde::{Serialize, Serializer};

use crate::kinds::Kind;

/// A message for users: cleaned, bounded, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DisplayText(Arc<str>);

impl DisplayText {
    pub fn new(text: &str) -> Self {
        Self(read::clean_text(text, 500).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DisplayText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for DisplayText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// How current a slice is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SliceState {
    /// This kind has no viewer.
    #[default]
    NotAsked,
    /// The first list is being read; items, if any, are from before or from the pages read so far.
    Loading,
    /// A watch is open: the items are current.
    Live,
    /// The watch broke; the items are the last known ones.
    Stale { since: Timestamp, why: DisplayText },
    /// The cluster does not let us read this kind.
    Forbidden(DisplayText),
    /// The cluster does not serve this kind.
    Missing,
    /// Nothing was ever read, for this reason.
    Failed(DisplayText),
}

impl SliceState {
    /// The state as one word, as in JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::Loading => "loading",
            Self::Live => "live",
            Self::Stale { .. } => "stale",
            Self::Forbidden(_) => "forbidden",
            Self::Missing => "missing",
            Self::Failed(_) => "failed",
        }
    }

    /// Why it is not live, where there is a reason.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Stale { why, .. } | Self::Forbidden(why) | Self::Failed(why) => Some(why.as_str()),
            Self::NotAsked | Self::Loading | Self::Live | Self::Missing => None,
        }
    }

    /// A result has arrived, data or error.
    pub const fn is_settled(&self) -> bool {
        !matches!(self, Self::NotAsked | Self::Loading)
    }
}

/// The objects of one kind. In every state `items` are the last known objects, as of `as_of`.
#[derive(Debug)]
pub struct Slice<T> {
    /// By namespace and name; events by their instant, newest first.
    pub items: Arc<[Arc<T>]>,
    pub state: SliceState,
    /// When the API server last sent data of this kind.
    pub as_of: Option<Timestamp>,
    /// Number of objects beyond the bound.
    pub left_out: usize,
}

impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        Self {
            items: Arc::clone(&self.items),
            state: self.state.clone(),
            as_of: self.as_of,
            left_out: self.left_out,
        }
    }
}

impl<T> Default for Slice<T> {
    fn default() -> Self {
        Self { items: Arc::default(), state: SliceState::NotAsked, as_of: None, left_out: 0 }
    }
}

impl<T> Slice<T> {
    /// The first object, for kinds with a single object.
    pub fn first(&self) -> Option<&T> {
        self.items.first().map(AsRef::as_ref)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(AsRef::as_ref)
    }

    /// A live slice of these objects, for samples and tests.
    pub fn live(items: Vec<T>, as_of: Timestamp) -> Self {
        let items = items.into_iter().map(Arc::new).collect();
        Self { items, state: SliceState::Live, as_of: Some(as_of), left_out: 0 }
    }
}

/// The known state of a cluster. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ClusterSnapshot {
    /// When this snapshot last changed.
    pub at: Timestamp,
    pub version: Slice<Version>,
    pub operators: Slice<Operator>,
    pub nodes: Slice<Node>,
    pub machines: Slice<Machine>,
    pub machine_sets: Slice<MachineSet>,
    pub control_plane_machine_sets: Slice<ControlPlaneMachineSet>,
    pub pools: Slice<Pool>,
    pub pods: Slice<Pod>,
    pub deployments: Slice<Workload>,
    pub daemon_sets: Slice<Workload>,
    pub stateful_sets: Slice<Workload>,
    pub events: Slice<Event>,
    pub etcd: Slice<Etcd>,
    pub infrastructure: Slice<Infrastructure>,
    pub network: Slice<Network>,
    pub proxy: Slice<Proxy>,
    pub ingress_controllers: Slice<IngressController>,
    pub aro_cluster: Slice<AroCluster>,
}

/// A slice without its items.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceSummary {
    pub kind: Kind,
    pub state: SliceState,
    pub as_of: Option<Timestamp>,
    pub items: usize,
    pub left_out: usize,
}

impl ClusterSnapshot {
    /// Nothing is known yet.
    pub fn empty(at: Timestamp) -> Self {
        Self {
            at,
            version: Slice::default(),
            operators: Slice::default(),
            nodes: Slice::default(),
            machines: Slice::default(),
            machine_sets: Slice::default(),
            control_plane_machine_sets: Slice::default(),
            pools: Slice::default(),
            pods: Slice::default(),
            deployments: Slice::default(),
            daemon_sets: Slice::default(),
            stateful_sets: Slice::default(),
            events: Slice::default(),
            etcd: Slice::default(),
            infrastructure: Slice::default(),
            network: Slice::default(),
            proxy: Slice::default(),
            ingress_controllers: Slice::default(),
            aro_cluster: Slice::default(),
        }
    }

    /// The summary of a kind's slice.
    pub fn summary(&self, kind: Kind) -> SliceSummary {
        fn summary_of_slice<T>(kind: Kind, slice: &Slice<T>) -> SliceSummary {
            let (state, as_of) = (slice.state.clone(), slice.as_of);
            SliceSummary { kind, state, as_of, items: slice.items.len(), left_out: slice.left_out }
        }
        match kind {
            Kind::Version => summary_of_slice(kind, &self.version),
            Kind::Operators => summary_of_slice(kind, &self.operators),
            Kind::Nodes => summary_of_slice(kind, &self.nodes),
            Kind::Machines => summary_of_slice(kind, &self.machines),
            Kind::MachineSets => summary_of_slice(kind, &self.machine_sets),
            Kind::ControlPlaneMachineSets => summary_of_slice(kind, &self.control_plane_machine_sets),
            Kind::Pools => summary_of_slice(kind, &self.pools),
            Kind::Pods => summary_of_slice(kind, &self.pods),
            Kind::Deployments => summary_of_slice(kind, &self.deployments),
            Kind::DaemonSets => summary_of_slice(kind, &self.daemon_sets),
            Kind::StatefulSets => summary_of_slice(kind, &self.stateful_sets),
            Kind::Events => summary_of_slice(kind, &self.events),
            Kind::Etcd => summary_of_slice(kind, &self.etcd),
            Kind::Infrastructure => summary_of_slice(kind, &self.infrastructure),
            Kind::Network => summary_of_slice(kind, &self.network),
            Kind::Proxy => summary_of_slice(kind, &self.proxy),
            Kind::IngressControllers => summary_of_slice(kind, &self.ingress_controllers),
            Kind::AroCluster => summary_of_slice(kind, &self.aro_cluster),
        }
    }

    pub(crate) fn set_state(&mut self, kind: Kind, state: &SliceState) {
        let state = state.clone();
        match kind {
            Kind::Version => self.version.state = state,
            Kind::Operators => self.operators.state = state,
            Kind::Nodes => self.nodes.state = state,
            Kind::Machines => self.machines.state = state,
            Kind::MachineSets => self.machine_sets.state = state,
            Kind::ControlPlaneMachineSets => self.control_plane_machine_sets.state = state,
            Kind::Pools => self.pools.state = state,
            Kind::Pods => self.pods.state = state,
            Kind::Deployments => self.deployments.state = state,
            Kind::DaemonSets => self.daemon_sets.state = state,
            Kind::StatefulSets => self.stateful_sets.state = state,
            Kind::Events => self.events.state = state,
            Kind::Etcd => self.etcd.state = state,
            Kind::Infrastructure => self.infrastructure.state = state,
            Kind::Network => self.network.state = state,
            Kind::Proxy => self.proxy.state = state,
            Kind::IngressControllers => self.ingress_controllers.state = state,
            Kind::AroCluster => self.aro_cluster.state = state,
        }
    }

    /// Deployments, daemon sets and stateful sets, one after the other.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.deployments.iter().chain(self.daemon_sets.iter()).chain(self.stateful_sets.iter())
    }
}
