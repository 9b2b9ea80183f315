mod files;
mod network;
mod retention;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use rp_audit::{Audit, AuditOptions, CheckpointKey, LineVerifier, Verdict};
use rp_base::{Clock as _, Id, ManualClock, SharedClock, SystemRandom, Timestamp};
use rp_database::{SharedStore, StoreError, in_memory};
use rp_documents::{Actor, Collection, Entry, Phase};
use tests_kit::{Delivery, Interposed, StoreCall, StoreInterceptor, told_to_fail};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::{SinkFormat, SinkOptions, SinkPolicy, SinkTarget, Sinks};

const LONG: Duration = Duration::from_secs(600);

/// Writes fail while it is told so.
#[derive(Debug)]
struct Writes {
    failing: AtomicBool,
    /// Those of the log itself that were tried: batches and checkpoints.
    tried: watch::Sender<u64>,
}

#[async_trait]
impl StoreInterceptor for Writes {
    async fn before(&self, _: &SharedStore, call: StoreCall<'_>) -> Result<Delivery, StoreError> {
        if !call.method.writes() {
            return Ok(Delivery::Delivered);
        }
        if matches!(call.collection, Some(Collection::AuditBatches | Collection::Checkpoints)) {
            self.tried.send_modify(|tried| *tried += 1);
        }
        if self.failing.load(SeqCst) { Err(told_to_fail()) } else { Ok(Delivery::Delivered) }
    }
}

/// An empty store.
fn store(clock: &ManualClock) -> Arc<Interposed<Writes>> {
    let writes = Writes { failing: AtomicBool::new(false), tried: watch::channel(0).0 };
    Interposed::new(in_memory(Arc::new(clock.clone())), writes)
}

/// A log with copies.
struct Log {
    store: Arc<Interposed<Writes>>,
    clock: ManualClock,
    options: AuditOptions,
    sinks: Vec<SinkOptions>,
}

impl Log {
    fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_seconds(1_800_000_000));
        let options = AuditOptions::new(CheckpointKey::generate().unwrap());
        Self { store: store(&clock), clock, options, sinks: Vec::new() }
    }

    async fn start(&self) -> Audit {
        self.start_with_sinks().await.0
    }

    async fn start_with_sinks(&self) -> (Audit, Arc<Sinks>) {
        let store: SharedStore = self.store.clone();
        let clock: SharedClock = Arc::new(self.clock.clone());
        start(&store, &clock, self.options.clone(), &self.sinks).await
    }

    fn entry(&self, verb: &str) -> Entry {
        let actor = Actor { sub: "sub-1".to_owned(), name: "Ada".to_owned(), from: "192.0.2.1".to_owned() };
        Entry::new(self.clock.now(), Phase::Single, Id::random(&SystemRandom), actor, verb)
    }
}

async fn start(
    store: &SharedStore,
    clock: &SharedClock,
    mut options: AuditOptions,
    sinks: &[SinkOptions],
) -> (Audit, Arc<Sinks>) {
    let sinks = Arc::new(Sinks::start(sinks, store, clock, &options));
    options.copies = Some(sinks.clone());
    (Audit::start(store.clone(), clock.clone(), options).await.unwrap(), sinks)
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(LONG, work).await.expect("it takes far too long")
}

fn sink(to: SinkTarget, policy: SinkPolicy) -> SinkOptions {
    SinkOptions { name: "copy".to_owned(), to, format: SinkFormat::Aro, policy }
}

fn file(path: &Path, rotate: u64, keep: usize) -> SinkTarget {
    SinkTarget::File { path: path.to_owned(), rotate, keep, sync: true }
}

/// Waits for what a look gives, without minding how long it takes.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let patience = async {
        loop {
            match look().await {
                Some(found) => return found,
                None => tokio::task::yield_now().await,
            }
        }
    };
    timeout(LONG, patience).await.unwrap_or_else(|_| panic!("never: {what}"))
}

fn lines(folder: &Path) -> Vec<String> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The one without a time in its name is the newest.
    files.sort_by_key(|path| (path.extension().is_some_and(|ext| ext == "jsonl"), path.clone()));
    files
        .iter()
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

fn verified(log: &Log, lines: &[String]) -> Verdict {
    let mut verifier = LineVerifier::new(log.options.key.clone(), false);
    lines.iter().for_each(|line| verifier.line(line));
    let verdict = verifier.finish();
    assert_eq!(verdict.findings, []);
    verdict
}
