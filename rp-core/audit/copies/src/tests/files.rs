//! Copies in files: nothing is left out, whatever fails.

use rp_audit::AuditError;
use rp_database::{Draft, Store as _};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn files_rotate_and_go_on_where_they_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    let path = folder.path().join("audit.jsonl");
    log.sinks = vec![sink(file(&path, 20_000, 0), SinkPolicy::Alarm)];
    let mut entries = 0;
    for round in 0..3 {
        let audit = log.start().await;
        for n in 0..100 {
            log.clock.advance(Duration::from_millis(5));
            if n % 10 == 0 {
                audit.promise(log.entry("exec")).await.unwrap();
            } else {
                audit.queue(log.entry("get")).await.unwrap();
            }
        }
        within(audit.close()).await;
        entries += 101;
        match round {
            // A crash in the middle of a line.
            0 => {
                let torn = [std::fs::read(&path).unwrap(), b"{\"v\":1,\"wri".to_vec()].concat();
                std::fs::write(&path, torn).unwrap();
            }
            // Others may take the file away.
            1 => std::fs::rename(&path, folder.path().join("audit.jsonl.20270115T080001002Z")).unwrap(),
            _ => {}
        }
    }
    let all = lines(folder.path());
    let verdict = verified(&log, &all);
    assert_eq!((verdict.entries, verdict.checkpoints, all.len()), (entries, 3, 306));
    assert!(std::fs::read_dir(folder.path()).unwrap().count() > 3);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().metadata().unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn former_files_beyond_those_to_keep_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.sinks = vec![sink(file(&folder.path().join("audit.jsonl"), 1000, 2), SinkPolicy::Alarm)];
    for _ in 0..6 {
        log.clock.advance(Duration::from_secs(1));
        let audit = log.start().await;
        audit.promise(log.entry("exec")).await.unwrap();
        audit.promise(log.entry("exec")).await.unwrap();
        within(audit.close()).await;
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// A folder that is not there stands for a disk that takes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_policy_decides_what_happens_while_a_sink_takes_nothing() {
    for (policy, refuses) in
        [(SinkPolicy::Refuse { after: Duration::ZERO }, true), (SinkPolicy::Alarm, false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("not-yet");
        let mut log = Log::new();
        log.sinks = vec![sink(file(&gone.join("audit.jsonl"), 1 << 20, 0), policy)];
        let audit = log.start().await;
        until("the failure is seen", async || audit.proof().sinks[0].failing_since).await;
        let state = audit.proof().sinks.remove(0);
        assert!(state.error.unwrap().contains("not-yet") && state.here);
        assert!(log.options.registry.render().contains("aro_audit_sink_failing{sink=\"copy\"} 1"));
        let outcome = audit.promise(log.entry("exec")).await;
        assert_eq!(matches!(&outcome, Err(AuditError::Sink(name)) if name == "copy"), refuses, "{outcome:?}");
        // Reads go on: they are in the log, and come to the sink later.
        audit.queue(log.entry("get")).await.unwrap();
        std::fs::create_dir(&gone).unwrap();
        until("it takes entries again", async || {
            audit.proof().sinks[0].failing_since.is_none().then_some(())
        })
        .await;
        audit.promise(log.entry("exec")).await.unwrap();
        within(audit.close()).await;
        let verdict = verified(&log, &lines(&gone));
        assert_eq!(verdict.entries, if refuses { 3 } else { 4 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_in_another_store_is_not_shipped_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.sinks = vec![sink(file(&folder.path().join("audit.jsonl"), 1 << 20, 0), SinkPolicy::Alarm)];
    let audit = log.start().await;
    audit.promise(log.entry("exec")).await.unwrap();
    within(audit.close()).await;
    let former = std::mem::replace(&mut log.store, store(&log.clock));
    // That store has other documents already, and so other positions.
    let other = |n: u32| Draft {
        id: format!("robot-{n}"),
        partition: "robots".to_owned(),
        unique_key: None,
        body: "{}".to_owned(),
        expires_at: None,
    };
    log.store.create_all(Collection::Robots, (0..100).map(other).collect()).await.unwrap();
    let of_the_log = [Collection::AuditBatches, Collection::Checkpoints, Collection::AuditSinks];
    rp_database::copy_only(&*former, &*log.store, &of_the_log).await.unwrap();
    let audit = log.start().await;
    audit.promise(log.entry("exec")).await.unwrap();
    within(audit.close()).await;
    let all = lines(folder.path());
    assert_eq!(verified(&log, &all).entries, 4);
    assert_eq!(all.iter().filter(|line| line.starts_with("{\"v\"")).count(), 4, "none came twice");
}

/// The store fails in the middle: the place in the log stays, and nothing is left out.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_loses_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.sinks = vec![sink(file(&folder.path().join("audit.jsonl"), 1 << 20, 0), SinkPolicy::Alarm)];
    let audit = log.start().await;
    for round in 0..5 {
        audit.promise(log.entry("exec")).await.unwrap();
        log.store.failing.store(true, SeqCst);
        audit.queue(log.entry("get")).await.unwrap();
        let mut tried = log.store.tried.subscribe();
        within(tried.changed()).await.unwrap();
        log.store.failing.store(false, SeqCst);
        let stored = async || {
            let heads = audit.proof().heads;
            heads.iter().any(|head| head.living && head.seq > 2 * (round + 1)).then_some(())
        };
        until("the entry is stored", stored).await;
    }
    within(audit.close()).await;
    assert_eq!(verified(&log, &lines(folder.path())).entries, 11);
    assert_eq!(log.store.count(Collection::AuditSinks).await.unwrap(), 1);
}
