//! Old entries go, and only they; the tombstones say so.

use std::sync::atomic::Ordering::SeqCst;

use async_trait::async_trait;
use rp_database::StoreError;
use rp_documents::Collection;

use super::*;
use crate::metrics::RetentionMetrics;
use crate::retention::Retention;
use crate::tombstone::SignedTombstone;
use crate::{CopiedTo, Copies, Query, RetentionSummary, SinkState};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Copies that have come so far.
#[derive(Debug)]
struct CopiesAt(CopiedTo);

#[async_trait]
impl Copies for CopiesAt {
    fn refusing(&self, _: Timestamp) -> Option<String> {
        None
    }

    fn states(&self) -> Vec<SinkState> {
        Vec::new()
    }

    async fn copied_to(&self) -> Result<CopiedTo, StoreError> {
        Ok(self.0)
    }

    async fn close(&self) {}
}

fn retention(log: &Log, copies: Option<Arc<dyn Copies>>) -> Retention {
    Retention {
        store: log.shelf.clone(),
        clock: Arc::new(log.clock.clone()),
        key: log.options.key.clone(),
        copies,
        metrics: RetentionMetrics::register(&log.options.registry),
    }
}

fn pass(log: &Log, time: Duration) {
    use rp_base::Clock as _;
    log.clock.advance(time);
    log.shelf.clock.store(log.clock.now().millis(), SeqCst);
}

/// Three chains of five entries each, a day between them; the last one lives.
async fn three() -> (Log, Audit) {
    let log = Log::new();
    pass(&log, Duration::ZERO);
    for round in 0..3 {
        let audit = log.start().await;
        for _ in 0..4 {
            audit.promise(log.entry("exec")).await.unwrap();
        }
        if round == 2 {
            return (log, audit);
        }
        within(audit.close()).await;
        pass(&log, DAY);
    }
    unreachable!()
}

async fn before(log: &Log, age: Duration) -> RetentionSummary {
    use rp_base::Clock as _;
    retention(log, None).round(log.clock.now() - age).await.unwrap()
}

async fn before_with_copies(log: &Log, copied: CopiedTo, age: Duration) -> RetentionSummary {
    use rp_base::Clock as _;
    retention(log, Some(Arc::new(CopiesAt(copied)))).round(log.clock.now() - age).await.unwrap()
}

#[tokio::test]
async fn what_is_old_goes_and_the_rest_can_be_proved() {
    let (log, audit) = three().await;
    assert_eq!(before(&log, DAY * 5).await, RetentionSummary::default());
    let retired = before(&log, DAY + DAY / 2).await;
    assert_eq!((retired.entries, retired.chains), (5, 1));
    let verdict = audit.verify().await.unwrap();
    assert_eq!(verdict.findings, []);
    assert_eq!((verdict.entries, verdict.retired, verdict.tombstones, verdict.writers), (10, 5, 1, 2));
    // Checkpoints of what is gone are gone as well.
    assert_eq!(verdict.checkpoints, 1);
    let found = audit.search(&Query { verb: Some("exec".to_owned()), ..Query::default() }).await.unwrap();
    assert_eq!(found.entries.len(), 8);
    // Again: nothing. Later: the second chain, and then the beginning of the living one, but for its end.
    assert_eq!(before(&log, DAY + DAY / 2).await, RetentionSummary::default());
    assert_eq!(before(&log, DAY / 2).await.entries, 5);
    pass(&log, DAY);
    audit.promise(log.entry("get")).await.unwrap();
    assert_eq!(before(&log, DAY / 2).await.entries, 5);
    let verdict = audit.verify().await.unwrap();
    assert_eq!(
        (verdict.findings.len(), verdict.entries, verdict.retired),
        (0, 1, 15),
        "{:?}",
        verdict.findings
    );
    // The living chain goes on, and the next one names it.
    audit.promise(log.entry("get")).await.unwrap();
    within(audit.close()).await;
    assert_eq!(log.verdict().await.findings, []);
}

#[tokio::test]
async fn the_newest_batch_stays_for_the_next_chain_to_name() {
    let (log, audit) = three().await;
    within(audit.close()).await;
    pass(&log, DAY * 30);
    assert_eq!(before(&log, DAY).await.entries, 14);
    let verdict = log.verdict().await;
    assert_eq!((verdict.findings.len(), verdict.retired), (0, 14), "{:?}", verdict.findings);
}

#[tokio::test]
async fn more_than_the_tombstone_says_is_missing() {
    let (log, audit) = three().await;
    before(&log, DAY + DAY / 2).await;
    let batches = log.shelf.all(Collection::AuditBatches);
    let second = batches.last().unwrap().clone();
    log.shelf.remove(Collection::AuditBatches, &second.id);
    assert_eq!(kinds(&audit.verify().await.unwrap()), [(FindingKind::Removed, 1)]);
    // A beginning of the living chain as well.
    within(audit.close()).await;
}

#[tokio::test]
async fn forged_and_replayed_tombstones_take_nothing_out() {
    let (log, audit) = three().await;
    before(&log, DAY + DAY / 2).await;
    let stored = log.shelf.all(Collection::AuditTombstones)[0].clone();
    let good: SignedTombstone = serde_json::from_str(&stored.body).unwrap();
    let kinds_with = async |signed: &SignedTombstone| {
        log.shelf.tamper(Collection::AuditTombstones, &stored.id, serde_json::to_string(signed).unwrap());
        let verdict = audit.verify().await.unwrap();
        let mut kinds: Vec<FindingKind> = verdict.findings.iter().map(|finding| finding.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    };
    // Wider than what was signed.
    let mut forged = good.clone();
    forged.statement = forged.statement.replace("\"last\":5", "\"last\":9");
    assert!(kinds_with(&forged).await.contains(&FindingKind::TombstoneForged));
    // Signed by a stranger.
    let stranger = CheckpointKey::generate().unwrap();
    let forged = SignedTombstone::sign(&good.read().unwrap(), &stranger).unwrap();
    assert!(kinds_with(&forged).await.contains(&FindingKind::TombstoneForged));
    // A good one of another chain in this one's place: it says nothing of this one.
    let mut other = good.read().unwrap();
    other.writer = log.shelf.all(Collection::AuditBatches)[0].partition.clone();
    let other = SignedTombstone::sign(&other, &log.options.key).unwrap();
    let found = kinds_with(&other).await;
    assert!(found.contains(&FindingKind::Truncated), "{found:?}");
    // Retention does not believe it either, and takes nothing by its word.
    let entries = log.shelf.all(Collection::AuditBatches).len();
    before(&log, DAY * 5).await;
    assert_eq!(log.shelf.all(Collection::AuditBatches).len(), entries);
    assert!(kinds_with(&good).await.is_empty());
}

#[tokio::test]
async fn what_was_tampered_with_stays_for_whoever_looks_into_it() {
    let (log, audit) = three().await;
    let oldest = log.shelf.all(Collection::AuditBatches).pop().unwrap();
    let next = log.shelf.all(Collection::AuditBatches).iter().rev().nth(2).unwrap().clone();
    let body = next.body.replace("\"first_prev\":\"", "\"first_prev\":\"0").replacen("0", "", 0);
    log.shelf.tamper(Collection::AuditBatches, &next.id, body);
    let retired = before(&log, DAY + DAY / 2).await;
    assert_eq!(retired.batches, 2, "up to the one that was changed");
    assert!(log.shelf.all(Collection::AuditBatches).iter().all(|stored| stored.id != oldest.id));
    assert!(!audit.verify().await.unwrap().is_intact());
}

#[tokio::test]
async fn nothing_goes_before_every_copy_has_it() {
    let (log, audit) = three().await;
    within(audit.close()).await;
    let nothing = CopiedTo { batches: 0, checkpoints: 0 };
    assert_eq!(before_with_copies(&log, nothing, DAY / 2).await, RetentionSummary::default());
    // The first chain, but for its checkpoint.
    let batches = log.shelf.all(Collection::AuditBatches);
    let first = &batches.last().unwrap().partition;
    let end = batches.iter().find(|stored| stored.partition == *first).unwrap();
    let first = CopiedTo { batches: end.seq, checkpoints: 0 };
    let retired = before_with_copies(&log, first, DAY / 2).await;
    assert_eq!((retired.entries, retired.chains), (5, 1));
    assert_eq!(log.shelf.all(Collection::Checkpoints).len(), 3);
    assert_eq!(before_with_copies(&log, CopiedTo::ALL, DAY / 2).await.entries, 5);
    assert_eq!(log.verdict().await.findings, []);
}

/// A round that dies after its tombstone leaves what the next one takes away.
#[tokio::test]
async fn a_round_that_was_cut_short_is_finished_by_the_next() {
    let (log, audit) = three().await;
    let batches = log.shelf.all(Collection::AuditBatches);
    before(&log, DAY + DAY / 2).await;
    // As if the removals had not come through.
    let gone: Vec<_> = batches
        .iter()
        .filter(|stored| log.shelf.all(Collection::AuditBatches).iter().all(|left| left.id != stored.id))
        .collect();
    for stored in gone {
        let (id, partition) = (stored.id.clone(), stored.partition.clone());
        let draft = rp_database::Draft {
            id,
            partition,
            unique_key: None,
            body: stored.body.clone(),
            expires_at: None,
        };
        rp_database::Store::create(&*log.shelf, Collection::AuditBatches, draft).await.unwrap();
    }
    assert_eq!(audit.verify().await.unwrap().findings, []);
    before(&log, DAY + DAY / 2).await;
    let verdict = audit.verify().await.unwrap();
    assert_eq!((verdict.findings.len(), verdict.entries), (0, 10), "{:?}", verdict.findings);
}
