//! Whether the process can do its work: named checks, each with a reason when it fails.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A check that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(5);

type Outcome = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;
/// Asks one thing; the error is the reason, one sentence without secrets.
pub type Check = Arc<dyn Fn() -> Outcome + Send + Sync>;

/// The checks of a process. A cheap clone.
#[derive(Clone)]
pub struct Readiness {
    checks: Arc<Mutex<BTreeMap<String, Check>>>,
    stopping: CancellationToken,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.checks.lock().keys()).finish()
    }
}

/// The results of the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub ready: bool,
    /// By name: the reason of what failed.
    pub checks: BTreeMap<String, Result<(), String>>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, outcome) in &self.checks {
            match outcome {
                Ok(()) => writeln!(f, "[+] {name}: ok")?,
                Err(reason) => writeln!(f, "[-] {name}: {reason}")?,
            }
        }
        writeln!(f, "{}", if self.ready { "ready" } else { "not ready" })
    }
}

impl Readiness {
    /// Without checks it is ready until `stopping` is cancelled.
    pub fn new(stopping: CancellationToken) -> Self {
        Self { checks: Arc::default(), stopping }
    }

    /// Adds a check, or puts it in the place of the one of that name.
    pub fn add<F>(&self, name: &str, check: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let check: Check = Arc::new(move || Box::pin(check()) as Outcome);
        self.checks.lock().insert(name.to_owned(), check);
    }

    /// Asks all checks at once, each for at most 5 s.
    pub async fn report(&self) -> Report {
        let asked: Vec<(String, Check)> =
            self.checks.lock().iter().map(|(n, c)| (n.clone(), c.clone())).collect();
        // A check that panics has no answer: it stays as it is put here.
        let none = |(name, _): &(String, Check)| (name.clone(), Err("the check gave no answer".to_owned()));
        let mut checks: BTreeMap<_, _> = asked.iter().map(none).collect();
        let mut running = JoinSet::new();
        for (name, check) in asked {
            running.spawn(async move {
                let late = |_| Err("no answer within 5 s".to_owned());
                (name, timeout(PATIENCE, check()).await.unwrap_or_else(late))
            });
        }
        while let Some(done) = running.join_next().await {
            if let Ok((name, outcome)) = done {
                checks.insert(name, outcome);
            }
        }
        if self.stopping.is_cancelled() {
            checks.insert("lifecycle".to_owned(), Err("the process is stopping".to_owned()));
        }
        Report { ready: checks.values().all(Result::is_ok), checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn every_check_has_its_word() {
        let stopping = CancellationToken::new();
        let readiness = Readiness::new(stopping.clone());
        assert!(readiness.report().await.ready);
        readiness.add("store", || async { Ok(()) });
        readiness.add("audit", || async { Err("the disk is full".to_owned()) });
        readiness.add("slow", std::future::pending);
        readiness.add("broken", || async { panic!("in a test") });
        let report = readiness.report().await;
        let expected = "[-] audit: the disk is full\n[-] broken: the check gave no answer\n[-] slow: no answer within 5 s\n[+] store: ok\nnot ready\n";
        assert_eq!(report.to_string(), expected);
        for name in ["audit", "slow", "broken"] {
            readiness.add(name, || async { Ok(()) });
        }
        assert!(readiness.report().await.ready);
        stopping.cancel();
        assert!(!readiness.report().await.ready);
    }
}
