//! Sweeps from time to time, as long as somebody holds the store; one process at a time.

use std::sync::Arc;
use std::time::Duration;

use rp_base::chain;
use sqlx::PgConnection;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::PostgresStore;
use super::fault::{Fault, bounded};
use super::op::Op;
use crate::StoreError;

/// Advisory lock: held by the process that sweeps. Any number that nobody else uses.
const SWEEPS: i64 = 0x6172_6f5f_7377_6565;

pub(super) fn start(store: &PostgresStore, period: Duration, mut end: watch::Receiver<bool>) {
    let weak = Arc::downgrade(&store.0);
    let sweep = async move {
        let mut ticks = interval(period.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(inner) = weak.upgrade() else { return };
            match all(&PostgresStore(inner)).await {
                Ok(_) => {}
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!(error = %chain(&error), "cannot sweep the store"),
            }
        }
    };
    tokio::spawn(async move {
        tokio::select! {
            () = sweep => {}
            _ = end.wait_for(|end| *end) => {}
        }
    });
}

/// Sweeps everything there is to sweep; gives the rows it worked on. Zero when another process sweeps.
pub(super) async fn all(store: &PostgresStore) -> Result<u64, StoreError> {
    let keep = i64::try_from(store.0.keep_tombstones.as_millis()).unwrap_or(i64::MAX);
    let reader = store.open_for_reads()?;
    let found = reader.sweepable(keep).await?;
    if found.is_empty() {
        return Ok(0);
    }
    let mut connection = reader.0.acquire().await?;
    // Whatever happens, the lock ends with the connection.
    connection.close_on_drop();
    if !bounded(reader.0.call_wait, lock(&mut connection)).await? {
        return Ok(0);
    }
    let mut swept = 0;
    for collection in found {
        loop {
            let done = store.write(collection, Op::Sweep(keep)).await?.swept;
            swept += done;
            if done == 0 {
                break;
            }
        }
    }
    // Given back at once; if that fails, by the end of the connection.
    let unlock = sqlx::query("SELECT pg_advisory_unlock($1)").bind(SWEEPS).execute(&mut *connection);
    let unlocked: Result<_, Fault> = bounded(reader.0.call_wait, unlock).await;
    Ok(unlocked.map(|_| swept)?)
}

async fn lock(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(SWEEPS).fetch_one(connection).await
}
