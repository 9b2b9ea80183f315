//! The statsd emitter (`spec/monitor.md` §13, `spec/portal.md` §18): gauges as JSON-named lines to UDP or a
//! Unix stream socket. It never blocks and never fails a caller; what cannot be sent is counted.

mod line;
mod socket;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedClock, Timestamp, chain};
use tokio::sync::{mpsc, oneshot};

pub use line::{Point, Value};
pub use socket::{InvalidSocket, Socket};

use crate::{Counter, Family, Registry, labels, metrics};

/// How many points wait to be sent.
const QUEUE: usize = 1024;
/// A point older than this is worth nothing to the receiver.
const STALE: Duration = Duration::from_secs(60);
/// At most one line in the log in this time.
const QUIET: Duration = Duration::from_secs(1);
/// Between heartbeats (`spec/metrics.md` §2).
pub const PERIOD: Duration = Duration::from_secs(60);

labels! {
    struct Reason { reason: &'static str }
}
metrics! {
    struct StatsdMetrics("aro_statsd") {
        /// Points handed to the statsd socket.
        sent: Counter = "sent_points_total";
        /// Points not sent: the queue was full, they had become stale, were no number, or the socket failed.
        dropped: Family<Reason, Counter> = "dropped_points_total";
    }
}

/// Where points go and what stands on each.
#[derive(Debug, Clone)]
pub struct StatsdOptions {
    pub socket: Socket,
    /// Left out of the line when empty.
    pub account: String,
    /// Left out of the line when empty.
    pub namespace: String,
    /// On every point; they win over a point's own of the same name.
    pub dimensions: BTreeMap<String, String>,
}

/// The emitter. A cheap clone.
#[derive(Debug, Clone)]
pub struct Statsd(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    queue: mpsc::Sender<Job>,
    clock: SharedClock,
    options: StatsdOptions,
    metrics: StatsdMetrics,
}

#[derive(Debug)]
enum Job {
    Send { line: Vec<u8>, at: Timestamp },
    Flush(oneshot::Sender<()>),
}

impl Statsd {
    /// An emitter that emits nothing.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Starts the task that sends; it ends with the last clone. Needs a Tokio runtime.
    pub fn start(options: StatsdOptions, clock: SharedClock, registry: &Registry) -> Self {
        let metrics = StatsdMetrics::register(registry);
        let (queue, jobs) = mpsc::channel(QUEUE);
        let socket = options.socket.clone();
        tokio::spawn(send_all(jobs, socket, clock.clone(), metrics.clone()));
        Self(Some(Arc::new(Inner { queue, clock, options, metrics })))
    }

    /// Emits a whole number.
    pub fn gauge(&self, name: &str, value: i64, dimensions: &[(&str, &str)]) {
        self.emit(name, Value::Whole(value), dimensions);
    }

    /// Emits a number with six decimals.
    pub fn float(&self, name: &str, value: f64, dimensions: &[(&str, &str)]) {
        self.emit(name, Value::Float(value), dimensions);
    }

    /// Waits until what was emitted before has been sent or given up.
    pub async fn flush(&self) {
        let Some(inner) = &self.0 else { return };
        let (done, wait) = oneshot::channel();
        if inner.queue.send(Job::Flush(done)).await.is_ok() {
            let _ = wait.await;
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
            // The contract's first sample of the process comes after one period.
            if !std::mem::take(&mut first) {
                for (name, value) in crate::process::sample() {
                    self.float(name, value, &[]);
                }
            }
        }
    }

    fn emit(&self, name: &str, value: Value, dimensions: &[(&str, &str)]) {
        let Some(inner) = &self.0 else { return };
        let at = inner.clock.now();
        let point = Point { name, value, dimensions, at };
        let reason = match point.line(&inner.options) {
            None => "not_a_number",
            Some(line) => match inner.queue.try_send(Job::Send { line, at }) {
                Ok(()) => return,
                Err(mpsc::error::TrySendError::Full(_)) => "queue_full",
                Err(mpsc::error::TrySendError::Closed(_)) => "closed",
            },
        };
        inner.metrics.dropped.with(&Reason { reason }).inc();
    }
}

async fn send_all(mut jobs: mpsc::Receiver<Job>, socket: Socket, clock: SharedClock, metrics: StatsdMetrics) {
    let mut connection = None;
    let mut logged: Option<Timestamp> = None;
    while let Some(job) = jobs.recv().await {
        let (line, at) = match job {
            Job::Send { line, at } => (line, at),
            Job::Flush(done) => {
                let _ = done.send(());
                continue;
            }
        };
        let now = clock.now();
        if now.since(at) > STALE {
            metrics.dropped.with(&Reason { reason: "stale" }).inc();
            continue;
        }
        match socket::send(&mut connection, &socket, &line).await {
            Ok(()) => metrics.sent.inc(),
            Err(error) => {
                // The next point dials anew.
                connection = None;
                metrics.dropped.with(&Reason { reason: "socket" }).inc();
                if logged.is_none_or(|at| now.since(at) >= QUIET) {
                    logged = Some(now);
                    tracing::warn!(error = %chain(&error), "statsd point not sent");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
