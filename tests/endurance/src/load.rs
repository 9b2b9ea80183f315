//! Workloads: loops of attempts, and what came of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::environment::Environment;
use crate::excuses::effect;
use crate::report::progress;
use crate::windows::{Dependency, FaultWindows};

/// Texts of unexpected failures that are kept.
const KEPT_TEXTS: usize = 5;
/// Characters of such a text.
const LONGEST_TEXT: usize = 600;

/// Which attempt it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) worker: usize,
    /// Of this worker, from 0.
    pub(crate) number: u64,
}

/// One kind of load.
#[async_trait]
pub(crate) trait Workload: Send + Sync + 'static {
    /// Its name in the report.
    fn name(&self) -> &'static str;

    /// Attempts at once.
    fn workers(&self) -> usize {
        1
    }

    /// From the end of an attempt to the begin of the same worker's next.
    fn pause(&self) -> Duration;

    /// The longest attempt; a longer one has failed.
    fn limit(&self) -> Duration {
        Duration::from_secs(150)
    }

    /// What an attempt needs besides the store: only a fault of one of these excuses its failure.
    fn dependencies(&self) -> &'static [Dependency];

    /// One attempt. An error is a failure; [`effect`] tells which of them a fault may cause.
    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()>;
}

/// What came of a workload's attempts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) attempts: u64,
    pub(crate) successes: u64,
    /// Failures that a fault of that time may cause.
    pub(crate) during_faults: u64,
    /// All other failures.
    pub(crate) unexpected: u64,
    /// Of the first of these.
    pub(crate) texts: Vec<String>,
}

impl Tally {
    fn count(&mut self, result: Result<()>, excused: impl Fn(&anyhow::Error) -> bool) {
        self.attempts += 1;
        match result {
            Ok(()) => self.successes += 1,
            Err(error) if excused(&error) => self.during_faults += 1,
            Err(error) => {
                self.unexpected += 1;
                if self.texts.len() < KEPT_TEXTS {
                    self.texts.push(shown(&error));
                }
            }
        }
    }
}

/// The text of a failure, bounded.
fn shown(error: &anyhow::Error) -> String {
    format!("{error:#}").chars().take(LONGEST_TEXT).collect()
}

/// Workloads that run.
pub(crate) struct Load {
    workers: JoinSet<()>,
    tallies: Vec<(&'static str, Arc<Mutex<Tally>>)>,
    stop: watch::Sender<bool>,
}

impl Load {
    /// Starts all workers of all workloads.
    pub(crate) fn start(environment: &Arc<Environment>, workloads: &[Arc<dyn Workload>]) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (mut workers, mut tallies) = (JoinSet::new(), Vec::new());
        for workload in workloads {
            let tally = Arc::new(Mutex::new(Tally::default()));
            tallies.push((workload.name(), Arc::clone(&tally)));
            for worker in 0..workload.workers() {
                workers.spawn(work(
                    Arc::clone(environment),
                    Arc::clone(workload),
                    worker,
                    Arc::clone(&tally),
                    stopped.clone(),
                ));
            }
        }
        Self { workers, tallies, stop }
    }

    /// Lets every attempt that runs come to its end; what came of all.
    ///
    /// # Errors
    /// A worker panicked.
    pub(crate) async fn finish(mut self) -> Result<Vec<(&'static str, Tally)>> {
        self.stop.send_replace(true);
        while let Some(ended) = self.workers.join_next().await {
            ended.context("a worker of a workload panicked")?;
        }
        Ok(self.tallies.into_iter().map(|(name, tally)| (name, tally.lock().clone())).collect())
    }
}

/// Whether a failure at this instant comes of a fault.
pub(crate) fn is_excused(
    error: &anyhow::Error,
    windows: &FaultWindows,
    dependencies: &[Dependency],
    at: Instant,
) -> bool {
    effect(error).is_some_and(|effect| windows.excuse(effect, dependencies, at))
}

async fn work(
    environment: Arc<Environment>,
    workload: Arc<dyn Workload>,
    worker: usize,
    tally: Arc<Mutex<Tally>>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut number = 0;
    while !*stopped.borrow() {
        let limit = workload.limit();
        let attempt = workload.attempt(&environment, Turn { worker, number });
        let ended = tokio::time::timeout(limit, attempt).await;
        let result = ended.unwrap_or_else(|_| Err(anyhow!("not done after {} s", limit.as_secs())));
        let (windows, now) = (&environment.windows, Instant::now());
        let excused = |error: &anyhow::Error| is_excused(error, windows, workload.dependencies(), now);
        if let Err(error) = &result
            && !excused(error)
        {
            progress(format_args!("{}: {}, {}", workload.name(), shown(error), windows.last(now)));
        }
        tally.lock().count(result, excused);
        number += 1;
        let _ = tokio::time::timeout(workload.pause(), stopped.wait_for(|stop| *stop)).await;
    }
}

#[cfg(test)]
mod tests {
    use tests_kit::StatusError;

    use crate::windows::Disturbance;

    use super::*;

    #[test]
    fn failures_are_counted_by_whether_a_fault_causes_them_and_the_first_texts_stay() {
        let mut tally = Tally::default();
        tally.count(Ok(()), |_| false);
        tally.count(Err(anyhow!("refused")), |_| true);
        for n in 0..7 {
            tally.count(Err(anyhow!("failure {n}").context("why")), |_| false);
        }
        assert_eq!((tally.attempts, tally.successes, tally.during_faults, tally.unexpected), (9, 1, 1, 7));
        assert_eq!(tally.texts.len(), KEPT_TEXTS);
        assert_eq!(tally.texts[0], "why: failure 0");
    }

    #[test]
    fn during_a_fault_a_500_a_401_and_a_wrong_body_are_failures_all_the_same() {
        let windows = FaultWindows::default();
        windows.open(Disturbance { of: Dependency::Store, breaks: true });
        let status = |status| anyhow::Error::from(StatusError { status, text: String::new() });
        let excused =
            |error: &anyhow::Error| is_excused(error, &windows, &[Dependency::Portals], Instant::now());
        assert!(excused(&status(503)));
        let mut tally = Tally::default();
        for error in [status(500), status(401), anyhow!("the pod is not the one that was asked for")] {
            tally.count(Err(error), excused);
        }
        assert_eq!((tally.during_faults, tally.unexpected), (0, 3));
    }
}
