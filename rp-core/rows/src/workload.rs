//! Deployments, daemon sets and stateful sets of the system namespaces.

use rp_openshift::{self as openshift, Whole, WorkloadKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Condition, Meta, Project, read};
use crate::namespaces::is_system;

/// A workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    type Object = openshift::Workload<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        if !is_system(&meta.namespace) {
            return None;
        }
        Some(Self {
            kind: object.kind(),
            desired: object.desired(),
            ready: object.ready(),
            updated: object.updated(),
            available: object.available(),
            images: read::list(&object.spec.template.spec.containers, |container| {
                read::text(&container.image, 500)
            }),
            conditions: read::conditions(&object.status.conditions),
            observed: object.is_observed(),
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
