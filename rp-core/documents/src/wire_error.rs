//! The error that is returned to callers, in every format (`contract/rules.md` §5.15 "Error on the wire").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who is responsible for the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    You,
    Us,
    Cluster,
}

impl Side {
    /// The name on the wire, in logs and as a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::Us => "us",
            Self::Cluster => "cluster",
        }
    }
}

/// What failed, who is responsible, what to do, and the request id to quote. Never carries a secret or a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WireError {
    /// A stable word for machines, e.g. `grant_expired`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    pub side: Side,
    /// What to do next; empty when there is nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
}
