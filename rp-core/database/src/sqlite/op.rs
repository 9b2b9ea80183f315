//! What the writer is asked to do, and how it is done inside the writer's transaction.

use rp_base::Timestamp;
use rp_documents::Collection;
use sqlx::{Row as _, SqliteConnection};
use tokio::sync::oneshot;

use super::fault::Fault;
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
    pub(super) reply: oneshot::Sender<Result<Done, StoreError>>,
}

/// What a write gave.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) stored: Vec<Stored>,
    /// Collections that changed.
    pub(super) touched: Vec<Collection>,
    /// Rows a sweep worked on.
    pub(super) swept: u64,
}

/// Why a write was not done.
pub(super) enum Failure {
    /// By the store's rules; its neighbours in the transaction are not concerned.
    Refused(StoreError),
    /// By the database; the transaction is lost.
    Fault(Fault),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Fault(error.into())
    }
}

/// Does writes inside an open transaction.
pub(super) struct Work<'a> {
    pub(super) connection: &'a mut SqliteConnection,
    /// The last position given; the caller stores it before the commit.
    pub(super) seq: i64,
    pub(super) now: Timestamp,
}

/// A row as far as the rules need it.
struct Standing {
    version: Version,
    lives: bool,
}

impl Work<'_> {
    pub(super) async fn run(&mut self, op: &Op) -> Result<Done, Failure> {
        match op {
            Op::Create { collection, drafts } => {
                let mut stored = Vec::with_capacity(drafts.len());
                for draft in drafts {
                    stored.push(self.create(*collection, draft).await?);
                }
                Ok(Done { stored, touched: vec![*collection], swept: 0 })
            }
            Op::Replace { collection, draft, expect } => {
                self.expect(*collection, &draft.id, *expect).await?;
                let stored = self.write(*collection, draft).await?;
                Ok(Done { stored: vec![stored], touched: vec![*collection], swept: 0 })
            }
            Op::Delete { collection, id, expect } => {
                self.expect(*collection, id, *expect).await?;
                self.bury(*collection, id).await?;
                Ok(Done { touched: vec![*collection], ..Done::default() })
            }
            Op::Sweep { drop_before } => self.sweep(*drop_before).await,
            Op::Probe => Ok(Done::default()),
        }
    }

    async fn create(&mut self, collection: Collection, draft: &Draft) -> Result<Stored, Failure> {
        if self.standing(collection, &draft.id).await?.is_some_and(|row| row.lives) {
            return Err(Failure::Refused(StoreError::Exists { collection, which: "id" }));
        }
        self.write(collection, draft).await
    }

    async fn expect(&mut self, collection: Collection, id: &str, expect: Expect) -> Result<(), Failure> {
        let standing = self.standing(collection, id).await?.filter(|row| row.lives);
        let Some(row) = standing else {
            return Err(Failure::Refused(StoreError::Gone { collection }));
        };
        match expect {
            Expect::Version(version) if version != row.version => {
                Err(Failure::Refused(StoreError::Stale { collection }))
            }
            Expect::Version(_) | Expect::Any => Ok(()),
        }
    }

    async fn standing(&mut self, collection: Collection, id: &str) -> Result<Option<Standing>, sqlx::Error> {
        let row = sqlx::query(
            "SELECT version, body IS NOT NULL AND (expires_at IS NULL OR expires_at > ?3) AS lives
             FROM documents WHERE collection = ?1 AND id = ?2",
        )
        .bind(collection.name())
        .bind(id)
        .bind(self.now.millis())
        .fetch_optional(&mut *self.connection)
        .await?;
        row.map(|row| {
            Ok(Standing { version: Version(row.try_get("version")?), lives: row.try_get("lives")? })
        })
        .transpose()
    }

    /// Frees the unique key when its holder has expired; refuses when it lives.
    async fn claim_key(&mut self, collection: Collection, draft: &Draft) -> Result<(), Failure> {
        let Some(key) = &draft.unique_key else { return Ok(()) };
        let holder = sqlx::query(
            "SELECT id, expires_at IS NULL OR expires_at > ?4 AS lives
             FROM documents WHERE collection = ?1 AND unique_key = ?2 AND id <> ?3",
        )
        .bind(collection.name())
        .bind(key)
        .bind(&draft.id)
        .bind(self.now.millis())
        .fetch_optional(&mut *self.connection)
        .await?;
        let Some(holder) = holder else { return Ok(()) };
        if holder.try_get::<bool, _>("lives")? {
            return Err(Failure::Refused(StoreError::Exists { collection, which: "key" }));
        }
        let id: String = holder.try_get("id")?;
        self.bury(collection, &id).await?;
        Ok(())
    }

    async fn write(&mut self, collection: Collection, draft: &Draft) -> Result<Stored, Failure> {
        self.claim_key(collection, draft).await?;
        self.seq += 1;
        sqlx::query(
            "INSERT INTO documents (collection, id, partition, unique_key, body, version, seq, written, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8)
             ON CONFLICT (collection, id) DO UPDATE SET
                partition = excluded.partition, unique_key = excluded.unique_key, body = excluded.body,
                version = excluded.version, seq = excluded.seq, written = excluded.written,
                expires_at = excluded.expires_at",
        )
        .bind(collection.name())
        .bind(&draft.id)
        .bind(&draft.partition)
        .bind(&draft.unique_key)
        .bind(&draft.body)
        .bind(self.seq)
        .bind(self.now.millis())
        .bind(draft.expires_at.map(Timestamp::millis))
        .execute(&mut *self.connection)
        .await?;
        Ok(Stored {
            id: draft.id.clone(),
            partition: draft.partition.clone(),
            unique_key: draft.unique_key.clone(),
            body: draft.body.clone(),
            // Positions are never given twice, so neither are versions: not after a delete, not after a restart.
            version: Version(self.seq),
            seq: self.seq,
            written: self.now,
            expires_at: draft.expires_at,
        })
    }

    /// Leaves a tombstone; id and key are free.
    async fn bury(&mut self, collection: Collection, id: &str) -> Result<(), sqlx::Error> {
        self.seq += 1;
        sqlx::query(
            "UPDATE documents SET body = NULL, unique_key = NULL, expires_at = NULL, partition = '',
                version = ?3, seq = ?3, written = ?4
             WHERE collection = ?1 AND id = ?2",
        )
        .bind(collection.name())
        .bind(id)
        .bind(self.seq)
        .bind(self.now.millis())
        .execute(&mut *self.connection)
        .await?;
        Ok(())
    }

    async fn sweep(&mut self, drop_before: Timestamp) -> Result<Done, Failure> {
        let expired = sqlx::query(
            "SELECT collection, id FROM documents WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2",
        )
        .bind(self.now.millis())
        .bind(SWEEP_ROWS)
        .fetch_all(&mut *self.connection)
        .await?;
        let mut done = Done::default();
        for row in &expired {
            let name: &str = row.try_get("collection")?;
            // A collection of another version of the software: its rows are not ours to judge.
            let Some(collection) = Collection::from_name(name) else { continue };
            self.bury(collection, row.try_get("id")?).await?;
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
