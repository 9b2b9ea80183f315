use rp_base::SystemClock;
use rp_database::{SqliteOptions, SqliteStore};

use super::*;
use crate::Query;

/// On the store that is shipped: what was promised is there after the process is gone without closing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn survives_restarts_on_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    let (log, clock) = (Log::new(), Arc::new(SystemClock));
    let mut entries = 0;
    for round in 0..3 {
        let options = SqliteOptions::new(folder.path().join("audit.db"), clock.clone());
        let store = Arc::new(SqliteStore::open(options).await.unwrap());
        let audit = Audit::start(store.clone(), clock.clone(), log.options.clone()).await.unwrap();
        for _ in 0..700 {
            audit.queue(log.entry("get")).await.unwrap();
        }
        within(audit.promise(log.entry("exec"))).await.unwrap();
        entries += 702;
        if round < 2 {
            within(audit.close()).await;
        }
        let verdict = audit.verify().await.unwrap();
        assert_eq!(
            (verdict.findings.len(), verdict.writers, verdict.checkpoints),
            (0, round + 1, 2.min(round + 1))
        );
        // In the last round queued entries may still be on their way.
        assert!(verdict.entries == entries || round == 2, "{verdict:?}");
        let found = audit.search(&Query { verb: Some("exec".to_owned()), ..Query::default() }).await.unwrap();
        assert_eq!(found.entries.len() as u64, round + 1);
        rp_database::Store::close(&*store).await;
    }
}

/// A disk without space: nothing is promised, or the local disk takes it, as the settings say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_or_spools() {
    let (log, clock) = (Log::new(), Arc::new(SystemClock));
    let mut big = log.entry("exec");
    big.query = "x".repeat(6000);
    for spools in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = SqliteOptions::new(folder.path().join("audit.db"), clock.clone());
        options.max_pages = Some(60);
        let store = Arc::new(SqliteStore::open(options).await.unwrap());
        let mut rules = log.options.clone();
        rules.spool = spools.then(|| folder.path().join("spool"));
        rules.close_within = Duration::from_millis(100);
        let audit = Audit::start(store.clone(), clock.clone(), rules).await.unwrap();
        let mut refused = 0;
        for _ in 0..100 {
            refused += u32::from(within(audit.promise(big.clone())).await.is_err());
        }
        assert_eq!((refused > 0, audit.ready().is_ok(), audit.spooling()), (!spools, spools, spools));
        within(audit.close()).await;
        rp_database::Store::close(&*store).await;
        // With room everything that was promised is there.
        let options = SqliteOptions::new(folder.path().join("audit.db"), clock.clone());
        let store = Arc::new(SqliteStore::open(options).await.unwrap());
        let mut rules = log.options.clone();
        rules.spool = Some(folder.path().join("spool"));
        let audit = Audit::start(store.clone(), clock.clone(), rules).await.unwrap();
        let query = Query { verb: Some("exec".to_owned()), limit: 500, ..Query::default() };
        let found = audit.search(&query).await.unwrap().entries.len();
        assert!(found >= 100 - refused as usize, "{found} of {}", 100 - refused);
        assert_eq!(audit.verify().await.unwrap().findings, []);
        within(audit.close()).await;
        rp_database::Store::close(&*store).await;
    }
}

/// As large as entries may be, and as long as JSON makes them: batches stay within what the store takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_entries_are_stored_as_well() {
    let (log, clock) = (Log::new(), Arc::new(SystemClock));
    let store = rp_database::in_memory(clock.clone());
    let audit = Audit::start(store.clone(), clock, log.options.clone()).await.unwrap();
    let mut large = log.entry("exec");
    for field in [&mut large.query, &mut large.reason, &mut large.name, &mut large.namespace] {
        *field = "\u{1}".repeat(8 * 1024);
    }
    large.command = vec!["\u{1}".repeat(8 * 1024); 4];
    for _ in 0..400 {
        audit.queue(large.clone()).await.unwrap();
    }
    within(audit.promise(large)).await.unwrap();
    within(audit.close()).await;
    let verdict = crate::verify_store(&store, &log.options.key, &[]).await.unwrap();
    assert_eq!((verdict.findings.len(), verdict.entries), (0, 402), "{:?}", verdict.findings);
}
