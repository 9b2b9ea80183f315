//! Several processes on one database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rp_database::{Draft, Expect, PostgresStore, Store as _, StoreError};
use rp_documents::Collection;
use tokio::time::Instant;

use crate::server::{Server, database};
use crate::{ANY, DEADLINE, draft, until};

/// Listening has begun when the first notification of all collections is heard.
async fn listening(store: &PostgresStore) {
    let mut wake = store.subscribe(Collection::Sessions);
    tokio::time::timeout(DEADLINE, wake.wait_for(|count| *count > 0)).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_change_is_told_to_the_other_within_a_second() {
    let database = database().await;
    let (one, two) = (database.store().await, database.store().await);
    listening(&two).await;
    let mut wake = two.subscribe(ANY);
    let other = two.subscribe(Collection::Grants);
    let mut cursor = two.head(ANY).await.unwrap();
    let mut took = Vec::new();
    for n in 0..20 {
        wake.mark_unchanged();
        let made = one.create(ANY, draft(&format!("doc-{n}"))).await.unwrap();
        let answered = Instant::now();
        loop {
            tokio::time::timeout(DEADLINE, wake.changed()).await.expect("nobody was woken").unwrap();
            let changes = two.changes(ANY, cursor, 10).await.unwrap();
            cursor = changes.cursor;
            if changes.items.iter().any(|change| change.seq == made.seq) {
                break;
            }
        }
        took.push(answered.elapsed());
    }
    // Not the slowest: others have the machine too.
    took.sort();
    assert!(took[10] < Duration::from_secs(1), "half of them took {:?} or more", took[10]);
    assert!(!other.has_changed().unwrap(), "another collection's follower was woken");
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_lost_notification_is_made_good_by_the_poll() {
    const POLL: Duration = Duration::from_millis(250);
    let database = database().await;
    let store = database.store().await;
    listening(&store).await;
    let mut wake = store.subscribe(ANY);
    wake.mark_unchanged();
    let cursor = store.head(ANY).await.unwrap();
    // What a process writes that dies before it notifies.
    let silent = "BEGIN;
        INSERT INTO counters (collection, seq) VALUES ('importedClusters-name', 0) ON CONFLICT DO NOTHING;
        COMMIT";
    let silent = silent.replace("importedClusters-name", ANY.name());
    let mut sql = database.sql().await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(silent)).execute(&mut sql).await.unwrap();
    sqlx::query(
        "WITH next AS (UPDATE counters SET seq = seq + 1 WHERE collection = $1 RETURNING seq)
         INSERT INTO documents SELECT $1, 'silent', 'p', NULL, '{}', seq, seq, 0, NULL FROM next",
    )
    .bind(ANY.name())
    .execute(&mut sql)
    .await
    .unwrap();
    let seen = until("the change", async || {
        let _ = tokio::time::timeout(POLL, wake.changed()).await;
        store.changes(ANY, cursor, 10).await.unwrap().items.pop()
    });
    assert_eq!(seen.await.id, "silent");
    store.close().await;
}

#[tokio::test]
async fn a_lost_listener_comes_back_and_wakes_everybody() {
    let database = database().await;
    let (one, two) = (database.store().await, database.store().await);
    listening(&two).await;
    let mut wake = two.subscribe(Collection::Grants);
    wake.mark_unchanged();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    sqlx::raw_sql(cut).execute(&mut database.sql().await).await.unwrap();
    tokio::time::timeout(DEADLINE, wake.changed()).await.expect("nobody was woken").unwrap();
    let mut wake = two.subscribe(ANY);
    wake.mark_unchanged();
    one.create(ANY, draft("a")).await.unwrap();
    tokio::time::timeout(DEADLINE, wake.changed()).await.expect("not told after the cut").unwrap();
    one.close().await;
    two.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_leave_no_gaps_and_no_repeats() {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    let database = database().await;
    let (one, two, third) = (database.store().await, database.store().await, database.store().await);
    let writers = (0..WRITERS).map(|writer| {
        let store = if writer % 2 == 0 { one.clone() } else { two.clone() };
        tokio::spawn(async move {
            for n in 0..EACH {
                let id = format!("doc-{writer}-{n}");
                let made = store.create(ANY, draft(&id)).await?;
                let body = r#"{"second":true}"#.to_owned();
                store.replace(ANY, Draft { body, ..draft(&id) }, Expect::Version(made.version)).await?;
                if n % 4 == 0 {
                    store.delete(ANY, &id, Expect::Any).await?;
                }
            }
            Ok::<_, StoreError>(())
        })
    });
    let writers: Vec<_> = writers.collect();
    let follow = async {
        let mut wake = third.subscribe(ANY);
        let mut last: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut positions = BTreeSet::new();
        // Not 0: tombstones too. No document has this position, for a create takes two.
        let mut cursor = 1;
        third.create(ANY, draft("first")).await.unwrap();
        loop {
            let changes = third.changes(ANY, cursor, 7).await.unwrap();
            for change in changes.items {
                assert!(positions.last().is_none_or(|last| *last < change.seq), "{} is late", change.seq);
                positions.insert(change.seq);
                last.insert(change.id, change.document.map(|stored| stored.body));
            }
            cursor = changes.cursor;
            let done = (0..WRITERS).all(|writer| {
                (0..EACH).all(|n| match last.get(&format!("doc-{writer}-{n}")) {
                    Some(None) => n % 4 == 0,
                    Some(Some(body)) => n % 4 != 0 && body.contains("second"),
                    None => false,
                })
            });
            if done {
                return;
            }
            if !changes.more {
                let _ = tokio::time::timeout(Duration::from_millis(250), wake.changed()).await;
            }
        }
    };
    tokio::time::timeout(DEADLINE, follow).await.expect("the follower misses something");
    for writer in join_all(writers).await {
        writer.unwrap().unwrap();
    }
    for store in [one, two, third] {
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_is_survived() {
    let server = Arc::new(Server::start());
    let database = server.database().await;
    let mut options = database.options();
    options.connect_wait = Duration::from_secs(2);
    options.retry_for = Duration::from_secs(2);
    let store = PostgresStore::connect(options).await.unwrap();
    listening(&store).await;
    for round in 0..2 {
        // Writers that go on through it; an error says that it was the server.
        let writers = (0..4).map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                let mut refused = false;
                for n in 0.. {
                    match store.create(ANY, draft(&format!("doc-{round}-{writer}-{n}"))).await {
                        Ok(made) => acknowledged.push(made),
                        Err(StoreError::Unavailable(_)) => refused = true,
                        Err(other) => panic!("{other:?}"),
                    }
                    if refused && acknowledged.last().is_some_and(|last| last.id.ends_with(&format!("-{n}")))
                    {
                        break;
                    }
                }
                acknowledged
            })
        });
        let writers: Vec<_> = writers.collect();
        until("some documents", async || (store.count(ANY).await.unwrap() > 20 * (round + 1)).then_some(()))
            .await;
        server.stop();
        until("a refusal", async || match store.get(ANY, "x").await {
            Ok(_) => None,
            Err(StoreError::Unavailable(_)) => Some(()),
            Err(other) => panic!("{other:?}"),
        })
        .await;
        until("age", async || (store.freshness() > Duration::from_secs(1)).then_some(())).await;
        assert!(store.ready().await.is_err());
        server.go();
        for writer in join_all(writers).await {
            for made in writer.unwrap() {
                assert_eq!(
                    store.get(ANY, &made.id).await.unwrap(),
                    Some(made),
                    "acknowledged, and not there"
                );
            }
        }
        until("freshness", async || (store.freshness() < Duration::from_secs(1)).then_some(())).await;
        store.ready().await.unwrap();
    }
    // Notifications work again too.
    let other = database.store().await;
    let mut wake = store.subscribe(Collection::Grants);
    until("a notification", async || {
        wake.mark_unchanged();
        let id = other.now().await.unwrap().millis().to_string();
        let _ = other.create(Collection::Grants, draft(&id)).await;
        tokio::time::timeout(Duration::from_millis(500), wake.changed()).await.ok()
    })
    .await
    .unwrap();
    other.close().await;
    store.close().await;
}
