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
