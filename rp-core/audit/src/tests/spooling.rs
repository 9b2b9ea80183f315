//! While the store is away entries go to the local disk, and come into the store in their order.

use std::sync::atomic::Ordering::SeqCst;

use rp_documents::Collection;

use super::*;

fn files(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[tokio::test]
async fn promises_are_kept_on_the_local_disk_and_brought_in_later() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.options.spool = Some(folder.path().join("audit.spool"));
    let audit = log.start().await;
    let first = within(audit.promise(log.entry("exec"))).await.unwrap();
    log.shelf.failing.store(true, SeqCst);
    for n in 0..5 {
        let receipt = within(audit.promise(log.entry("exec"))).await.unwrap();
        assert_eq!(receipt.seq, first.seq + n + 1);
    }
    assert!(audit.spooling() && audit.ready().is_ok());
    assert_eq!((files(folder.path()), log.shelf.all(Collection::AuditBatches).len()), (1, 2));
    assert!(log.options.registry.render().contains("aro_audit_spooling 1"));
    // What is not in the store yet is not missed there.
    assert_eq!(audit.verify().await.unwrap().findings, []);
    // One more whose answer is lost comes in once.
    log.shelf.lost_answers.store(1, SeqCst);
    log.shelf.failing.store(false, SeqCst);
    let brought_in = async {
        while audit.spooling() {
            tokio::task::yield_now().await;
        }
    };
    within(brought_in).await;
    within(audit.promise(log.entry("exec"))).await.unwrap();
    within(audit.close()).await;
    assert_eq!(files(folder.path()), 0);
    let verdict = log.verdict().await;
    assert_eq!((verdict.findings.len(), verdict.entries), (0, 9), "{:?}", verdict.findings);
}

/// A process that dies while it spools: the next one brings everything in that was promised, and goes on from there.
#[test]
fn what_a_dead_process_spooled_is_brought_in_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.options.spool = Some(folder.path().join("audit.spool"));
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dying = runtime();
    let last = dying.block_on(async {
        let audit = log.start().await;
        log.shelf.failing.store(true, SeqCst);
        within(audit.promise(log.entry("exec"))).await.unwrap();
        within(audit.promise(log.entry("exec"))).await.unwrap()
    });
    // A living process keeps its file to itself.
    runtime().block_on(async {
        log.shelf.failing.store(false, SeqCst);
        let other = log.start().await;
        assert_eq!(files(folder.path()), 1);
        within(other.close()).await;
    });
    drop(dying);
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    // Torn in the middle of a line that nobody was told of.
    let torn = [std::fs::read(&file).unwrap(), b"{\"id\":\"x\",\"part".to_vec()].concat();
    std::fs::write(&file, torn).unwrap();
    runtime().block_on(async {
        let audit = log.start().await;
        assert_eq!(files(folder.path()), 0);
        let verdict = audit.verify().await.unwrap();
        assert_eq!((verdict.findings.len(), verdict.entries), (0, 5), "{:?}", verdict.findings);
        let batches = log.shelf.all(Collection::AuditBatches);
        assert!(batches.iter().any(|stored| stored.body.contains(&last.digest.to_string())));
        within(audit.close()).await;
    });
}

/// The local disk takes nothing either: then nothing is promised.
#[tokio::test(start_paused = true)]
async fn without_the_local_disk_promises_are_refused() {
    let mut log = Log::new();
    log.options.spool = Some("/no/such/folder/audit.spool".into());
    let audit = log.start().await;
    log.shelf.failing.store(true, SeqCst);
    assert!(matches!(within(audit.promise(log.entry("exec"))).await, Err(crate::AuditError::Unavailable)));
    assert!(!audit.spooling() && audit.ready().is_err());
    log.shelf.failing.store(false, SeqCst);
    within(audit.close()).await;
    assert_eq!(log.verdict().await.findings, []);
}
