//! The statsd emitter (`contract/monitor.md` §13, `contract/portal.md` §18): gauges as JSON-named lines to
//! UDP or a Unix stream socket. It never blocks and never fails a caller; what cannot be sent is counted.
//!
//! A failed write dials again at once and repeats the line; a second failure drops that line. Queued lines are
//! kept while dials back off, so that a receiver that returns gets the lines of the last minute.

mod line;
mod queue;
mod sender;
mod socket;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedClock, Timestamp};

pub use line::Value;
pub use socket::{InvalidSocket, Socket};

use crate::{Counter, Family, Gauge, Registry, labels, metrics};
use line::{LineError, LineTemplate};
use queue::Queue;

/// How many lines wait to be sent unless told otherwise: those of one minute of some hundred clusters, 20 MB.
/// The contract's 1024 are less than one large cluster emits at once.
pub const QUEUE: usize = 65_536;
/// Points older than this are dropped: they are of no use to the receiver.
const STALE: Duration = Duration::from_secs(60);
/// Between heartbeats (`contract/metrics.md` §2).
pub const PERIOD: Duration = Duration::from_secs(60);

labels! {
    struct LostLabels { emitter: &'static str, reason: &'static str }
}
labels! {
    struct Emitter { emitter: &'static str }
}
metrics! {
    struct StatsdMetrics("aro_metrics") {
        /// Points handed to the statsd socket.
        sent: Family<Emitter, Counter> = "sent_total";
        /// Points not sent: the queue was full, they had become stale, were no number or too long, or the socket failed.
        dropped: Family<LostLabels, Counter> = "dropped_total";
        /// Points that wait for the statsd socket.
        length: Family<Emitter, Gauge> = "queue_length";
    }
}

/// Registers what emitters count, for lists of metrics.
pub fn register_metrics(registry: &Registry) {
    StatsdMetrics::register(registry);
}

/// Where points go and what stands on each.
#[derive(Debug, Clone)]
pub struct StatsdOptions {
    /// Names the emitter in the metrics about it, such as `service` and `cluster`.
    pub emitter: &'static str,
    pub socket: Socket,
    /// Left out of the line when empty.
    pub account: String,
    /// Left out of the line when empty.
    pub namespace: String,
    /// On every point; they win over a point's own of the same name.
    pub dimensions: BTreeMap<String, String>,
    /// The most lines that wait; the oldest make room.
    pub queue: usize,
    /// A missing socket is not logged as a warning: in development there is no receiver.
    pub silent_dial: bool,
}

/// The emitter. A cheap clone.
#[derive(Debug, Clone)]
pub struct Statsd(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    queue: Arc<Queue>,
    clock: SharedClock,
    shape: LineTemplate,
    counts: Counts,
}

/// One emitter's own instruments.
#[derive(Debug, Clone)]
struct Counts {
    emitter: &'static str,
    metrics: StatsdMetrics,
    sent: Counter,
    length: Gauge,
}

impl Counts {
    fn lost(&self, reason: &'static str, count: usize) {
        if count > 0 {
            let labels = LostLabels { emitter: self.emitter, reason };
            self.metrics.dropped.with(&labels).add(count as u64);
        }
    }
}

/// Points of one instant, which enter the queue together.
#[derive(Debug)]
pub struct Batch<'a> {
    inner: Option<&'a Inner>,
    at: Timestamp,
    stamp: String,
    lines: Vec<Box<str>>,
    scratch: String,
}

impl Statsd {
    /// An emitter that emits nothing.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Starts the task that sends; it ends with the last clone. Needs a Tokio runtime.
    pub fn start(options: StatsdOptions, clock: SharedClock, registry: &Registry) -> Self {
        let metrics = StatsdMetrics::register(registry);
        let emitter = options.emitter;
        let (sent, length) =
            (metrics.sent.with(&Emitter { emitter }), metrics.length.with(&Emitter { emitter }));
        let counts = Counts { emitter, metrics, sent, length };
        let (shape, queue) = (LineTemplate::from_options(&options), Arc::new(Queue::new(options.queue)));
        let sender = sender::Sender::new(options, Arc::clone(&queue), Arc::clone(&clock), counts.clone());
        tokio::spawn(sender.run());
        Self(Some(Arc::new(Inner { queue, clock, shape, counts })))
    }

    /// Whether points go anywhere.
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Emits a whole number.
    pub fn gauge(&self, name: &str, value: i64, dimensions: &[(&str, &str)]) {
        self.emit(name, Value::Whole(value), dimensions);
    }

    /// Emits a number with six decimals.
    pub fn float(&self, name: &str, value: f64, dimensions: &[(&str, &str)]) {
        self.emit(name, Value::Float(value), dimensions);
    }

    /// Emits one point.
    pub fn emit(&self, name: &str, value: Value, dimensions: &[(&str, &str)]) {
        let mut batch = self.batch();
        batch.add(name, value, dimensions);
        batch.emit();
    }

    /// Begins a batch of points of this instant.
    pub fn batch(&self) -> Batch<'_> {
        let inner = self.0.as_deref();
        let at = inner.map_or(Timestamp::from_millis(0), |inner| inner.clock.now());
        let stamp = if inner.is_some() { line::instant(at) } else { String::new() };
        Batch { inner, at, stamp, lines: Vec::new(), scratch: String::new() }
    }

    /// Waits until what was emitted before has been sent or given up.
    pub async fn flush(&self) {
        if let Some(inner) = &self.0 {
            inner.queue.flushed().await;
        }
    }

    /// Emits `{service}.heartbeat` and the process's numbers now and every [`PERIOD`], for as long as it is polled.
    pub async fn beat(&self, service: &str, version: &str) {
        let heartbeat = format!("{service}.heartbeat");
        let mut ticks = tokio::time::interval(PERIOD);
        let mut first = true;
        loop {
            ticks.tick().await;
            self.gauge(&heartbeat, 1, &[("version", version)]);
            // The contract emits the first process sample after one period.
            if !std::mem::take(&mut first) {
                self.process();
            }
        }
    }

    /// Emits the process's numbers (`contract/metrics.md` §2 "process").
    pub fn process(&self) {
        for (name, value) in crate::process::sample() {
            self.float(name, value, &[]);
        }
    }
}

impl Batch<'_> {
    /// Adds a point. Of two dimensions of one name the later counts, an emitter's own over both.
    pub fn add(&mut self, name: &str, value: Value, dimensions: &[(&str, &str)]) {
        let Some(inner) = self.inner else { return };
        self.scratch.clear();
        match inner.shape.write(&mut self.scratch, name, value, dimensions, &self.stamp) {
            Ok(()) => self.lines.push(self.scratch.as_str().into()),
            Err(LineError::NotANumber) => inner.counts.lost("not_a_number", 1),
            Err(LineError::TooLong) => inner.counts.lost("too_long", 1),
        }
    }

    /// Puts the points into the queue; never waits.
    pub fn emit(self) {
        let Some(inner) = self.inner else { return };
        let lost = inner.queue.push(self.at, self.lines.into_iter());
        inner.counts.lost("queue_full", lost);
        inner.counts.length.set_count(inner.queue.len());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue.close();
    }
}

#[cfg(test)]
mod tests;
