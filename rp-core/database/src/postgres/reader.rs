//! Reads: each one statement, and so one state of the database.

use rp_base::Timestamp;
use rp_documents::Collection;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::fault::Fault;
use super::link::{Link, Query};
use super::row;
use crate::continuation::Continuation;
use crate::{Changes, Page, Span, StoreError, Stored, check};

#[derive(Debug, Clone)]
pub(super) struct Reader(pub(super) Link);

/// The database's clock in milliseconds, or what the parameter stands for; once for a statement.
macro_rules! now {
    ($given:literal) => {
        concat!(
            "(SELECT coalesce(",
            $given,
            "::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint))"
        )
    };
}

/// `SELECT` of the columns that `row` reads.
macro_rules! columns {
    ($($rest:expr),+) => {
        concat!(
            "SELECT id, partition, unique_key, body, version, seq, written, expires_at FROM documents ",
            $($rest),+
        )
    };
}

/// The condition that a document lives.
macro_rules! lives {
    ($given:literal) => {
        concat!(" body IS NOT NULL AND (expires_at IS NULL OR expires_at > ", now!($given), ") ")
    };
}

impl Reader {
    pub(super) async fn get(&self, collection: Collection, id: &str) -> Result<Option<Stored>, StoreError> {
        const SQL: &str = columns!("WHERE collection = $1 AND id = $2 AND", lives!("$3"));
        self.one(|given| sqlx::query(SQL).bind(collection.name()).bind(id).bind(given)).await
    }

    pub(super) async fn get_by_key(
        &self,
        collection: Collection,
        key: &str,
    ) -> Result<Option<Stored>, StoreError> {
        const SQL: &str = columns!("WHERE collection = $1 AND unique_key = $2 AND", lives!("$3"));
        self.one(|given| sqlx::query(SQL).bind(collection.name()).bind(key).bind(given)).await
    }

    pub(super) async fn list(
        &self,
        collection: Collection,
        partition: Option<&str>,
        from: Option<Continuation>,
        limit: u32,
    ) -> Result<Page, StoreError> {
        const ALL: &str = columns!(
            "WHERE collection = $1 AND (partition, id) > ($2, $3) AND",
            lives!("$5"),
            "ORDER BY partition, id LIMIT $4"
        );
        const PART: &str = columns!(
            "WHERE collection = $1 AND partition = $2 AND id > $3 AND",
            lives!("$5"),
            "ORDER BY id LIMIT $4"
        );
        // Ids are not empty, so everything is after ("", "").
        let from = from.unwrap_or_else(|| Continuation { partition: String::new(), id: String::new() });
        let (sql, of) = partition.map_or((ALL, from.partition.as_str()), |partition| (PART, partition));
        let (id, more) = (from.id.as_str(), i64::from(limit) + 1);
        let make = |given| sqlx::query(sql).bind(collection.name()).bind(of).bind(id).bind(more).bind(given);
        let rows = self.0.rows(make).await?;
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
    ) -> Result<Vec<Stored>, StoreError> {
        // Each takes the same parameters, for one statement is prepared per text.
        const ALL: &str = columns!(
            "WHERE collection = $1 AND id > $3 AND $2::text = $2::text AND",
            lives!("$5"),
            "ORDER BY id LIMIT $4"
        );
        const PART: &str = columns!(
            "WHERE collection = $1 AND partition = $2 AND id > $3 AND",
            lives!("$5"),
            "ORDER BY id LIMIT $4"
        );
        const KEYS: &str = columns!(
            "WHERE collection = $1 AND unique_key > $3 AND unique_key < $2 AND",
            lives!("$5"),
            "ORDER BY unique_key LIMIT $4"
        );
        let after = after.unwrap_or_default();
        let (sql, of, after) = match span {
            Span::All => (ALL, String::new(), after),
            Span::Partition(partition) => (PART, partition.to_owned(), after),
            Span::Keys(prefix) => (KEYS, check::end_of(prefix), after.max(prefix)),
        };
        let of = of.as_str();
        let make = |given| {
            sqlx::query(sql).bind(collection.name()).bind(of).bind(after).bind(i64::from(limit)).bind(given)
        };
        let rows = self.0.rows(make).await?;
        Ok(rows.iter().map(row::stored).collect::<Result<Vec<_>, _>>().map_err(Fault::from)?)
    }

    pub(super) async fn count(&self, collection: Collection) -> Result<u64, StoreError> {
        const SQL: &str = concat!("SELECT count(*) FROM documents WHERE collection = $1 AND", lives!("$2"));
        let count = self.number(|given| sqlx::query(SQL).bind(collection.name()).bind(given)).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    pub(super) async fn changes(
        &self,
        collection: Collection,
        cursor: i64,
        limit: u32,
    ) -> Result<Changes, StoreError> {
        // A follower that starts at 0 has no documents yet, so it needs no tombstones.
        const LIVING: &str = concat!(
            "SELECT id, partition, unique_key, body, version, seq, written, expires_at, true AS lives
             FROM documents WHERE collection = $1 AND seq > $2 AND",
            lives!("$4"),
            "ORDER BY seq LIMIT $3"
        );
        const EVERY: &str = concat!(
            "SELECT id, partition, unique_key, body, version, seq, written, expires_at,",
            lives!("$4"),
            "AS lives FROM documents WHERE collection = $1 AND seq > $2 ORDER BY seq LIMIT $3"
        );
        let sql = if cursor == 0 { LIVING } else { EVERY };
        let more = i64::from(limit) + 1;
        let make = |given| sqlx::query(sql).bind(collection.name()).bind(cursor).bind(more).bind(given);
        let rows = self.0.rows(make).await?;
        let wanted = rows.len().min(limit as usize);
        let read: Result<Vec<_>, _> = rows[..wanted].iter().map(row::change).collect();
        let items = read.map_err(Fault::from)?;
        let cursor = items.last().map_or(cursor, |last| last.seq);
        Ok(Changes { items, cursor, more: rows.len() > wanted })
    }

    pub(super) async fn head(&self, collection: Collection) -> Result<i64, StoreError> {
        const SQL: &str = "SELECT coalesce((SELECT seq FROM counters WHERE collection = $1), 0)";
        self.number(|_| sqlx::query(SQL).bind(collection.name())).await
    }

    pub(super) async fn now(&self) -> Result<Timestamp, StoreError> {
        const SQL: &str = concat!("SELECT ", now!("$1"));
        Ok(Timestamp::from_millis(self.number(|given| sqlx::query(SQL).bind(given)).await?))
    }

    /// Collections of which something has expired, or whose tombstones are older than `keep` milliseconds.
    pub(super) async fn sweepable(&self, keep: i64) -> Result<Vec<Collection>, StoreError> {
        const SQL: &str = concat!(
            "WITH clock AS MATERIALIZED (SELECT ",
            now!("$3"),
            " AS now) SELECT name FROM clock, unnest($1::text[]) AS name
             WHERE EXISTS (SELECT FROM documents WHERE collection = name AND expires_at <= now)
                OR EXISTS (SELECT FROM documents
                    WHERE collection = name AND body IS NULL AND written <= now - $2::bigint)"
        );
        let names: Vec<&str> = Collection::ALL.into_iter().map(Collection::name).collect();
        let rows = self.0.rows(|given| sqlx::query(SQL).bind(names.clone()).bind(keep).bind(given)).await?;
        let mut found = Vec::new();
        for row in &rows {
            let name: String = row.try_get(0).map_err(Fault::from)?;
            found.extend(Collection::from_name(&name));
        }
        Ok(found)
    }

    async fn one<'q>(
        &self,
        make: impl Fn(Option<i64>) -> Query<'q> + Send + Sync,
    ) -> Result<Option<Stored>, StoreError> {
        let rows: Vec<PgRow> = self.0.rows(make).await?;
        Ok(rows.first().map(row::stored).transpose().map_err(Fault::from)?)
    }

    async fn number<'q>(
        &self,
        make: impl Fn(Option<i64>) -> Query<'q> + Send + Sync,
    ) -> Result<i64, StoreError> {
        let rows = self.0.rows(make).await?;
        let row = rows.first().ok_or(Fault::Database(sqlx::Error::RowNotFound))?;
        Ok(row.try_get(0).map_err(Fault::from)?)
    }
}
