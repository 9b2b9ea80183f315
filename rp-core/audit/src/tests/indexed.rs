//! Searches through the index give what looking at every entry would give.

use std::collections::BTreeMap;

use rp_base::{Clock as _, SharedClock};
use rp_database::SharedStore;
use rp_documents::{Collection, ResourceId};

use super::*;
use crate::{AuditError, Query};

/// A hundredth of the log that a search must be quick in.
const ENTRIES: usize = 100_000;

fn target(n: usize) -> ResourceId {
    ResourceId::imported(&format!("cluster-{}", n % 100)).unwrap()
}

/// The n-th entry, which is unlike the others.
fn entry(clock: &ManualClock, n: usize) -> Entry {
    let person = n % 40;
    let actor = Actor {
        sub: format!("sub-{person}"),
        name: format!("Person {person}"),
        from: format!("192.0.2.{person}"),
    };
    let verb = ["get", "list", "watch", "exec"][n % 4];
    let mut entry = Entry::new(clock.now(), Phase::Single, Id::random(&SystemRandom), actor, verb);
    entry.target = Some(target(n / 7));
    entry.grant = Some(Id::parse(&format!("grant-{}", n / 50)).unwrap());
    entry.resource = "pods".to_owned();
    entry.namespace = format!("team-{}", n % 13);
    entry.name = format!("web-{n:06}");
    entry
}

/// Every entry that is found, by pages.
async fn all(audit: &Audit, mut query: Query) -> Vec<Entry> {
    let mut found = Vec::new();
    loop {
        let page = audit.search(&query).await.unwrap();
        assert!(page.entries.len() <= query.limit.max(100));
        assert_eq!(page.continuation.is_some(), page.searched_to.is_some());
        found.extend(page.entries);
        query.continuation = page.continuation;
        if query.continuation.is_none() {
            return found;
        }
    }
}

/// Names, sorted: what waits longer in a queue comes later.
fn names(entries: &[Entry]) -> Vec<String> {
    for pair in entries.windows(2) {
        let ordered = pair[0].writer != pair[1].writer || pair[0].seq > pair[1].seq;
        assert!(ordered, "entries of a writer come newest first");
    }
    let named = entries.iter().filter(|entry| !entry.name.is_empty());
    let mut names: Vec<String> = named.map(|entry| entry.name.clone()).collect();
    names.sort();
    names
}

fn expected(fits: impl Fn(usize) -> bool) -> Vec<String> {
    (0..ENTRIES).filter(|n| fits(*n)).map(|n| format!("web-{n:06}")).collect()
}

struct IndexedLog {
    store: SharedStore,
    clock: ManualClock,
    options: AuditOptions,
}

impl IndexedLog {
    async fn start(&self) -> Audit {
        Audit::start(self.store.clone(), Arc::new(self.clock.clone()), self.options.clone()).await.unwrap()
    }

    /// Entries of two writers at once, which take turns.
    async fn written() -> Self {
        let log = Log::new();
        let clock: SharedClock = Arc::new(log.clock.clone());
        let store = rp_database::in_memory(clock);
        let mut options = log.options;
        options.search_within = LONG;
        let trail = Self { store, clock: log.clock, options };
        let (a, b) = (trail.start().await, trail.start().await);
        for n in 0..ENTRIES {
            trail.clock.advance(Duration::from_millis(10));
            let writer = if n / 5000 % 2 == 0 { &a } else { &b };
            if n % 128 == 127 {
                // Batches as a process writes them that is not always busy.
                writer.promise(entry(&trail.clock, n)).await.unwrap();
            } else {
                writer.queue(entry(&trail.clock, n)).await.unwrap();
            }
            if n % 5000 == 4999 {
                // The other one goes on after what this one wrote.
                let last = Entry { name: String::new(), ..entry(&trail.clock, n) };
                writer.promise(Entry { verb: "turn".to_owned(), ..last }).await.unwrap();
            }
        }
        within(a.close()).await;
        within(b.close()).await;
        trail
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_filter_finds_what_looking_at_everything_finds() {
    let trail = IndexedLog::written().await;
    let begin = log_begin();
    let at = |n: usize| begin + Duration::from_millis(10) * u32::try_from(n + 1).unwrap();
    let base = || Query { limit: 500, ..Query::default() };
    let some = |text: &str| Some(text.to_owned());
    let mut checks: BTreeMap<&str, (Query, Vec<String>)> = BTreeMap::new();
    let mut check = |what, query, names| checks.insert(what, (query, names));
    check("person", Query { person: some("person 7"), ..base() }, expected(|n| n % 40 == 7));
    check("sub", Query { person: some("sub-39"), ..base() }, expected(|n| n % 40 == 39));
    check("nobody", Query { person: some("nobody"), ..base() }, vec![]);
    check("target", Query { target: Some(target(3)), ..base() }, expected(|n| n / 7 % 100 == 3));
    check(
        "grant",
        Query { grant: Some(Id::parse("grant-17").unwrap()), ..base() },
        expected(|n| n / 50 == 17),
    );
    check("text", Query { text: some("WEB-000042"), ..base() }, expected(|n| n == 42));
    check("end of a text", Query { text: some("b-099999\""), ..base() }, expected(|n| n == 99_999));
    check("not there", Query { text: some("web-100000"), ..base() }, vec![]);
    let verb = Query { person: some("sub-3"), verb: some("get"), ..base() };
    check("never together", verb, expected(|n| n % 40 == 3 && n % 4 == 0));
    let all_three = Query { person: some("sub-4"), target: Some(target(9)), verb: some("get"), ..base() };
    check("three", all_three, expected(|n| n % 40 == 4 && n / 7 % 100 == 9 && n % 4 == 0));
    let time = Query { from: Some(at(30_000)), to: Some(at(30_010)), ..base() };
    check("time", time, expected(|n| (30_000..30_010).contains(&n)));
    let both = Query { text: some("team-5"), to: Some(at(500)), person: some("person 5"), ..base() };
    check("text and time", both, expected(|n| n < 500 && n % 13 == 5 && n % 40 == 5));

    let audit = trail.start().await;
    for indexed in [false, true] {
        if indexed {
            audit.0.index.catch_up().await.unwrap();
            // One part is stored, another one grows.
            assert_eq!(trail.store.count(Collection::AuditIndex).await.unwrap(), 513 + 1);
        }
        // Without the index every entry is looked at, which takes its time.
        let some = checks.iter().filter(|(what, _)| indexed || **what == "target");
        for (what, (query, names)) in some {
            let found = self::names(&all(&audit, query.clone()).await);
            assert!(found == *names, "{what}, indexed: {indexed}: {} of {}", found.len(), names.len());
        }
    }
    let everything = all(&audit, Query { limit: 500, ..Query::default() }).await;
    assert!(names(&everything) == expected(|_| true));
    // Made anew it says the same, and so does another process.
    audit.rebuild_index().await.unwrap();
    audit.0.index.catch_up().await.unwrap();
    let other = trail.start().await;
    for audit in [&audit, &other] {
        for (what, (query, names)) in &checks {
            let found = self::names(&all(audit, query.clone()).await);
            assert!(found == *names, "{what}: {} of {}", found.len(), names.len());
        }
    }
    let verdict = other.verify().await.unwrap();
    assert_eq!((verdict.findings.len(), verdict.writers), (0, 4), "{:?}", verdict.findings);
    within(audit.close()).await;
    within(other.close()).await;
}

fn log_begin() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000)
}

#[tokio::test]
async fn an_index_of_another_store_is_made_anew() {
    let log = Log::new();
    let audit = log.start().await;
    audit.promise(log.entry("exec")).await.unwrap();
    within(audit.close()).await;
    // What a part looks like that was made in a store with other positions.
    let last = log.shelf.all(Collection::AuditBatches)[0].clone();
    let header = format!(
        r#"{{"form":1,"number":7,"mark":"{}","blocks":[{{"first":1,"last":{},"batches":1,"entries":1,"from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:00Z"}}]}}"#,
        last.id,
        last.seq + 5
    );
    let id = crate::index::part::header_id(7);
    let draft = rp_database::Draft {
        id: id.clone(),
        partition: "h".to_owned(),
        unique_key: None,
        body: header,
        expires_at: None,
    };
    rp_database::Store::create(&*log.shelf, Collection::AuditIndex, draft).await.unwrap();
    let audit = log.start().await;
    let query = Query { verb: Some("exec".to_owned()), ..Query::default() };
    assert_eq!(audit.search(&query).await.unwrap().entries.len(), 1);
    assert!(log.shelf.all(Collection::AuditIndex).iter().all(|stored| stored.id != id));
    within(audit.close()).await;
}

#[tokio::test]
async fn a_continuation_is_good_for_its_query_for_an_hour_and_on_every_replica() {
    let log = Log::new();
    let (audit, other) = (log.start().await, log.start().await);
    for _ in 0..5 {
        audit.promise(log.entry("exec")).await.unwrap();
    }
    let query = Query { verb: Some("exec".to_owned()), limit: 2, ..Query::default() };
    let first = audit.search(&query).await.unwrap();
    let next = Query { continuation: first.continuation.clone(), ..query.clone() };
    let (here, there) = (audit.search(&next).await.unwrap(), other.search(&next).await.unwrap());
    assert_eq!((here.entries.len(), &here.entries), (2, &there.entries));
    let lines = other.search_lines(&next).await.unwrap().lines;
    assert_eq!(lines, here.entries.iter().map(|e| serde_json::to_string(e).unwrap()).collect::<Vec<_>>());
    let foreign = Query { verb: Some("get".to_owned()), ..next.clone() };
    assert!(matches!(audit.search(&foreign).await, Err(AuditError::Continuation)));
    log.clock.advance(Duration::from_secs(3601));
    assert!(matches!(audit.search(&next).await, Err(AuditError::ContinuationExpired)));
}

#[tokio::test(start_paused = true)]
async fn a_proof_tells_heads_and_checkpoints_without_reading() {
    let log = Log::new();
    let first = log.start().await;
    first.promise(log.entry("exec")).await.unwrap();
    within(first.close()).await;
    log.clock.advance(Duration::from_secs(1));
    let audit = log.start().await;
    let receipt = audit.promise(log.entry("exec")).await.unwrap();
    let proof = audit.proof();
    let own = proof.heads.iter().find(|head| head.living).unwrap();
    assert_eq!((own.seq, own.digest, proof.unsigned), (2, receipt.digest, 2));
    assert!(proof.checkpoint.is_none());
    audit.0.index.catch_up().await.unwrap();
    assert_eq!((audit.proof().heads.len(), audit.proof().writers), (2, 2));
    let mut writes = log.shelf.writes.subscribe();
    writes.mark_unchanged();
    tokio::time::advance(Duration::from_secs(61)).await;
    within(writes.changed()).await.unwrap();
    within(audit.close()).await;
    let proof = audit.proof();
    let checkpoint = proof.checkpoint.unwrap();
    assert_eq!((checkpoint.writer, checkpoint.seq, proof.unsigned), (receipt.writer, 2, 0));
    assert_eq!((checkpoint.digest, checkpoint.key), (receipt.digest, log.options.key.id()));
}

/// A replica dies without a word; another one's checkpoint knows how far it had come.
#[tokio::test(start_paused = true)]
async fn checkpoints_cover_the_chains_of_others() {
    let log = Log::new();
    let (dead, alive) = (log.start().await, log.start().await);
    let receipt = dead.promise(log.entry("exec")).await.unwrap();
    alive.0.index.catch_up().await.unwrap();
    within(alive.close()).await;
    let verdict = alive.verify().await.unwrap();
    assert_eq!(verdict.findings, []);
    let newest = log.shelf.all(Collection::AuditBatches);
    let last = newest.iter().find(|stored| stored.partition == receipt.writer).unwrap();
    log.shelf.remove(Collection::AuditBatches, &last.id);
    let verdict = alive.verify().await.unwrap();
    assert_eq!(kinds(&verdict), [(FindingKind::Truncated, 2)]);
    assert_eq!(verdict.findings[0].writer, receipt.writer);
}
