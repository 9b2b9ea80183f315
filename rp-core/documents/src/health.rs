//! Result of the last check of a cluster (`contract/rules.md` §5.14). Writer: monitor (in `aro-dev`: the
//! simulator), on change only.

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Unknown};

/// One collector of a check, and why it failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorResult {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Absent: it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// What a check found of a cluster, in one word; the worst that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its API server did not answer.
    NoAnswer,
    /// It answers, and an operator is degraded or a node is not ready.
    Degraded,
    /// It answers, and neither is so.
    Healthy,
}

/// The last check. The id is the cluster document's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterHealth {
    pub id: String,
    pub looked_at: Timestamp,
    #[serde(default)]
    pub took_ms: u64,
    #[serde(default)]
    pub collectors: Vec<CollectorResult>,
    #[serde(default)]
    pub operators_degraded: Vec<String>,
    #[serde(default)]
    pub nodes_not_ready: u32,
    #[serde(default)]
    pub nodes: u32,
    #[serde(default)]
    pub alerts: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_expiry: Option<Timestamp>,
    #[serde(default)]
    pub version: String,
    /// Target version of the upgrade in progress; empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub updating_to: String,
    /// Status of the API server's `/healthz`; 0: no answer; absent: not queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthz: Option<u16>,
    /// Since when checks find its [`Standing`]; absent in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl ClusterHealth {
    /// Whether the API server answered: by its own health endpoint where that was asked, else by the collectors, which
    /// all depend on the one that asks the API server.
    pub fn answers(&self) -> bool {
        let failed = |collector: &CollectorResult| collector.error.is_some();
        let all_failed = !self.collectors.is_empty() && self.collectors.iter().all(failed);
        let server_failed =
            self.collectors.iter().any(|c| failed(c) && c.name.to_ascii_lowercase().contains("apiserver"));
        self.healthz.map_or(!all_failed && !server_failed, |status| status != 0)
    }

    /// What the check found.
    pub fn standing(&self) -> Standing {
        if !self.answers() {
            Standing::NoAnswer
        } else if !self.operators_degraded.is_empty() || self.nodes_not_ready > 0 {
            Standing::Degraded
        } else {
            Standing::Healthy
        }
    }
}

impl Document for ClusterHealth {
    const COLLECTION: Collection = Collection::ClusterHealth;

    fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(rest: &serde_json::Value) -> ClusterHealth {
        let mut document = serde_json::json!({"id": "x", "looked_at": "2026-11-21T03:12:00Z"});
        document.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn the_worst_that_a_check_found_is_its_standing() {
        let standing = |rest: serde_json::Value| health(&rest).standing();
        assert_eq!(standing(serde_json::json!({})), Standing::Healthy);
        assert_eq!(standing(serde_json::json!({"nodes_not_ready": 1})), Standing::Degraded);
        assert_eq!(standing(serde_json::json!({"operators_degraded": ["etcd"]})), Standing::Degraded);
        let both = serde_json::json!({"healthz": 0, "operators_degraded": ["etcd"]});
        assert_eq!(standing(both), Standing::NoAnswer);
        let failed = serde_json::json!({"collectors": [{"name": "nodes", "error": "no answer"}]});
        assert_eq!(standing(failed), Standing::NoAnswer);
        assert_eq!(health(&serde_json::json!({})).since, None);
    }
}
