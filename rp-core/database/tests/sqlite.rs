//! What is the embedded store's own: its file, its lock, its limits, its sweeper.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rp_base::{Clock as _, ManualClock, Timestamp};
use rp_database::{Draft, Expect, SqliteOptions, SqliteStore, Store as _, StoreError, in_memory};
use rp_documents::Collection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

const ANY: Collection = Collection::ImportedClusters;

fn clock() -> ManualClock {
    ManualClock::at(Timestamp::from_seconds(1_795_230_720))
}

fn options(path: &Path) -> SqliteOptions {
    SqliteOptions { sweep_every: None, ..SqliteOptions::new(path, Arc::new(clock())) }
}

fn draft(id: &str, size: usize) -> Draft {
    Draft {
        id: id.to_owned(),
        partition: "p".to_owned(),
        unique_key: None,
        body: "x".repeat(size),
        expires_at: None,
    }
}

async fn beside(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

async fn integrity(path: &Path) -> String {
    let mut connection = beside(path).await;
    let answer = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    answer
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(options(&path)).await.unwrap();
    let stored = store.create(ANY, draft("a", 10)).await.unwrap();
    store.create(ANY, draft("b", 10)).await.unwrap();
    store.delete(ANY, "b", Expect::Any).await.unwrap();
    let head = store.head(ANY).await.unwrap();
    store.close().await;

    let store = SqliteStore::open(options(&path)).await.unwrap();
    assert_eq!(store.get(ANY, "a").await.unwrap(), Some(stored));
    assert_eq!(store.head(ANY).await.unwrap(), head, "positions go on where they were");
    assert!(store.create(ANY, draft("c", 10)).await.unwrap().seq > head);
    store.close().await;
}

#[tokio::test]
async fn one_holder_at_a_time_and_files_of_the_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(options(&path)).await.unwrap();
    store.create(ANY, draft("a", 10)).await.unwrap();
    let second = SqliteStore::open(options(&path)).await;
    assert!(
        matches!(second, Err(StoreError::Held { pid: Some(pid) }) if pid == std::process::id()),
        "{second:?}"
    );
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
    store.close().await;
    SqliteStore::open(options(&path)).await.unwrap().close().await;
}

#[tokio::test]
async fn a_full_disk_refuses_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let small = SqliteOptions { max_pages: Some(64), ..options(&path) };
    let store = SqliteStore::open(small).await.unwrap();
    let mut kept = 0;
    let refused = loop {
        match store.create(ANY, draft(&format!("doc-{kept}"), 8000)).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Full), "{refused:?}");
    assert!((10..40).contains(&kept), "{kept} documents of 8 kB in 256 kB");
    let pair = store.create_all(ANY, vec![draft("small", 1), draft("large", 100_000)]).await;
    assert!(matches!(pair, Err(StoreError::Full)), "{pair:?}");
    assert_eq!(store.count(ANY).await.unwrap(), kept, "nothing half written");

    // Room again, and the store goes on.
    store.delete(ANY, "doc-0", Expect::Any).await.unwrap();
    store.delete(ANY, "doc-1", Expect::Any).await.unwrap();
    store.create(ANY, draft("again", 8000)).await.unwrap();
    store.close().await;
    assert_eq!(integrity(&path).await, "ok");
}

#[tokio::test]
async fn a_write_without_room_does_not_fail_its_neighbours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let small = SqliteOptions { max_pages: Some(64), ..options(&path) };
    let store = SqliteStore::open(small).await.unwrap();
    // Sent before the writer runs: one batch.
    let drafts = (0..20).map(|n| draft(&format!("doc-{n}"), if n == 7 { 1_000_000 } else { 10 }));
    let outcomes = join_all(drafts.map(|draft| store.create(ANY, draft))).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        if n == 7 {
            assert!(matches!(outcome, Err(StoreError::Full)), "{outcome:?}");
        } else {
            assert!(outcome.is_ok(), "{n}: {outcome:?}");
        }
    }
    assert_eq!(store.count(ANY).await.unwrap(), 19);
    store.close().await;
}

#[tokio::test]
async fn a_refused_write_does_not_fail_its_neighbours() {
    let store = in_memory(Arc::new(clock()));
    let drafts = (0..300).map(|n| draft(&format!("doc-{}", n % 150), 10));
    let outcomes = join_all(drafts.map(|draft| store.create(ANY, draft))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 150);
    assert_eq!(store.count(ANY).await.unwrap(), 150);
}

#[tokio::test]
async fn a_locked_file_is_waited_for_then_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let quick = SqliteOptions { busy_wait: Duration::from_millis(5), ..options(&path) };
    let store = SqliteStore::open(quick).await.unwrap();
    let mut other = beside(&path).await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let refused = store.create(ANY, draft("a", 10)).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(store.ready().await.is_err(), "ready though it cannot be written");
    assert_eq!(store.get(ANY, "a").await.unwrap(), None, "reads go on, and nothing was written");
    sqlx::query("COMMIT").execute(&mut other).await.unwrap();
    store.create(ANY, draft("a", 10)).await.unwrap();
    store.ready().await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn files_that_are_no_store_or_too_new_are_refused_unharmed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("garbage.db");
    let garbage = b"not a database, and longer than a header of one hundred bytes ".repeat(10);
    std::fs::write(&path, &garbage).unwrap();
    let refused = SqliteStore::open(options(&path)).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert_eq!(std::fs::read(&path).unwrap(), garbage);

    let path = folder.path().join("new.db");
    SqliteStore::open(options(&path)).await.unwrap().close().await;
    let mut connection = beside(&path).await;
    sqlx::query("PRAGMA user_version = 1000").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let refused = SqliteStore::open(options(&path)).await.unwrap_err();
    assert!(rp_base::chain(&refused).to_string().contains("newer"), "{}", rp_base::chain(&refused));

    let refused = SqliteStore::open(options(&folder.path().join("none/store.db"))).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
}

#[tokio::test]
async fn the_sweeper_tells_followers_and_drops_old_tombstones() {
    let clock = clock();
    let store = SqliteStore::memory(&(Arc::new(clock.clone()) as rp_base::SharedClock));
    let end = clock.now() + Duration::from_secs(60);
    let many = (0..700).map(|n| Draft { expires_at: Some(end), ..draft(&format!("doc-{n}"), 10) });
    store.create_all(ANY, many.collect()).await.unwrap();
    let cursor = store.head(ANY).await.unwrap();
    assert_eq!(store.sweep().await.unwrap(), 0, "nothing has expired");

    clock.advance(Duration::from_secs(60));
    let mut wake = store.subscribe(ANY);
    while store.sweep().await.unwrap() > 0 {}
    assert!(wake.has_changed().unwrap());
    wake.mark_unchanged();
    let changes = store.changes(ANY, cursor, 1000).await.unwrap();
    assert_eq!(changes.items.len(), 700);
    assert!(changes.items.iter().all(|change| change.document.is_none()));

    clock.advance(Duration::from_secs(24 * 3600 - 1));
    assert_eq!(store.sweep().await.unwrap(), 0, "tombstones are kept for a day");
    clock.advance(Duration::from_secs(1));
    while store.sweep().await.unwrap() > 0 {}
    assert!(store.changes(ANY, cursor, 1000).await.unwrap().items.is_empty());
    assert!(store.head(ANY).await.unwrap() > cursor, "positions stay");
}

#[tokio::test]
async fn sweeps_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let clock = clock();
    let mut options = SqliteOptions::new(folder.path().join("store.db"), Arc::new(clock.clone()));
    options.sweep_every = Some(Duration::from_millis(1));
    let store = SqliteStore::open(options).await.unwrap();
    let expires_at = Some(clock.now() + Duration::from_secs(1));
    store.create(ANY, Draft { expires_at, ..draft("a", 10) }).await.unwrap();
    let mut wake = store.subscribe(ANY);
    clock.advance(Duration::from_secs(1));
    tokio::time::timeout(Duration::from_secs(60), wake.changed()).await.unwrap().unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_backup_is_of_one_moment_and_goes_back_only_while_nobody_holds_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let (path, backup) = (folder.path().join("aro.db"), folder.path().join("backup.db"));
    let open = || SqliteStore::open(options(&path));
    let store = open().await.unwrap();
    store.create(ANY, draft("before", 10)).await.unwrap();
    store.backup(&backup).await.unwrap();
    assert_eq!(std::fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(store.backup(&backup).await.is_err(), "a file was written over");
    store.create(ANY, draft("after", 10)).await.unwrap();
    let refused = SqliteStore::restore(&backup, &path).await;
    assert!(matches!(refused, Err(StoreError::Held { .. })), "{refused:?}");
    store.close().await;

    let aside = SqliteStore::restore(&backup, &path).await.unwrap().expect("the old file is kept");
    let store = open().await.unwrap();
    assert!(store.get(ANY, "before").await.unwrap().is_some());
    assert!(store.get(ANY, "after").await.unwrap().is_none());
    store.create(ANY, draft("again", 10)).await.unwrap();
    store.close().await;
    // What was put aside is whole.
    let second = SqliteStore::restore(&aside, &path).await.unwrap();
    assert!(second.is_some_and(|second| second != aside));
    let store = open().await.unwrap();
    assert_eq!(store.count(ANY).await.unwrap(), 2);
    store.close().await;

    let mut bytes = std::fs::read(&backup).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x5a);
    let damaged = folder.path().join("damaged.db");
    std::fs::write(&damaged, bytes).unwrap();
    std::fs::write(folder.path().join("other.db"), "no database at all").unwrap();
    for wrong in ["damaged.db", "other.db", "missing.db"] {
        let refused = SqliteStore::restore(&folder.path().join(wrong), &path).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{wrong}: {refused:?}");
    }
    let store = open().await.unwrap();
    assert_eq!(store.count(ANY).await.unwrap(), 2, "a refused restore changed something");
    store.close().await;
    let fresh = folder.path().join("fresh.db");
    assert_eq!(SqliteStore::restore(&backup, &fresh).await.unwrap(), None);
}
