//! Runs the collectors of one look (`contract/monitor.md` §8): at most so many at once, what they need
//! fetched once and shared, panics caught, every result recorded.

mod outcome;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::StreamExt as _;
use parking_lot::Mutex;
use rp_base::text::clean;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::outcome::CollectorOutcome;
use crate::cluster_objects::{ClusterObjects, Resource};
use crate::collect::{CollectError, Collector, CollectorOutput, LogLine};
use crate::names::own;
use crate::sample::{Sample, Text};

/// Characters of an error.
const MOST_ERROR: usize = 500;
/// Maximum number of stages in which a collector may request further resources.
const STAGES: usize = 4;

/// The message of a panic, in the contract's format.
#[derive(Debug, thiserror::Error)]
#[error("panic: '{0}'")]
pub(crate) struct Panicked(String);

/// The source of resources.
pub trait Source: Send + Sync {
    /// Puts the resource, or the error, into `seen`.
    fn fetch(&self, need: &Resource, seen: &ClusterObjects) -> impl Future<Output = ()> + Send;
}

/// Runs the collectors of one look and gathers their output.
pub struct Runner<'a, S> {
    seen: &'a ClusterObjects,
    source: &'a S,
    /// The deadline, or the end of the process.
    cancel: &'a CancellationToken,
    wanted: Mutex<HashMap<Resource, Arc<OnceCell<()>>>>,
    findings: &'a SharedFindings,
}

/// Findings of a look so far; they can be read even while the look hangs.
#[derive(Debug, Default)]
pub struct SharedFindings(Mutex<LookFindings>);

/// The findings of a look.
#[derive(Debug, Default)]
pub struct LookFindings {
    pub samples: Vec<Sample>,
    pub lines: Vec<LogLine>,
    /// In the order in which they ended.
    pub outcomes: Vec<CollectorOutcome>,
}

impl SharedFindings {
    /// Adds a sample.
    pub fn sample(&self, sample: Sample) {
        self.0.lock().samples.push(sample);
    }

    /// Adds the output of a collector.
    pub fn add_output(&self, told: CollectorOutput) {
        let mut found = self.0.lock();
        found.samples.extend(told.samples);
        found.lines.extend(told.lines);
    }

    /// Takes all findings so far.
    pub fn take(&self) -> LookFindings {
        std::mem::take(&mut *self.0.lock())
    }

    /// Whether a collector failed so far.
    pub fn any_failed(&self) -> bool {
        self.0.lock().outcomes.iter().any(|outcome| outcome.error.is_some())
    }

    fn end(&self, told: CollectorOutput, own: Sample, outcome: CollectorOutcome) {
        self.add_output(told);
        let mut found = self.0.lock();
        found.samples.push(own);
        found.outcomes.push(outcome);
    }
}

impl<S> std::fmt::Debug for Runner<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("wanted", &self.wanted.lock().len()).finish_non_exhaustive()
    }
}

impl<'a, S: Source> Runner<'a, S> {
    /// Starts no collector yet.
    pub fn new(
        seen: &'a ClusterObjects,
        source: &'a S,
        cancel: &'a CancellationToken,
        findings: &'a SharedFindings,
    ) -> Self {
        Self { seen, source, cancel, wanted: Mutex::default(), findings }
    }

    /// Starts them in their order, at most `parallel` at once, and waits for all.
    pub async fn all(&self, collectors: impl Iterator<Item = &'static Collector>, parallel: usize) {
        let run = async |collector| {
            self.one(collector).await;
        };
        futures_util::stream::iter(collectors).for_each_concurrent(parallel.max(1), run).await;
    }

    /// Runs one collector; returns whether it succeeded.
    pub async fn one(&self, collector: &'static Collector) -> bool {
        let name = collector.name;
        let dims = || [Text::Borrowed(name)];
        if self.cancel.is_cancelled() {
            let error = Some("the deadline of the look had passed before it began".to_owned());
            let outcome = CollectorOutcome { name, error, took: None };
            self.findings.end(
                CollectorOutput::default(),
                Sample::one(&own::COLLECTOR_SKIPPED, dims()),
                outcome,
            );
            return false;
        }
        tracing::debug!(collector = name, "starting");
        let began = Instant::now();
        let mut told = CollectorOutput::new(self.seen.hourly());
        let prepared = self.prepare(collector).await;
        let result = prepared.and_then(|()| catch_panic(|| (collector.run)(self.seen, &mut told)));
        let took = began.elapsed();
        let error = match result {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error_text(&error)),
            Err(panicked) => Some(panicked.to_string()),
        };
        let well = error.is_none();
        let own = match well {
            true => Sample::float(&own::COLLECTOR_DURATION, took.as_secs_f64(), dims()),
            false => Sample::one(&own::COLLECTOR_ERROR, dims()),
        };
        tracing::debug!(collector = name, well, seconds = took.as_secs_f64(), "ended");
        self.findings.end(told, own, CollectorOutcome { name, error, took: Some(took) });
        well
    }

    /// Fetches what it needs, stage by stage.
    async fn prepare(&self, collector: &Collector) -> Result<(), Panicked> {
        for _ in 0..STAGES {
            let mut needs = catch_panic(|| (collector.needs)(self.seen))?;
            needs.retain(|need| !self.seen.has(need));
            if needs.is_empty() {
                return Ok(());
            }
            self.fetch_all(&needs).await;
        }
        Ok(())
    }

    /// Fetches the resources that are not there yet.
    pub async fn fetch_all(&self, needs: &[Resource]) {
        let missing = needs.iter().filter(|need| !self.seen.has(need));
        futures_util::future::join_all(missing.map(|need| self.fetch_once(need))).await;
    }

    /// The first caller fetches; the others wait for its result.
    async fn fetch_once(&self, need: &Resource) {
        let cell = Arc::clone(self.wanted.lock().entry(need.clone()).or_default());
        cell.get_or_init(|| self.source.fetch(need, self.seen)).await;
    }
}

fn error_text(error: &CollectError) -> String {
    clean(&error.to_string(), MOST_ERROR)
}

/// A panic becomes an error; other collectors go on.
fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    // Output from before the panic stays: samples are added as a whole.
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| Panicked::new(&*panic))
}

impl Panicked {
    pub(crate) fn new(panic: &(dyn Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no text");
        Self(clean(text, MOST_ERROR))
    }
}
