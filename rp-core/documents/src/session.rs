//! Browser sessions (`contract/portal.md` §6, "Do better" 6). Writer: portal.

use rp_base::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Sealed, Unknown};

/// A stored session. The id is the SHA-256 of the cookie's value: a copy of the store opens nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionRecord {
    pub id: String,
    /// The provider's subject, so that all sessions of a person can be ended.
    pub sub: String,
    /// SHA-256 of the provider's session (`sid`), so that its end can end this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<Digest>,
    pub created: Timestamp,
    /// Absolute end.
    pub not_after: Timestamp,
    /// End when unused.
    pub idle_until: Timestamp,
    /// The session's content, sealed with the id as associated data.
    pub sealed: Sealed,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for SessionRecord {
    const COLLECTION: Collection = Collection::Sessions;

    fn id(&self) -> &str {
        &self.id
    }

    /// A person's sessions are listed together.
    fn partition(&self) -> &str {
        if self.sub.is_empty() { &self.id } else { &self.sub }
    }
}
