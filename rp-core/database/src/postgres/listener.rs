//! Receives notifications of what other processes wrote. Notifications may be missed while the connection is down, so
//! all followers are woken when it is back.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Backoff, SystemRandom, chain};
use rp_documents::Collection;
use sqlx::postgres::PgListener;
use tokio::sync::watch;

use super::announcer::{CHANNEL, hear};
use super::fault::{Fault, bounded};
use super::link::Link;
use crate::notify::Notifiers;

/// After this time without a message the connection is checked.
const SILENCE: Duration = Duration::from_secs(10);

pub(super) struct Listener {
    pub(super) link: Link,
    pub(super) notifiers: Arc<Notifiers>,
    /// Our own changes are announced without the server.
    pub(super) own: String,
    /// Becomes true when listening has begun for the first time.
    pub(super) begun: watch::Sender<bool>,
}

/// Listens until `end`.
pub(super) async fn run(listener: Listener, mut end: watch::Receiver<bool>) {
    let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(2));
    let listen = async {
        loop {
            match listener.listen(&mut backoff).await {
                Ok(()) | Err(Fault::Database(sqlx::Error::PoolClosed)) => {}
                Err(fault) => tracing::info!(error = %chain(&fault), "not told of other processes' changes"),
            }
            tokio::time::sleep(backoff.step(&SystemRandom)).await;
        }
    };
    tokio::select! {
        () = listen => {}
        _ = end.wait_for(|end| *end) => {}
    }
}

impl Listener {
    /// One connection's life; `Ok` when it ended.
    async fn listen(&self, backoff: &mut Backoff) -> Result<(), Fault> {
        let wait = self.link.call_wait;
        let mut switched = self.link.servers().switched();
        let pool = self.link.pool();
        let mut connection = bounded(wait, Box::pin(PgListener::connect_with(&pool))).await?;
        connection.eager_reconnect(false);
        bounded(wait, Box::pin(connection.listen(CHANNEL))).await?;
        for collection in Collection::ALL {
            self.notifiers.bump(collection);
        }
        self.begun.send_replace(true);
        backoff.reset();
        loop {
            let heard = tokio::select! {
                heard = tokio::time::timeout(SILENCE, connection.try_recv()) => heard,
                // What this connection leads to is no longer in use.
                _ = switched.changed() => return Ok(()),
            };
            match heard {
                Ok(heard) => match heard? {
                    Some(told) => hear(told.payload(), &self.own, &self.notifiers),
                    None => return Ok(()),
                },
                Err(_) => {
                    bounded(wait, sqlx::query("SELECT 1").execute(&mut connection)).await?;
                }
            }
        }
    }
}
