//! What the writer is asked to do, and how it is done inside the writer's transaction.

use rp_base::Timestamp;
use rp_documents::Collection;
use sqlx::{Row as _, SqliteConnection};
use tokio::sync::oneshot;

use super::fault::Fault;
use crate::rules::{self, ExistingRow, Table};
use crate::{Draft, Expect, StoreError, Stored, Version};

/// Rows that one sweep takes at most, so that it never holds up the writes behind it.
pub(super) const SWEEP_ROWS: i64 = 500;

/// One write.
#[derive(Debug)]
pub(super) enum Op {
    Create {
        collection: Collection,
        drafts: Vec<Draft>,
    },
    Replace {
        collection: Collection,
        draft: Draft,
        expect: Expect,
    },
    Delete {
        collection: Collection,
        id: String,
        expect: Expect,
    },
    /// Expired documents become tombstones; tombstones written before `drop_before` go.
    Sweep {
        drop_before: Timestamp,
    },
    /// Writes nothing, and thereby shows that writing works.
    Probe,
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
    /// Collections that changed.
    pub(super) touched: Vec<Collection>,
    /// Rows a sweep worked on.
    pub(super) swept: u64,
}

pub(super) type Failure = rules::Failure<Fault>;

/// Does writes inside an open transaction.
pub(super) struct Work<'a> {
    pub(super) connection: &'a mut SqliteConnection,
    /// The last position given; the caller stores it before the commit.
    pub(super) seq: i64,
    pub(super) now: Timestamp,
}

/// One collection of it.
struct Rows<'a, 'b> {
    work: &'a mut Work<'b>,
    collection: Collection,
}

impl<'b> Work<'b> {
    pub(super) async fn run(&mut self, op: &Op) -> Result<WriteEffect, Failure> {
        match op {
            Op::Create { collection, drafts } => {
                let mut rows = self.rows(*collection);
                let mut stored = Vec::with_capacity(drafts.len());
                for draft in drafts {
                    stored.push(rules::create(&mut rows, draft).await?);
                }
                Ok(WriteEffect { stored, touched: vec![*collection], swept: 0 })
            }
            Op::Replace { collection, draft, expect } => {
                let stored = rules::replace(&mut self.rows(*collection), draft, *expect).await?;
                Ok(WriteEffect { stored: vec![stored], touched: vec![*collection], swept: 0 })
            }
            Op::Delete { collection, id, expect } => {
                rules::delete(&mut self.rows(*collection), id, *expect).await?;
                Ok(WriteEffect { touched: vec![*collection], ..WriteEffect::default() })
            }
            Op::Sweep { drop_before } => self.sweep(*drop_before).await.map_err(Failure::Fault),
            Op::Probe => Ok(WriteEffect::default()),
        }
    }

    fn rows(&mut self, collection: Collection) -> Rows<'_, 'b> {
        Rows { work: self, collection }
    }

    async fn sweep(&mut self, drop_before: Timestamp) -> Result<WriteEffect, Fault> {
        let expired = sqlx::query(
            "SELECT collection, id FROM documents WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2",
        )
        .bind(self.now.millis())
        .bind(SWEEP_ROWS)
        .fetch_all(&mut *self.connection)
        .await?;
        let mut done = WriteEffect::default();
        for row in &expired {
            let name: &str = row.try_get("collection")?;
            // A collection of another version of the software: its rows are not ours to judge.
            let Some(collection) = Collection::from_name(name) else { continue };
            self.rows(collection).write_tombstone(row.try_get("id")?).await?;
            done.swept += 1;
            if !done.touched.contains(&collection) {
                done.touched.push(collection);
            }
        }
        let dropped = sqlx::query(
            "DELETE FROM documents WHERE rowid IN
                (SELECT rowid FROM documents WHERE body IS NULL AND written <= ?1 LIMIT ?2)",
        )
        .bind(drop_before.millis())
        .bind(SWEEP_ROWS)
        .execute(&mut *self.connection)
        .await?;
        done.swept += dropped.rows_affected();
        Ok(done)
    }
}

impl Table for Rows<'_, '_> {
    type Fault = Fault;

    fn collection(&self) -> Collection {
        self.collection
    }

    async fn existing(&mut self, id: &str, key: Option<&str>) -> Result<Vec<ExistingRow>, Fault> {
        let rows = sqlx::query(
            "SELECT id, version, body IS NOT NULL AND (expires_at IS NULL OR expires_at > ?4) AS lives
             FROM documents WHERE collection = ?1 AND (id = ?2 OR unique_key = ?3)",
        )
        .bind(self.collection.name())
        .bind(id)
        .bind(key)
        .bind(self.work.now.millis())
        .fetch_all(&mut *self.work.connection)
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
        self.work.seq += 1;
        sqlx::query(
            "INSERT INTO documents (collection, id, partition, unique_key, body, version, seq, written, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8)
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
        .bind(self.work.seq)
        .bind(self.work.now.millis())
        .bind(draft.expires_at.map(Timestamp::millis))
        .execute(&mut *self.work.connection)
        .await?;
        Ok(Stored {
            id: draft.id.clone(),
            partition: draft.partition.clone(),
            unique_key: draft.unique_key.clone(),
            body: draft.body.clone(),
            // Positions are never given twice, so neither are versions: not after a delete, not after a restart.
            version: Version(self.work.seq),
            seq: self.work.seq,
            written: self.work.now,
            expires_at: draft.expires_at,
        })
    }

    async fn write_tombstone(&mut self, id: &str) -> Result<(), Fault> {
        self.work.seq += 1;
        sqlx::query(
            "UPDATE documents SET body = NULL, unique_key = NULL, expires_at = NULL, partition = '',
                version = ?3, seq = ?3, written = ?4
             WHERE collection = ?1 AND id = ?2",
        )
        .bind(self.collection.name())
        .bind(id)
        .bind(self.work.seq)
        .bind(self.work.now.millis())
        .execute(&mut *self.work.connection)
        .await?;
        Ok(())
    }
}
