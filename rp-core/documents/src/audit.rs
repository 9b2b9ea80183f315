//! Audit entries (`contract/rules.md` §5.11). Appended by every edge; never changed.

use rp_base::{Digest, Id, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ResourceId, Side};

/// The phase of an action that an entry records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AuditPhase")]
pub enum Phase {
    /// Before the first byte went to the cluster.
    Start,
    /// After the last.
    End,
    /// The whole action in one entry.
    Single,
}

/// Who acted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditActor")]
pub struct Actor {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sub: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Network address without the port.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
}

/// How an action ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditOutcome")]
pub struct Outcome {
    /// HTTP status, or 0 where there was none.
    #[serde(default)]
    pub status: u16,
    /// A stable word: `ok`, `refused`, `failed`, `cut`.
    pub word: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
}

/// One entry. `writer`, `seq` and `prev` are set by the audit writer when it takes the entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditEntry")]
pub struct Entry {
    pub v: u8,
    #[serde(default)]
    pub writer: String,
    #[serde(default)]
    pub seq: u64,
    /// SHA-256 of the previous entry of this writer, as stored.
    #[serde(default)]
    pub prev: Digest,
    pub at: Timestamp,
    pub phase: Phase,
    pub request_id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Id>,
    pub actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<ResourceId>,
    /// The identity that the cluster saw.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub identity_used: String,
    /// What was done: a Kubernetes verb, or a word of ours such as `sign-in` or `grant.issue`.
    pub verb: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// All arguments of an exec, with control characters escaped; truncation is marked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// SHA-256 in hex of the command as it came: each argument, and a NUL after each.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command_digest: String,
    /// The query, without `command`; the path for non-resource requests.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query: String,
    #[serde(default)]
    pub bytes_in: u64,
    #[serde(default)]
    pub bytes_out: u64,
    #[serde(default)]
    pub took_ms: u64,
    pub result: Outcome,
    /// Reason given by the person, where one was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Entry {
    /// An entry with only the members that every entry has.
    pub fn new(at: Timestamp, phase: Phase, request_id: Id, actor: Actor, verb: impl Into<String>) -> Self {
        Self {
            v: 1,
            writer: String::new(),
            seq: 0,
            prev: Digest::default(),
            at,
            phase,
            request_id,
            grant: None,
            actor,
            target: None,
            identity_used: String::new(),
            verb: verb.into(),
            group: String::new(),
            resource: String::new(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
            command: Vec::new(),
            command_digest: String::new(),
            query: String::new(),
            bytes_in: 0,
            bytes_out: 0,
            took_ms: 0,
            result: Outcome { status: 0, word: "ok".to_owned(), side: None },
            reason: String::new(),
        }
    }
}
