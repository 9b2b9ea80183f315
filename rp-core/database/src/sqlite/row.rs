//! Rows of `documents` as the store's types.

use rp_base::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::{Change, Stored, Version};

/// A row with a body; columns by name.
pub(super) fn stored(row: &SqliteRow) -> Result<Stored, sqlx::Error> {
    Ok(Stored {
        id: row.try_get("id")?,
        partition: row.try_get("partition")?,
        unique_key: row.try_get("unique_key")?,
        body: row.try_get("body")?,
        version: Version(row.try_get("version")?),
        seq: row.try_get("seq")?,
        written: Timestamp::from_millis(row.try_get("written")?),
        expires_at: row.try_get::<Option<i64>, _>("expires_at")?.map(Timestamp::from_millis),
    })
}

/// A row of the change feed: expired is gone, swept or not.
pub(super) fn change(row: &SqliteRow, now: Timestamp) -> Result<Change, sqlx::Error> {
    let expires_at: Option<i64> = row.try_get("expires_at")?;
    let lives =
        row.try_get::<Option<&str>, _>("body")?.is_some() && expires_at.is_none_or(|at| at > now.millis());
    let document = if lives { Some(stored(row)?) } else { None };
    Ok(Change { id: row.try_get("id")?, seq: row.try_get("seq")?, document })
}
