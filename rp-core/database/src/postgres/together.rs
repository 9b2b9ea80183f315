//! Independent writes, done at once: one query reads the existing rows, the rules run in memory, and one statement
//! writes. The counter is locked, so nobody else writes the collection meanwhile.

use std::collections::{HashMap, HashSet};

use rp_base::Timestamp;
use rp_documents::Collection;
use sqlx::Row as _;

use super::fault::Fault;
use super::op::{Failure, Op, Request, Work, WriteEffect, stored};
use crate::rules::{self, ExistingRow, Table};
use crate::{Draft, StoreError, Stored, Version};

type Outcome = Result<WriteEffect, StoreError>;

/// Ids and keys of a batch, each of one write only.
#[derive(Default)]
struct BatchKeys<'a> {
    ids: HashSet<&'a str>,
    /// With the id of the document that has the key.
    keys: HashMap<&'a str, &'a str>,
}

/// The rows in memory on which the rules run; the accepted writes are written afterwards.
struct BatchTable {
    collection: Collection,
    /// By id.
    rows: HashMap<String, (Version, bool)>,
    seq: i64,
    now: Timestamp,
}

/// Rows to be written, column by column. One without a body is a tombstone.
#[derive(Default)]
struct Columns<'a> {
    ids: Vec<&'a str>,
    partitions: Vec<&'a str>,
    keys: Vec<Option<&'a str>>,
    bodies: Vec<Option<&'a str>>,
    seqs: Vec<i64>,
    expiries: Vec<Option<i64>>,
}

/// One outcome for each request; `None`: the requests depend on one another, or there is only one document, and nothing
/// was written.
pub(super) async fn run_together(
    work: &mut Work<'_>,
    batch: &[Request],
) -> Result<Option<Vec<Outcome>>, Fault> {
    let Some(wanted) = BatchKeys::from_batch(batch) else { return Ok(None) };
    let Some(mut seen) = read_existing(work, &wanted).await? else { return Ok(None) };
    let mut outcomes = Vec::with_capacity(batch.len());
    for request in batch {
        outcomes.push(match seen.run(&request.op).await {
            Ok(done) => Ok(done),
            Err(Failure::Refused(error)) => Err(error),
            Err(Failure::Fault(fault)) => return Err(fault),
        });
    }
    work.seq = seen.seq;
    write(work, &outcomes).await?;
    Ok(Some(outcomes))
}

impl<'a> BatchKeys<'a> {
    fn from_batch(batch: &'a [Request]) -> Option<Self> {
        let mut wanted = Self::default();
        for request in batch {
            let alone = match &request.op {
                Op::Create(drafts) => drafts.iter().all(|draft| wanted.document(draft)),
                Op::Replace(draft, _) => wanted.document(draft),
                Op::Delete(id, _) => wanted.ids.insert(id),
                Op::Sweep(_) | Op::Probe => false,
            };
            if !alone {
                return None;
            }
        }
        (wanted.ids.len() > 1).then_some(wanted)
    }

    /// Whether nobody else wants its id or its key.
    fn document(&mut self, draft: &'a Draft) -> bool {
        let key = draft.unique_key.as_deref();
        self.ids.insert(&draft.id) && key.is_none_or(|key| self.keys.insert(key, &draft.id).is_none())
    }
}

/// Reads the existing rows; `None`: another document has one of the keys. Each id and key is looked up by itself
/// (`OFFSET 0` keeps that so): a list of them may be compared with every document of the collection, by a plan from
/// when there were few.
async fn read_existing(work: &mut Work<'_>, wanted: &BatchKeys<'_>) -> Result<Option<BatchTable>, Fault> {
    let ids: Vec<&str> = wanted.ids.iter().copied().collect();
    let keys: Vec<&str> = wanted.keys.keys().copied().collect();
    let found = sqlx::query(
        "SELECT found.* FROM unnest($2::text[]) AS wanted(id), LATERAL (
            SELECT id, unique_key, version, body IS NOT NULL AND (expires_at IS NULL OR expires_at > $4) AS lives
            FROM documents WHERE collection = $1 AND id = wanted.id OFFSET 0) AS found
         UNION ALL
         SELECT found.* FROM unnest($3::text[]) AS wanted(key), LATERAL (
            SELECT id, unique_key, version, body IS NOT NULL AND (expires_at IS NULL OR expires_at > $4) AS lives
            FROM documents WHERE collection = $1 AND unique_key = wanted.key OFFSET 0) AS found",
    )
    .bind(work.collection.name())
    .bind(ids)
    .bind(keys)
    .bind(work.now.millis())
    .fetch_all(&mut *work.connection)
    .await?;
    let mut rows = HashMap::with_capacity(found.len());
    for row in &found {
        let (id, key): (String, Option<String>) = (row.try_get("id")?, row.try_get("unique_key")?);
        if key.and_then(|key| wanted.keys.get(key.as_str()).copied()).is_some_and(|by| by != id) {
            return Ok(None);
        }
        rows.insert(id, (Version(row.try_get("version")?), row.try_get("lives")?));
    }
    Ok(Some(BatchTable { collection: work.collection, rows, seq: work.seq, now: work.now }))
}

impl BatchTable {
    async fn run(&mut self, op: &Op) -> Result<WriteEffect, Failure> {
        match op {
            Op::Create(drafts) => {
                let mut made = Vec::with_capacity(drafts.len());
                for draft in drafts {
                    made.push(rules::create(self, draft).await?);
                }
                Ok(WriteEffect::from_stored(made))
            }
            Op::Replace(draft, expect) => {
                Ok(WriteEffect::from_stored(vec![rules::replace(self, draft, *expect).await?]))
            }
            Op::Delete(id, expect) => {
                rules::delete(self, id, *expect).await?;
                Ok(WriteEffect { mark: Some((id.clone(), self.seq)), ..WriteEffect::default() })
            }
            // They never come here.
            Op::Sweep(_) | Op::Probe => Ok(WriteEffect::default()),
        }
    }
}

impl Table for BatchTable {
    type Fault = Fault;

    fn collection(&self) -> Collection {
        self.collection
    }

    async fn existing(&mut self, id: &str, _: Option<&str>) -> Result<Vec<ExistingRow>, Fault> {
        let own = self.rows.get(id).map(|(version, lives)| ExistingRow {
            id: id.to_owned(),
            version: *version,
            lives: *lives,
        });
        Ok(own.into_iter().collect())
    }

    async fn put(&mut self, draft: &Draft) -> Result<Stored, Fault> {
        self.seq += 1;
        Ok(stored(draft, self.seq, self.now))
    }

    async fn write_tombstone(&mut self, _: &str) -> Result<(), Fault> {
        self.seq += 1;
        Ok(())
    }
}

async fn write(work: &mut Work<'_>, outcomes: &[Outcome]) -> Result<(), Fault> {
    let mut columns = Columns::default();
    for done in outcomes.iter().flatten() {
        match (done.stored.as_slice(), &done.mark) {
            ([], Some((id, seq))) => columns.tombstone(id, *seq),
            (stored, _) => stored.iter().for_each(|stored| columns.document(stored)),
        }
    }
    if columns.ids.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO documents (collection, id, partition, unique_key, body, version, seq, written, expires_at)
         SELECT $1, id, partition, unique_key, body, seq, seq, $2, expires_at
         FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[])
            AS draft(id, partition, unique_key, body, seq, expires_at)
         ON CONFLICT (collection, id) DO UPDATE SET
            partition = excluded.partition, unique_key = excluded.unique_key, body = excluded.body,
            version = excluded.version, seq = excluded.seq, written = excluded.written,
            expires_at = excluded.expires_at",
    )
    .bind(work.collection.name())
    .bind(work.now.millis())
    .bind(columns.ids)
    .bind(columns.partitions)
    .bind(columns.keys)
    .bind(columns.bodies)
    .bind(columns.seqs)
    .bind(columns.expiries)
    .execute(&mut *work.connection)
    .await?;
    Ok(())
}

impl<'a> Columns<'a> {
    fn document(&mut self, stored: &'a Stored) {
        self.ids.push(&stored.id);
        self.partitions.push(&stored.partition);
        self.keys.push(stored.unique_key.as_deref());
        self.bodies.push(Some(&stored.body));
        self.seqs.push(stored.seq);
        self.expiries.push(stored.expires_at.map(Timestamp::millis));
    }

    fn tombstone(&mut self, id: &'a str, seq: i64) {
        self.ids.push(id);
        self.partitions.push("");
        self.keys.push(None);
        self.bodies.push(None);
        self.seqs.push(seq);
        self.expiries.push(None);
    }
}
