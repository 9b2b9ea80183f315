//! Runs the collectors of one look (`contract/monitor.md` §8): at most so many at once, what they need
//! fetched once and shared, a panic contained, every end told.

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
use crate::collect::{CollectError, Collector, Line, Told};
use crate::names::own;
use crate::sample::{Sample, Text};
use crate::seen::{Need, Seen};

/// Characters of an error.
const MOST_ERROR: usize = 500;
/// A collector may ask for more once it has seen something; not for ever.
const STAGES: usize = 4;

/// Where what is needed comes from.
pub trait Source: Send + Sync {
    /// Puts what is needed, or why it cannot be had, into `seen`.
    fn fetch(&self, need: &Need, seen: &Seen) -> impl Future<Output = ()> + Send;
}

/// The collectors of one look, and what they told so far.
pub struct Runner<'a, S> {
    seen: &'a Seen,
    source: &'a S,
    /// The deadline, or the end of the process.
    cancel: &'a CancellationToken,
    wanted: Mutex<HashMap<Need, Arc<OnceCell<()>>>>,
    findings: &'a Findings,
}

/// What a look found so far; whoever waits for the look may read it even when the look hangs.
#[derive(Debug, Default)]
pub struct Findings(Mutex<Found>);

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    pub samples: Vec<Sample>,
    pub lines: Vec<Line>,
    /// In the order of their ends.
    pub outcomes: Vec<CollectorOutcome>,
}

impl Findings {
    /// One more sample.
    pub fn sample(&self, sample: Sample) {
        self.0.lock().samples.push(sample);
    }

    /// What something told.
    pub fn told(&self, told: Told) {
        let mut found = self.0.lock();
        found.samples.extend(told.samples);
        found.lines.extend(told.lines);
    }

    /// Everything so far; it is taken out.
    pub fn take(&self) -> Found {
        std::mem::take(&mut *self.0.lock())
    }

    /// Whether a collector failed so far.
    pub fn any_failed(&self) -> bool {
        self.0.lock().outcomes.iter().any(|outcome| outcome.error.is_some())
    }

    fn end(&self, told: Told, own: Sample, outcome: CollectorOutcome) {
        self.told(told);
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
    /// Nothing runs yet.
    pub fn new(seen: &'a Seen, source: &'a S, cancel: &'a CancellationToken, findings: &'a Findings) -> Self {
        Self { seen, source, cancel, wanted: Mutex::default(), findings }
    }

    /// Starts them in their order, at most `parallel` at once, and waits for all.
    pub async fn all(&self, collectors: impl Iterator<Item = &'static Collector>, parallel: usize) {
        let run = async |collector| {
            self.one(collector).await;
        };
        futures_util::stream::iter(collectors).for_each_concurrent(parallel.max(1), run).await;
    }

    /// Runs one; whether it went well.
    pub async fn one(&self, collector: &'static Collector) -> bool {
        let name = collector.name;
        let dims = || [Text::Borrowed(name)];
        if self.cancel.is_cancelled() {
            let error = Some("the deadline of the look had passed before it began".to_owned());
            let outcome = CollectorOutcome { name, error, took: None };
            self.findings.end(Told::default(), Sample::one(&own::COLLECTOR_SKIPPED, dims()), outcome);
            return false;
        }
        tracing::debug!(collector = name, "starting");
        let began = Instant::now();
        let mut told = Told::new(self.seen.hourly());
        let result = match self.prepare(collector).await {
            Ok(()) => contained(|| (collector.run)(self.seen, &mut told).map_err(|error| shown(&error))),
            Err(error) => Err(error),
        };
        let took = began.elapsed();
        let (own, error) = match result {
            Ok(()) => (Sample::float(&own::COLLECTOR_DURATION, took.as_secs_f64(), dims()), None),
            Err(error) => (Sample::one(&own::COLLECTOR_ERROR, dims()), Some(error)),
        };
        let well = error.is_none();
        tracing::debug!(collector = name, well, seconds = took.as_secs_f64(), "ended");
        self.findings.end(told, own, CollectorOutcome { name, error, took: Some(took) });
        well
    }

    /// Fetches what it needs, stage by stage.
    async fn prepare(&self, collector: &Collector) -> Result<(), String> {
        for _ in 0..STAGES {
            let mut needs = Vec::new();
            contained(|| {
                needs = (collector.needs)(self.seen);
                Ok(())
            })?;
            needs.retain(|need| !self.seen.has(need));
            if needs.is_empty() {
                return Ok(());
            }
            self.have(&needs).await;
        }
        Ok(())
    }

    /// Fetches what of this is not there yet.
    pub async fn have(&self, needs: &[Need]) {
        let missing = needs.iter().filter(|need| !self.seen.has(need));
        futures_util::future::join_all(missing.map(|need| self.have_one(need))).await;
    }

    /// Whoever comes first fetches; the others wait for the same.
    async fn have_one(&self, need: &Need) {
        let cell = Arc::clone(self.wanted.lock().entry(need.clone()).or_default());
        cell.get_or_init(|| self.source.fetch(need, self.seen)).await;
    }
}

fn shown(error: &CollectError) -> String {
    clean(&error.to_string(), MOST_ERROR)
}

/// A panic becomes an error; other collectors go on.
fn contained(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    // What was told before the panic stays: samples are whole or not there.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(said(&*panic)))
}

/// The text of a panic, as the contract has it.
pub(crate) fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text");
    format!("panic: '{}'", clean(text, MOST_ERROR))
}
