//! Events of the system namespaces and of the cluster's own objects.

use rp_base::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{Meta, Project, read};
use crate::namespaces::is_system;

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// The node of whoever says so.
    pub host: String,
}

impl Project for Event {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        // Events of nodes and other objects without a namespace stand in `default`.
        let of_cluster =
            meta.namespace == "default" && read::short_text(object, "/involvedObject/namespace").is_empty();
        if !of_cluster && !is_system(&meta.namespace) {
            return None;
        }
        let series = read::time(object, "/series/lastObservedTime");
        let at = read::time(object, "/eventTime").or(meta.created);
        let component = read::short_text(object, "/source/component");
        let count = read::number(object, "/series/count").or_else(|| read::number(object, "/count"));
        Some(Self {
            kind: read::short_text(object, "/type"),
            reason: read::short_text(object, "/reason"),
            message: read::message(object, "/message"),
            object_kind: read::short_text(object, "/involvedObject/kind"),
            object_namespace: read::short_text(object, "/involvedObject/namespace"),
            object_name: read::short_text(object, "/involvedObject/name"),
            first: read::time(object, "/firstTimestamp").or(at),
            last: series.or_else(|| read::time(object, "/lastTimestamp")).or(at),
            count: count.unwrap_or(1).max(1),
            from: if component.is_empty() {
                read::short_text(object, "/reportingComponent")
            } else {
                component
            },
            host: read::short_text(object, "/source/host"),
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
