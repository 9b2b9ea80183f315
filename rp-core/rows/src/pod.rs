//! Pods of the system namespaces.

use rp_base::Timestamp;
use rp_openshift::{self as openshift, ContainerState, Status, Whole};
use schemars::JsonSchema;
use serde::Serialize;

use super::{MOST_ITEMS, Meta, Project, read};
use crate::namespaces::is_system;

/// A pod.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pod {
    #[serde(flatten)]
    pub meta: Meta,
    /// `status.phase`.
    pub phase: String,
    /// Its status in one word, as `kubectl get pods` computes it: the phase, or why a container waits or ended.
    pub status: String,
    pub reason: String,
    pub message: String,
    pub ready: Status,
    pub ready_since: Option<Timestamp>,
    pub node: String,
    /// Kind and name of what made it; empty when it stands alone.
    pub owner_kind: String,
    pub owner: String,
    pub ip: String,
    pub started: Option<Timestamp>,
    pub containers: Vec<Container>,
    pub init_containers: Vec<Container>,
}

/// A container and its state.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Container {
    pub name: String,
    pub image: String,
    pub ready: bool,
    pub restarts: i64,
    pub state: ContainerState,
    /// Why it waits or ended.
    pub reason: String,
    pub message: String,
    /// Start time if it runs, end time if it ended.
    pub since: Option<Timestamp>,
    pub exit_code: Option<i64>,
    /// Why it ended the last time: reason, exit code, instant.
    pub last: Option<(String, i64, Option<Timestamp>)>,
}

impl Project for Pod {
    type Object = openshift::Pod<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        if !is_system(&meta.namespace) {
            return None;
        }
        let (spec, status) = (&object.spec, &object.status);
        let ready = openshift::condition(&status.conditions, "Ready");
        let owner = object.metadata.owner_references.first();
        Some(Self {
            status: read::short_text(&object.word()),
            phase: read::short(&status.phase),
            reason: read::short(&status.reason),
            message: read::message(&status.message),
            ready: object.ready(),
            ready_since: ready.and_then(|ready| ready.last_transition_time.0),
            node: read::short(&spec.node_name),
            owner_kind: owner.map(|owner| read::short(&owner.kind)).unwrap_or_default(),
            owner: owner.map(|owner| read::short(&owner.name)).unwrap_or_default(),
            ip: read::short(&status.pod_ip),
            started: status.start_time.0,
            containers: object.containers().take(MOST_ITEMS).map(container).collect(),
            init_containers: object.init_containers().take(MOST_ITEMS).map(container).collect(),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

fn container((spec, status): openshift::ContainerPair<'_>) -> Container {
    let (state, detail) = status.map_or((ContainerState::Unknown, None), |status| status.state.current());
    let last = status.and_then(|status| status.last_state.terminated.as_ref());
    Container {
        name: read::short(&spec.name),
        image: read::text(&spec.image, 500),
        ready: status.is_some_and(|status| status.ready),
        restarts: status.map_or(0, |status| status.restart_count.or_zero()),
        state,
        reason: detail.map(|detail| read::short(&detail.reason)).unwrap_or_default(),
        message: detail.map(|detail| read::message(&detail.message)).unwrap_or_default(),
        since: detail.and_then(|detail| detail.started_at.0.or(detail.finished_at.0)),
        exit_code: detail.and_then(|detail| detail.exit_code.0),
        last: last.map(|last| (read::short(&last.reason), last.exit_code.or_zero(), last.finished_at.0)),
    }
}

impl Pod {
    /// Restarts of all its containers.
    pub fn restarts(&self) -> i64 {
        self.containers.iter().fold(0, |sum, container| sum.saturating_add(container.restarts))
    }

    /// Containers that are ready.
    pub fn ready_containers(&self) -> usize {
        self.containers.iter().filter(|container| container.ready).count()
    }

    /// Ready, or finished successfully.
    pub fn is_well(&self) -> bool {
        self.phase == "Succeeded"
            || (self.phase == "Running" && self.ready.is_true() && self.meta.deleting.is_none())
    }
}
