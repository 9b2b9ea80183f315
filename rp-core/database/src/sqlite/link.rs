//! Connections: one that writes, a few that read.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::fault::Fault;
use super::schema;

/// The writing connection: opened, and its schema brought up, when it is first used.
#[derive(Debug, Clone)]
pub(super) struct Link {
    options: Arc<SqliteConnectOptions>,
    connection: Arc<Mutex<Slot>>,
}

#[derive(Debug)]
pub(super) enum Slot {
    Unopened,
    Open(SqliteConnection),
    Closed,
}

impl Link {
    pub(super) fn new(options: SqliteConnectOptions) -> Self {
        Self { options: Arc::new(options), connection: Arc::new(Mutex::new(Slot::Unopened)) }
    }

    pub(super) async fn acquire(&self) -> Result<Acquired, Fault> {
        let mut slot = Arc::clone(&self.connection).lock_owned().await;
        if matches!(*slot, Slot::Unopened) {
            let mut connection = self.options.connect().await?;
            schema::migrate(&mut connection).await?;
            *slot = Slot::Open(connection);
        }
        // The slot is checked here once, so that `Acquired` can always be dereferenced.
        match OwnedMutexGuard::try_map(slot, Slot::open) {
            Ok(connection) => Ok(Acquired::Single(connection)),
            Err(_) => Err(sqlx::Error::PoolClosed.into()),
        }
    }

    pub(super) async fn close(&self) {
        let mut slot = self.connection.lock().await;
        if let Slot::Open(connection) = std::mem::replace(&mut *slot, Slot::Closed)
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "closing the store's file");
        }
    }
}

impl Slot {
    fn open(&mut self) -> Option<&mut SqliteConnection> {
        match self {
            Self::Open(connection) => Some(connection),
            Self::Unopened | Self::Closed => None,
        }
    }
}

/// Where reads go: a pool beside the writer, or, in memory, the writer's own connection.
#[derive(Debug, Clone)]
pub(super) enum Readers {
    Pool(SqlitePool),
    Same(Link),
}

impl Readers {
    pub(super) async fn acquire(&self) -> Result<Acquired, Fault> {
        match self {
            Self::Pool(pool) => Ok(Acquired::Pooled(pool.acquire().await?)),
            Self::Same(link) => link.acquire().await,
        }
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Pool(pool) => pool.close().await,
            // The writer closes it.
            Self::Same(_) => {}
        }
    }
}

/// A connection for one piece of work.
pub(super) enum Acquired {
    Pooled(PoolConnection<Sqlite>),
    Single(tokio::sync::OwnedMappedMutexGuard<Slot, SqliteConnection>),
}

impl Deref for Acquired {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        match self {
            Self::Pooled(connection) => connection,
            Self::Single(connection) => connection,
        }
    }
}

impl DerefMut for Acquired {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        match self {
            Self::Pooled(connection) => connection,
            Self::Single(connection) => connection,
        }
    }
}
