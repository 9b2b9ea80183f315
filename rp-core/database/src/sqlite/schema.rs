//! Brings a database file to the schema of this version of the software.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::fault::Fault;
use crate::Inspection;

/// Each step ends by setting `user_version` to its number.
const STEPS: &[&str] = &[include_str!("migrations/0001_documents.sql")];

/// How many steps the file has.
pub(super) async fn steps(connection: &mut SqliteConnection) -> Result<usize, Fault> {
    let found: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await?;
    usize::try_from(found).ok().filter(|done| *done <= STEPS.len()).ok_or(Fault::Newer(found))
}

/// Reads which steps a file has; changes nothing.
pub(super) async fn inspect(path: &Path) -> Result<Inspection, Fault> {
    let mut connection = SqliteConnectOptions::new().filename(path).read_only(true).connect().await?;
    let found = steps(&mut connection).await?;
    connection.close().await?;
    let count = |steps| i64::try_from(steps).unwrap_or(i64::MAX);
    Ok(Inspection { steps: count(found), known: count(STEPS.len()), now: None })
}

/// Runs the steps that the file does not have yet, each in a transaction.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), Fault> {
    let done = steps(connection).await?;
    for step in &STEPS[done..] {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
        let outcome = match sqlx::raw_sql(*step).execute(&mut *connection).await {
            Ok(_) => sqlx::query("COMMIT").execute(&mut *connection).await,
            failed => failed,
        };
        if let Err(error) = outcome {
            // Perhaps rolled back already; the first error is the one to tell.
            let _ = sqlx::query("ROLLBACK").execute(&mut *connection).await;
            return Err(error.into());
        }
    }
    Ok(())
}
