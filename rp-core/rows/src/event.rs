//! Events of the system namespaces and of the cluster's own objects.

use rp_base::Timestamp;
use rp_openshift::{self as openshift, Whole};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Meta, Project, read};
use crate::namespaces::is_system;

/// An event.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Event {
    #[serde(flatten)]
    pub meta: Meta,
    /// `Warning` or `Normal`.
    #[serde(rename = "type")]
    pub kind: String,
    pub reason: String,
    pub message: String,
    /// What it is about.
    pub object_kind: String,
    pub object_namespace: String,
    pub object_name: String,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    pub count: i64,
    /// Who says so.
    pub from: String,
    /// The node of the component that reports the event.
    pub host: String,
}

impl Project for Event {
    type Object = openshift::Event<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        let about = &object.involved_object;
        // Events of nodes and other objects without a namespace stand in `default`.
        let of_cluster = meta.namespace == "default" && about.namespace.is_empty();
        if !of_cluster && !is_system(&meta.namespace) {
            return None;
        }
        Some(Self {
            kind: read::short(&object.kind),
            reason: read::short(&object.reason),
            message: read::message(&object.message),
            object_kind: read::short(&about.kind),
            object_namespace: read::short(&about.namespace),
            object_name: read::short(&about.name),
            first: object.first(),
            last: object.last(),
            count: object.times(),
            from: read::short_text(object.reporter()),
            host: read::short(&object.source.host),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }

    fn age(&self) -> Option<Timestamp> {
        self.last
    }
}

impl Event {
    pub fn is_warning(&self) -> bool {
        self.kind == "Warning"
    }
}
