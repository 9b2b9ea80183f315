//! Notifications in the store: recorded before they are sent, changed by who sends them.

use std::time::Duration;

use rp_base::{Timestamp, sha256};
use rp_database::{Scanned, SharedStore, Span, StoreError, Typed, Versioned};
use rp_documents::{Notification, NotificationEvent, NotificationState, Unknown};

/// Notifications of a destination that a round looks at.
const WAITING: u32 = 200;

/// All notifications of a store.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    all: Typed<Notification>,
    /// How long one stays that is over.
    keep: Duration,
}

impl Outbox {
    pub(crate) fn new(store: &SharedStore, keep: Duration) -> Self {
        Self { all: Typed::new(SharedStore::clone(store)), keep }
    }

    pub(crate) fn store(&self) -> &SharedStore {
        self.all.store()
    }

    /// Records an event for a destination; `full`: as dropped. `false`: it is there already.
    pub(crate) async fn record(
        &self,
        destination: &str,
        event: NotificationEvent,
        full: bool,
    ) -> Result<bool, StoreError> {
        let now = self.store().now().await?;
        let mut notification = Notification {
            id: id(destination, &event.id),
            destination: destination.to_owned(),
            event,
            state: NotificationState::Waiting,
            created: now,
            attempts: 0,
            last_attempt: None,
            retry_after: None,
            ended: None,
            error: String::new(),
            unknown: Unknown::new(),
        };
        let mut forgotten = now + Notification::WAITS;
        if full {
            notification.state = NotificationState::Dropped;
            notification.ended = Some(now);
            "too many notifications wait for this destination".clone_into(&mut notification.error);
            forgotten = now + self.keep;
        }
        match self.all.create_until(notification, Some(forgotten)).await {
            Ok(_) => Ok(true),
            Err(StoreError::Exists { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What waits for a destination, the oldest first; the first of them, if there are many.
    pub(crate) async fn waiting(&self, destination: &str) -> Result<Scanned<Notification>, StoreError> {
        let keys = Notification::waiting_keys(destination);
        self.all.scan(Span::Keys(&keys), None, WAITING).await
    }

    /// How many wait for a destination: those of `first`, and what follows them; counting ends at `most`.
    pub(crate) async fn count_waiting(
        &self,
        destination: &str,
        first: &Scanned<Notification>,
        most: usize,
    ) -> Result<usize, StoreError> {
        let keys = Notification::waiting_keys(destination);
        let (mut count, mut after) = (first.items.len(), first.next.clone());
        while let Some(from) = after.take().filter(|_| count < most) {
            let page = self.all.scan(Span::Keys(&keys), Some(&from), 1000).await?;
            count += page.items.len();
            after = page.next;
        }
        Ok(count)
    }

    /// What is over for a destination, the newest first, at most `most`.
    pub(crate) async fn over(&self, destination: &str, most: u32) -> Result<Vec<Notification>, StoreError> {
        let keys = Notification::over_keys(destination);
        let found = self.all.scan(Span::Keys(&keys), None, most).await?;
        Ok(found.items.into_iter().map(|one| one.value).collect())
    }

    /// Writes what became of an attempt. [`StoreError::Stale`]: another process sends, too.
    pub(crate) async fn save(
        &self,
        mut changed: Versioned<Notification>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if changed.value.state != NotificationState::Waiting {
            changed.value.ended = Some(now);
            changed.value.retry_after = None;
            changed.expires_at = Some(now + self.keep);
        }
        self.all.replace(changed).await.map(drop)
    }
}

/// The id of an event for a destination: 32 hexadecimal digits.
pub(crate) fn id(destination: &str, event: &str) -> String {
    let mut digest = sha256(format!("{destination}\n{event}").as_bytes()).to_string();
    digest.truncate(32);
    digest
}
