//! Deployments, daemon sets and stateful sets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{Int, Present, member, object};
use crate::meta::{Condition, Meta};
use crate::pod::ContainerSpec;
use crate::reader::{Reader, TextValue as _};

/// Which kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum WorkloadKind {
    Deployment,
    DaemonSet,
    StatefulSet,
}

impl WorkloadKind {
    pub const ALL: [Self; 3] = [Self::Deployment, Self::StatefulSet, Self::DaemonSet];

    /// The kind of that name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name))
    }

    /// Whether it has a number of replicas; a daemon set has one pod on each node.
    pub const fn scales(self) -> bool {
        !matches!(self, Self::DaemonSet)
    }

    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::DaemonSet => "DaemonSet",
            Self::StatefulSet => "StatefulSet",
        }
    }
}

/// `deployments.apps`, `daemonsets.apps` or `statefulsets.apps`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Workload<R: Reader> {
    /// Items of a list have none.
    pub kind: R::Text<64>,
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: WorkloadSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: WorkloadStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct WorkloadSpec<R: Reader> {
    pub replicas: Int,
    /// Of a stateful set.
    pub service_name: Present,
    #[serde(deserialize_with = "object")]
    pub template: PodTemplate<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct PodTemplate<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub spec: PodTemplateSpec<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct PodTemplateSpec<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub containers: R::More<Vec<ContainerSpec<R>>>,
}

/// Those of a daemon set are named otherwise.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct WorkloadStatus<R: Reader> {
    pub replicas: Int,
    pub ready_replicas: Int,
    pub available_replicas: Int,
    pub updated_replicas: Int,
    pub observed_generation: Int,
    pub desired_number_scheduled: Int,
    pub number_ready: Int,
    pub number_available: Int,
    pub updated_number_scheduled: Int,
    #[serde(deserialize_with = "member")]
    pub conditions: R::More<Vec<Condition<R>>>,
}

impl<R: Reader> Workload<R> {
    /// Its kind: as it says, else by the members that only one kind has.
    pub fn kind(&self) -> WorkloadKind {
        match self.kind.as_str() {
            "DaemonSet" => WorkloadKind::DaemonSet,
            "StatefulSet" => WorkloadKind::StatefulSet,
            "" if self.status.desired_number_scheduled.0.is_some() => WorkloadKind::DaemonSet,
            "" if self.spec.service_name.0 => WorkloadKind::StatefulSet,
            _ => WorkloadKind::Deployment,
        }
    }

    fn count(&self, of_daemon_set: Int, of_others: Int) -> i64 {
        if self.kind() == WorkloadKind::DaemonSet { of_daemon_set.or_zero() } else { of_others.or_zero() }
    }

    /// Pods that there should be; unset means one, but for daemon sets.
    pub fn desired(&self) -> i64 {
        self.count(self.status.desired_number_scheduled, Int(Some(self.spec.replicas.0.unwrap_or(1))))
    }

    /// Pods that are ready.
    pub fn ready(&self) -> i64 {
        self.count(self.status.number_ready, self.status.ready_replicas)
    }

    /// Pods of the newest specification.
    pub fn updated(&self) -> i64 {
        self.count(self.status.updated_number_scheduled, self.status.updated_replicas)
    }

    /// Pods that have been ready for long enough.
    pub fn available(&self) -> i64 {
        self.count(self.status.number_available, self.status.available_replicas)
    }

    /// The controller has seen the newest specification.
    pub fn is_observed(&self) -> bool {
        self.status.observed_generation.or_zero() >= self.metadata.generation.or_zero()
    }

    /// Of a deployment: there are exactly as many pods as desired, all of the newest specification and available.
    pub fn is_rolled_out(&self) -> bool {
        let counts = [self.status.available_replicas, self.status.updated_replicas, self.status.replicas];
        counts.into_iter().all(|count| count.or_zero() == self.desired())
            && self.metadata.generation.or_zero() == self.status.observed_generation.or_zero()
    }
}
