//! How old what is seen may be: the time since the server was last seen to answer as the primary.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::Row as _;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::fault::{Fault, bounded};
use super::link::Link;

/// When the last good read began.
#[derive(Debug)]
pub(super) struct Pulse(Mutex<Instant>);

impl Pulse {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(super) fn age(&self) -> Duration {
        self.0.lock().elapsed()
    }

    /// A read that began then was good.
    pub(super) fn good(&self, began: Instant) {
        let mut last = self.0.lock();
        *last = began.max(*last);
    }
}

/// Asks until `end`.
pub(super) async fn run(link: Link, pulse: Arc<Pulse>, period: Duration, mut end: watch::Receiver<bool>) {
    let ask = async {
        let mut ticks = interval(period.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let began = Instant::now();
            match is_primary(&link).await {
                Ok(true) => pulse.good(began),
                // It may be that another server has taken over.
                Ok(false) | Err(_) => link.servers().seek().await,
            }
        }
    };
    tokio::select! {
        () = ask => {}
        _ = end.wait_for(|end| *end) => {}
    }
}

/// Whether the server is the primary. Not tried again: the next tick is.
async fn is_primary(link: &Link) -> Result<bool, Fault> {
    let wait = link.servers().patience().unwrap_or(link.call_wait);
    let mut connection = bounded(wait, Box::pin(link.pool().acquire())).await?;
    let ask = sqlx::query("SELECT NOT pg_is_in_recovery()").fetch_one(&mut *connection);
    let outcome = bounded(wait, ask).await;
    if outcome.as_ref().is_err_and(Fault::is_lost) {
        connection.close_on_drop();
    }
    Ok(outcome?.try_get(0)?)
}
