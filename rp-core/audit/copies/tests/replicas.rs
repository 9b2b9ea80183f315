//! Several processes on one PostgreSQL: one of them ships the copies, and any may die.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rp_audit::{Audit, AuditOptions, CheckpointKey, LineVerifier, Query};
use rp_audit_copies::{SinkFormat, SinkOptions, SinkPolicy, SinkTarget, Sinks};
use rp_base::{Clock as _, Id, SharedClock, SystemClock, SystemRandom};
use rp_database::{PostgresOptions, PostgresStore, SharedStore};
use rp_documents::{Actor, Entry, Phase};
use tests_kit::Postgres;
use tokio::runtime::Runtime;

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(600);

fn entry(verb: &str) -> Entry {
    let actor = Actor { sub: "sub-1".to_owned(), name: "Ada".to_owned(), from: "192.0.2.1".to_owned() };
    Entry::new(SystemClock.now(), Phase::Single, Id::random(&SystemRandom), actor, verb)
}

/// A process: its own runtime, which dies with everything in it.
struct Replica {
    runtime: Runtime,
    audit: Audit,
    store: SharedStore,
}

impl Replica {
    fn start(url: &str, key: &CheckpointKey, copy: &Path) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (audit, store) = runtime.block_on(async {
            let options = PostgresOptions::from_url(url).unwrap();
            let store: SharedStore = Arc::new(PostgresStore::connect(options).await.unwrap());
            let to = SinkTarget::File { path: copy.to_owned(), rotate: 1 << 30, keep: 0, sync: true };
            let sink = SinkOptions {
                name: "archive".to_owned(),
                to,
                format: SinkFormat::Aro,
                policy: SinkPolicy::Alarm,
            };
            let clock: SharedClock = Arc::new(SystemClock);
            let mut options = AuditOptions::new(key.clone());
            options.copies = Some(Arc::new(Sinks::start(&[sink], &store, &clock, &options)));
            (Audit::start(Arc::clone(&store), clock, options).await.unwrap(), store)
        });
        Self { runtime, audit, store }
    }

    /// Entries that are durable when this returns.
    fn promise(&self, count: u32) {
        self.runtime.block_on(async {
            for _ in 0..count {
                self.audit.promise(entry("exec")).await.unwrap();
            }
        });
    }

    fn ships(&self) -> bool {
        self.audit.proof().sinks[0].here
    }

    fn close(self) {
        self.runtime.block_on(async {
            self.audit.close().await;
            self.store.close().await;
        });
    }
}

fn until(what: &str, look: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !look() {
        assert!(started.elapsed() < LONG, "never: {what}");
        std::thread::yield_now();
    }
}

fn lines(copy: &Path) -> Vec<String> {
    std::fs::read_to_string(copy).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn another_replica_ships_when_one_dies_and_nothing_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("audit.jsonl");
    let key = CheckpointKey::generate().unwrap();
    let setup = Runtime::new().unwrap();
    let server = setup.block_on(Postgres::start_durable()).unwrap();
    let url = setup.block_on(server.database()).unwrap();
    let (first, second) = (Replica::start(&url, &key, &copy), Replica::start(&url, &key, &copy));
    until("one ships", || first.ships() || second.ships());
    let (dying, living) = if first.ships() { (first, second) } else { (second, first) };
    dying.promise(20);
    living.promise(20);
    assert!(!living.ships());
    // In the middle of its work, with everything that it holds.
    dying.runtime.shutdown_background();
    drop((dying.audit, dying.store));
    living.promise(20);
    until("the other one ships", || living.ships());
    // Every replica finds the entries of all.
    let found = living.runtime.block_on(async {
        let mut query = Query { verb: Some("exec".to_owned()), limit: 500, ..Query::default() };
        let mut found = 0;
        loop {
            let page = living.audit.search(&query).await.unwrap();
            found += page.entries.len();
            query.continuation = page.continuation;
            if query.continuation.is_none() {
                return found;
            }
        }
    });
    assert_eq!(found, 60);
    assert_eq!(living.audit.proof().heads.len(), 2);
    let verdict = living.runtime.block_on(living.audit.verify()).unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.findings);
    living.close();
    let mut verifier = LineVerifier::new(key, false);
    lines(&copy).iter().for_each(|line| verifier.line(line));
    let verdict = verifier.finish();
    assert!(verdict.is_intact(), "{:?}", verdict.findings);
    assert_eq!((verdict.entries, verdict.writers), (62, 2));
    assert!(verdict.checkpoints >= 1);
}
