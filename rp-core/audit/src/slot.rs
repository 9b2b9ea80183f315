//! A place in the queue, taken before an action and filled when it ends.

use rp_documents::Entry;
use tokio::sync::mpsc::OwnedPermit;

use crate::{Audit, AuditError, bound};

/// A place in the queue. Dropped unused, it is given back.
#[derive(Debug)]
pub struct Slot(OwnedPermit<Entry>);

impl Audit {
    /// Takes a place in the queue; waits while it is full, so that a slow log slows actions down before they
    /// begin. For short actions: a place held for hours is a place that others wait for.
    ///
    /// # Errors
    /// [`AuditError::Closed`]: the process is stopping.
    pub async fn reserve(&self) -> Result<Slot, AuditError> {
        self.0.queue.clone().reserve_owned().await.map(Slot).map_err(|_| AuditError::Closed)
    }
}

impl Slot {
    /// Fills the place; never waits, so it may stand in a `Drop`. Written within 100 ms.
    pub fn send(self, mut entry: Entry) {
        bound::shorten(&mut entry);
        self.0.send(entry);
    }
}
