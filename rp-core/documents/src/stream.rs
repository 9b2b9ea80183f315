//! Streams that are open now (`contract/rules.md` §5.13). Writer: the proxy of each replica.

use rp_base::{Id, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Collection, Document};

/// What one replica has open for one grant. Forgotten by the store unless it is written again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamRecord {
    /// `<replica>/<grant>`.
    pub id: String,
    pub grant: Id,
    pub replica: String,
    pub count: usize,
    pub first_opened: Timestamp,
    /// Short descriptions of the first of them, such as `watch pods`.
    pub what: Vec<String>,
}

impl StreamRecord {
    /// Descriptions kept at most.
    pub const MOST_SHOWN: usize = 20;
}

impl Document for StreamRecord {
    const COLLECTION: Collection = Collection::Streams;

    fn id(&self) -> &str {
        &self.id
    }

    /// A grant's streams are listed together.
    fn partition(&self) -> &str {
        self.grant.as_str()
    }
}
