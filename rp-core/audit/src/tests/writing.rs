use std::sync::atomic::Ordering::SeqCst;

use rp_base::sha256;
use rp_documents::{Collection, ResourceId};

use super::*;
use crate::batch::Batch;
use crate::{AuditError, Query};

#[tokio::test]
async fn a_promise_is_durable_when_it_returns() {
    let log = Log::new();
    let audit = log.start().await;
    let receipt = within(audit.promise(log.entry("exec"))).await.unwrap();
    // Nothing waits for the group's time: a promise wakes the writer.
    let newest = &log.shelf.all(Collection::AuditBatches)[0];
    let batch: Batch = serde_json::from_str(&newest.body).unwrap();
    assert_eq!((batch.writer.as_str(), batch.first_seq, receipt.seq), (receipt.writer.as_str(), 2, 2));
    assert_eq!(sha256(batch.entries[0].get().as_bytes()), receipt.digest);
    assert!(batch.entries[0].get().starts_with("{\"v\":1,\"writer\":\""));
}

#[tokio::test(start_paused = true)]
async fn queued_entries_are_written_together_within_their_time() {
    let log = Log::new();
    let audit = log.start().await;
    let mut writes = log.shelf.writes.subscribe();
    writes.mark_unchanged();
    for _ in 0..5 {
        audit.queue(log.entry("get")).await.unwrap();
    }
    let asked = tokio::time::Instant::now();
    writes.changed().await.unwrap();
    assert!(asked.elapsed() <= Duration::from_millis(101));
    within(audit.close()).await;
    let batches = log.shelf.all(Collection::AuditBatches);
    let newest: Batch = serde_json::from_str(&batches[0].body).unwrap();
    assert_eq!((batches.len(), newest.count), (2, 5));
}

#[tokio::test]
async fn closing_writes_everything_and_nothing_comes_after() {
    let log = Log::new();
    let audit = log.start().await;
    for _ in 0..1300 {
        audit.queue(log.entry("get")).await.unwrap();
    }
    within(audit.close()).await;
    assert!(matches!(audit.queue(log.entry("late")).await, Err(AuditError::Closed)));
    assert!(matches!(audit.promise(log.entry("late")).await, Err(AuditError::Closed)));
    assert!(matches!(audit.ready(), Err(AuditError::Closed)));
    let verdict = log.verdict().await;
    assert_eq!(verdict.findings, []);
    // Two chains, each with its first entry.
    assert_eq!((verdict.entries, verdict.writers), (1302, 2));
    within(audit.close()).await;
}

#[tokio::test(start_paused = true)]
async fn while_the_store_fails_promises_are_refused_and_queued_entries_wait() {
    let mut log = Log::new();
    log.options.queue = 4;
    let audit = log.start().await;
    log.shelf.failing.store(true, SeqCst);
    assert!(matches!(within(audit.promise(log.entry("exec"))).await, Err(AuditError::Unavailable)));
    assert!(matches!(within(audit.promise(log.entry("exec"))).await, Err(AuditError::Unavailable)));
    assert!(matches!(audit.ready(), Err(AuditError::Unavailable)));
    for _ in 0..4 {
        within(audit.queue(log.entry("get"))).await.unwrap();
    }
    let fifth = timeout(Duration::from_secs(30), audit.queue(log.entry("get"))).await;
    assert!(fifth.is_err(), "a full queue slows its callers down");
    assert!(timeout(Duration::from_secs(30), audit.room()).await.is_err(), "before they begin, too");
    // The ends of what had begun before are kept all the same.
    for _ in 0..20 {
        audit.settle(log.entry("get"));
    }
    let mut tries = log.shelf.writes.subscribe();
    tries.mark_unchanged();
    log.shelf.failing.store(false, SeqCst);
    within(tries.changed()).await.unwrap();
    within(audit.promise(log.entry("exec"))).await.unwrap();
    assert!(audit.ready().is_ok());
    // Behind all that waits for a place.
    within(audit.queue(log.entry("get"))).await.unwrap();
    within(audit.room()).await.unwrap();
    within(audit.close()).await;
    let verdict = log.verdict().await;
    assert_eq!(verdict.findings, []);
    // Started, the attempt that was refused while in a batch, four queued, twenty settled, the last promise, one more
    // queued, started anew.
    assert_eq!(verdict.entries, 29);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_writes_nothing_twice() {
    let log = Log::new();
    let audit = log.start().await;
    log.shelf.lost_answers.store(1, SeqCst);
    assert!(matches!(within(audit.promise(log.entry("exec"))).await, Err(AuditError::Unavailable)));
    let mut tries = log.shelf.writes.subscribe();
    tries.mark_unchanged();
    within(tries.changed()).await.unwrap();
    within(audit.promise(log.entry("exec"))).await.unwrap();
    // The checkpoint at the end gets its answer lost too; the next close has nothing to tell.
    log.shelf.lost_answers.store(1, SeqCst);
    within(audit.close()).await;
    let verdict = log.verdict().await;
    assert_eq!((verdict.findings.len(), verdict.entries), (0, 4), "{:?}", verdict.findings);
}

#[tokio::test(start_paused = true)]
async fn closing_gives_up_in_the_end() {
    let log = Log::new();
    let audit = log.start().await;
    audit.queue(log.entry("get")).await.unwrap();
    log.shelf.failing.store(true, SeqCst);
    within(audit.close()).await;
}

#[tokio::test(start_paused = true)]
async fn checkpoints_follow_the_head_and_only_it() {
    let log = Log::new();
    let audit = log.start().await;
    let mut writes = log.shelf.writes.subscribe();
    for _ in 0..3 {
        audit.promise(log.entry("exec")).await.unwrap();
        writes.mark_unchanged();
        within(writes.changed()).await.unwrap();
        // Nothing new: no further checkpoint, however long it takes.
        tokio::time::advance(Duration::from_secs(300)).await;
    }
    assert_eq!(log.shelf.all(Collection::Checkpoints).len(), 3);
    let verdict = audit.verify().await.unwrap();
    assert_eq!((verdict.findings.len(), verdict.checkpoints), (0, 3));
}

#[tokio::test]
async fn finds_the_newest_first_and_goes_on_where_it_stopped() {
    let log = Log::new();
    let target = ResourceId::imported("harbor").unwrap();
    for round in 0..3 {
        let audit = log.start().await;
        for n in 0..30 {
            log.clock.advance(Duration::from_secs(1));
            let mut entry = log.entry("get");
            entry.name = format!("pod-{round}-{n}");
            entry.target = (n % 2 == 0).then(|| target.clone());
            audit.promise(entry).await.unwrap();
        }
        within(audit.close()).await;
    }
    let audit = log.start().await;
    let mut query =
        Query { person: Some("ada".to_owned()), target: Some(target), limit: 7, ..Query::default() };
    let mut names = Vec::new();
    loop {
        let found = audit.search(&query).await.unwrap();
        names.extend(found.entries.iter().map(|entry| entry.name.clone()));
        // Somebody writes while the search is on.
        audit.promise(log.entry("other")).await.unwrap();
        query.continuation = found.continuation;
        if query.continuation.is_none() {
            break;
        }
    }
    let expected: Vec<String> =
        (0..3).rev().flat_map(|round| (0..15).rev().map(move |n| format!("pod-{round}-{}", n * 2))).collect();
    assert_eq!(names, expected);
    let text = Query { text: Some("POD-1-7\"".to_owned()), ..Query::default() };
    assert_eq!(audit.search(&text).await.unwrap().entries.len(), 1);
    let nobody = Query { person: Some("bob".to_owned()), ..Query::default() };
    assert!(audit.search(&nobody).await.unwrap().entries.is_empty());
    let bad = Query { continuation: Some("nonsense".to_owned()), ..Query::default() };
    assert!(matches!(audit.search(&bad).await, Err(AuditError::Continuation)));
}

#[tokio::test]
async fn one_batch_may_be_read_in_parts() {
    let log = Log::new();
    let audit = log.start().await;
    for n in 0..20 {
        let mut entry = log.entry("get");
        entry.name = n.to_string();
        audit.queue(entry).await.unwrap();
    }
    within(audit.close()).await;
    let (audit, mut names) = (log.start().await, Vec::new());
    let mut query = Query { verb: Some("get".to_owned()), limit: 3, ..Query::default() };
    loop {
        let found = audit.search(&query).await.unwrap();
        assert!(found.entries.len() <= 3);
        names.extend(found.entries.into_iter().map(|entry| entry.name));
        query.continuation = found.continuation;
        if query.continuation.is_none() {
            break;
        }
    }
    let expected: Vec<String> = (0..20).rev().map(|n| n.to_string()).collect();
    assert_eq!(names, expected);
}
