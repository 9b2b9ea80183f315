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
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for ClusterHealth {
    const COLLECTION: Collection = Collection::ClusterHealth;

    fn id(&self) -> &str {
        &self.id
    }
}
