//! A restore of a backup over a store: after a power cut the disk holds either all of the old store or all of the backup.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use rp_base::SystemClock;
use rp_database::{Draft, SqliteOptions, SqliteStore, Store as _};
use rp_documents::Collection;
use serde::{Deserialize, Serialize};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::Workload;
use crate::recorder::{Marks, said};

const ANY: Collection = Collection::ImportedClusters;
/// Documents that the backup has, and that came after it.
const EACH: u64 = 5;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Mark {
    Written,
    Asks,
    Restored { aside: PathBuf },
}

pub(super) struct Restore;

#[async_trait]
impl Workload for Restore {
    fn name(&self) -> &'static str {
        "restore"
    }

    async fn run(&self, folder: &Path, marks: &Marks) -> Result<()> {
        let (path, backup) = (path(folder), folder.join("backup.db"));
        let store = open(&path).await?;
        write(&store, "old").await?;
        store.backup(&backup).await?;
        // As after a kill: the log stays beside the file.
        let mut other = SqliteConnectOptions::new().filename(&path).connect().await?;
        sqlx::query("SELECT count(*) FROM documents").execute(&mut other).await?;
        write(&store, "new").await?;
        store.close().await;
        marks.say(&Mark::Written)?;
        marks.say(&Mark::Asks)?;
        let aside = SqliteStore::restore(&backup, &path).await?.context("a store was there")?;
        let aside = aside.file_name().map(PathBuf::from).context("a name")?;
        marks.say(&Mark::Restored { aside })
    }

    async fn check(&self, folder: &Path, marks: &[String]) -> Result<()> {
        let marks: Vec<Mark> = said(marks)?;
        let found = count(&path(folder)).await.context("the store does not open")?;
        match &marks[..] {
            [] => {}
            [Mark::Written] => ensure!(found == 2 * EACH, "all was promised, {found} are there"),
            [Mark::Written, Mark::Asks] => {
                ensure!(
                    found == 2 * EACH || found == EACH,
                    "all or the backup was promised, {found} are there"
                );
            }
            [.., Mark::Restored { aside }] => {
                ensure!(found == EACH, "the backup was promised, {found} are there");
                let kept = count(&folder.join("store").join(aside)).await?;
                ensure!(kept == 2 * EACH, "what was there was promised, {kept} are there");
            }
            other => anyhow::bail!("{other:?}"),
        }
        Ok(())
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("store/store.db")
}

async fn open(path: &Path) -> Result<SqliteStore> {
    let mut options = SqliteOptions::new(path, Arc::new(SystemClock));
    options.sweep_every = None;
    Ok(SqliteStore::open(options).await?)
}

async fn write(store: &SqliteStore, name: &str) -> Result<()> {
    for number in 0..EACH {
        let (id, partition) = (format!("{name}-{number}"), "p".to_owned());
        let body = format!(r#"{{"id":"{id}"}}"#);
        store.create(ANY, Draft { id, partition, unique_key: None, body, expires_at: None }).await?;
    }
    Ok(())
}

async fn count(path: &Path) -> Result<u64> {
    let store = open(path).await?;
    let found = store.count(ANY).await;
    store.close().await;
    Ok(found?)
}
