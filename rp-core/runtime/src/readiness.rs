//! Whether the process can do its work: named checks, each with a reason when it fails.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_metrics::{Family, Gauge, Registry, labels, metrics};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A check that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the checks run for the metrics.
const EVERY: Duration = Duration::from_secs(30);

labels! {
    /// Which check.
    struct CheckLabels { check: &'static str }
}

metrics! {
    /// Whether the process is ready.
    struct ReadyMetrics("aro") {
        /// 1 while the process is ready: every check passes, and it is not about to end; as of the last half minute.
        ready: Gauge = "ready";
        /// 1 while a check of readiness fails, by check; as of the last half minute.
        failing: Family<CheckLabels, Gauge> = "ready_check_failing";
    }
}

/// Registers what is shown here.
pub(crate) fn register_metrics(registry: &Registry) {
    ReadyMetrics::register(registry);
}

type Outcome = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;
/// Asks one thing; the error is the reason, one sentence without secrets.
pub type Check = Arc<dyn Fn() -> Outcome + Send + Sync>;

/// The checks of a process. A cheap clone.
#[derive(Clone)]
pub struct Readiness {
    checks: Arc<Mutex<BTreeMap<&'static str, Check>>>,
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
    pub checks: BTreeMap<&'static str, Result<(), String>>,
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
    pub fn add<F>(&self, name: &'static str, check: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let check: Check = Arc::new(move || Box::pin(check()) as Outcome);
        self.checks.lock().insert(name, check);
    }

    /// Asks all checks at once, each for at most 5 s.
    pub async fn report(&self) -> Report {
        let asked: Vec<(&'static str, Check)> =
            self.checks.lock().iter().map(|(name, check)| (*name, Arc::clone(check))).collect();
        // A check that panics has no answer: it stays as it is put here.
        let none = |(name, _): &(&'static str, Check)| (*name, Err("the check gave no answer".to_owned()));
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
            checks.insert("lifecycle", Err("the process is stopping".to_owned()));
        }
        Report { ready: checks.values().all(Result::is_ok), checks }
    }

    /// Runs the checks now and periodically, and shows the results as metrics, for as long as it is polled.
    pub(crate) async fn show(&self, registry: &Registry) {
        let metrics = ReadyMetrics::register(registry);
        loop {
            let report = self.report().await;
            metrics.ready.set_count(usize::from(report.ready));
            for (check, outcome) in report.checks {
                metrics.failing.with(&CheckLabels { check }).set_count(usize::from(outcome.is_err()));
            }
            tokio::time::sleep(EVERY).await;
        }
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

    #[tokio::test(start_paused = true)]
    async fn metrics_name_the_check_that_fails() {
        let readiness = Readiness::new(CancellationToken::new());
        readiness.add("store", || async { Ok(()) });
        readiness.add("audit", || async { Err("the disk is full".to_owned()) });
        let registry = Registry::new();
        assert!(timeout(EVERY / 2, readiness.show(&registry)).await.is_err());
        let text = registry.render();
        for line in ["aro_ready 0", "failing{check=\"audit\"} 1", "failing{check=\"store\"} 0"] {
            assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
        }
        readiness.add("audit", || async { Ok(()) });
        assert!(timeout(EVERY / 2, readiness.show(&registry)).await.is_err());
        let text = registry.render();
        assert!(text.contains("aro_ready 1\n") && text.contains("failing{check=\"audit\"} 0\n"), "{text}");
    }
}
