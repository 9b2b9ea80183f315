//! What a lane is asked to do, and how it is done inside the lane's transaction.

use rp_base::Timestamp;
use rp_documents::Collection;
use sqlx::{PgConnection, Row as _};
use tokio::sync::oneshot;

use super::fault::Fault;
use crate::rules::{self, ExistingRow, Table};
use crate::{Draft, Expect, StoreError, Stored, Version};

/// Rows that one sweep takes at most, so that it never holds up the writes behind it.
const SWEEP_ROWS: i64 = 500;

/// One write.
#[derive(Debug)]
pub(super) enum Op {
    Create(Vec<Draft>),
    Replace(Draft, Expect),
    Delete(String, Expect),
    /// Expired documents become tombstones; tombstones older than this many milliseconds go.
    Sweep(i64),
    /// Writes nothing new, and thereby shows that writing works.
    Probe,
}

impl Op {
    /// Positions that it may need: a write may bury the expired holder of its key first.
    pub(super) fn positions(&self) -> i64 {
        match self {
            Self::Create(drafts) => 2 * i64::try_from(drafts.len()).unwrap_or(i64::MAX / 4),
            Self::Replace(..) => 2,
            Self::Delete(..) => 1,
            Self::Sweep(_) => SWEEP_ROWS,
            Self::Probe => 0,
        }
    }

    /// Bytes of its bodies.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Create(drafts) => drafts.iter().map(|draft| draft.body.len()).sum(),
            Self::Replace(draft, _) => draft.body.len(),
            Self::Delete(..) | Self::Sweep(_) | Self::Probe => 0,
        }
    }
}

/// A write with its caller.
pub(super) struct Request {
    pub(super) op: Op,
    pub(super) reply: oneshot::Sender<Result<WriteEffect, StoreError>>,
}

/// What a write gave.
#[derive(Debug, Default)]
pub(super) struct WriteEffect {
    pub(super) stored: Vec<Stored>,
    /// Where one of its changes stands, as evidence that it was committed.
    pub(super) mark: Option<(String, i64)>,
    /// Rows a sweep worked on.
    pub(super) swept: u64,
}

impl WriteEffect {
    /// Whether followers have something to read.
    pub(super) fn changed(&self) -> bool {
        self.mark.is_some()
    }

    pub(super) fn from_stored(stored: Vec<Stored>) -> Self {
        let mark = stored.last().map(|stored| (stored.id.clone(), stored.seq));
        Self { stored, mark, swept: 0 }
    }
}

pub(super) type Failure = rules::Failure<Fault>;

/// Does writes inside a transaction that has locked the collection's counter.
pub(super) struct Work<'a> {
    pub(super) connection: &'a mut PgConnection,
    pub(super) collection: Collection,
    /// The last position given; enough are reserved.
    pub(super) seq: i64,
    pub(super) now: Timestamp,
}

impl Work<'_> {
    pub(super) async fn run(&mut self, op: &Op) -> Result<WriteEffect, Failure> {
        match op {
            Op::Create(drafts) => {
                let mut stored = Vec::with_capacity(drafts.len());
                for draft in drafts {
                    stored.push(rules::create(self, draft).await?);
                }
                Ok(WriteEffect::from_stored(stored))
            }
            Op::Replace(draft, expect) => {
                Ok(WriteEffect::from_stored(vec![rules::replace(self, draft, *expect).await?]))
            }
            Op::Delete(id, expect) => {
                rules::delete(self, id, *expect).await?;
                Ok(WriteEffect { mark: Some((id.clone(), self.seq)), ..WriteEffect::default() })
            }
            Op::Sweep(keep) => self.sweep(*keep).await.map_err(Failure::Fault),
            Op::Probe => Ok(WriteEffect::default()),
        }
    }

    async fn sweep(&mut self, keep: i64) -> Result<WriteEffect, Fault> {
        let buried = sqlx::query(
            "WITH due AS (
                SELECT id, row_number() OVER (ORDER BY expires_at, id) AS n FROM documents
                WHERE collection = $1 AND expires_at <= $2 ORDER BY expires_at, id LIMIT $3)
             UPDATE documents SET body = NULL, unique_key = NULL, expires_at = NULL, partition = '',
                version = $4 + due.n, seq = $4 + due.n, written = $2
             FROM due WHERE documents.collection = $1 AND documents.id = due.id
             RETURNING documents.id, documents.seq",
        )
        .bind(self.collection.name())
        .bind(self.now.millis())
        .bind(SWEEP_ROWS)
        .bind(self.seq)
        .fetch_all(&mut *self.connection)
        .await?;
        self.seq += SWEEP_ROWS;
        let mark = buried.first().map(|row| Ok::<_, sqlx::Error>((row.try_get(0)?, row.try_get(1)?)));
        let dropped = sqlx::query(
            "DELETE FROM documents WHERE collection = $1 AND id IN (
                SELECT id FROM documents WHERE collection = $1 AND body IS NULL AND written <= $2 LIMIT $3)",
        )
        .bind(self.collection.name())
        .bind(self.now.millis().saturating_sub(keep))
        .bind(SWEEP_ROWS)
        .execute(&mut *self.connection)
        .await?;
        let swept = dropped.rows_affected() + buried.len() as u64;
        Ok(WriteEffect { mark: mark.transpose()?, swept, stored: Vec::new() })
    }
}

/// A draft as it stands at a position.
pub(super) fn stored(draft: &Draft, seq: i64, now: Timestamp) -> Stored {
    Stored {
        id: draft.id.clone(),
        partition: draft.partition.clone(),
        unique_key: draft.unique_key.clone(),
        body: draft.body.clone(),
        // Positions are never given twice, so neither are versions: not after a delete, not after a restart.
        version: Version(seq),
        seq,
        written: now,
        expires_at: draft.expires_at,
    }
}

impl Table for Work<'_> {
    type Fault = Fault;

    fn collection(&self) -> Collection {
        self.collection
    }

    async fn existing(&mut self, id: &str, key: Option<&str>) -> Result<Vec<ExistingRow>, Fault> {
        let rows = sqlx::query(
            "SELECT id, version, body IS NOT NULL AND (expires_at IS NULL OR expires_at > $4) AS lives
             FROM documents WHERE collection = $1 AND id = $2
             UNION
             SELECT id, version, body IS NOT NULL AND (expires_at IS NULL OR expires_at > $4) AS lives
             FROM documents WHERE collection = $1 AND unique_key = $3",
        )
        .bind(self.collection.name())
        .bind(id)
        .bind(key)
        .bind(self.now.millis())
        .fetch_all(&mut *self.connection)
        .await?;
        let existing = rows.iter().map(|row| {
            Ok(ExistingRow {
                id: row.try_get("id")?,
                version: Version(row.try_get("version")?),
                lives: row.try_get("lives")?,
            })
        });
        existing.collect()
    }

    async fn put(&mut self, draft: &Draft) -> Result<Stored, Fault> {
        self.seq += 1;
        sqlx::query(
            "INSERT INTO documents (collection, id, partition, unique_key, body, version, seq, written, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)
             ON CONFLICT (collection, id) DO UPDATE SET
                partition = excluded.partition, unique_key = excluded.unique_key, body = excluded.body,
                version = excluded.version, seq = excluded.seq, written = excluded.written,
                expires_at = excluded.expires_at",
        )
        .bind(self.collection.name())
        .bind(&draft.id)
        .bind(&draft.partition)
        .bind(&draft.unique_key)
        .bind(&draft.body)
        .bind(self.seq)
        .bind(self.now.millis())
        .bind(draft.expires_at.map(Timestamp::millis))
        .execute(&mut *self.connection)
        .await?;
        Ok(stored(draft, self.seq, self.now))
    }

    async fn write_tombstone(&mut self, id: &str) -> Result<(), Fault> {
        self.seq += 1;
        sqlx::query(
            "UPDATE documents SET body = NULL, unique_key = NULL, expires_at = NULL, partition = '',
                version = $3, seq = $3, written = $4
             WHERE collection = $1 AND id = $2",
        )
        .bind(self.collection.name())
        .bind(id)
        .bind(self.seq)
        .bind(self.now.millis())
        .execute(&mut *self.connection)
        .await?;
        Ok(())
    }
}
