//! Nothing is removed from the log before every copy has it.

use rp_audit::{CopiedTo, Copies as _, Query, verify_store};
use rp_base::SystemClock;
use rp_database::{SqliteOptions, SqliteStore, Store as _};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_copied_as_far_as_the_last_sink_has_taken_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.sinks = vec![sink(file(&folder.path().join("audit.jsonl"), 1 << 20, 0), SinkPolicy::Alarm)];
    let (audit, sinks) = log.start_with_sinks().await;
    audit.promise(log.entry("exec")).await.unwrap();
    within(audit.close()).await;
    let newest =
        async |collection: Collection| log.store.list(collection, None, None, 1).await.unwrap().items[0].seq;
    let all = CopiedTo {
        batches: newest(Collection::AuditBatches).await,
        checkpoints: newest(Collection::Checkpoints).await,
    };
    assert_eq!(sinks.copied_to().await.unwrap(), all);
    // Another one that never took anything.
    let to = file(&folder.path().join("not-there/audit.jsonl"), 1 << 20, 0);
    log.sinks.push(SinkOptions { name: "another".to_owned(), ..sink(to, SinkPolicy::Alarm) });
    let (audit, sinks) = log.start_with_sinks().await;
    assert_eq!(sinks.copied_to().await.unwrap(), CopiedTo { batches: 0, checkpoints: 0 });
    within(audit.close()).await;
    log.sinks.clear();
    let (audit, sinks) = log.start_with_sinks().await;
    assert_eq!(sinks.copied_to().await.unwrap(), CopiedTo::ALL);
    within(audit.close()).await;
}

/// Retention beside everything else: a copy has it all, searches go on, and the rest can be proved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_on_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::new();
    let clock: SharedClock = Arc::new(SystemClock);
    let copy = folder.path().join("audit.jsonl");
    let options = SqliteOptions::new(folder.path().join("audit.db"), clock.clone());
    let store: SharedStore = Arc::new(SqliteStore::open(options).await.unwrap());
    let sinks = [sink(file(&copy, 1 << 30, 0), SinkPolicy::Alarm)];
    let mut rules = log.options.clone();
    let entry = || Entry { at: clock.now(), ..log.entry("exec") };
    for _ in 0..2 {
        let (audit, _) = start(&store, &clock, rules.clone(), &sinks).await;
        for _ in 0..50 {
            within(audit.promise(entry())).await.unwrap();
        }
        within(audit.close()).await;
    }
    // From now on everything is old at once.
    rules.retention = Some(Duration::from_millis(1));
    rules.retention_period = Duration::from_millis(20);
    let (audit, _) = start(&store, &clock, rules, &sinks).await;
    let gone = async {
        loop {
            let verdict = audit.verify().await.unwrap();
            assert_eq!(verdict.findings, []);
            if verdict.retired >= 102 {
                return verdict;
            }
            tokio::task::yield_now().await;
        }
    };
    let verdict = within(gone).await;
    assert!(verdict.tombstones >= 2);
    let query = Query { text: Some("audit.retention".to_owned()), ..Query::default() };
    let told = async {
        while audit.search(&query).await.unwrap().entries.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    within(told).await;
    within(audit.close()).await;
    let text = std::fs::read_to_string(&copy).unwrap();
    let copied: Vec<String> = text.lines().map(str::to_owned).collect();
    let verdict = verified(&log, &copied);
    assert!(verdict.entries > 103 && verdict.tombstones >= 2, "{verdict:?}");
    assert_eq!(verify_store(&store, &log.options.key, &[]).await.unwrap().findings, []);
    store.close().await;
}
