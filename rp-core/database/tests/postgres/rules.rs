//! The suite, and what is PostgreSQL's own: schema, clock, sweeper, refusals.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rp_base::{ManualClock, Timestamp, chain};
use rp_database::{Draft, Expect, PostgresStore, SharedStore, Store as _, StoreError, conformance};
use sqlx::Row as _;

use crate::server::{Database, Server, database};
use crate::{ANY, draft, until};

fn clock() -> ManualClock {
    ManualClock::at(Timestamp::from_seconds(1_795_230_720))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_the_rules_of_every_store() {
    let outcome = conformance::run(async || {
        let clock = clock();
        let mut options = database().await.options();
        options.clock = Some(Arc::new(clock.clone()));
        (Arc::new(PostgresStore::connect(options).await.unwrap()) as SharedStore, clock)
    });
    let keep = database().await;
    outcome.await.unwrap();
    drop(keep);
}

#[tokio::test]
async fn keeps_them_while_it_is_swept_all_the_time() {
    let keep = database().await;
    let outcome = conformance::run(async || {
        let clock = clock();
        let mut options = database().await.options();
        options.clock = Some(Arc::new(clock.clone()));
        options.sweep_every = Some(Duration::from_millis(1));
        (Arc::new(PostgresStore::connect(options).await.unwrap()) as SharedStore, clock)
    });
    outcome.await.unwrap();
    drop(keep);
}

#[tokio::test]
async fn the_databases_clock_decides() {
    let database = database().await;
    let store = database.store().await;
    let before = store.now().await.unwrap();
    let expires_at = Some(before + Duration::from_millis(700));
    let made = store.create(ANY, Draft { expires_at, ..draft("a") }).await.unwrap();
    assert!(made.written >= before && made.written <= store.now().await.unwrap());
    let gone = until("expiry", async || {
        let now = store.now().await.unwrap();
        let found = store.get(ANY, "a").await.unwrap();
        let after = store.now().await.unwrap();
        assert!(found.is_some() || Some(after) >= expires_at, "gone at {after}");
        assert!(found.is_none() || Some(now) < expires_at, "there at {now}");
        found.is_none().then_some(after)
    });
    gone.await;
    // Swept into a tombstone for followers.
    assert_eq!(store.sweep().await.unwrap(), 1);
    assert!(store.changes(ANY, made.seq, 10).await.unwrap().items[0].document.is_none());
    store.close().await;
}

#[tokio::test]
async fn many_processes_may_start_at_once() {
    let database = database().await;
    let stores = join_all((0..6).map(|_| database.store())).await;
    for (n, store) in stores.iter().enumerate() {
        store.create(ANY, draft(&format!("doc-{n}"))).await.unwrap();
        store.ready().await.unwrap();
    }
    assert_eq!(stores[0].count(ANY).await.unwrap(), 6);
    // The bookkeeping has a name of its own, so that others' migrations do not stand in the way.
    let steps: Vec<i64> = sqlx::query_scalar("SELECT version FROM rp_database_migrations ORDER BY version")
        .fetch_all(&mut database.sql().await)
        .await
        .unwrap();
    assert_eq!(steps, [1, 2, 3]);
    for store in stores {
        store.close().await;
    }
}

#[tokio::test]
async fn databases_that_do_not_fit_are_refused() {
    let database = database().await;
    database.store().await.close().await;
    let newer = "INSERT INTO rp_database_migrations (version, description, success, checksum, execution_time)
        VALUES (1000, 'newer', true, '', 0)";
    sqlx::raw_sql(newer).execute(&mut database.sql().await).await.unwrap();
    let refused = PostgresStore::connect(database.options()).await.unwrap_err();
    assert!(chain(&refused).to_string().contains("newer version"), "{}", chain(&refused));

    let latin = Database { server: Arc::clone(&database.server), name: format!("{}_latin", database.name) };
    latin.create("LATIN1").await;
    let refused = PostgresStore::connect(latin.options()).await.unwrap_err();
    assert!(chain(&refused).to_string().contains("UTF8"), "{}", chain(&refused));

    let none = Database { server: Arc::clone(&database.server), name: "none".to_owned() };
    let refused = PostgresStore::connect(none.options()).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
}

#[tokio::test]
async fn one_process_sweeps_at_a_time() {
    let database = database().await;
    let clock = clock();
    let mut options = database.options();
    options.clock = Some(Arc::new(clock.clone()));
    let store = PostgresStore::connect(options).await.unwrap();
    let expires_at = Some(rp_base::Clock::now(&clock) + Duration::from_secs(60));
    let many = (0..700).map(|n| Draft { expires_at, ..draft(&format!("doc-{n}")) });
    store.create_all(ANY, many.collect()).await.unwrap();
    let cursor = store.head(ANY).await.unwrap();
    assert_eq!(store.sweep().await.unwrap(), 0, "nothing has expired");

    clock.advance(Duration::from_secs(60));
    let mut other = database.sql().await;
    let sweeps = 0x6172_6f5f_7377_6565_i64;
    sqlx::query("SELECT pg_advisory_lock($1)").bind(sweeps).execute(&mut other).await.unwrap();
    assert_eq!(store.sweep().await.unwrap(), 0, "another process is at it");
    sqlx::query("SELECT pg_advisory_unlock($1)").bind(sweeps).execute(&mut other).await.unwrap();
    assert_eq!(store.sweep().await.unwrap(), 700);
    let changes = store.changes(ANY, cursor, 1000).await.unwrap();
    assert_eq!(changes.items.len(), 700);
    assert!(changes.items.iter().all(|change| change.document.is_none()));

    clock.advance(Duration::from_secs(24 * 3600 - 1));
    assert_eq!(store.sweep().await.unwrap(), 0, "tombstones are kept for a day");
    clock.advance(Duration::from_secs(1));
    assert_eq!(store.sweep().await.unwrap(), 700);
    assert!(store.changes(ANY, cursor, 1000).await.unwrap().items.is_empty());
    assert!(store.head(ANY).await.unwrap() > cursor, "positions stay");
    store.close().await;
}

/// The server's own default must not weaken what was answered.
#[tokio::test]
async fn commits_are_durable_whatever_the_default_is() {
    let server = Arc::new(Server::start());
    let database = server.database().await;
    let mut sql = database.sql().await;
    sqlx::raw_sql("ALTER SYSTEM SET synchronous_commit = off").execute(&mut sql).await.unwrap();
    sqlx::raw_sql("SELECT pg_reload_conf()").execute(&mut sql).await.unwrap();
    until("the new default", async || {
        let row = sqlx::query("SHOW synchronous_commit").fetch_one(&mut database.sql().await).await.unwrap();
        (row.get::<String, _>(0) == "off").then_some(())
    })
    .await;
    // The trigger tells what holds where documents are written.
    let store = database.store().await;
    let tell = "CREATE TABLE told (setting text);
        CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO told VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
        CREATE TRIGGER tell BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION tell()";
    sqlx::raw_sql(tell).execute(&mut sql).await.unwrap();
    store.create(ANY, draft("a")).await.unwrap();
    store.delete(ANY, "a", Expect::Any).await.unwrap();
    let told: String = sqlx::query_scalar("SELECT setting FROM told").fetch_one(&mut sql).await.unwrap();
    assert_eq!(told, "on");
    store.close().await;
}
