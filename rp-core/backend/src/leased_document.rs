//! A document that is held: every write of its holder goes through here, one at a time, by version and by lease.
//!
//! A write also renews the lease. One that the store did not confirm may have happened: the document is read again, and
//! the token says whose it is.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{Backoff, Timestamp, chain};
use rp_database::{Draft, Expect, StoreError, Stored, Version};
use rp_documents::cluster::Worker;
use rp_documents::{Lease, Leased};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::settings::Settings;

/// Writes that others may be faster with (`contract/database.md` §7.1).
const TRIES: u32 = 5;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaseError {
    #[error("the lease was lost")]
    Lost,
    /// By an earlier try that was not confirmed.
    #[error("the end is written already")]
    Ended,
    #[error("the store: {0}")]
    Store(String),
}

/// A change of a document by the holder of its lease. It may run more than once, on newer documents.
pub(crate) type Change<'a, D> = &'a (dyn Fn(&mut D, Worker) + Send + Sync);

/// The document of one turn, for whoever holds its lease.
#[derive(Debug)]
pub(crate) struct LeasedDocument<D> {
    context: Arc<Context>,
    id: String,
    partition: String,
    unique_key: Option<String>,
    token: u64,
    held: tokio::sync::Mutex<Held<D>>,
    /// When the last confirmed renewal began.
    renewed: Mutex<Instant>,
    /// Cancelled when the lease is somebody else's.
    pub(crate) lost: CancellationToken,
}

#[derive(Debug)]
struct Held<D> {
    version: Version,
    body: Arc<D>,
    /// Nothing is written any more: it ended.
    ended: bool,
    /// Since the last confirmed write there was one of which that is not known.
    unsure: bool,
}

/// A document that was just taken.
#[derive(Debug)]
pub(crate) struct Taken<D> {
    pub(crate) stored: Stored,
    pub(crate) body: Arc<D>,
    pub(crate) token: u64,
    pub(crate) began: Instant,
}

impl<D: Leased> LeasedDocument<D> {
    pub(crate) fn new(context: Arc<Context>, taken: Taken<D>) -> Self {
        let Taken { stored, body, token, began } = taken;
        Self {
            context,
            id: stored.id,
            partition: stored.partition,
            unique_key: stored.unique_key,
            token,
            held: tokio::sync::Mutex::new(Held {
                version: stored.version,
                body,
                ended: false,
                unsure: false,
            }),
            renewed: Mutex::new(began),
            lost: CancellationToken::new(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// When the last confirmed renewal began.
    pub(crate) fn renewed(&self) -> Instant {
        *self.renewed.lock()
    }

    /// Reads the document; it must be ours still.
    pub(crate) async fn read(&self) -> Result<Arc<D>, LeaseError> {
        self.look(Duration::ZERO).await
    }

    /// The document as it was last written or read; unless the lease was renewed within a heartbeat, it is read.
    pub(crate) async fn fresh(&self) -> Result<Arc<D>, LeaseError> {
        self.look(self.context.settings.heartbeat).await
    }

    async fn look(&self, lately: Duration) -> Result<Arc<D>, LeaseError> {
        let mut held = self.held.lock().await;
        self.open(&held)?;
        if self.renewed().elapsed() >= lately {
            self.reload(&mut held).await?;
            self.open(&held)?;
        }
        Ok(Arc::clone(&held.body))
    }

    /// The document as it was last written or read.
    pub(crate) async fn known(&self) -> Arc<D> {
        Arc::clone(&self.held.lock().await.body)
    }

    /// Changes the document, and renews the lease. A store that is away is asked again for as long as a heartbeat.
    pub(crate) async fn patch(&self, change: Change<'_, D>) -> Result<Arc<D>, LeaseError> {
        let mut held = self.held.lock().await;
        let patience = self.context.settings.heartbeat;
        self.write(&mut held, &|body, worker| self.renew_in(body, worker, change), patience, false).await?;
        Ok(Arc::clone(&held.body))
    }

    /// Renews the lease, unless a write just did.
    pub(crate) async fn renew(&self) -> Result<(), LeaseError> {
        let mut held = self.held.lock().await;
        if held.ended || self.renewed().elapsed() < self.context.settings.heartbeat / 2 {
            return Ok(());
        }
        // Whoever calls asks again.
        self.write(&mut held, &|body, worker| self.renew_in(body, worker, &|_, _| {}), Duration::ZERO, false)
            .await
    }

    /// The last write: `change` also gives the lease away. Tried until it is done or the lease is lost.
    pub(crate) async fn end(&self, change: Change<'_, D>) -> Result<(), LeaseError> {
        let mut held = self.held.lock().await;
        self.write(&mut held, change, self.context.settings.lease, true).await?;
        held.ended = true;
        Ok(())
    }

    /// Removes the document; nobody's write comes after.
    pub(crate) async fn remove(&self) -> Result<(), LeaseError> {
        let mut held = self.held.lock().await;
        let mut again = Again::new(&self.context, self.context.settings.lease);
        loop {
            self.open(&held)?;
            let store = &self.context.store;
            let expect = Expect::Version(held.version);
            let asked = store.delete(D::COLLECTION, &self.id, expect);
            match self.bounded(asked).await {
                // Gone: by our own earlier try, for nobody else deletes what is held.
                Ok(()) | Err(StoreError::Gone { .. }) => {
                    held.ended = true;
                    return Ok(());
                }
                Err(StoreError::Stale { .. }) => self.reload(&mut held).await?,
                Err(error) => again.wait(&error).await?,
            }
        }
    }

    fn renew_in(&self, body: &mut D, worker: Worker, change: Change<'_, D>) {
        change(body, worker);
        let lease = Lease {
            owner: self.context.owner.clone(),
            expires: (self.context.time.now() + self.context.settings.lease).seconds(),
            token: self.token,
            dequeues: body.lease().dequeues,
        };
        body.set_lease(&lease);
    }

    fn open(&self, held: &Held<D>) -> Result<(), LeaseError> {
        if held.ended {
            return Err(LeaseError::Ended);
        }
        if self.lost.is_cancelled() { Err(LeaseError::Lost) } else { Ok(()) }
    }

    async fn write(
        &self,
        held: &mut Held<D>,
        change: Change<'_, D>,
        patience: Duration,
        last: bool,
    ) -> Result<(), LeaseError> {
        let mut again = Again::new(&self.context, patience);
        let mut stale = 0;
        loop {
            self.open(held)?;
            let body = changed(&*held.body, change);
            let began = Instant::now();
            let asked =
                self.context.store.replace(D::COLLECTION, self.draft(&body)?, Expect::Version(held.version));
            match self.bounded(asked).await {
                Ok(stored) => {
                    self.written(held, &stored, body, began);
                    return Ok(());
                }
                Err(StoreError::Gone { .. }) => return Err(self.lose()),
                Err(StoreError::Stale { .. }) => {
                    self.reload(held).await?;
                    // A write that was not confirmed has happened after all.
                    if held.ended {
                        return if last { Ok(()) } else { Err(self.lose()) };
                    }
                    if changed(&*held.body, change) == *held.body {
                        return Ok(());
                    }
                    stale += 1;
                    if stale >= TRIES {
                        return Err(LeaseError::Store("others were faster, again and again".to_owned()));
                    }
                }
                Err(error) => {
                    held.unsure = true;
                    again.wait(&error).await?;
                }
            }
        }
    }

    fn written(&self, held: &mut Held<D>, stored: &Stored, body: D, began: Instant) {
        self.context.time.saw(stored.written);
        held.version = stored.version;
        held.unsure = false;
        let expires = body.lease().expires;
        held.body = Arc::new(body);
        if lasts(expires, stored.written, &self.context.settings) {
            *self.renewed.lock() = began;
        }
    }

    /// Reads the document anew. Ours, with the lease given away, is what our own last write left, if there may have been one:
    /// else somebody took the lease away.
    async fn reload(&self, held: &mut Held<D>) -> Result<(), LeaseError> {
        let found = self.bounded(self.context.store.get(D::COLLECTION, &self.id)).await;
        let stored = found.map_err(|error| LeaseError::Store(chain(&error).to_string()))?;
        let Some(stored) = stored else { return Err(self.lose()) };
        let body: D =
            serde_json::from_str(&stored.body).map_err(|error| LeaseError::Store(error.to_string()))?;
        let lease = body.lease();
        if held.unsure && lease.is_held_by("", self.token) {
            held.ended = true;
        } else if !lease.is_held_by(&self.context.owner, self.token) {
            return Err(self.lose());
        }
        held.version = stored.version;
        held.body = Arc::new(body);
        Ok(())
    }

    fn lose(&self) -> LeaseError {
        self.lost.cancel();
        LeaseError::Lost
    }

    /// No call may outlast the lease.
    async fn bounded<T>(&self, asked: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let most = self.context.settings.heartbeat.max(Duration::from_secs(1));
        timeout(most, asked).await.map_err(|late| StoreError::Unavailable(late.into()))?
    }

    fn draft(&self, body: &D) -> Result<Draft, LeaseError> {
        let body = serde_json::to_string(body).map_err(|error| LeaseError::Store(error.to_string()))?;
        Ok(Draft {
            id: self.id.clone(),
            partition: self.partition.clone(),
            unique_key: self.unique_key.clone(),
            body,
            expires_at: None,
        })
    }
}

/// The document as `change` leaves it.
fn changed<D: Leased>(body: &D, change: Change<'_, D>) -> D {
    let mut body = body.clone();
    let worker = Worker::holding(&body.lease());
    change(&mut body, worker);
    body
}

/// Whether a lease that was written then is free, for whoever knows nothing else of it, after its holder gives it up only.
/// Else the store's clock was not what we took it for, and the lease is renewed at once.
fn lasts(expires: i64, written: Timestamp, settings: &Settings) -> bool {
    let free = Timestamp::from_seconds(expires.saturating_add(1));
    free.since(written) >= settings.lease.saturating_sub(settings.margin())
}

/// Asks a store again that did not answer.
struct Again<'a> {
    context: &'a Context,
    backoff: Backoff,
    until: Instant,
}

impl<'a> Again<'a> {
    fn new(context: &'a Context, patience: Duration) -> Self {
        let most = (context.settings.heartbeat / 2).max(Duration::from_millis(20));
        let least = (most / 20).max(Duration::from_millis(10));
        Self { context, backoff: Backoff::new(least, most), until: Instant::now() + patience }
    }

    async fn wait(&mut self, error: &StoreError) -> Result<(), LeaseError> {
        let pause = self.backoff.step(self.context.random.as_ref());
        let hopeless =
            matches!(error, StoreError::BadCall(_) | StoreError::Closed | StoreError::Malformed { .. });
        if hopeless || Instant::now() + pause >= self.until {
            return Err(LeaseError::Store(chain(error).to_string()));
        }
        tracing::warn!(error = %chain(error), "a write for an operation was not confirmed: again");
        sleep(pause).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_ends_before_its_holder_gives_up_is_none() {
        let (settings, written) = (Settings::default(), Timestamp::from_seconds(1000));
        assert!(lasts(1060, written, &settings));
        assert!(lasts(1049, written, &settings), "free at 1050, given up at 1050");
        assert!(!lasts(1048, written, &settings));
        assert!(!lasts(900, written, &settings));
        // The whole seconds of a short lease.
        let short = Settings { lease: Duration::from_secs(1), ..settings };
        assert!(lasts(1000, written, &short));
    }
}
