//! Killed at any moment: what was answered is there, what was not is whole or absent.
//!
//! The test starts its own binary again as the process that writes and dies.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod killing;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rp_base::SystemClock;
use rp_database::{Draft, SqliteOptions, SqliteStore, Store as _};
use rp_documents::Collection;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use killing::{ROUND, SEED, until_killed, write};

const ANY: Collection = Collection::ImportedClusters;
const PATH: &str = "STORE_KILL_TEST_PATH";
const ROUNDS: u64 = 8;

fn draft(id: &str) -> Draft {
    Draft {
        id: id.to_owned(),
        partition: "p".to_owned(),
        unique_key: Some(format!("key of {id}")),
        body: format!(r#"{{"id":"{id}","filling":"{}"}}"#, "x".repeat(600)),
        expires_at: None,
    }
}

async fn open(path: &Path) -> SqliteStore {
    let mut options = SqliteOptions::new(path, Arc::new(SystemClock));
    options.sweep_every = Some(Duration::from_millis(20));
    SqliteStore::open(options).await.unwrap()
}

/// Not a test by itself: without the variable it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_until_killed() {
    let (Ok(path), Ok(round)) = (std::env::var(PATH), std::env::var(ROUND)) else { return };
    write(open(Path::new(&path)).await, ANY, draft, &round).await;
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut acknowledged: BTreeMap<String, i64> = BTreeMap::new();
    for round in 0..ROUNDS {
        let place = (PATH, path.to_str().unwrap());
        acknowledged.extend(until_killed("writes_until_killed", place, 400, round));
        verify(&path, &acknowledged, round).await;
    }
}

async fn verify(path: &Path, acknowledged: &BTreeMap<String, i64>, round: u64) {
    let store = open(path).await;
    for (id, version) in acknowledged {
        let found = store.get(ANY, id).await.unwrap();
        assert!(found.is_some(), "seed {SEED}, round {round}: {id} was acknowledged, is gone");
        let found = found.unwrap();
        assert!(found.version.0 >= *version, "seed {SEED}, round {round}: {id} is older than acknowledged");
    }
    let mut ids = Vec::new();
    let mut from = None;
    loop {
        let page = store.list(ANY, None, from.as_deref(), 1000).await.unwrap();
        for item in page.items {
            assert_eq!(item.body, draft(&item.id).body, "seed {SEED}, round {round}");
            ids.push(item.id);
        }
        from = page.continuation;
        if from.is_none() {
            break;
        }
    }
    let (a, b): (Vec<_>, Vec<_>) = ids.iter().partition(|id| id.starts_with("a-"));
    let names = |ids: Vec<&String>| ids.into_iter().map(|id| id[2..].to_owned()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b), "seed {SEED}, round {round}: half of a pair");
    store.close().await;
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    let answer: String =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    assert_eq!(answer, "ok", "seed {SEED}, round {round}");
}
