//! What the log needs besides store and clock.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedRandom, SystemRandom};
use rp_metrics::Registry;

use crate::{CheckpointKey, Copies};

/// How the log is run.
#[derive(Debug, Clone)]
pub struct AuditOptions {
    /// Signs checkpoints.
    pub key: CheckpointKey,
    /// At most this long between two checkpoints while entries are written; 60 s by the rule.
    pub checkpoint_period: Duration,
    /// Entries that wait to be written; callers wait beyond that.
    pub queue: usize,
    /// How long queued entries wait for others to be written with.
    pub group: Duration,
    /// How long closing may take when the store fails.
    pub close_within: Duration,
    /// Where batches go while the store is away, with the chain's name behind it; `None`: nowhere, and nothing is
    /// promised then.
    pub spool: Option<PathBuf>,
    /// Copies of the log; `None`: there are none.
    pub copies: Option<Arc<dyn Copies>>,
    /// Entries older than that are removed, once every copy has them; `None`: never.
    pub retention: Option<Duration>,
    /// How often is looked for entries to remove.
    pub retention_period: Duration,
    /// How long a search may look at the log before it answers with what it has.
    pub search_within: Duration,
    pub random: SharedRandom,
    pub registry: Registry,
}

impl AuditOptions {
    /// The rules of `contract/rules.md` §3.9, with a key.
    pub fn new(key: CheckpointKey) -> Self {
        Self {
            key,
            checkpoint_period: Duration::from_secs(60),
            queue: 4096,
            group: Duration::from_millis(100),
            close_within: Duration::from_secs(5),
            spool: None,
            copies: None,
            retention: None,
            retention_period: Duration::from_secs(3600),
            search_within: Duration::from_millis(120),
            random: Arc::new(SystemRandom),
            registry: Registry::new(),
        }
    }
}
