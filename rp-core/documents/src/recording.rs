//! Recordings of sessions: the metadata of each, without its chunks. Writer: proxy.

use std::borrow::Cow;

use rp_base::{Digest, Id, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Person, ResourceId, Sealed, Unknown};

/// What kind of session was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordingKind {
    /// Through the SSH bastion.
    Ssh,
    /// `exec` or `attach` through the API proxy.
    Exec,
    /// A terminal in the browser.
    Terminal,
}

impl RecordingKind {
    /// The name on the wire and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Exec => "exec",
            Self::Terminal => "terminal",
        }
    }
}

/// Metadata of one recorded session. Its bytes are stored separately, in sealed chunks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    pub id: Id,
    pub kind: RecordingKind,
    pub grant: Id,
    pub owner: Person,
    pub target: ResourceId,
    /// `MACHINE`, or `NAMESPACE/POD/CONTAINER`.
    pub place: String,
    /// What was run; empty for a login shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// It had a terminal.
    #[serde(default)]
    pub interactive: bool,
    pub started: Timestamp,
    /// `None` while it runs, or when its writer died; in that case the chunks written so far are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How it ended: `exit 0`, `signal KILL`, `revoked` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Chunks written for certain.
    #[serde(default)]
    pub chunks: u32,
    /// Bytes of output, before compression.
    #[serde(default)]
    pub bytes: u64,
    /// Digest of the last chunk as it is stored; each chunk names its predecessor's.
    #[serde(default)]
    pub head: Digest,
    /// Heartbeat of its writer, once a minute while the session runs.
    pub heard: Timestamp,
    /// The key of its chunks, sealed for `Recordings/ID/sealed`: without the document the chunks cannot be decrypted.
    pub sealed: Sealed,
    /// It is removed after this instant.
    pub keep_until: Timestamp,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Recording {
    /// Prefix of the unique keys of a cluster's recordings; the recording's id follows.
    pub fn unique_key_prefix(target: &ResourceId) -> String {
        format!("{}|", target.key())
    }
}

impl Document for Recording {
    const COLLECTION: Collection = Collection::Recordings;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    /// A person's recordings share a partition.
    fn partition(&self) -> &str {
        &self.owner.sub
    }

    /// Lists a cluster's recordings by key prefix.
    fn unique_key(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Owned(format!("{}{}", Self::unique_key_prefix(&self.target), self.id)))
    }
}
