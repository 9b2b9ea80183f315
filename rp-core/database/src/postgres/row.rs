//! Rows of `documents` as the store's types.

use rp_base::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::{Change, Stored, Version};

/// A row with a body; columns by name.
pub(super) fn stored(row: &PgRow) -> Result<Stored, sqlx::Error> {
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

/// A row of the change feed, with the column `lives`: expired is gone, swept or not.
pub(super) fn change(row: &PgRow) -> Result<Change, sqlx::Error> {
    let document = if row.try_get("lives")? { Some(stored(row)?) } else { None };
    Ok(Change { id: row.try_get("id")?, seq: row.try_get("seq")?, document })
}
