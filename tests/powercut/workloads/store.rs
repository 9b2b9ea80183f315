//! Documents in the embedded store: created, in pairs and together, replaced, deleted; its log written back; closed and
//! opened again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use futures_util::future::try_join_all;
use rp_base::SystemClock;
use rp_database::{Draft, Expect, SqliteOptions, SqliteStore, Store as _, Stored, Version};
use rp_documents::Collection;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::Workload;
use crate::recorder::{Marks, said};

const ANY: Collection = Collection::ImportedClusters;
/// Enough for SQLite to write its log back into the file, which it does after 1000 pages of 4 KiB.
const ROUNDS: u32 = 24;
const FILLING: usize = 40_000;

/// `state`: which text of the document; `None`: it is deleted.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Mark {
    Asks { id: String, state: Option<u32> },
    Holds { id: String, state: Option<u32>, version: i64 },
}

pub(super) struct Documents;

#[async_trait]
impl Workload for Documents {
    fn name(&self) -> &'static str {
        "store"
    }

    async fn run(&self, folder: &Path, marks: &Marks) -> Result<()> {
        let mut writer = Writer { store: open(folder).await?, marks };
        for round in 0..ROUNDS {
            writer.pairs(round).await?;
            writer.changes(round).await?;
            if round == ROUNDS / 2 {
                writer.store.close().await;
                writer.store = open(folder).await?;
            }
        }
        Ok(())
    }

    async fn check(&self, folder: &Path, marks: &[String]) -> Result<()> {
        let promised = Promises::from_marks(said(marks)?);
        let store = open(folder).await.context("the store does not open")?;
        let looked = look(&store, &promised).await;
        store.close().await;
        looked?;
        let mut file = SqliteConnectOptions::new().filename(path(folder)).connect().await?;
        let answer: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut file).await?;
        file.close().await?;
        ensure!(answer == "ok", "{answer}");
        Ok(())
    }
}

fn path(folder: &Path) -> std::path::PathBuf {
    folder.join("store/store.db")
}

async fn open(folder: &Path) -> Result<SqliteStore> {
    let mut options = SqliteOptions::new(path(folder), Arc::new(SystemClock));
    options.sweep_every = None;
    Ok(SqliteStore::open(options).await?)
}

fn draft(id: &str, state: u32) -> Draft {
    let letter = char::from(b'a' + u8::try_from(state % 26).unwrap_or(0));
    let filling = letter.to_string().repeat(if state == 0 { 600 } else { FILLING });
    Draft {
        id: id.to_owned(),
        partition: "p".to_owned(),
        unique_key: Some(format!("key of {id}")),
        body: format!(r#"{{"id":"{id}","state":{state},"filling":"{filling}"}}"#),
        expires_at: None,
    }
}

struct Writer<'a> {
    store: SqliteStore,
    marks: &'a Marks,
}

impl Writer<'_> {
    /// Three pairs that are written at once: each whole or not at all.
    async fn pairs(&self, round: u32) -> Result<()> {
        try_join_all((0..3).map(|n| async move {
            let ids = ["a", "b"].map(|half| format!("{half}-{round}-{n}"));
            ids.iter().try_for_each(|id| self.asks(id, Some(0)))?;
            let drafts = ids.iter().map(|id| draft(id, 0)).collect();
            for made in self.store.create_all(ANY, drafts).await? {
                self.holds(&made.id, Some(0), made.version)?;
            }
            anyhow::Ok(())
        }))
        .await
        .map(drop)
    }

    /// A document that is replaced twice, and, in every other round, deleted.
    async fn changes(&self, round: u32) -> Result<()> {
        let id = format!("s-{round}");
        self.asks(&id, Some(0))?;
        let mut last = self.store.create(ANY, draft(&id, 0)).await?;
        self.holds(&id, Some(0), last.version)?;
        for state in [1, 2] {
            self.asks(&id, Some(state))?;
            last = self.store.replace(ANY, draft(&id, state), Expect::Version(last.version)).await?;
            self.holds(&id, Some(state), last.version)?;
        }
        if round % 2 == 1 {
            self.asks(&id, None)?;
            self.store.delete(ANY, &id, Expect::Version(last.version)).await?;
            self.holds(&id, None, last.version)?;
        }
        Ok(())
    }

    fn asks(&self, id: &str, state: Option<u32>) -> Result<()> {
        self.marks.say(&Mark::Asks { id: id.to_owned(), state })
    }

    fn holds(&self, id: &str, state: Option<u32>, Version(version): Version) -> Result<()> {
        self.marks.say(&Mark::Holds { id: id.to_owned(), state, version })
    }
}

/// What may stand there.
#[derive(Default)]
struct Promises {
    /// By id: what was answered last and everything that was asked for since; `None`: no document.
    states: BTreeMap<String, Vec<Option<u32>>>,
    /// By id, of what was answered last.
    versions: BTreeMap<String, i64>,
}

impl Promises {
    fn from_marks(marks: Vec<Mark>) -> Self {
        let mut promised = Self::default();
        for mark in marks {
            match mark {
                Mark::Asks { id, state } => {
                    promised.states.entry(id).or_insert_with(|| vec![None]).push(state);
                }
                Mark::Holds { id, state, version } => {
                    promised.states.insert(id.clone(), vec![state]);
                    promised.versions.insert(id, version);
                }
            }
        }
        promised
    }
}

async fn look(store: &SqliteStore, promised: &Promises) -> Result<()> {
    for (id, states) in &promised.states {
        let found = store.get(ANY, id).await?;
        let state = found.as_ref().map(state_of).transpose()?;
        ensure!(states.contains(&state), "{id}: one of {states:?} was promised, {state:?} is there");
        let version = promised.versions.get(id).copied().unwrap_or(0);
        ensure!(found.is_none_or(|found| found.version.0 >= version), "{id} is older than was promised");
    }
    let ids: BTreeSet<String> =
        store.list(ANY, None, None, 1000).await?.items.into_iter().map(|item| item.id).collect();
    ensure!(ids.iter().all(|id| promised.states.contains_key(id)), "a document that nobody wrote: {ids:?}");
    for id in ids.iter().filter_map(|id| id.strip_prefix("a-")) {
        ensure!(ids.contains(&format!("b-{id}")), "half of the pair {id}");
    }
    let halves = |half: &str| ids.iter().filter(|id| id.starts_with(half)).count();
    ensure!(halves("a-") == halves("b-"), "half of a pair");
    feed(store, promised, &ids).await
}

/// The feed reports each document, and its positions continue after the last one that was returned.
async fn feed(store: &SqliteStore, promised: &Promises, ids: &BTreeSet<String>) -> Result<()> {
    let changes = store.changes(ANY, 0, 1000).await?;
    let told: BTreeSet<String> = changes.items.into_iter().map(|change| change.id).collect();
    ensure!(told == *ids, "the feed tells of {told:?}, there are {ids:?}");
    let last = promised.versions.values().copied().max().unwrap_or(0);
    let head = store.head(ANY).await?;
    ensure!(head >= last, "the feed stands at {head}, {last} was promised");
    let next = store.create(ANY, draft("next", 0)).await?;
    ensure!(next.version.0 > last && next.seq > head, "{next:?} comes after {last}");
    Ok(())
}

/// Which of its texts a document has, byte for byte.
fn state_of(stored: &Stored) -> Result<u32> {
    #[derive(Deserialize)]
    struct Body {
        state: u32,
    }
    let Body { state } = serde_json::from_str(&stored.body)?;
    ensure!(stored.body == draft(&stored.id, state).body, "{} is half-written", stored.id);
    Ok(state)
}
