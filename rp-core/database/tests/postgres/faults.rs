//! A server that refuses, hangs, or goes away at the worst moment.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use rp_database::{Draft, Expect, PostgresOptions, PostgresStore, Store as _, StoreError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::server::database;
use crate::{ANY, draft};

/// A trigger stands for the disk: it refuses large documents with the code that the server uses.
#[tokio::test]
async fn a_full_disk_refuses_and_harms_no_neighbours() {
    let database = database().await;
    let store = database.store().await;
    let full = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF length(NEW.body) > 1000 THEN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END IF;
            RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION refuse()";
    sqlx::raw_sql(full).execute(&mut database.sql().await).await.unwrap();
    let drafts = (0..20).map(|n| {
        let size = if n == 7 { 2000 } else { 10 };
        Draft { body: "x".repeat(size), ..draft(&format!("doc-{n}")) }
    });
    let outcomes = join_all(drafts.map(|draft| store.create(ANY, draft))).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        assert!(matches!((n, outcome), (7, Err(StoreError::Full)) | (_, Ok(_))), "{n}: {outcome:?}");
    }
    assert_eq!(store.count(ANY).await.unwrap(), 19);
    let pair = vec![draft("small"), Draft { body: "x".repeat(2000), ..draft("large") }];
    assert!(matches!(store.create_all(ANY, pair).await, Err(StoreError::Full)));
    assert_eq!(store.count(ANY).await.unwrap(), 19, "nothing half written");
    store.close().await;
}

/// A foreign transaction, or a frozen process, that holds the counter: writes are refused in time, reads and the
/// freshness of what they show do not suffer, and nothing is missed afterwards.
#[tokio::test]
async fn a_writer_that_hangs_holds_up_writes_only_and_not_for_long() {
    let database = database().await;
    let mut options = database.options();
    options.statement_timeout = Duration::from_secs(3);
    options.retry_for = Duration::from_millis(200);
    let store = PostgresStore::connect(options).await.unwrap();
    store.create(ANY, draft("a")).await.unwrap();
    let cursor = store.head(ANY).await.unwrap();
    let mut other = database.sql().await;
    sqlx::raw_sql("BEGIN; UPDATE counters SET seq = seq + 1").execute(&mut other).await.unwrap();
    let refused = store.create(ANY, draft("b")).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(store.get(ANY, "a").await.unwrap().is_some());
    assert!(store.changes(ANY, cursor, 10).await.unwrap().items.is_empty());
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    store.create(ANY, draft("b")).await.unwrap();
    assert_eq!(store.changes(ANY, cursor, 10).await.unwrap().items.len(), 1);
    store.close().await;
}

#[tokio::test]
async fn a_read_only_server_is_unavailable_until_it_is_not() {
    let database = database().await;
    let mut options = database.options();
    options.retry_for = Duration::from_millis(100);
    let store = PostgresStore::connect(options).await.unwrap();
    // What a standby answers to a write.
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'cannot write' USING ERRCODE = '25006'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON counters FOR EACH ROW EXECUTE FUNCTION refuse()";
    let mut sql = database.sql().await;
    sqlx::raw_sql(refuse).execute(&mut sql).await.unwrap();
    let refused = store.create(ANY, draft("a")).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(store.ready().await.is_err(), "ready though it cannot be written");
    sqlx::raw_sql("DROP TRIGGER refuse ON counters").execute(&mut sql).await.unwrap();
    store.create(ANY, draft("a")).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn lost_connections_are_replaced_unseen() {
    let database = database().await;
    let store = database.store().await;
    let mut sql = database.sql().await;
    for n in 0..5 {
        let id = format!("doc-{n}");
        store.create(ANY, draft(&id)).await.unwrap();
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'aro'";
        sqlx::raw_sql(cut).execute(&mut sql).await.unwrap();
        assert!(store.get(ANY, &id).await.unwrap().is_some());
        store.replace(ANY, draft(&id), Expect::Any).await.unwrap();
    }
    store.close().await;
}

/// Stands between a store and its server; `serve` has each connection, with its number from 0.
async fn relay<F>(mut serve: impl FnMut(u32, TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for n in 0_u32.. {
            let (client, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(n, client));
        }
    });
    address
}

async fn dial(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// Passes bytes on. Of the first `eat` commits it lets the request pass, and cuts instead of answering.
async fn cutting(to: u16, eat: Arc<AtomicU32>) -> SocketAddr {
    relay(move |_, client| {
        let eat = Arc::clone(&eat);
        async move { pass(client, dial(to).await, eat).await }
    })
    .await
}

async fn pass(mut client: TcpStream, mut server: TcpStream, eat: Arc<AtomicU32>) {
    let (mut up, mut down) = (vec![0; 65536], vec![0; 65536]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let read = read.unwrap_or(0);
                if read == 0 || server.write_all(&up[..read]).await.is_err() {
                    return;
                }
                let commits = up[..read].windows(7).any(|window| window == b"COMMIT\0");
                let less = |left: u32| left.checked_sub(1);
                if commits && eat.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
                    // The answer means that it was committed; it goes nowhere.
                    let _ = server.read(&mut down).await;
                    return;
                }
            }
            read = server.read(&mut down) => {
                let read = read.unwrap_or(0);
                if read == 0 || client.write_all(&down[..read]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Passes bytes on; the first `slow` connections only after `wait`.
async fn slow(to: u16, slow: u32, wait: Duration) -> SocketAddr {
    relay(move |n, mut client| async move {
        // What is slow is the server: the wait is the fault that is made, not one for a condition.
        if n < slow {
            tokio::time::sleep(wait).await;
        }
        let _ = tokio::io::copy_bidirectional(&mut client, &mut dial(to).await).await;
    })
    .await
}

/// The connection that migrates and the first one of the pool take longer than a call may wait.
#[tokio::test]
async fn a_process_starts_over_a_slow_server() {
    let database = database().await;
    let proxy = slow(database.server.port(), 2, Duration::from_secs(3)).await;
    let url = format!("{}?sslmode=disable", database.url(proxy.port()));
    let mut options = PostgresOptions::from_url(&url).unwrap();
    options.connect_wait = Duration::from_secs(1);
    let store = PostgresStore::connect(options).await.unwrap();
    store.create(ANY, draft("a")).await.unwrap();
    store.close().await;
}

/// Tried again, these writes would be refused as done by somebody else, or be done twice.
#[tokio::test]
async fn a_commit_without_an_answer_is_found_out() {
    let database = database().await;
    let eat = Arc::new(AtomicU32::new(0));
    let proxy = cutting(database.server.port(), Arc::clone(&eat)).await;
    let url = format!("{}?sslmode=disable", database.url(proxy.port()));
    let mut options = PostgresOptions::from_url(&url).unwrap();
    options.sweep_every = None;
    let store = PostgresStore::connect(options).await.unwrap();
    eat.store(1, Ordering::Relaxed);
    let made = store.create(ANY, draft("a")).await.unwrap();
    assert_eq!(eat.load(Ordering::Relaxed), 0, "no commit was cut");
    assert_eq!(store.get(ANY, "a").await.unwrap().as_ref(), Some(&made));
    eat.store(1, Ordering::Relaxed);
    let again = store.replace(ANY, draft("a"), Expect::Version(made.version)).await.unwrap();
    eat.store(1, Ordering::Relaxed);
    store.delete(ANY, "a", Expect::Version(again.version)).await.unwrap();
    assert_eq!(eat.load(Ordering::Relaxed), 0, "no commit was cut");
    assert_eq!(store.get(ANY, "a").await.unwrap(), None);
    store.close().await;
}

/// The server ends our process within the commit: nothing was written, which is found out too, and tried again.
#[tokio::test]
async fn a_commit_that_failed_is_tried_again() {
    let database = database().await;
    let store = database.store().await;
    let once = "CREATE SEQUENCE tries;
        CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('tries') < 3 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON documents DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION cut()";
    let mut sql = database.sql().await;
    sqlx::raw_sql(once).execute(&mut sql).await.unwrap();
    let made = store.create(ANY, draft("a")).await.unwrap();
    assert_eq!(store.get(ANY, "a").await.unwrap(), Some(made));
    let tries: i64 = sqlx::query_scalar("SELECT last_value FROM tries").fetch_one(&mut sql).await.unwrap();
    assert_eq!(tries, 3);
    store.close().await;
}
