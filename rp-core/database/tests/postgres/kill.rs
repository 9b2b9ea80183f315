//! A process that writes is killed at any moment, and the server crashes after it: what was answered is there, pairs
//! are whole. The server syncs before it answers.
//!
//! The test starts its own binary again as the process that writes and dies.

use std::collections::BTreeMap;
use std::sync::Arc;

use rp_database::{PostgresOptions, PostgresStore, Store as _};

use crate::killing::{ROUND, SEED, until_killed, write};
use crate::server::Server;
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
    let server = Arc::new(Server::start_durable());
    let database = server.database().await;
    let fsync: String = sqlx::query_scalar("SHOW fsync").fetch_one(&mut database.sql().await).await.unwrap();
    assert_eq!(fsync, "on");
    let mut all = BTreeMap::new();
    let store = database.store().await;
    let url = database.url(database.server.port());
    for round in 0..ROUNDS {
        let acknowledged = until_killed("kill::writes_until_killed", (URL, &url), 300, round);
        holds(&store, &acknowledged, &format!("seed {SEED}, round {round}")).await;
        all.extend(acknowledged);
        // The dead writer's transaction is over, so the counter can be had.
        store.ready().await.unwrap();
        store.create(ANY, draft(&format!("a-{round}-after"))).await.unwrap();
        store.create(ANY, draft(&format!("b-{round}-after"))).await.unwrap();
    }
    store.close().await;
    server.stop();
    server.go();
    // Waits until it takes connections.
    drop(database.sql().await);
    let store = database.store().await;
    holds(&store, &all, &format!("seed {SEED}, after a crash of the server")).await;
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

/// Everything that was acknowledged is there.
async fn holds(store: &PostgresStore, acknowledged: &BTreeMap<String, i64>, when: &str) {
    for (id, version) in acknowledged {
        let found = store.get(ANY, id).await.unwrap();
        let found = found.unwrap_or_else(|| panic!("{when}: {id} is gone"));
        assert!(found.version.0 >= *version, "{when}: {id} is older than acknowledged");
    }
}
