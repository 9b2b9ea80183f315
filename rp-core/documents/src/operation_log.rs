//! What an operation on a cluster did, step by step: for the portal's operations tab and `aro operations watch`.

use std::time::Duration;

use rp_base::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Collection, Document, Unknown};

/// One operation from its first step to its end, over all phases and processes. Writer: the lease holder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationLog {
    /// A lower-case UUID: the asynchronous operation's name, else one of its own.
    pub id: String,
    /// The cluster's lower-cased resource id.
    pub key: String,
    /// `Creating`, `Updating`, `AdminUpdating`, `Deleting`.
    pub kind: String,
    /// `Bootstrap`, `RemoveBootstrap`; of admin updates their task; else empty.
    #[serde(default)]
    pub phase: String,
    pub started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// A terminal provisioning state, once ended.
    #[serde(default)]
    pub result: String,
    /// Who asked: `systemData.lastModifiedBy` when it began.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked_by: String,
    /// The document's `correlationData` when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Value>,
    /// What an SRE reads of the failure; no secrets.
    #[serde(default)]
    pub error: String,
    /// How often a worker took it.
    #[serde(default)]
    pub attempt: u32,
    /// Lease token of the last writer. A write with a smaller token is older and is ignored, whenever it arrives.
    #[serde(default)]
    pub token: u64,
    /// In their order; the last one may still run.
    pub steps: Vec<StepRecord>,
    /// How many steps the plan of the phase has.
    #[serde(default)]
    pub planned: u32,
    /// The newest lines, oldest first.
    pub lines: Vec<LogLine>,
    /// Of a failure (`contract/cluster.md` §14).
    #[serde(default)]
    pub diagnostics: Vec<Diagnostic>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OperationStep")]
pub struct StepRecord {
    /// Its stored name, e.g. `condition.apiServersReady`.
    pub name: String,
    /// Its place in the plan of its phase, from 1; 0: not known.
    #[serde(default)]
    pub at: u32,
    pub started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    pub attempts: u32,
    /// What it waits for, or why it failed.
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub failed: bool,
}

/// A sentence for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OperationLine")]
pub struct LogLine {
    pub at: Timestamp,
    /// `info`, `warning`, `error`.
    pub level: String,
    pub text: String,
}

/// A named text, e.g. the tail of a serial console.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OperationDiagnostic")]
pub struct Diagnostic {
    pub name: String,
    pub text: String,
}

impl OperationLog {
    /// Lines kept.
    pub const MOST_LINES: usize = 200;
    /// The store deletes a log this long after its last write.
    pub const LIFE: Duration = Duration::from_hours(30 * 24);
}

impl Document for OperationLog {
    const COLLECTION: Collection = Collection::OperationLogs;

    fn id(&self) -> &str {
        &self.id
    }

    /// All logs of a cluster share a partition.
    fn partition(&self) -> &str {
        &self.key
    }
}
