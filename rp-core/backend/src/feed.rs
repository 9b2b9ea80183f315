//! Follows the changes of a collection into its queue: on notification by the store, and at every poll in any case.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{Backoff, chain};
use rp_database::{Change, StoreError, Stored};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::context::Context;
use crate::kind::Kind;

/// Documents of one page.
const PAGE: u32 = 500;
/// A page that takes longer is a failure.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two reads, so that changes that arrive meanwhile are read together.
const GATHER: Duration = Duration::from_millis(3);
/// Several processes start on a document spread over this time, so that they rarely claim the same one.
const SPREAD: Duration = Duration::from_millis(8);
/// Another process counts as active for this long after its lease was last seen.
const OTHERS: Duration = Duration::from_mins(5);
/// Half of what counters jump by when another server takes over (0008), and far more than is written between two polls.
const JUMP: i64 = 1 << 23;

#[derive(Debug)]
pub(crate) struct Feed {
    context: Arc<Context>,
    kind: Kind,
    cursor: i64,
    /// The store's last position, as of the last poll.
    head: Option<i64>,
    /// While everything is read anew: ids of the documents that exist.
    living: Option<HashSet<Box<str>>>,
    /// When the lease of another process was seen last.
    others: Option<Instant>,
}

impl Feed {
    pub(crate) fn new(context: Arc<Context>, kind: Kind) -> Self {
        Self { context, kind, cursor: 0, head: None, living: Some(HashSet::new()), others: None }
    }

    /// Follows until the workers stop.
    pub(crate) async fn follow(mut self) {
        let stopping = self.context.stopping.clone();
        tokio::select! {
            () = self.run() => {}
            () = stopping.cancelled() => {}
        }
    }

    async fn run(&mut self) {
        let mut wake = self.context.store.subscribe(self.kind.collection());
        let mut tick = interval(self.context.settings.poll);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut backoff = Backoff::new(Duration::from_millis(100), self.context.settings.poll);
        let mut polls = true;
        loop {
            let read = self.read(polls).await;
            self.context.metrics.feed_read(self.kind, self.context.clock.now());
            match read {
                Ok(()) => backoff.reset(),
                Err(error) => {
                    let collection = self.kind.collection().name();
                    tracing::error!(collection, error = %chain(&error), "the queue could not be read");
                    self.context.metrics.feed_failed(self.kind);
                    sleep(backoff.step(self.context.random.as_ref())).await;
                    polls = true;
                    continue;
                }
            }
            sleep(GATHER).await;
            polls = tokio::select! {
                _ = tick.tick() => true,
                changed = wake.changed() => {
                    if changed.is_err() {
                        tick.tick().await;
                    }
                    changed.is_err()
                }
            };
            wake.mark_unchanged();
        }
    }

    /// Reads to the end; a poll also sets the clock, and notices a store with another past: put back to an earlier
    /// state, or a standby that took over and had not received the last writes. Then documents of lower versions count
    /// too.
    async fn read(&mut self, polls: bool) -> Result<(), StoreError> {
        if polls {
            self.context.time.set(bounded(self.context.store.now()).await?);
            let head = bounded(self.context.store.head(self.kind.collection())).await?;
            if has_another_past(self.cursor, self.head, head) {
                let collection = self.kind.collection().name();
                tracing::warn!(collection, "the store has another past than was read: read anew");
                self.cursor = 0;
                self.living = Some(HashSet::new());
                self.context.queue(self.kind).lock().reset_versions();
            }
            self.head = Some(head);
        }
        loop {
            let asked = self.context.store.changes(self.kind.collection(), self.cursor, PAGE);
            let changes = bounded(asked).await?;
            for change in changes.items {
                self.apply(change);
            }
            self.cursor = changes.cursor;
            self.context.wake.notify_one();
            if !changes.more {
                break;
            }
        }
        if let Some(living) = self.living.take() {
            self.context.queue(self.kind).lock().retain(&living);
        }
        Ok(())
    }

    fn apply(&mut self, change: Change) {
        let Change { id, document, .. } = change;
        let Some(stored) = document else {
            self.context.work_ended(self.kind, &id, None);
            return;
        };
        if let Some(living) = &mut self.living {
            living.insert(id.as_str().into());
        }
        self.context.time.advance_to(stored.written);
        self.observe(&stored);
    }

    /// Puts a document as it stands into the queue, or out of it.
    fn observe(&mut self, stored: &Stored) {
        let now = Instant::now();
        if let Some(owner) = self.context.observe(self.kind, stored, now, self.spread())
            && owner != self.context.owner
        {
            self.others = Some(now);
        }
    }

    /// Delay before a free document is due; zero while no other process is active.
    fn spread(&self) -> Duration {
        match self.others {
            Some(at) if at.elapsed() < OTHERS => SPREAD.mul_f64(self.context.random.unit()),
            _ => Duration::ZERO,
        }
    }
}

/// By the cursor, and the store's last position at the poll before and now.
fn has_another_past(cursor: i64, before: Option<i64>, now: i64) -> bool {
    now < cursor || before.is_some_and(|before| now.saturating_sub(before) >= JUMP)
}

async fn bounded<T>(asked: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    timeout(PATIENCE, asked).await.map_err(|late| StoreError::Unavailable(late.into()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_went_back_or_jumped_has_another_past() {
        assert!(!has_another_past(0, None, 1 << 40), "the first look");
        assert!(!has_another_past(90, Some(90), 100_000));
        assert!(has_another_past(90, Some(100), 80));
        assert!(has_another_past(90, Some(100), 100 + (1 << 24)));
    }
}
