//! The audit log in the embedded store: promised entries, the chain, its checkpoints and their key. With the spool: the
//! store is away from time to time, and entries go to the local disk meanwhile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use futures_util::future::try_join_all;
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Clock as _, Digest, Id, SystemClock, SystemRandom, sha256};
use rp_database::{SharedStore, SqliteOptions, SqliteStore};
use rp_documents::{Actor, Collection, Entry, Phase};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tests_kit::until;

use super::Workload;
use crate::recorder::{Marks, said};

const LONG: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, Deserialize)]
enum Mark {
    /// The key that signs, by its id.
    Key(String),
    /// An entry that is durable, by its digest.
    Promised(Digest),
}

pub(super) struct Log {
    pub(super) spooled: bool,
}

#[async_trait]
impl Workload for Log {
    fn name(&self) -> &'static str {
        if self.spooled { "spool" } else { "audit" }
    }

    async fn run(&self, folder: &Path, marks: &Marks) -> Result<()> {
        let key = CheckpointKey::open_or_create(&folder.join("audit.key"))?;
        marks.say(&Mark::Key(key.id()))?;
        let store = store(folder).await?;
        let log = self.start(folder, &store, key).await?;
        promise(&log, marks, 3).await?;
        if self.spooled {
            let mut outage = outage(folder).await?;
            promise(&log, marks, 3).await?;
            promise(&log, marks, 1).await?;
            ensure!(log.spooling(), "the store is not away");
            sqlx::query("ROLLBACK").execute(&mut outage).await?;
            outage.close().await?;
            let brought_in = || async {
                ensure!(!log.spooling(), "entries are on the local disk");
                Ok(())
            };
            until("the spool is in the store", LONG, brought_in).await?;
        } else {
            log.close().await;
            return again(self, folder, store, marks).await;
        }
        promise(&log, marks, 2).await?;
        // Away when the power goes.
        let _outage = outage(folder).await?;
        promise(&log, marks, 2).await?;
        promise(&log, marks, 3).await
    }

    async fn check(&self, folder: &Path, marks: &[String]) -> Result<()> {
        let marks: Vec<Mark> = said(marks)?;
        let key =
            CheckpointKey::open_or_create(&folder.join("audit.key")).context("the key does not open")?;
        for mark in &marks {
            let Mark::Key(id) = mark else { continue };
            ensure!(key.id() == *id, "the key {id} was promised, {} is there", key.id());
        }
        let store = store(folder).await.context("the store does not open")?;
        let log = self.start(folder, &store, key).await.context("the log does not open")?;
        let looked = look(&log, &store, &marks).await;
        log.close().await;
        store.close().await;
        looked
    }
}

/// A second life: another chain, left without its end.
async fn again(workload: &Log, folder: &Path, store: SharedStore, marks: &Marks) -> Result<()> {
    let key = CheckpointKey::open_or_create(&folder.join("audit.key"))?;
    let log = workload.start(folder, &store, key).await?;
    for _ in 0..6 {
        promise(&log, marks, 3).await?;
        // This entry was not promised.
        log.queue(entry()).await?;
    }
    Ok(())
}

fn path(folder: &Path) -> PathBuf {
    folder.join("store/audit.db")
}

async fn store(folder: &Path) -> Result<SharedStore> {
    let mut options = SqliteOptions::new(path(folder), Arc::new(SystemClock));
    options.sweep_every = None;
    // A locked file is away at once.
    options.busy_wait = Duration::from_millis(1);
    Ok(Arc::new(SqliteStore::open(options).await?))
}

/// The store takes no writes until this is rolled back.
async fn outage(folder: &Path) -> Result<SqliteConnection> {
    let mut connection = SqliteConnectOptions::new().filename(path(folder)).connect().await?;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await?;
    Ok(connection)
}

impl Log {
    async fn start(&self, folder: &Path, store: &SharedStore, key: CheckpointKey) -> Result<Audit> {
        let mut options = AuditOptions::new(key);
        options.group = Duration::from_millis(1);
        if self.spooled {
            options.spool = Some(folder.join("audit.spool"));
        } else {
            // Many in the second that this takes. They are tried while the store is away too, which takes longer.
            options.checkpoint_period = Duration::from_millis(20);
        }
        Ok(Audit::start(Arc::clone(store), Arc::new(SystemClock), options).await?)
    }
}

fn entry() -> Entry {
    let actor = Actor { sub: "sub-1".to_owned(), name: "Ada".to_owned(), from: "192.0.2.1".to_owned() };
    Entry::new(SystemClock.now(), Phase::Single, Id::random(&SystemRandom), actor, "exec")
}

/// Entries that are promised together.
async fn promise(log: &Audit, marks: &Marks, count: usize) -> Result<()> {
    for receipt in try_join_all((0..count).map(|_| log.promise(entry()))).await? {
        marks.say(&Mark::Promised(receipt.digest))?;
    }
    Ok(())
}

async fn look(log: &Audit, store: &SharedStore, marks: &[Mark]) -> Result<()> {
    let verdict = log.verify().await?;
    ensure!(verdict.is_intact(), "the log is not intact: {:?}", verdict.findings);
    let stored = digests(store).await?;
    for mark in marks {
        let Mark::Promised(digest) = mark else { continue };
        ensure!(stored.contains(digest), "the entry {digest} was promised, it is not there");
    }
    log.promise(entry()).await.context("the log takes no entries")?;
    Ok(())
}

/// Of every entry in the store, as it stands there.
async fn digests(store: &SharedStore) -> Result<BTreeSet<Digest>> {
    #[derive(Deserialize)]
    struct Batch {
        entries: Vec<Box<RawValue>>,
    }
    let mut found = BTreeSet::new();
    let mut from = None;
    loop {
        let page = store.list(Collection::AuditBatches, None, from.as_deref(), 1000).await?;
        for item in page.items {
            let batch: Batch = serde_json::from_str(&item.body)?;
            found.extend(batch.entries.iter().map(|entry| sha256(entry.get().as_bytes())));
        }
        from = page.continuation;
        if from.is_none() {
            return Ok(found);
        }
    }
}
