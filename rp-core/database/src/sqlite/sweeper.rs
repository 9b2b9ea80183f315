//! Sweeps from time to time, as long as somebody holds the store.

use std::sync::Arc;
use std::time::Duration;

use rp_base::chain;
use tokio::time::{MissedTickBehavior, interval};

use super::SqliteStore;
use crate::StoreError;

pub(super) fn start(store: &SqliteStore, period: Duration) {
    let weak = Arc::downgrade(&store.0);
    tokio::spawn(async move {
        let mut ticks = interval(period.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(inner) = weak.upgrade() else { return };
            match sweep_all(&SqliteStore(inner)).await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!(error = %chain(&error), "cannot sweep the store"),
            }
        }
    });
}

async fn sweep_all(store: &SqliteStore) -> Result<(), StoreError> {
    while store.sweep().await? > 0 {}
    Ok(())
}
