//! Killed at any moment: what was answered is there, what was not is whole or absent.
//!
//! The test starts its own binary again as the process that writes and dies.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rp_base::SystemClock;
use rp_database::{Draft, Expect, SqliteOptions, SqliteStore, Store as _, Version};
use rp_documents::Collection;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

const ANY: Collection = Collection::ImportedClusters;
const PATH: &str = "STORE_KILL_TEST_PATH";
const ROUND: &str = "STORE_KILL_TEST_ROUND";
const SEED: u64 = 20_261_121;
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
    let store = open(Path::new(&path)).await;
    let writers = (0..8).map(|writer| {
        let (store, round) = (store.clone(), round.clone());
        tokio::spawn(async move {
            for n in 0.. {
                let [a, b] = ["a", "b"].map(|half| format!("{half}-{round}-{writer}-{n}"));
                let pair = store.create_all(ANY, vec![draft(&a), draft(&b)]).await.unwrap();
                tell(&pair[0].id, pair[0].version);
                let again = store.replace(ANY, draft(&a), Expect::Version(pair[0].version)).await.unwrap();
                tell(&again.id, again.version);
            }
        })
    });
    futures_util::future::join_all(writers).await;
}

fn tell(id: &str, Version(version): Version) {
    // One write, so that lines of several writers do not mix. The reader may be gone first.
    let _ = std::io::stdout().lock().write_all(format!("\nacknowledged {id} {version}\n").as_bytes());
}

fn start(path: &Path, round: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writes_until_killed", "--nocapture"])
        .env(PATH, path)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// SplitMix64: the same moments in every run.
fn moment(round: u64) -> u64 {
    let mut z = SEED.wrapping_add((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut acknowledged: BTreeMap<String, i64> = BTreeMap::new();
    for round in 0..ROUNDS {
        let mut child = start(&path, round);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut left = 1 + moment(round) % 400;
        while let Some(Ok(line)) = lines.next() {
            let Some(rest) = line.strip_prefix("acknowledged ") else { continue };
            // The last line may be cut in its middle.
            let Some((id, Ok(version))) = rest.split_once(' ').map(|(id, v)| (id, v.parse::<i64>())) else {
                continue;
            };
            if left > 0 {
                let last = acknowledged.entry(id.to_owned()).or_default();
                *last = version.max(*last);
                left -= 1;
                if left == 0 {
                    // SIGKILL; the lines still in the pipe are not needed.
                    child.kill().unwrap();
                }
            }
        }
        let status = child.wait().unwrap();
        assert!(
            !status.success() && left == 0,
            "round {round}: the writer ended by itself, {left} left: {status}"
        );
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
