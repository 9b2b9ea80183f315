//! Reads: each one statement, and so one state of the store.

use rp_base::Timestamp;
use rp_documents::Collection;
use sqlx::sqlite::SqliteRow;

use super::fault::Fault;
use super::link::Readers;
use super::row;
use crate::continuation::Continuation;
use crate::{Changes, Page, Span, StoreError, Stored, check};

#[derive(Debug, Clone)]
pub(super) struct Reader(pub(super) Readers);

/// The columns that `row` reads.
macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT id, partition, unique_key, body, version, seq, written, expires_at FROM documents ",
            $rest
        )
    };
}

impl Reader {
    pub(super) async fn get(
        &self,
        collection: Collection,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<Stored>, StoreError> {
        let query = sqlx::query(columns!(
            "WHERE collection = ?1 AND id = ?2 AND body IS NOT NULL AND (expires_at IS NULL OR expires_at > ?3)"
        ));
        self.one(query.bind(collection.name()).bind(id.to_owned()).bind(now.millis())).await
    }

    pub(super) async fn get_by_key(
        &self,
        collection: Collection,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Stored>, StoreError> {
        let query = sqlx::query(columns!(
            "WHERE collection = ?1 AND unique_key = ?2 AND body IS NOT NULL
             AND (expires_at IS NULL OR expires_at > ?3)"
        ));
        self.one(query.bind(collection.name()).bind(key.to_owned()).bind(now.millis())).await
    }

    pub(super) async fn list(
        &self,
        collection: Collection,
        partition: Option<&str>,
        from: Option<Continuation>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Page, StoreError> {
        // Ids are not empty, so everything is after ("", "").
        let from = from.unwrap_or_else(|| Continuation { partition: String::new(), id: String::new() });
        let query = match partition {
            Some(partition) => sqlx::query(columns!(
                "WHERE collection = ?1 AND partition = ?2 AND id > ?3 AND body IS NOT NULL
                 AND (expires_at IS NULL OR expires_at > ?4) ORDER BY id LIMIT ?5"
            ))
            .bind(collection.name())
            .bind(partition.to_owned()),
            None => sqlx::query(columns!(
                "WHERE collection = ?1 AND (partition, id) > (?2, ?3) AND body IS NOT NULL
                 AND (expires_at IS NULL OR expires_at > ?4) ORDER BY partition, id LIMIT ?5"
            ))
            .bind(collection.name())
            .bind(from.partition),
        };
        let rows = self.all(query.bind(from.id).bind(now.millis()).bind(i64::from(limit) + 1)).await?;
        let wanted = rows.len().min(limit as usize);
        let items =
            rows[..wanted].iter().map(row::stored).collect::<Result<Vec<_>, _>>().map_err(Fault::from)?;
        let last = if rows.len() > wanted { items.last() } else { None };
        let continuation = last.map(|last| {
            Continuation { partition: last.partition.clone(), id: last.id.clone() }
                .encode(collection, partition)
        });
        Ok(Page { items, continuation })
    }

    pub(super) async fn scan(
        &self,
        collection: Collection,
        span: Span<'_>,
        after: Option<&str>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Stored>, StoreError> {
        let after = after.unwrap_or_default().to_owned();
        let query = match span {
            Span::All => sqlx::query(columns!(
                "WHERE collection = ?1 AND id > ?2 AND body IS NOT NULL
                 AND (expires_at IS NULL OR expires_at > ?3) ORDER BY id LIMIT ?4"
            ))
            .bind(collection.name())
            .bind(after),
            Span::Partition(_) => sqlx::query(columns!(
                "WHERE collection = ?1 AND partition = ?5 AND id > ?2 AND body IS NOT NULL
                 AND (expires_at IS NULL OR expires_at > ?3) ORDER BY id LIMIT ?4"
            ))
            .bind(collection.name())
            .bind(after),
            Span::Keys(prefix) => sqlx::query(columns!(
                "INDEXED BY documents_key WHERE collection = ?1 AND unique_key > ?2 AND unique_key < ?5
                 AND unique_key IS NOT NULL AND body IS NOT NULL
                 AND (expires_at IS NULL OR expires_at > ?3) ORDER BY unique_key LIMIT ?4"
            ))
            .bind(collection.name())
            .bind(after.max(prefix.to_owned())),
        };
        let query = query.bind(now.millis()).bind(i64::from(limit));
        let query = match span {
            Span::All => query,
            Span::Partition(partition) => query.bind(partition.to_owned()),
            Span::Keys(prefix) => query.bind(check::end_of(prefix)),
        };
        let rows = self.all(query).await?;
        Ok(rows.iter().map(row::stored).collect::<Result<Vec<_>, _>>().map_err(Fault::from)?)
    }

    pub(super) async fn count(&self, collection: Collection, now: Timestamp) -> Result<u64, StoreError> {
        let mut connection = self.0.acquire().await?;
        let count: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM documents INDEXED BY documents_list
             WHERE collection = ?1 AND body IS NOT NULL AND (expires_at IS NULL OR expires_at > ?2)",
        )
        .bind(collection.name())
        .bind(now.millis())
        .fetch_one(&mut *connection)
        .await
        .map_err(Fault::from)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    pub(super) async fn changes(
        &self,
        collection: Collection,
        cursor: i64,
        limit: u32,
        now: Timestamp,
    ) -> Result<Changes, StoreError> {
        // A follower that starts at 0 has no documents yet, so it needs no tombstones.
        let query = if cursor == 0 {
            sqlx::query(columns!(
                "WHERE collection = ?1 AND seq > ?2 AND body IS NOT NULL AND (expires_at IS NULL OR expires_at > ?4)
                 ORDER BY seq LIMIT ?3"
            ))
        } else {
            sqlx::query(columns!("WHERE collection = ?1 AND seq > ?2 AND ?4 = ?4 ORDER BY seq LIMIT ?3"))
        };
        let query = query.bind(collection.name()).bind(cursor).bind(i64::from(limit) + 1).bind(now.millis());
        let rows = self.all(query).await?;
        let wanted = rows.len().min(limit as usize);
        let read: Result<Vec<_>, _> = rows[..wanted].iter().map(|each| row::change(each, now)).collect();
        let items = read.map_err(Fault::from)?;
        let cursor = items.last().map_or(cursor, |last| last.seq);
        Ok(Changes { items, cursor, more: rows.len() > wanted })
    }

    pub(super) async fn head(&self) -> Result<i64, StoreError> {
        let mut connection = self.0.acquire().await?;
        let head = sqlx::query_scalar("SELECT seq FROM counter").fetch_one(&mut *connection).await;
        Ok(head.map_err(Fault::from)?)
    }

    async fn one(&self, query: Query<'_>) -> Result<Option<Stored>, StoreError> {
        let mut connection = self.0.acquire().await?;
        let found = query.fetch_optional(&mut *connection).await.map_err(Fault::from)?;
        Ok(found.as_ref().map(row::stored).transpose().map_err(Fault::from)?)
    }

    async fn all(&self, query: Query<'_>) -> Result<Vec<SqliteRow>, StoreError> {
        let mut connection = self.0.acquire().await?;
        Ok(query.fetch_all(&mut *connection).await.map_err(Fault::from)?)
    }
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;
