//! Brings a database to the schema of this version of the software; several processes may try at once.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Row as _, SqlSafeStr as _};

use rp_base::Timestamp;

use super::fault::{Fault, bounded};
use crate::Inspection;

/// The steps: version, description, statements. A step that was released never changes: databases hold its checksum.
const STEPS: [(i64, &str, &str); 3] = [
    (1, "documents", include_str!("migrations/0001_documents.sql")),
    (2, "timelines", include_str!("migrations/0002_timelines.sql")),
    (3, "compression", include_str!("migrations/0003_compression.sql")),
];

/// The name that our migrations are kept under, beside those of others in the same database.
const BOOKKEEPING: &str = "rp_database_migrations";
/// The first one with everything that we use and that is still maintained.
const OLDEST: i32 = 140_000;

/// The longest that a process waits for another one that migrates, and migrates itself.
const MOST: Duration = Duration::from_secs(120);

/// Checks the server and runs the steps that the database does not have yet, under an advisory lock.
/// Each answer may take as long as `wait`.
pub(super) async fn migrate(address: &PgConnectOptions, wait: Duration) -> Result<(), Fault> {
    let mut connection = bounded(
        wait,
        address
            .clone()
            .application_name("aro migrate")
            .options([("statement_timeout", "0"), ("lock_timeout", "0")])
            .connect(),
    )
    .await?;
    let outcome = bounded(wait, suitable(&mut connection)).await?;
    outcome?;
    let migrator = migrator();
    let run =
        async { migrator.run(&mut connection).await.map_err(|error| sqlx::Error::Migrate(Box::new(error))) };
    match bounded(MOST, run).await {
        Err(Fault::Database(sqlx::Error::Migrate(error))) => Err(migration_fault(*error)),
        outcome => outcome,
    }?;
    // Also gives the lock back when the migrator could not.
    bounded(wait, connection.close()).await
}

/// Reads which steps the database has, and its clock; changes nothing.
pub(super) async fn inspect(address: &PgConnectOptions, wait: Duration) -> Result<Inspection, Fault> {
    let mut connection = bounded(wait, address.clone().application_name("aro doctor").connect()).await?;
    let outcome = bounded(wait, suitable(&mut connection)).await?;
    outcome?;
    let found = bounded(wait, read_steps(&mut connection)).await?;
    bounded(wait, connection.close()).await?;
    let known = STEPS.iter().map(|(version, _, _)| *version).max().unwrap_or_default();
    match found {
        (_, true, _) => Err(Fault::Unfit("the server is a standby")),
        (steps, _, _) if steps > known => Err(Fault::Newer(steps)),
        (steps, _, now) => Ok(Inspection { steps, known, now: Some(Timestamp::from_millis(now)) }),
    }
}

/// The last step, whether the server is a standby, and its clock in milliseconds.
async fn read_steps(connection: &mut PgConnection) -> Result<(i64, bool, i64), sqlx::Error> {
    let row = sqlx::query(
        "SELECT to_regclass($1) IS NOT NULL AS made, pg_is_in_recovery() AS standby,
            (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
    )
    .bind(BOOKKEEPING)
    .fetch_one(&mut *connection)
    .await?;
    let steps = if row.try_get("made")? {
        // The table is BOOKKEEPING.
        let last = "SELECT coalesce(max(version), 0) FROM rp_database_migrations WHERE success";
        sqlx::query_scalar(last).fetch_one(&mut *connection).await?
    } else {
        0
    };
    Ok((steps, row.try_get("standby")?, row.try_get("now")?))
}

fn migrator() -> Migrator {
    let steps = STEPS.map(|(version, description, statements)| {
        let statements = statements.into_sql_str();
        Migration::new(version, Cow::Borrowed(description), MigrationType::Simple, statements, false)
    });
    let mut migrator = Migrator::with_migrations(steps.into());
    migrator.dangerous_set_table_name(BOOKKEEPING);
    migrator
}

fn migration_fault(error: MigrateError) -> Fault {
    match error {
        MigrateError::VersionMissing(version) => Fault::Newer(version),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => Fault::Database(error),
        other => Fault::Database(sqlx::Error::Migrate(Box::new(other))),
    }
}

async fn suitable(connection: &mut PgConnection) -> Result<Result<(), Fault>, sqlx::Error> {
    let row = sqlx::query(
        "SELECT current_setting('server_encoding') AS encoding,
            current_setting('server_version_num')::int AS version",
    )
    .fetch_one(connection)
    .await?;
    if row.try_get::<String, _>("encoding")? != "UTF8" {
        return Ok(Err(Fault::Unfit("the database's encoding is not UTF8")));
    }
    if row.try_get::<i32, _>("version")? < OLDEST {
        return Ok(Err(Fault::Unfit("the server is older than PostgreSQL 14")));
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What databases of released versions hold as checksums (SHA-384 of the file).
    #[test]
    fn released_steps_are_what_they_were() {
        let migrator = migrator();
        let sums: Vec<String> = migrator
            .iter()
            .map(|step| step.checksum.iter().take(6).map(|byte| format!("{byte:02x}")).collect())
            .collect();
        assert_eq!(sums, ["6f793f01e163", "3c40cc4def87", "b7c0b0fd1f66"]);
    }
}
