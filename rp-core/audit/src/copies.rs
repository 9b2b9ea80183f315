//! What the log asks of its copies elsewhere. `rp-audit-copies` makes them.

use std::fmt;

use async_trait::async_trait;
use rp_base::Timestamp;
use rp_database::StoreError;

use crate::SinkState;

/// The copies of a log: they follow it in the store by themselves.
#[async_trait]
pub trait Copies: fmt::Debug + Send + Sync {
    /// The sink because of which promises are refused: it has taken nothing for too long.
    fn refusing(&self, now: Timestamp) -> Option<String>;

    /// How each sink is doing.
    fn states(&self) -> Vec<SinkState>;

    /// What every sink has taken: retention removes nothing beyond it.
    async fn copied_to(&self) -> Result<CopiedTo, StoreError>;

    /// Ships what is there, for a bounded time. Called when the log writes nothing any more.
    async fn close(&self);
}

/// Positions in the feeds of batches and of checkpoints: everything up to them was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopiedTo {
    pub batches: i64,
    pub checkpoints: i64,
}

impl CopiedTo {
    /// There are no sinks, and so nothing waits for them.
    pub const ALL: Self = Self { batches: i64::MAX, checkpoints: i64::MAX };
}
