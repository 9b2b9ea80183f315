//! Workloads: loops of attempts, and what came of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::environment::Environment;

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

    /// One attempt. An error is a failure, which is expected only when a fault lasted at any time during the attempt.
    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()>;
}

/// What came of a workload's attempts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) attempts: u64,
    pub(crate) successes: u64,
    /// Failures while something was broken on purpose.
    pub(crate) during_faults: u64,
    /// All other failures.
    pub(crate) unexpected: u64,
    /// Of the first of these.
    pub(crate) texts: Vec<String>,
}

impl Tally {
    fn count(&mut self, result: Result<()>, broken: bool) {
        self.attempts += 1;
        match result {
            Ok(()) => self.successes += 1,
            Err(_) if broken => self.during_faults += 1,
            Err(error) => {
                self.unexpected += 1;
                if self.texts.len() < KEPT_TEXTS {
                    self.texts.push(format!("{error:#}").chars().take(LONGEST_TEXT).collect());
                }
            }
        }
    }
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

async fn work(
    environment: Arc<Environment>,
    workload: Arc<dyn Workload>,
    worker: usize,
    tally: Arc<Mutex<Tally>>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut number = 0;
    while !*stopped.borrow() {
        let (began, limit) = (Instant::now(), workload.limit());
        let attempt = workload.attempt(&environment, Turn { worker, number });
        let ended = tokio::time::timeout(limit, attempt).await;
        let result = ended.unwrap_or_else(|_| Err(anyhow!("not done after {} s", limit.as_secs())));
        let broken = environment.windows.touches(began, Instant::now());
        tally.lock().count(result, broken);
        number += 1;
        let _ = tokio::time::timeout(workload.pause(), stopped.wait_for(|stop| *stop)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_whether_something_was_broken_and_the_first_texts_stay() {
        let mut tally = Tally::default();
        tally.count(Ok(()), false);
        tally.count(Err(anyhow!("refused")), true);
        for n in 0..7 {
            tally.count(Err(anyhow!("failure {n}").context("why")), false);
        }
        assert_eq!((tally.attempts, tally.successes, tally.during_faults, tally.unexpected), (9, 1, 1, 7));
        assert_eq!(tally.texts.len(), KEPT_TEXTS);
        assert_eq!(tally.texts[0], "why: failure 0");
    }
}
