//! Queries that people keep and share (`contract/portal-ui.md` "Do better" B 7). Writer: the portal.

use rp_base::{Id, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Person, ResourceId, Unknown};

/// A PromQL expression under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedQuery {
    pub id: Id,
    pub owner: Person,
    pub name: String,
    pub query: String,
    /// The cluster it was saved on; it may be run on any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ResourceId>,
    /// Seconds back from now; `None`: an instant query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_secs: Option<u64>,
    /// Visible to all users.
    pub shared: bool,
    pub created: Timestamp,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for SavedQuery {
    const COLLECTION: Collection = Collection::SavedQueries;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    /// A person's queries share a partition.
    fn partition(&self) -> &str {
        &self.owner.sub
    }
}
