//! One collection, followed by its change feed.

use std::fmt;
use std::time::Duration;

use rp_base::chain;
use rp_database::{SharedStore, StoreError, Typed, TypedChange};
use rp_documents::Document;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

/// Changes of one page.
const PAGE: u32 = 200;
/// Timeout of a page.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Feed<D> {
    documents: Typed<D>,
    cursor: i64,
    apply: Box<dyn FnMut(TypedChange<D>) + Send>,
}

impl<D> fmt::Debug for Feed<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl<D: Document> Feed<D> {
    pub(super) fn new(store: &SharedStore, apply: impl FnMut(TypedChange<D>) + Send + 'static) -> Self {
        Self { documents: Typed::new(SharedStore::clone(store)), cursor: 0, apply: Box::new(apply) }
    }

    /// Follows from now on: what is there is read in another way.
    pub(super) async fn begin_at_head(&mut self) -> Result<(), StoreError> {
        self.cursor = self.documents.store().head(D::COLLECTION).await?;
        Ok(())
    }

    /// Reads to the end.
    pub(super) async fn poll(&mut self) -> Result<(), StoreError> {
        loop {
            let asked = self.documents.changes(self.cursor, PAGE);
            let changes =
                timeout(PATIENCE, asked).await.map_err(|late| StoreError::Unavailable(late.into()))??;
            for change in changes.items {
                (self.apply)(change);
            }
            self.cursor = changes.cursor;
            if !changes.more {
                return Ok(());
            }
        }
    }

    /// Reads whenever something changed, and at its period in any case. A store that was put back to an earlier state is
    /// read from its beginning.
    pub(super) async fn follow(
        mut self,
        period: Duration,
        stop: &CancellationToken,
        done: &(dyn Fn() + Sync),
    ) {
        let mut wake = self.documents.store().subscribe(D::COLLECTION);
        let mut tick = interval(period);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let timed = tokio::select! {
                _ = tick.tick() => true,
                changed = wake.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    false
                }
                () = stop.cancelled() => return,
            };
            let read = async {
                if timed && self.documents.store().head(D::COLLECTION).await? < self.cursor {
                    tracing::warn!(
                        collection = D::COLLECTION.name(),
                        "the store has an earlier state: it is read again"
                    );
                    self.cursor = 0;
                }
                self.poll().await
            };
            let read = tokio::select! {
                read = read => read,
                () = stop.cancelled() => return,
            };
            match read {
                Ok(()) => done(),
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(collection = D::COLLECTION.name(), error = %chain(&error), "a change feed could not be read");
                }
            }
        }
    }
}
