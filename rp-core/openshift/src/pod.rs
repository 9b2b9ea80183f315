//! Pods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{Int, Time, member, object};
use crate::meta::{Condition, Meta, Status, status_of};
use crate::reader::{Reader, TextValue as _, Whole};

/// `pods`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Pod<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: PodSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: PodStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct PodSpec<R: Reader> {
    pub node_name: R::Text<253>,
    #[serde(deserialize_with = "member")]
    pub containers: R::More<Vec<ContainerSpec<R>>>,
    #[serde(deserialize_with = "member")]
    pub init_containers: R::More<Vec<ContainerSpec<R>>>,
    /// Added to a running pod, for debugging.
    #[serde(deserialize_with = "member")]
    pub ephemeral_containers: R::More<Vec<ContainerSpec<R>>>,
}

/// A container as the specification has it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ContainerSpec<R: Reader> {
    pub name: R::Text<253>,
    pub image: R::Text<512>,
    #[serde(deserialize_with = "member")]
    pub ports: Vec<ContainerPort<R>>,
    #[serde(deserialize_with = "member")]
    pub env: R::More<Vec<EnvironmentVariable<R>>>,
}

/// One of a container's `env`; one whose value comes from elsewhere has none.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct EnvironmentVariable<R: Reader> {
    pub name: R::Text<253>,
    pub value: R::Text<1024>,
}

/// One of a container's `ports`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct ContainerPort<R: Reader> {
    pub name: R::Text<64>,
    pub container_port: Int,
}

/// One of `status.podIPs`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct PodAddress<R: Reader> {
    pub ip: R::Text<64>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct PodStatus<R: Reader> {
    pub phase: R::Text<64>,
    pub reason: R::Text<253>,
    #[serde(deserialize_with = "member")]
    pub message: R::More<R::Text<1024>>,
    #[serde(deserialize_with = "member")]
    pub conditions: Vec<Condition<R>>,
    #[serde(deserialize_with = "member")]
    pub container_statuses: Vec<ContainerStatus<R>>,
    #[serde(deserialize_with = "member")]
    pub init_container_statuses: R::More<Vec<ContainerStatus<R>>>,
    #[serde(rename = "podIP", deserialize_with = "member")]
    pub pod_ip: R::More<R::Text<64>>,
    /// `podIPs`: of both families, where the cluster has both.
    #[serde(rename = "podIPs", deserialize_with = "member")]
    pub pod_ips: R::More<Vec<PodAddress<R>>>,
    #[serde(deserialize_with = "member")]
    pub start_time: R::More<Time>,
}

/// One of `status.containerStatuses`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct ContainerStatus<R: Reader> {
    pub name: R::Text<253>,
    #[serde(deserialize_with = "member")]
    pub ready: R::More<bool>,
    pub restart_count: Int,
    #[serde(deserialize_with = "object")]
    pub state: ContainerStates<R>,
    #[serde(deserialize_with = "object")]
    pub last_state: ContainerStates<R>,
}

/// The state of a container: one of these is there.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ContainerStates<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub running: R::More<Option<StateDetail<R>>>,
    #[serde(deserialize_with = "member")]
    pub waiting: Option<StateDetail<R>>,
    #[serde(deserialize_with = "member")]
    pub terminated: Option<StateDetail<R>>,
}

/// Why a container waits or ended, and since when.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct StateDetail<R: Reader> {
    pub reason: R::Text<253>,
    pub message: R::Text<1024>,
    #[serde(deserialize_with = "member")]
    pub started_at: R::More<Time>,
    #[serde(deserialize_with = "member")]
    pub finished_at: R::More<Time>,
    #[serde(deserialize_with = "member")]
    pub exit_code: R::More<Int>,
}

/// The state of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContainerState {
    Waiting,
    Running,
    Terminated,
    Unknown,
}

impl ContainerStates<Whole> {
    /// The state, with its detail.
    pub fn current(&self) -> (ContainerState, Option<&StateDetail<Whole>>) {
        if let Some(detail) = &self.running {
            (ContainerState::Running, Some(detail))
        } else if let Some(detail) = &self.terminated {
            (ContainerState::Terminated, Some(detail))
        } else if let Some(detail) = &self.waiting {
            (ContainerState::Waiting, Some(detail))
        } else {
            (ContainerState::Unknown, None)
        }
    }
}

impl StateDetail<Whole> {
    fn code(&self) -> i64 {
        self.exit_code.or_zero()
    }
}

impl<R: Reader> Pod<R> {
    /// The status of the condition of type `Ready`.
    pub fn ready(&self) -> Status {
        status_of(&self.status.conditions, "Ready")
    }

    /// All its containers ended well.
    pub fn is_over(&self) -> bool {
        self.status.phase.as_str() == "Succeeded"
    }

    /// Restarts of its containers.
    pub fn restarts(&self) -> i64 {
        let counts = self.status.container_statuses.iter().map(|container| container.restart_count.or_zero());
        counts.fold(0, i64::saturating_add)
    }
}

impl<R: Reader> ContainerStatus<R> {
    /// Why it waits: reason and message; `None`: it does not.
    pub fn waiting(&self) -> Option<(&str, &str)> {
        self.state.waiting.as_ref().map(|waiting| (waiting.reason.as_str(), waiting.message.as_str()))
    }

    /// Why it ended the last time; empty when it never did.
    pub fn last_end(&self) -> &str {
        self.last_state.terminated.as_ref().map_or("", |last| last.reason.as_str())
    }
}

/// A container's specification, and its status where there is one.
pub type ContainerPair<'a> = (&'a ContainerSpec<Whole>, Option<&'a ContainerStatus<Whole>>);

fn pairs<'a>(
    specs: &'a [ContainerSpec<Whole>],
    statuses: &'a [ContainerStatus<Whole>],
) -> impl Iterator<Item = ContainerPair<'a>> {
    specs.iter().map(|spec| (spec, statuses.iter().find(|status| status.name == spec.name)))
}

impl Pod<Whole> {
    /// Its containers, in the order of the specification.
    pub fn containers(&self) -> impl Iterator<Item = ContainerPair<'_>> {
        pairs(&self.spec.containers, &self.status.container_statuses)
    }

    /// Its init containers, in the order of the specification.
    pub fn init_containers(&self) -> impl Iterator<Item = ContainerPair<'_>> {
        pairs(&self.spec.init_containers, &self.status.init_container_statuses)
    }

    /// Its status in one word, as `kubectl get pods` computes it: the phase, or why a container waits or ended.
    pub fn word(&self) -> String {
        if self.metadata.deletion_timestamp.0.is_some() {
            return "Terminating".to_owned();
        }
        let (phase, reason) = (self.status.phase.as_str(), self.status.reason.as_str());
        if phase == "Pending"
            && let Some((_, status)) = self.init_containers().find(|(_, status)| is_unfinished(*status))
        {
            return match why(phase, status) {
                Some(reason) if reason != "PodInitializing" => format!("Init:{reason}"),
                _ => "Init".to_owned(),
            };
        }
        let found = self.containers().find_map(|(_, status)| why(phase, status));
        found.unwrap_or_else(|| if reason.is_empty() { phase.to_owned() } else { reason.to_owned() })
    }
}

/// Why a container waits or ended; `None`: it runs, or ended as it should.
fn why(phase: &str, status: Option<&ContainerStatus<Whole>>) -> Option<String> {
    let (state, detail) = status?.state.current();
    let (reason, code) = (detail?.reason.as_str(), detail?.code());
    match state {
        ContainerState::Waiting => (!reason.is_empty()).then(|| reason.to_owned()),
        ContainerState::Terminated if phase == "Running" || code != 0 => {
            Some(if reason.is_empty() { format!("ExitCode:{code}") } else { reason.to_owned() })
        }
        _ => None,
    }
}

/// Whether an init container has still to run. One that keeps running (a sidecar) has not.
fn is_unfinished(status: Option<&ContainerStatus<Whole>>) -> bool {
    match status.map(|status| status.state.current()) {
        Some((ContainerState::Terminated, Some(detail))) => detail.exit_code.0 != Some(0),
        Some((ContainerState::Running, _)) => false,
        _ => true,
    }
}
