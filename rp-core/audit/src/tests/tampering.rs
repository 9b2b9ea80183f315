use rp_base::{Digest, sha256};
use rp_documents::Collection;
use serde_json::value::RawValue;

use super::*;
use crate::SignedCheckpoint;
use crate::batch::Batch;

/// A log of two closed chains: the first with entries 1, 2–6 in a batch, 7, 8, and a checkpoint at 8.
async fn written() -> (Log, Vec<String>) {
    let mut log = Log::new();
    log.options.group = Duration::from_secs(3600);
    for _ in 0..2 {
        let audit = log.start().await;
        for n in 0..4 {
            let mut entry = log.entry("get");
            entry.name = format!("pod-{n}");
            audit.queue(entry).await.unwrap();
        }
        for _ in 0..3 {
            audit.promise(log.entry("exec")).await.unwrap();
        }
        within(audit.close()).await;
        log.clock.advance(Duration::from_secs(10));
    }
    let batches = log.shelf.all(Collection::AuditBatches);
    let first = batches.last().unwrap().partition.clone();
    // Of the first chain, oldest first.
    let ids: Vec<String> =
        batches.iter().rev().filter(|b| b.partition == first).map(|b| b.id.clone()).collect();
    assert_eq!(log.verdict().await.findings, []);
    (log, ids)
}

fn batch(log: &Log, id: &str) -> Batch {
    let all = log.shelf.all(Collection::AuditBatches);
    serde_json::from_str(&all.iter().find(|stored| stored.id == id).unwrap().body).unwrap()
}

fn put(log: &Log, id: &str, batch: &Batch) {
    log.shelf.tamper(Collection::AuditBatches, id, serde_json::to_string(batch).unwrap());
}

fn edit(batch: &mut Batch, at: usize, from: &str, to: &str) {
    let text = batch.entries[at].get().replace(from, to);
    assert_ne!(text, batch.entries[at].get());
    batch.entries[at] = RawValue::from_string(text).unwrap();
}

/// Makes a batch's chain anew after `prev`; gives its head.
fn rechain(batch: &mut Batch, mut prev: Digest) -> Digest {
    batch.first_prev = prev;
    for text in &mut batch.entries {
        let mut entry: serde_json::Value = serde_json::from_str(text.get()).unwrap();
        let old = entry["prev"].as_str().unwrap().to_owned();
        entry["prev"] = prev.to_string().into();
        let fresh = text.get().replace(&old, &prev.to_string());
        prev = sha256(fresh.as_bytes());
        *text = RawValue::from_string(fresh).unwrap();
    }
    batch.head = prev;
    prev
}

#[tokio::test]
async fn a_changed_entry() {
    let (log, ids) = written().await;
    let mut middle = batch(&log, &ids[1]);
    edit(&mut middle, 1, "pod-1", "pod-9");
    put(&log, &ids[1], &middle);
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::Changed, 3)]);
}

#[tokio::test]
async fn a_changed_last_entry_of_a_batch() {
    let (log, ids) = written().await;
    let mut middle = batch(&log, &ids[1]);
    edit(&mut middle, 4, "\"exec\"", "\"get\"");
    put(&log, &ids[1], &middle);
    // The batch's seal and the next batch both say so.
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::Changed, 6), (FindingKind::Changed, 6)]);
}

#[tokio::test]
async fn an_entry_removed_from_a_batch() {
    let (log, ids) = written().await;
    let mut middle = batch(&log, &ids[1]);
    middle.entries.remove(2);
    put(&log, &ids[1], &middle);
    let kinds = kinds(&log.verdict().await);
    assert!(kinds.contains(&(FindingKind::Removed, 4)), "{kinds:?}");
}

#[tokio::test]
async fn a_batch_removed_from_the_middle() {
    let (log, ids) = written().await;
    log.shelf.remove(Collection::AuditBatches, &ids[2]);
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::Removed, 7)]);
}

#[tokio::test]
async fn the_first_batch_removed() {
    let (log, ids) = written().await;
    log.shelf.remove(Collection::AuditBatches, &ids[0]);
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::Removed, 1)]);
}

#[tokio::test]
async fn two_entries_swapped() {
    let (log, ids) = written().await;
    let mut middle = batch(&log, &ids[1]);
    middle.entries.swap(1, 2);
    put(&log, &ids[1], &middle);
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::Reordered, 3)]);
}

#[tokio::test]
async fn two_batches_swapped() {
    let (log, ids) = written().await;
    let (a, b) = (batch(&log, &ids[2]), batch(&log, &ids[3]));
    put(&log, &ids[2], &b);
    put(&log, &ids[3], &a);
    let verdict = log.verdict().await;
    assert!(
        verdict.findings.iter().any(|f| f.kind == FindingKind::Malformed && f.seq == 7),
        "{:?}",
        verdict.findings
    );
}

#[tokio::test]
async fn a_tail_cut_off() {
    let (log, ids) = written().await;
    log.shelf.remove(Collection::AuditBatches, &ids[3]);
    // The checkpoint and the next chain's first entry both know of entry 8.
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::Truncated, 8)]);
}

#[tokio::test]
async fn a_whole_chain_removed() {
    let (log, ids) = written().await;
    for id in &ids {
        log.shelf.remove(Collection::AuditBatches, id);
    }
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::Truncated, 8)]);
}

#[tokio::test]
async fn the_tail_of_the_living_chain_cut_off() {
    let log = Log::new();
    let audit = log.start().await;
    audit.promise(log.entry("exec")).await.unwrap();
    let newest = log.shelf.all(Collection::AuditBatches)[0].id.clone();
    log.shelf.remove(Collection::AuditBatches, &newest);
    assert_eq!(kinds(&audit.verify().await.unwrap()), [(FindingKind::Truncated, 2)]);
}

#[tokio::test]
async fn a_chain_made_anew() {
    let (log, ids) = written().await;
    let mut prev = batch(&log, &ids[0]).head;
    for (at, id) in ids.iter().enumerate().skip(1) {
        let mut changed = batch(&log, id);
        if at == 1 {
            edit(&mut changed, 0, "pod-0", "pod-x");
        }
        prev = rechain(&mut changed, prev);
        put(&log, id, &changed);
    }
    // It fits itself; the checkpoint and the next chain know better.
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::Rechained, 8)]);
}

#[tokio::test]
async fn what_is_no_batch() {
    let (log, ids) = written().await;
    log.shelf.tamper(Collection::AuditBatches, &ids[2], "{}".to_owned());
    let kinds = kinds(&log.verdict().await);
    assert!(
        kinds.contains(&(FindingKind::Malformed, 0)) && kinds.contains(&(FindingKind::Removed, 7)),
        "{kinds:?}"
    );
}

#[tokio::test]
async fn checkpoints_forged_changed_and_removed() {
    let (log, _) = written().await;
    let checkpoints = log.shelf.all(Collection::Checkpoints);
    let first = checkpoints.last().unwrap();
    let mut signed: SignedCheckpoint = serde_json::from_str(&first.body).unwrap();
    signed.statement = signed.statement.replace("\"seq\":8", "\"seq\":7");
    log.shelf.tamper(Collection::Checkpoints, &first.id, serde_json::to_string(&signed).unwrap());
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::CheckpointForged, 1)]);
    let mut stranger = log;
    stranger.options.key = CheckpointKey::generate().unwrap();
    let verdict = stranger.verdict().await;
    assert!(verdict.findings.iter().all(|finding| finding.kind == FindingKind::CheckpointForged));
    assert!(verdict.findings.len() >= 3, "{:?}", verdict.findings);
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_removed_between_others_and_one_kept_outside() {
    let log = Log::new();
    let audit = log.start().await;
    let mut writes = log.shelf.writes.subscribe();
    for _ in 0..3 {
        audit.promise(log.entry("exec")).await.unwrap();
        writes.mark_unchanged();
        within(writes.changed()).await.unwrap();
    }
    within(audit.close()).await;
    let checkpoints = log.shelf.all(Collection::Checkpoints);
    log.shelf.remove(Collection::Checkpoints, &checkpoints[1].id);
    assert_eq!(kinds(&log.verdict().await), [(FindingKind::CheckpointRemoved, 2)]);
    // An attacker who removes the end of the log with every trace of it is found by a checkpoint that left the store.
    let kept: SignedCheckpoint = serde_json::from_str(&checkpoints[0].body).unwrap();
    let only = Log { shelf: Arc::new(Shelf::new()), clock: log.clock.clone(), options: log.options.clone() };
    let verdict = only.start().await.verify_against(&[kept]).await.unwrap();
    assert_eq!(kinds(&verdict), [(FindingKind::Truncated, 4)]);
}
