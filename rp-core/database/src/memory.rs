//! The embedded store in memory, for tests: the same code, no file.

use std::sync::Arc;

use rp_base::SharedClock;

use crate::{SharedStore, SqliteStore};

/// An empty store that lives as long as it is held. Needs a tokio runtime.
#[expect(clippy::needless_pass_by_value, reason = "the callers hand their clock over")]
pub fn in_memory(clock: SharedClock) -> SharedStore {
    Arc::new(SqliteStore::memory(&clock))
}
