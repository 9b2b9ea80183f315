//! A process that writes is killed at any moment: what was answered is there, pairs are whole.
//!
//! The test starts its own binary again as the process that writes and dies.

use rp_database::{PostgresOptions, PostgresStore, Store as _};

use crate::killing::{ROUND, SEED, until_killed, write};
use crate::server::database;
use crate::{ANY, draft};

const URL: &str = "STORE_KILL_TEST_URL";
const ROUNDS: u64 = 4;

/// Not a test by itself: without the variable it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_until_killed() {
    let (Ok(url), Ok(round)) = (std::env::var(URL), std::env::var(ROUND)) else { return };
    let store = PostgresStore::connect(PostgresOptions::from_url(&url).unwrap()).await.unwrap();
    write(store, ANY, draft, &round).await;
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_killed_writer() {
    let database = database().await;
    let store = database.store().await;
    let url = database.url(database.server.port());
    for round in 0..ROUNDS {
        let acknowledged = until_killed("kill::writes_until_killed", (URL, &url), 300, round);
        for (id, version) in &acknowledged {
            let found = store.get(ANY, id).await.unwrap();
            let found = found.unwrap_or_else(|| panic!("seed {SEED}, round {round}: {id} is gone"));
            assert!(
                found.version.0 >= *version,
                "seed {SEED}, round {round}: {id} is older than acknowledged"
            );
        }
        // The dead writer's transaction is over, so the counter can be had.
        store.ready().await.unwrap();
        store.create(ANY, draft(&format!("a-{round}-after"))).await.unwrap();
        store.create(ANY, draft(&format!("b-{round}-after"))).await.unwrap();
    }
    let mut ids = Vec::new();
    let mut from = None;
    loop {
        let page = store.list(ANY, None, from.as_deref(), 1000).await.unwrap();
        ids.extend(page.items.into_iter().map(|item| item.id));
        from = page.continuation;
        if from.is_none() {
            break;
        }
    }
    let (a, b): (Vec<_>, Vec<_>) = ids.iter().partition(|id| id.starts_with("a-"));
    let names = |ids: Vec<&String>| ids.into_iter().map(|id| id[2..].to_owned()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b), "seed {SEED}: half of a pair");
    store.close().await;
}
