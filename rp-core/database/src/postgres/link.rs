//! Connections: some that write, some that read.

use std::time::Duration;

use rp_base::SharedClock;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgPoolOptions, PgRow};
use sqlx::{PgConnection, PgPool, Postgres};

use super::fault::{Fault, Tries, bounded};
use super::options::PostgresOptions;

pub(super) type Query<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

/// A pool, and how long its users wait.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) pool: PgPool,
    pub(super) retry_for: Duration,
    /// The longest that one statement, or one transaction, takes as seen from here.
    pub(super) call_wait: Duration,
    clock: Option<SharedClock>,
}

impl Link {
    /// Connects when it is used.
    pub(super) fn new(options: &PostgresOptions, connections: u32) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(options.connect_wait)
            // A dead connection is noticed by its use, which is tried again.
            .test_before_acquire(false)
            .after_connect(|connection, _| Box::pin(admit(connection)))
            .connect_lazy_with(options.session());
        Self {
            pool,
            retry_for: options.retry_for,
            call_wait: options.statement_timeout + Duration::from_secs(1),
            clock: options.clock.clone(),
        }
    }

    /// What stands for the database's clock, in tests; milliseconds since the Unix epoch.
    pub(super) fn given(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock.now().millis())
    }

    pub(super) async fn acquire(&self) -> Result<PoolConnection<Postgres>, Fault> {
        Ok(self.pool.acquire().await?)
    }

    /// The rows of one statement that may be run again. `make` is given what [`Link::given`] gives.
    pub(super) async fn rows<'q>(
        &self,
        make: impl Fn(Option<i64>) -> Query<'q> + Send + Sync,
    ) -> Result<Vec<PgRow>, Fault> {
        let mut tries = Tries::for_at_most(self.retry_for);
        loop {
            match self.once(make(self.given())).await {
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

/// Refuses a standby: what it shows is old, and it takes no writes. What was answered must be on the disk, whatever
/// the server's default is; stronger settings (waiting for standbys) stay.
async fn admit(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let standby: bool = sqlx::query_scalar(
        "SELECT pg_is_in_recovery() FROM (SELECT CASE current_setting('synchronous_commit')
            WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END) AS durable",
    )
    .fetch_one(&mut *connection)
    .await?;
    if standby {
        return Err(sqlx::Error::Io(std::io::Error::other("the server is a standby")));
    }
    Ok(())
}
