//! The task of an emitter: it owns the connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{Backoff, SharedClock, SystemRandom, Timestamp, chain};

use super::queue::{Line, Queue};
use super::socket::{Connection, SendError};
use super::{Counts, STALE, StatsdOptions};

/// Maximum number of lines taken from the queue in one step.
const TAKE: usize = 512;
/// Minimum time between two log messages.
const QUIET: Duration = Duration::from_secs(1);
/// Delay between a failure and the next dial.
const LEAST_WAIT: Duration = Duration::from_millis(100);
const MOST_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Sender {
    options: StatsdOptions,
    queue: Arc<Queue>,
    clock: SharedClock,
    counts: Counts,
    connection: Option<Connection>,
    backoff: Backoff,
    logged: Option<Timestamp>,
}

impl Sender {
    pub(super) fn new(options: StatsdOptions, queue: Arc<Queue>, clock: SharedClock, counts: Counts) -> Self {
        let backoff = Backoff::new(LEAST_WAIT, MOST_WAIT);
        Self { options, queue, clock, counts, connection: None, backoff, logged: None }
    }

    pub(super) async fn run(mut self) {
        while let Some(mut lines) = self.queue.take(TAKE).await {
            self.discard_stale(&mut lines);
            if let Err(error) = self.send(&mut lines).await {
                self.failed(lines, &error).await;
            }
            self.counts.length.set_count(self.queue.len());
        }
    }

    fn discard_stale(&mut self, lines: &mut VecDeque<Line>) {
        let now = self.clock.now();
        let stale = lines.iter().take_while(|line| now.since(line.at) > STALE).count();
        if let Some(last) = stale.checked_sub(1).and_then(|last| lines.get(last)) {
            self.queue.finished(last);
            self.counts.lost("stale", stale);
            lines.drain(..stale);
            if self.may_log() {
                tracing::warn!(emitter = self.options.emitter, count = stale, "discarding stale metric");
            }
        }
    }

    /// Sends all lines; after a failed write retries once over a new connection.
    async fn send(&mut self, lines: &mut VecDeque<Line>) -> Result<(), SendError> {
        if lines.is_empty() {
            return Ok(());
        }
        // Only a connection that existed before can have become stale, so only then is a retry useful.
        let fresh = self.connection.is_none();
        match self.send_once(lines).await {
            Err(SendError::Write(_)) if !fresh => self.send_once(lines).await,
            sent => sent,
        }
    }

    async fn send_once(&mut self, lines: &mut VecDeque<Line>) -> Result<(), SendError> {
        let mut connection = match self.connection.take() {
            Some(open) => open,
            None => Connection::dial(&self.options.socket).await?,
        };
        let (queue, sent) = (&self.queue, &self.counts.sent);
        let count = |line: &Line| {
            sent.inc();
            queue.finished(line);
        };
        connection.send(lines, count).await?;
        self.connection = Some(connection);
        self.backoff.reset();
        Ok(())
    }

    /// The first line is lost, the rest waits for the next dial.
    async fn failed(&mut self, mut lines: VecDeque<Line>, error: &SendError) {
        if let Some(line) = lines.pop_front() {
            self.counts.lost("socket", 1);
            self.queue.finished(&line);
        }
        let lost = self.queue.put_back(lines);
        self.counts.lost("queue_full", lost);
        let silent = self.options.silent_dial && matches!(error, SendError::Dial(_));
        if !silent && self.may_log() {
            tracing::warn!(emitter = self.options.emitter, error = %chain(error), "statsd point not sent");
        }
        // No retries while the process ends.
        if self.queue.is_closed() {
            self.counts.lost("closed", self.queue.clear());
            return;
        }
        tokio::time::sleep(self.backoff.step(&SystemRandom)).await;
    }

    fn may_log(&mut self) -> bool {
        let now = self.clock.now();
        let may = self.logged.is_none_or(|at| now.since(at) >= QUIET);
        if may {
            self.logged = Some(now);
        }
        may
    }
}
