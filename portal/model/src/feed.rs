//! Follows the change feed of one collection in the background.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rp_base::chain;
use rp_database::{SharedStore, StoreError};
use rp_documents::Collection;
use tokio::sync::watch;

/// Changes are batched for this long.
const POLL: Duration = Duration::from_millis(250);

/// Keeps something current with a collection.
pub(crate) trait Follower: Send + Sync + 'static {
    const COLLECTION: Collection;

    /// Applies what changed after the cursor; gives the next one, and whether there is more at once.
    fn apply(&self, cursor: i64) -> impl Future<Output = Result<(i64, bool), StoreError>> + Send;
}

/// Reads everything that lives and then follows, until the follower is dropped or the store is closed.
pub(crate) fn follow<F: Follower>(follower: &Arc<F>, store: &SharedStore) {
    tokio::spawn(run(Arc::downgrade(follower), store.subscribe(F::COLLECTION)));
}

async fn run<F: Follower>(follower: Weak<F>, mut news: watch::Receiver<u64>) {
    let mut cursor = 0;
    loop {
        let Some(follower) = follower.upgrade() else { return };
        match follower.apply(cursor).await {
            Ok((next, more)) => {
                cursor = next;
                if more {
                    continue;
                }
            }
            Err(StoreError::Closed) => return,
            Err(error) => {
                let collection = F::COLLECTION.name();
                tracing::warn!(error = %chain(&error), collection, "a collection cannot be followed");
            }
        }
        drop(follower);
        // The poll finds writes of other processes.
        let changed = tokio::time::timeout(POLL, news.changed()).await;
        if matches!(changed, Ok(Err(_))) {
            tokio::time::sleep(POLL).await;
        }
    }
}
