//! Lists of clusters that people keep and share (`contract/portal-ui.md` "Do better" B 2). Writer: the
//! portal.

use rp_base::{Id, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Person, Unknown};

/// Search, filters, order and columns of the list of clusters under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedView {
    pub id: Id,
    pub owner: Person,
    pub name: String,
    /// The query string of the list's address, without `?`.
    pub query: String,
    /// Visible to all users.
    pub shared: bool,
    pub created: Timestamp,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for SavedView {
    const COLLECTION: Collection = Collection::SavedViews;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    /// A person's views share a partition.
    fn partition(&self) -> &str {
        &self.owner.sub
    }
}
