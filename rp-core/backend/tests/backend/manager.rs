//! A manager that does as a script says, and sees whether two workers do one cluster's work at once.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rp_cluster::{Failure, Job, Manager, Operation, Outcome, StepEvent};

type RunResult = Result<Outcome, Failure>;
type Script = dyn Fn(Job) -> BoxFuture<'static, RunResult> + Send + Sync;

/// A script with what it saw.
pub(crate) struct Scripted {
    script: Box<Script>,
    pub(crate) seen: Arc<RunRecord>,
}

#[derive(Debug, Default)]
pub(crate) struct RunRecord {
    /// By the cluster's key: how many do its work now.
    running: Mutex<HashMap<String, usize>>,
    /// Clusters whose work two did at once.
    pub(crate) doubles: Mutex<Vec<String>>,
    /// Every run, as it began.
    pub(crate) runs: Mutex<Vec<(String, Operation)>>,
}

/// One run: it ends however the run ends.
struct Running(Arc<RunRecord>, String);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(count) = self.0.running.lock().get_mut(&self.1) {
            *count -= 1;
        }
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    pub(crate) fn new<F>(script: impl Fn(Job) -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: Future<Output = RunResult> + Send + 'static,
    {
        Arc::new(Self { script: Box::new(move |job| Box::pin(script(job))), seen: Arc::default() })
    }

    /// Every operation is done at once.
    pub(crate) fn done() -> Arc<Self> {
        Self::new(|_| async { Ok(Outcome::Done) })
    }

    pub(crate) fn runs_of(&self, key: &str) -> usize {
        self.seen.runs.lock().iter().filter(|(of, _)| of == key).count()
    }
}

#[async_trait]
impl Manager for Scripted {
    async fn run(&self, job: Job) -> RunResult {
        let key = job.document.key.clone();
        self.seen.runs.lock().push((key.clone(), job.operation));
        let count = {
            let mut running = self.seen.running.lock();
            let count = running.entry(key.clone()).or_default();
            *count += 1;
            *count
        };
        if count > 1 {
            self.seen.doubles.lock().push(key.clone());
        }
        let _running = Running(Arc::clone(&self.seen), key);
        (self.script)(job).await
    }
}

/// Runs so many steps from the stored position; each is awaited, saved and told, and a stop hands over.
pub(crate) async fn steps<F: Future<Output = ()>>(
    job: &Job,
    count: usize,
    step: impl Fn(usize) -> F,
) -> Result<(), Failure> {
    let position = job.progress.position().await?;
    let first = position.and_then(|name| name.strip_prefix("action.")?.parse().ok()).unwrap_or(0);
    for at in first..count {
        if job.stopping.is_cancelled() {
            return Err(Failure::HandedOver);
        }
        let name = format!("action.{at}");
        job.progress.record_event(StepEvent::Started { name: &name, at, planned: count, attempt: 1 });
        step(at).await;
        job.progress.record_event(StepEvent::Done { name: &name, took: std::time::Duration::ZERO });
        job.progress.save(&format!("action.{}", at + 1)).await?;
    }
    Ok(())
}
