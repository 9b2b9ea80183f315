//! Deployments, daemon sets and stateful sets of the system namespaces.

use serde::Serialize;
use serde_json::Value;

use super::{Condition, Meta, Project, read};
use crate::namespaces::is_system;

/// Which kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum WorkloadKind {
    Deployment,
    DaemonSet,
    StatefulSet,
}

impl WorkloadKind {
    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::DaemonSet => "DaemonSet",
            Self::StatefulSet => "StatefulSet",
        }
    }
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    pub kind: WorkloadKind,
    #[serde(flatten)]
    pub meta: Meta,
    pub desired: i64,
    pub ready: i64,
    pub updated: i64,
    pub available: i64,
    /// Images of its containers.
    pub images: Vec<String>,
    pub conditions: Vec<Condition>,
    /// The controller has seen the newest specification.
    pub observed: bool,
}

impl Project for Workload {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        if !is_system(&meta.namespace) {
            return None;
        }
        let count = |at: &str| read::number(object, at).unwrap_or(0);
        // Items of a list have no `kind`; the status of a daemon set has different members.
        let kind = match object.get("kind").and_then(Value::as_str) {
            Some("DaemonSet") => WorkloadKind::DaemonSet,
            Some("StatefulSet") => WorkloadKind::StatefulSet,
            Some(_) => WorkloadKind::Deployment,
            None if object.pointer("/status/desiredNumberScheduled").is_some() => WorkloadKind::DaemonSet,
            None if object.pointer("/spec/serviceName").is_some() => WorkloadKind::StatefulSet,
            None => WorkloadKind::Deployment,
        };
        let daemon = kind == WorkloadKind::DaemonSet;
        let generation = count("/metadata/generation");
        Some(Self {
            kind,
            desired: if daemon {
                count("/status/desiredNumberScheduled")
            } else {
                read::number(object, "/spec/replicas").unwrap_or(1)
            },
            ready: count(if daemon { "/status/numberReady" } else { "/status/readyReplicas" }),
            updated: count(if daemon { "/status/updatedNumberScheduled" } else { "/status/updatedReplicas" }),
            available: count(if daemon { "/status/numberAvailable" } else { "/status/availableReplicas" }),
            images: read::list(object, "/spec/template/spec/containers")
                .map(|container| read::text(container, "/image", 500))
                .collect(),
            conditions: read::conditions(object, "/status/conditions"),
            observed: count("/status/observedGeneration") >= generation,
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

impl Workload {
    /// As many replicas are ready as desired.
    pub fn is_well(&self) -> bool {
        self.ready >= self.desired && self.observed
    }
}
