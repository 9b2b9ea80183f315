//! How far a sink has come, and which process ships to it.

use std::collections::BTreeMap;
use std::time::Duration;

use rp_audit::CopiedTo;
use rp_base::Timestamp;
use rp_database::{Draft, Expect, SharedStore, StoreError, Stored, Version};
use rp_documents::Collection;
use serde::{Deserialize, Serialize};

/// How long a process holds a sink without renewing it. A store of one process needs no lease.
pub(crate) const LEASE: Duration = Duration::from_secs(10);
/// Chains of which it is remembered what was shipped: the newest.
const MOST_WRITERS: usize = 64;

/// The stored form; its id is the sink's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    pub(crate) owner: String,
    pub(crate) until: Timestamp,
    /// Positions in the change feeds.
    pub(crate) batches: i64,
    /// Id of the batch at that position: shows that it is still a position of this store.
    pub(crate) mark: String,
    pub(crate) checkpoints: i64,
    pub(crate) tombstones: i64,
    /// Numbers of the last entries shipped, by writer: a log that was copied is not shipped again.
    pub(crate) writers: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken_to: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failing_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl Cursor {
    /// Remembers that a writer's entries up to `seq` were shipped.
    pub(crate) fn shipped(&mut self, writer: &str, seq: u64) {
        self.writers.insert(writer.to_owned(), seq);
        while self.writers.len() > MOST_WRITERS {
            // Newer writers sort first.
            self.writers.pop_last();
        }
    }
}

/// A cursor with the version that was read.
#[derive(Debug, Clone)]
pub(crate) struct LeasedCursor {
    pub(crate) cursor: Cursor,
    version: Version,
}

fn draft(name: &str, cursor: &Cursor) -> Result<Draft, StoreError> {
    let malformed =
        |cause| StoreError::Malformed { collection: Collection::AuditSinks, id: name.to_owned(), cause };
    Ok(Draft {
        id: name.to_owned(),
        partition: name.to_owned(),
        unique_key: None,
        body: serde_json::to_string(cursor).map_err(malformed)?,
        expires_at: None,
    })
}

fn read(stored: &Stored) -> Result<LeasedCursor, StoreError> {
    let cursor = serde_json::from_str(&stored.body).map_err(|cause| StoreError::Malformed {
        collection: Collection::AuditSinks,
        id: stored.id.clone(),
        cause,
    })?;
    Ok(LeasedCursor { cursor, version: stored.version })
}

/// The result of a process's claim on a sink.
pub(crate) enum Claim {
    Mine(Box<LeasedCursor>),
    /// Another process ships; this is how it is doing.
    Theirs(Box<Cursor>),
}

/// Takes a sink, unless another process has it.
pub(crate) async fn claim(store: &SharedStore, name: &str, owner: &str) -> Result<Claim, StoreError> {
    let now = store.now().await?;
    // One process has the store: the former holder of the sink has ended.
    let alone = store.freshness().is_zero();
    let found = store.get(Collection::AuditSinks, name).await?;
    let Some(stored) = found else {
        let cursor = Cursor { owner: owner.to_owned(), until: now + LEASE, ..Cursor::default() };
        let created = store.create(Collection::AuditSinks, draft(name, &cursor)?).await?;
        return Ok(Claim::Mine(Box::new(LeasedCursor { cursor, version: created.version })));
    };
    let mut held = read(&stored)?;
    let theirs = held.cursor.owner != owner && !held.cursor.owner.is_empty() && held.cursor.until > now;
    if theirs && !alone {
        return Ok(Claim::Theirs(Box::new(held.cursor)));
    }
    owner.clone_into(&mut held.cursor.owner);
    fits(store, &mut held.cursor).await?;
    save(store, name, &mut held).await?;
    Ok(Claim::Mine(Box::new(held)))
}

/// A log that was copied into another store has other positions: start again, leaving out what was shipped.
async fn fits(store: &SharedStore, cursor: &mut Cursor) -> Result<(), StoreError> {
    let fits = match store.get(Collection::AuditBatches, &cursor.mark).await {
        _ if cursor.mark.is_empty() => true,
        Ok(Some(stored)) => stored.seq == cursor.batches,
        Ok(None) => store.head(Collection::AuditBatches).await? >= cursor.batches,
        Err(error) => return Err(error),
    };
    if !fits {
        (cursor.batches, cursor.checkpoints, cursor.tombstones) = (0, 0, 0);
    }
    Ok(())
}

/// Stores the cursor, which also holds on to the sink. [`StoreError::Stale`]: another process has taken it.
pub(crate) async fn save(store: &SharedStore, name: &str, held: &mut LeasedCursor) -> Result<(), StoreError> {
    held.cursor.until = store.now().await? + LEASE;
    let expect = Expect::Version(held.version);
    held.version = store.replace(Collection::AuditSinks, draft(name, &held.cursor)?, expect).await?.version;
    Ok(())
}

/// Gives the sink back, for another process to take at once.
pub(crate) async fn release(
    store: &SharedStore,
    name: &str,
    mut held: LeasedCursor,
) -> Result<(), StoreError> {
    held.cursor.owner.clear();
    save(store, name, &mut held).await
}

/// What every one of these sinks has taken; a sink that never ran has taken nothing.
pub(crate) async fn copied_to(store: &SharedStore, names: &[String]) -> Result<CopiedTo, StoreError> {
    let mut least = CopiedTo::ALL;
    for name in names {
        let stored = store.get(Collection::AuditSinks, name).await?;
        let taken = match stored {
            Some(stored) => read(&stored)?.cursor,
            None => Cursor::default(),
        };
        least.batches = least.batches.min(taken.batches);
        least.checkpoints = least.checkpoints.min(taken.checkpoints);
    }
    Ok(least)
}
