//! What is sent to one destination, one after the other: a receiver that is slow or away keeps nobody else waiting.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rp_base::{Backoff, SharedClock, SharedRandom, Timestamp};
use rp_config::Notify;
use rp_database::{StoreError, Versioned};
use rp_documents::{Collection, Notification, NotificationState};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::courier::{self, Fault};
use crate::metrics::{DestinationLabels, EndLabels, NotifyMetrics};
use crate::options::Destination;
use crate::outbox::Outbox;

/// Between two looks at what waits, when nothing wakes it.
const POLL: Duration = Duration::from_secs(3);
/// Between two tries while a receiver is away: at most this.
const AWAY: Duration = Duration::from_secs(30);

/// What every destination is served with.
#[derive(Debug, Clone)]
pub(crate) struct PostParts {
    pub(crate) outbox: Outbox,
    pub(crate) settings: Notify,
    pub(crate) portal: Url,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) metrics: NotifyMetrics,
}

/// One destination being served.
#[derive(Debug)]
pub(crate) struct Post {
    destination: Arc<Destination>,
    /// How many wait, as far as this process knows.
    waiting: Arc<AtomicUsize>,
    parts: PostParts,
    /// While the receiver is away.
    away: Backoff,
}

/// What came of an attempt.
enum Attempt {
    /// It was delivered, or is given up.
    Over,
    /// It is sent again later.
    Again,
    /// The receiver is away for so long.
    Away(Duration),
}

impl Post {
    pub(crate) fn new(destination: Arc<Destination>, waiting: Arc<AtomicUsize>, parts: PostParts) -> Self {
        let away = Backoff::new(parts.settings.retry, AWAY.max(parts.settings.retry));
        Self { destination, waiting, parts, away }
    }

    /// Sends until `stop`, or until another process sends, too.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<(), StoreError> {
        let served = stop.clone().run_until_cancelled_owned(async move {
            let mut changed = self.parts.outbox.store().subscribe(Collection::Notifications);
            loop {
                changed.mark_unchanged();
                match self.round().await? {
                    // While the receiver is away, new notifications wait, too.
                    Some(wait) => sleep(wait).await,
                    None => drop(timeout(POLL, changed.changed()).await),
                }
            }
        });
        served.await.unwrap_or(Ok(()))
    }

    /// Sends what is due; gives how long to wait where the receiver is away.
    async fn round(&mut self) -> Result<Option<Duration>, StoreError> {
        loop {
            let all = self.parts.outbox.waiting(self.destination.name).await?.items;
            let now = self.parts.outbox.store().now().await?;
            self.show(&all, now);
            // Subjects of which something still waits: what resolves comes last.
            let (mut before, mut sent) = (HashSet::new(), false);
            for next in all {
                let subject = next.value.event.subject.clone();
                let due = next.value.retry_after.is_none_or(|at| at <= now);
                if !due || before.contains(&subject) {
                    before.insert(subject);
                    continue;
                }
                sent = true;
                match self.attempt(next).await? {
                    Attempt::Over => {}
                    Attempt::Again => {
                        before.insert(subject);
                    }
                    Attempt::Away(wait) => return Ok(Some(wait)),
                }
            }
            if !sent {
                return Ok(None);
            }
        }
    }

    fn show(&self, all: &[Versioned<Notification>], now: Timestamp) {
        let labels = self.labels();
        if all.is_empty() {
            self.waiting.store(0, Ordering::Relaxed);
        }
        let waiting = self.waiting.load(Ordering::Relaxed).max(all.len());
        self.parts.metrics.waiting.with(&labels).set_count(waiting);
        let oldest = all.first().map_or(0, |oldest| now.since(oldest.value.created).as_secs());
        self.parts.metrics.oldest.with(&labels).set_count(usize::try_from(oldest).unwrap_or(usize::MAX));
    }

    fn labels(&self) -> DestinationLabels {
        DestinationLabels { destination: self.destination.name }
    }

    /// One attempt.
    async fn attempt(&mut self, mut next: Versioned<Notification>) -> Result<Attempt, StoreError> {
        let settings = &self.parts.settings;
        let sent =
            courier::send(&self.destination, &next.value, &self.parts.portal, self.parts.clock.now()).await;
        let now = self.parts.outbox.store().now().await?;
        let late = now.since(next.value.created) >= settings.give_up_after;
        let one = &mut next.value;
        one.attempts = one.attempts.saturating_add(1);
        one.last_attempt = Some(now);
        let mut wait = None;
        match sent {
            Ok(()) => {
                self.away.reset();
                one.state = NotificationState::Delivered;
                one.error.clear();
            }
            Err(fault) => {
                self.parts.metrics.failures.with(&self.labels()).inc();
                fault.what().clone_into(&mut one.error);
                let over = match fault {
                    Fault::Refused { .. } => true,
                    Fault::Error { .. } => late || one.attempts >= settings.attempts,
                    Fault::Away { retry_after, .. } => {
                        let step = self.away.step(&*self.parts.random);
                        wait = Some(step.max(retry_after.unwrap_or_default()));
                        late
                    }
                };
                if over {
                    one.state = NotificationState::Failed;
                } else {
                    one.retry_after = Some(now + wait.unwrap_or_else(|| self.retry(one.attempts)));
                }
                self.tell(one);
            }
        }
        self.end(one.state);
        let done = match wait {
            Some(wait) => Attempt::Away(wait),
            None if one.state == NotificationState::Waiting => Attempt::Again,
            None => Attempt::Over,
        };
        self.parts.outbox.save(next, now).await?;
        Ok(done)
    }

    /// The wait after an error: it doubles with each.
    fn retry(&self, attempts: u32) -> Duration {
        let settings = &self.parts.settings;
        let doubled = settings.retry.saturating_mul(1 << attempts.saturating_sub(1).min(16));
        doubled.min(settings.retry_most).mul_f64(0.5 + self.parts.random.unit() / 2.0)
    }

    fn tell(&self, one: &Notification) {
        let (destination, error, attempt) = (self.destination.name, &one.error, one.attempts);
        let (notification, event) = (&one.id, one.event.kind.name());
        if one.state == NotificationState::Failed {
            tracing::error!(
                destination,
                notification,
                event,
                attempt,
                error,
                "a notification was not delivered"
            );
        } else {
            tracing::warn!(
                destination,
                notification,
                event,
                attempt,
                error,
                "a notification was not taken; it is sent again"
            );
        }
    }

    fn end(&self, state: NotificationState) {
        if state == NotificationState::Waiting {
            return;
        }
        // Never below 0: a test that another process recorded was not counted.
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        let labels = EndLabels { destination: self.destination.name, result: state.name() };
        self.parts.metrics.ended.with(&labels).inc();
    }
}
