//! Who owns which buckets of clusters (`contract/monitor.md` §3.1, `contract/database.md` §6.4). Writers:
//! each worker its own document, the master the document that is named after the worker type.

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Unknown};

/// Number of buckets over which clusters are spread.
pub const BUCKETS: usize = 256;

/// A master's or a worker's document: one collection holds both (`contract/monitor.md` §3.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolDocument {
    /// The worker type for the master's document, else the worker's UUID, lower case.
    pub id: String,
    /// `monitor`, `mimo-actuator` or `mimo-scheduler`.
    pub worker_type: String,
    /// Seconds that a worker's document lives after its last write; absent in the master's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// UUID of the present master.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lease_owner: String,
    /// Unix seconds of the store's clock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lease_expires: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_worker: Option<Allocation>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Who owns each bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// [`BUCKETS`] UUIDs; empty text for a bucket that nobody owns.
    #[serde(default)]
    pub buckets: Vec<String>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Document for PoolDocument {
    const COLLECTION: Collection = Collection::PoolWorkers;

    fn id(&self) -> &str {
        &self.id
    }

    fn partition(&self) -> &str {
        &self.worker_type
    }
}

/// When each cluster of a bucket was looked at last. Writer: the monitor that owns the bucket, once a minute at most,
/// so that a fleet of any size costs [`BUCKETS`] writes a minute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketLooks {
    /// `bucket-000` to `bucket-255`.
    pub id: String,
    /// By the id of the cluster's [`crate::ClusterHealth`].
    #[serde(default)]
    pub looks: std::collections::BTreeMap<String, Look>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// One look at a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// When it began.
    pub at: Timestamp,
    pub took_ms: u64,
    /// The worker that looked.
    pub by: String,
}

impl BucketLooks {
    /// The id of that bucket's document.
    pub fn id_of(bucket: u16) -> String {
        format!("bucket-{bucket:03}")
    }
}

impl Document for BucketLooks {
    const COLLECTION: Collection = Collection::Looks;

    fn id(&self) -> &str {
        &self.id
    }
}
