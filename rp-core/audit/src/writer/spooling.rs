//! What the writer does with the local disk while the store is away.

use std::path::Path;
use std::time::Duration;

use rp_database::{Draft, SharedStore, StoreError};
use rp_documents::Collection;
use tokio::time::timeout;

use super::{Writer, commit};
use crate::AuditError;
use crate::spool::{self, Spool};

/// How often is tried to bring in what is on the local disk.
pub(super) const DRAIN: Duration = Duration::from_secs(1);
/// How long the store may take to show that it is there again.
const PROBE: Duration = Duration::from_secs(1);
impl Writer {
    pub(super) fn is_spooling(&self) -> bool {
        self.spool.as_ref().is_some_and(Spool::is_used)
    }

    /// Writes a batch to the local disk; false: there is no such place, or it cannot be written either.
    pub(super) async fn put_aside(&mut self, draft: &Draft) -> bool {
        let Some(spool) = &mut self.spool else { return false };
        match spool.put(draft).await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, "audit entries cannot be written to the local disk either");
                false
            }
        }
    }

    /// Brings what is on the local disk into the store; true: everything.
    pub(super) async fn drain(&mut self) -> bool {
        // A store that hangs must not hold up entries that could be spooled meanwhile.
        let probe = timeout(PROBE, self.store.head(Collection::AuditBatches)).await;
        if !matches!(probe, Ok(Ok(_))) {
            return false;
        }
        match self.bring_in().await {
            Ok(true) => {
                tracing::info!("the store takes audit entries again; those on the local disk are in it");
                true
            }
            Ok(false) => false,
            Err(error) => {
                tracing::error!(%error, "the audit entries on the local disk cannot be read");
                false
            }
        }
    }

    async fn bring_in(&mut self) -> std::io::Result<bool> {
        let Some(spool) = &mut self.spool else { return Ok(true) };
        if let Some(mut pending) = spool.pending().await? {
            while let Some(draft) = pending.next().await? {
                if commit(&self.store, &draft).await.is_err() {
                    return Ok(false);
                }
            }
        }
        spool.clear().await?;
        Ok(true)
    }
}

/// Brings in what earlier processes left on the local disk.
pub(super) async fn inherit(store: &SharedStore, base: &Path) -> Result<(), AuditError> {
    let failed = |error: std::io::Error| StoreError::Unavailable(Box::new(error));
    for mut left in spool::leftovers(base).await.map_err(failed)? {
        let mut pending = left.pending().await.map_err(failed)?;
        while let Some(draft) = pending.next().await.map_err(failed)? {
            commit(store, &draft).await?;
        }
        left.remove().await.map_err(failed)?;
    }
    Ok(())
}
