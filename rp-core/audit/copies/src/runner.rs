//! One sink at work: reads the log in the order of its commits, hands it over, notes how far it came.

use std::sync::Arc;
use std::time::Duration;

use rp_audit::BatchView;
use rp_base::{Backoff, Id, SharedClock, SharedRandom, Timestamp, chain};
use rp_database::{Change, SharedStore, StoreError};
use rp_documents::Collection;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::cursor::{self, Claim, Cursor, LEASE, LeasedCursor};
use crate::health::SinkHealth;
use crate::metrics::{SinkLabels, SinkMetrics};
use crate::outlet::{DeliveryError, Line, LineKind, Outlet, line};
use crate::{SinkFormat, SinkOptions};

/// Batches that are handed over together: at most 512 entries each.
const BATCHES: u32 = 16;
/// Checkpoints and tombstones that are handed over together.
const STATEMENTS: u32 = 200;
/// Between two looks at a log that is silent, and at a sink that another process serves.
const POLL: Duration = Duration::from_secs(3);

/// Tries after a failure.
const LEAST: Duration = Duration::from_millis(200);
const MOST: Duration = Duration::from_secs(30);

/// What the sinks work with.
pub(crate) struct SinkParts {
    pub(crate) store: SharedStore,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) metrics: SinkMetrics,
}

pub(crate) struct Runner {
    name: String,
    format: SinkFormat,
    outlet: Outlet,
    health: Arc<SinkHealth>,
    store: SharedStore,
    clock: SharedClock,
    random: SharedRandom,
    metrics: SinkMetrics,
    labels: SinkLabels,
    /// Names this process's hold on the sink.
    owner: String,
    backoff: Backoff,
}

/// Why a round ended.
enum Fault {
    Store(StoreError),
    Sink(DeliveryError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Entries of a batch need no more than this of them.
#[derive(Deserialize)]
struct EntryTime {
    at: Timestamp,
}

impl Runner {
    pub(crate) fn new(
        options: &SinkOptions,
        health: Arc<SinkHealth>,
        parts: &SinkParts,
        labels: SinkLabels,
    ) -> Self {
        Self {
            name: options.name.clone(),
            format: options.format.clone(),
            outlet: Outlet::new(options, &parts.clock),
            health,
            store: Arc::clone(&parts.store),
            clock: Arc::clone(&parts.clock),
            random: Arc::clone(&parts.random),
            metrics: parts.metrics.clone(),
            labels,
            owner: Id::random(&*parts.random).as_str().to_owned(),
            backoff: Backoff::new(LEAST, MOST),
        }
    }

    /// Ships until `stop`; then what is there, for at most `close_within`.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>, close_within: Duration) {
        let mut changed = self.store.subscribe(Collection::AuditBatches);
        let mut statements = self.store.subscribe(Collection::Checkpoints);
        let mut held: Option<LeasedCursor> = None;
        loop {
            changed.mark_unchanged();
            statements.mark_unchanged();
            // Who drops the sinks without closing them wants no more of them either.
            let stopping = *stop.borrow() || stop.has_changed().is_err();
            let wait = match self.round(&mut held).await {
                Ok(()) if stopping => break,
                Ok(()) => POLL,
                Err(fault) if stopping => {
                    self.failed(&mut held, fault).await;
                    break;
                }
                Err(fault) => {
                    let wait = self.failed(&mut held, fault).await;
                    tokio::select! {
                        () = sleep(wait) => {}
                        _ = stop.wait_for(|stop| *stop) => {}
                    }
                    continue;
                }
            };
            let poll = Instant::now() + wait;
            tokio::select! {
                _ = timeout_at(poll, changed.changed()) => {}
                _ = timeout_at(poll, statements.changed()) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
        if let Some(held) = held {
            let given_back = cursor::release(&self.store, &self.name, held);
            // Otherwise its time runs out.
            let _ = tokio::time::timeout(close_within, given_back).await;
        }
    }

    /// Takes the sink if it is free, and ships everything there is.
    async fn round(&mut self, held: &mut Option<LeasedCursor>) -> Result<(), Fault> {
        if held.is_none() {
            match cursor::claim(&self.store, &self.name, &self.owner).await? {
                Claim::Mine(mine) => {
                    self.follow(&mine.cursor, true);
                    *held = Some(*mine);
                }
                Claim::Theirs(theirs) => {
                    self.follow(&theirs, false);
                    return Ok(());
                }
            }
        }
        let Some(mine) = held else { return Ok(()) };
        while self.batches(mine).await? {}
        while self.statements(mine, Collection::Checkpoints).await? {}
        while self.statements(mine, Collection::AuditTombstones).await? {}
        // Others may take a sink of which nothing is heard.
        let now = self.store.now().await?;
        if !self.store.freshness().is_zero() && mine.cursor.until < now + LEASE / 2 {
            cursor::save(&self.store, &self.name, mine).await?;
        }
        Ok(())
    }

    /// Ships some batches; true: there are more.
    async fn batches(&mut self, held: &mut LeasedCursor) -> Result<bool, Fault> {
        let changes = self.store.changes(Collection::AuditBatches, held.cursor.batches, BATCHES).await?;
        let mut next = held.cursor.clone();
        let mut lines = Vec::new();
        for change in &changes.items {
            next.batches = change.seq;
            let Some(stored) = &change.document else { continue };
            stored.id.clone_into(&mut next.mark);
            // A batch that cannot be read is reported by verify.
            let Ok(batch) = serde_json::from_str::<BatchView<'_>>(&stored.body) else { continue };
            let shipped = next.writers.get(&*batch.writer).copied().unwrap_or(0);
            for (seq, entry) in (batch.first_seq..).zip(&batch.entries).filter(|(seq, _)| *seq > shipped) {
                let at =
                    serde_json::from_str::<EntryTime>(entry.get()).map_or(stored.written, |when| when.at);
                next.taken_to = Some(at);
                next.shipped(&batch.writer, seq);
                lines.push(line(&self.format, LineKind::Entry, at, entry.get().to_owned()));
            }
        }
        if next.batches != held.cursor.batches {
            self.hand_over(held, next, &lines).await?;
        }
        Ok(changes.more)
    }

    /// Ships some checkpoints or tombstones; true: there are more.
    async fn statements(&mut self, held: &mut LeasedCursor, of: Collection) -> Result<bool, Fault> {
        let (from, what) = match of {
            Collection::Checkpoints => (held.cursor.checkpoints, LineKind::Checkpoint),
            _ => (held.cursor.tombstones, LineKind::Tombstone),
        };
        let changes = self.store.changes(of, from, STATEMENTS).await?;
        let wrap = |change: &Change| {
            let stored = change.document.as_ref()?;
            let text = format!("{{\"{}\":{}}}", what.word(), stored.body);
            Some(line(&self.format, what, stored.written, text))
        };
        let lines: Vec<Line> = changes.items.iter().filter_map(wrap).collect();
        if let Some(last) = changes.items.last() {
            let mut next = held.cursor.clone();
            match what {
                LineKind::Checkpoint => next.checkpoints = last.seq,
                LineKind::Entry | LineKind::Tombstone => next.tombstones = last.seq,
            }
            self.hand_over(held, next, &lines).await?;
        }
        Ok(changes.more)
    }

    /// Only what was taken moves the cursor, and only a stored cursor counts.
    async fn hand_over(
        &mut self,
        held: &mut LeasedCursor,
        mut next: Cursor,
        lines: &[Line],
    ) -> Result<(), Fault> {
        if !lines.is_empty() {
            self.outlet.send(lines).await.map_err(Fault::Sink)?;
            self.metrics.entries.with(&self.labels).add(u64::try_from(lines.len()).unwrap_or(0));
            next.taken_at = Some(self.clock.now());
        }
        if next.failing_since.take().is_some() {
            tracing::info!(sink = %self.name, "the audit sink takes entries again");
        }
        next.error = None;
        held.cursor = next;
        cursor::save(&self.store, &self.name, held).await?;
        self.backoff.reset();
        self.follow(&held.cursor, true);
        Ok(())
    }

    /// Shows how the sink is doing.
    fn follow(&self, cursor: &Cursor, here: bool) {
        let failing = cursor.failing_since.is_some();
        self.metrics.failing.with(&self.labels).set(f64::from(u8::from(failing)));
        let behind = cursor.taken_to.map_or(0, |to| self.clock.now().since(to).as_secs());
        self.metrics.taken_seconds_ago.with(&self.labels).set_count(usize::try_from(behind).unwrap_or(0));
        self.health.update(|state| {
            state.here = here;
            state.taken_at = cursor.taken_at;
            state.taken_to = cursor.taken_to;
            state.failing_since = cursor.failing_since;
            state.error.clone_from(&cursor.error);
        });
    }

    /// Tells and notes a failure; gives how long to wait.
    async fn failed(&mut self, held: &mut Option<LeasedCursor>, fault: Fault) -> Duration {
        let step = self.backoff.step(&*self.random);
        match fault {
            Fault::Store(error) => {
                if !matches!(error, StoreError::Stale { .. } | StoreError::Exists { .. } | StoreError::Closed)
                {
                    tracing::warn!(sink = %self.name, error = %chain(&error), "the store does not answer an audit sink");
                }
                // Another process may have taken it: ask again.
                *held = None;
                step
            }
            Fault::Sink(error) => {
                self.metrics.failures.with(&self.labels).inc();
                tracing::error!(sink = %self.name, %error, "an audit sink takes nothing; trying again");
                if let Some(mine) = held {
                    let since = mine.cursor.failing_since.unwrap_or_else(|| self.clock.now());
                    mine.cursor.failing_since = Some(since);
                    mine.cursor.error = Some(error.what.clone());
                    self.follow(&mine.cursor, true);
                    if cursor::save(&self.store, &self.name, mine).await.is_err() {
                        *held = None;
                    }
                }
                error.retry_after.unwrap_or_default().min(MOST * 2).max(step)
            }
        }
    }
}
