//! Connections: some that write, some that read.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rp_base::SharedClock;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgPoolOptions, PgRow};
use sqlx::{PgPool, Postgres};
use tokio::time::Instant;

use super::fault::{Fault, RetryDeadline, bounded};
use super::options::PostgresOptions;
use super::servers::Servers;

pub(super) type Query<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

/// A pool of connections to the server in use, and how long its users wait. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pool: Arc<RwLock<Pool>>,
    servers: Servers,
    size: u32,
    connect_wait: Duration,
    pub(super) retry_for: Duration,
    /// The longest that one statement, or one transaction, takes as seen from here.
    pub(super) call_wait: Duration,
    clock: Option<SharedClock>,
}

#[derive(Debug, Clone)]
struct Pool {
    /// Of the server that it leads to.
    term: u64,
    pool: PgPool,
}

impl Link {
    /// Connects when it is used.
    pub(super) fn new(options: &PostgresOptions, servers: &Servers, size: u32) -> Self {
        Self {
            pool: Arc::new(RwLock::new(pool(servers, size, options.connect_wait))),
            servers: servers.clone(),
            size,
            connect_wait: options.connect_wait,
            retry_for: options.retry_for,
            call_wait: options.statement_timeout + Duration::from_secs(1),
            clock: options.clock.clone(),
        }
    }

    /// The pool to the server in use; the one to a server that is no longer in use is closed.
    pub(super) fn pool(&self) -> PgPool {
        let held = self.pool.read().clone();
        if held.term == self.servers.term() || held.pool.is_closed() {
            return held.pool;
        }
        let mut kept = self.pool.write();
        if kept.term != self.servers.term() && !kept.pool.is_closed() {
            let old = std::mem::replace(&mut *kept, pool(&self.servers, self.size, self.connect_wait));
            // Its connections may hang, so their end is not awaited.
            tokio::spawn(async move { old.pool.close().await });
        }
        kept.pool.clone()
    }

    pub(super) async fn close(&self) {
        // From now on callers get the error that it is closed.
        let pool = self.pool.write().pool.clone();
        pool.close().await;
    }

    pub(super) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// In tests, the time that is used instead of the database's clock; milliseconds since the Unix epoch.
    pub(super) fn fixed_now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock.now().millis())
    }

    pub(super) async fn acquire(&self) -> Result<PoolConnection<Postgres>, Fault> {
        loop {
            match self.pool().acquire().await {
                // The pool was replaced meanwhile, for another server is in use.
                Err(sqlx::Error::PoolClosed) if !self.pool.read().pool.is_closed() => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    /// A connection, for which a slow server has longer than in operation.
    pub(super) async fn acquire_within(&self, wait: Duration) -> Result<PoolConnection<Postgres>, Fault> {
        let end = Instant::now() + wait;
        loop {
            match self.acquire().await {
                Err(Fault::Database(sqlx::Error::PoolTimedOut)) if Instant::now() < end => {
                    tracing::warn!("the database does not answer yet");
                }
                outcome => return outcome,
            }
        }
    }

    /// The rows of one statement that may be run again. `make` is given what [`Link::fixed_now`] gives.
    pub(super) async fn rows<'q>(
        &self,
        make: impl Fn(Option<i64>) -> Query<'q> + Send + Sync,
    ) -> Result<Vec<PgRow>, Fault> {
        let mut tries = RetryDeadline::for_at_most(self.retry_for);
        loop {
            match self.once(make(self.fixed_now())).await {
                Err(fault) if tries.again(&fault).await => {}
                outcome => return outcome,
            }
        }
    }

    async fn once(&self, query: Query<'_>) -> Result<Vec<PgRow>, Fault> {
        let mut connection = self.acquire().await?;
        let outcome = bounded(self.call_wait, query.fetch_all(&mut *connection)).await;
        if outcome.as_ref().is_err_and(Fault::is_lost) {
            connection.close_on_drop();
        }
        outcome
    }
}

fn pool(servers: &Servers, size: u32, connect_wait: Duration) -> Pool {
    let (term, address) = servers.current();
    let servers = servers.clone();
    let pool = PgPoolOptions::new()
        .max_connections(size)
        .acquire_timeout(connect_wait)
        // A dead connection is noticed by its use, which is tried again.
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let servers = servers.clone();
            Box::pin(async move { servers.admit(connection).await })
        })
        .connect_lazy_with(address);
    Pool { term, pool }
}
