//! The suite on the embedded store: on a file, and in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rp_base::{ManualClock, Timestamp};
use rp_database::{SharedStore, SqliteOptions, SqliteStore, conformance, in_memory};

fn clock() -> ManualClock {
    ManualClock::at(Timestamp::from_seconds(1_795_230_720))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let made = AtomicU32::new(0);
    let outcome = conformance::run(async || {
        let clock = clock();
        let path = folder.path().join(format!("{}.db", made.fetch_add(1, Ordering::Relaxed)));
        let store = SqliteStore::open(SqliteOptions::new(path, Arc::new(clock.clone()))).await.unwrap();
        (Arc::new(store) as SharedStore, clock)
    });
    outcome.await.unwrap();
}

#[tokio::test]
async fn on_a_file_that_is_swept_all_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let made = AtomicU32::new(0);
    let outcome = conformance::run(async || {
        let clock = clock();
        let path = folder.path().join(format!("{}.db", made.fetch_add(1, Ordering::Relaxed)));
        let mut options = SqliteOptions::new(path, Arc::new(clock.clone()));
        options.sweep_every = Some(Duration::from_millis(1));
        options.readers = 1;
        let store = SqliteStore::open(options).await.unwrap();
        (Arc::new(store) as SharedStore, clock)
    });
    outcome.await.unwrap();
}

#[tokio::test]
async fn in_the_memory() {
    let outcome = conformance::run(async || {
        let clock = clock();
        (in_memory(Arc::new(clock.clone())), clock)
    });
    outcome.await.unwrap();
}
