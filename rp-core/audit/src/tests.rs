mod embedded;
mod indexed;
mod lines;
mod refusing;
mod reporting;
mod retiring;
mod shelf;
mod spooling;
mod tampering;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Id, ManualClock, SystemRandom, Timestamp};
use rp_documents::{Actor, Entry, Phase};
use tokio::time::timeout;

use crate::{Audit, AuditOptions, CheckpointKey, Finding, FindingKind, Verdict};
use shelf::Shelf;

const LONG: Duration = Duration::from_secs(600);

/// A log on a shelf.
struct Log {
    shelf: Arc<Shelf>,
    clock: ManualClock,
    options: AuditOptions,
}

impl Log {
    fn new() -> Self {
        let options = AuditOptions::new(CheckpointKey::generate().unwrap());
        Self {
            shelf: Arc::new(Shelf::new()),
            clock: ManualClock::at(Timestamp::from_seconds(1_800_000_000)),
            options,
        }
    }

    async fn start(&self) -> Audit {
        Audit::start(self.shelf.clone(), Arc::new(self.clock.clone()), self.options.clone()).await.unwrap()
    }

    fn entry(&self, verb: &str) -> Entry {
        use rp_base::Clock as _;
        let actor = Actor { sub: "sub-1".to_owned(), name: "Ada".to_owned(), from: "192.0.2.1".to_owned() };
        Entry::new(self.clock.now(), Phase::Single, Id::random(&SystemRandom), actor, verb)
    }

    /// Opens the log anew and checks it, then closes it.
    async fn verdict(&self) -> Verdict {
        let audit = self.start().await;
        let verdict = audit.verify().await.unwrap();
        within(audit.close()).await;
        verdict
    }
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(LONG, work).await.expect("it takes far too long")
}

fn kinds(verdict: &Verdict) -> Vec<(FindingKind, u64)> {
    let mut kinds: Vec<_> = verdict.findings.iter().map(|Finding { kind, seq, .. }| (*kind, *seq)).collect();
    kinds.sort_unstable();
    kinds
}
