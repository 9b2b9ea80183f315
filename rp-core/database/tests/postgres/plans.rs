//! Statements find what they look for by an index, also with a plan from when the table was small.

use rp_database::{Draft, Expect, PostgresStore, Store as _};
use sqlx::Row as _;
use tokio::join;

use crate::server::database;
use crate::{ANY, draft, until};

/// Documents that come after the plans were made.
const MANY: i64 = 20_000;
/// The server makes a plan for good at the sixth time.
const ROUNDS: usize = 12;

/// Every kind of write and of look, by itself and with others.
async fn use_it(store: &PostgresStore, name: &str) {
    for round in 0..ROUNDS {
        let (a, b, c) = (format!("{name}-a{round}"), format!("{name}-b{round}"), format!("{name}-c{round}"));
        let key = Some(format!("{name}-key{round}"));
        let with_key = Draft { unique_key: key.clone(), ..draft(&a) };
        let (one, other) = join!(store.create(ANY, with_key), store.create(ANY, draft(&b)));
        one.unwrap();
        other.unwrap();
        store.create(ANY, draft(&c)).await.unwrap();
        store.replace(ANY, draft(&c), Expect::Any).await.unwrap();
        store.delete(ANY, &c, Expect::Any).await.unwrap();
        assert!(store.get(ANY, &b).await.unwrap().is_some());
        assert!(store.get_by_key(ANY, key.as_deref().unwrap_or_default()).await.unwrap().is_some());
        let head = store.head(ANY).await.unwrap();
        assert_eq!(store.changes(ANY, head - 1, 10).await.unwrap().items.len(), 1);
    }
}

#[tokio::test]
async fn no_statement_reads_the_whole_table_however_small_it_was() {
    let database = database().await;
    let store = database.store().await;
    let mut sql = database.sql().await;
    // Neither what made the tables nor the server's own sweep is a statement of this test.
    let alone = "SELECT pg_stat_reset(); ALTER TABLE documents SET (autovacuum_enabled = off)";
    sqlx::raw_sql(alone).execute(&mut sql).await.unwrap();
    use_it(&store, "small").await;
    sqlx::raw_sql("ANALYZE documents").execute(&mut sql).await.unwrap();
    use_it(&store, "analysed").await;
    let fill = "INSERT INTO documents (collection, id, partition, unique_key, body, version, seq, written)
        SELECT $1, 'more-' || n, 'p', 'more-' || n, '{}', -n, -n, 0 FROM generate_series(1, $2) AS n";
    sqlx::query(fill).bind(ANY.name()).bind(MANY).execute(&mut sql).await.unwrap();
    use_it(&store, "large").await;
    // A connection tells what it has read when it ends.
    store.close().await;
    let (scans, read) = until("what was read", async || {
        let row = sqlx::query(
            "SELECT (SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'documents'),
                (SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE relname = 'documents'),
                (SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid())",
        )
        .fetch_one(&mut database.sql().await)
        .await
        .unwrap();
        (row.get::<i64, _>(2) <= 1).then(|| (row.get::<i64, _>(0), row.get::<i64, _>(1)))
    })
    .await;
    assert_eq!(scans, 0);
    assert!(read > 0 && read < MANY, "{read} entries of indexes were read");
}
