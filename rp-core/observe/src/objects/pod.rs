//! Pods of the system namespaces.

use rp_base::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{Meta, Project, Status, condition_state, read};
use crate::namespaces::is_system;

/// A pod.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// The state of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerState {
    Waiting,
    Running,
    Terminated,
    Unknown,
}

impl Project for Pod {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        if !is_system(&meta.namespace) {
            return None;
        }
        let ready = condition_state(&read::conditions(object, "/status/conditions"), "Ready");
        let owner = read::list(object, "/metadata/ownerReferences").next();
        let containers = containers(object, "/spec/containers", "/status/containerStatuses");
        let init_containers = containers_init(object);
        let phase = read::short_text(object, "/status/phase");
        let reason = read::short_text(object, "/status/reason");
        Some(Self {
            status: status(&meta, &phase, &reason, &containers, &init_containers),
            phase,
            reason,
            message: read::message(object, "/status/message"),
            ready: ready.status,
            ready_since: ready.since,
            node: read::short_text(object, "/spec/nodeName"),
            owner_kind: owner.map(|owner| read::short_text(owner, "/kind")).unwrap_or_default(),
            owner: owner.map(|owner| read::short_text(owner, "/name")).unwrap_or_default(),
            ip: read::short_text(object, "/status/podIP"),
            started: read::time(object, "/status/startTime"),
            containers,
            init_containers,
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

fn containers_init(object: &Value) -> Vec<Container> {
    containers(object, "/spec/initContainers", "/status/initContainerStatuses")
}

fn containers(object: &Value, specs: &str, statuses: &str) -> Vec<Container> {
    let of = |spec: &Value| {
        let name = read::short_text(spec, "/name");
        let status = read::list(object, statuses).find(|status| status["name"] == spec["name"]);
        container(name, spec, status.unwrap_or(&Value::Null))
    };
    read::list(object, specs).map(of).collect()
}

fn container(name: String, spec: &Value, status: &Value) -> Container {
    let at = |state: &str| status.pointer("/state").and_then(|all| all.get(state)).filter(|s| s.is_object());
    let (state, found) = if let Some(found) = at("running") {
        (ContainerState::Running, found)
    } else if let Some(found) = at("terminated") {
        (ContainerState::Terminated, found)
    } else if let Some(found) = at("waiting") {
        (ContainerState::Waiting, found)
    } else {
        (ContainerState::Unknown, &Value::Null)
    };
    let last = status.pointer("/lastState/terminated").filter(|last| last.is_object());
    Container {
        name,
        image: read::text(spec, "/image", 500),
        ready: read::flag(status, "/ready"),
        restarts: read::number(status, "/restartCount").unwrap_or(0),
        state,
        reason: read::short_text(found, "/reason"),
        message: read::message(found, "/message"),
        since: read::time(found, "/startedAt").or_else(|| read::time(found, "/finishedAt")),
        exit_code: read::number(found, "/exitCode"),
        last: last.map(|last| {
            let code = read::number(last, "/exitCode").unwrap_or(0);
            (read::short_text(last, "/reason"), code, read::time(last, "/finishedAt"))
        }),
    }
}

fn status(meta: &Meta, phase: &str, reason: &str, containers: &[Container], init: &[Container]) -> String {
    if meta.deleting.is_some() {
        return "Terminating".to_owned();
    }
    let why = |container: &Container| match container.state {
        ContainerState::Waiting => (!container.reason.is_empty()).then(|| container.reason.clone()),
        ContainerState::Terminated if phase == "Running" || container.exit_code.unwrap_or(0) != 0 => {
            let code = container.exit_code.unwrap_or(0);
            let reason = container.reason.clone();
            Some(if reason.is_empty() { format!("ExitCode:{code}") } else { reason })
        }
        _ => None,
    };
    let waits = |container: &&Container| {
        let done = container.state == ContainerState::Terminated && container.exit_code == Some(0);
        // A restartable init container (sidecar) keeps running.
        !done && container.state != ContainerState::Running
    };
    if let Some(container) = init.iter().find(waits).filter(|_| phase == "Pending") {
        return match why(container) {
            Some(reason) if reason != "PodInitializing" => format!("Init:{reason}"),
            _ => "Init".to_owned(),
        };
    }
    let found = containers.iter().find_map(why);
    found.unwrap_or_else(|| if reason.is_empty() { phase.to_owned() } else { reason.to_owned() })
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
