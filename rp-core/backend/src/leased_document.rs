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
use crate::settings::margin;

/// Attempts of a write that conflicts with writes of others (`contract/database.md` §7.1).
const TRIES: u32 = 5;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaseError {
    #[error("the lease was lost")]
    Lost,
    /// By an earlier attempt that was not confirmed.
    #[error("the end is written already")]
    Ended,
    #[error("the store: {0}")]
    Store(String),
}

/// A change of a document by the holder of its lease. It may run more than once, on newer documents.
pub(crate) type Change<'a, D> = &'a (dyn Fn(&mut D, Worker) + Send + Sync);

/// The document of one turn, written by the holder of its lease.
#[derive(Debug)]
pub(crate) struct LeasedDocument<D> {
    context: Arc<Context>,
    id: String,
    partition: String,
    unique_key: Option<String>,
    token: u64,
    held: tokio::sync::Mutex<LeaseState<D>>,
    /// When the last confirmed renewal began.
    renewed: Mutex<Instant>,
    /// Cancelled when the lease is lost.
    pub(crate) lost: CancellationToken,
}

#[derive(Debug)]
struct LeaseState<D> {
    version: Version,
    body: Arc<D>,
    /// The end is written; no write may follow.
    ended: bool,
    /// A write after the last confirmed one may or may not have happened.
    unsure: bool,
}

/// A document that was just claimed.
#[derive(Debug)]
pub(crate) struct ClaimedDocument<D> {
    pub(crate) stored: Stored,
    pub(crate) body: Arc<D>,
    pub(crate) token: u64,
    pub(crate) began: Instant,
}

impl<D: Leased> LeasedDocument<D> {
    pub(crate) fn new(context: Arc<Context>, taken: ClaimedDocument<D>) -> Self {
        let ClaimedDocument { stored, body, token, began } = taken;
        Self {
            context,
            id: stored.id,
            partition: stored.partition,
            unique_key: stored.unique_key,
            token,
            held: tokio::sync::Mutex::new(LeaseState {
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

    /// Reads the document and checks that the lease is still held.
    pub(crate) async fn read(&self) -> Result<Arc<D>, LeaseError> {
        self.read_if_older(Duration::ZERO).await
    }

    /// The document as it was last written or read; unless the lease was renewed within a heartbeat, it is read.
    pub(crate) async fn fresh(&self) -> Result<Arc<D>, LeaseError> {
        self.read_if_older(self.context.settings.heartbeat).await
    }

    async fn read_if_older(&self, lately: Duration) -> Result<Arc<D>, LeaseError> {
        let mut held = self.held.lock().await;
        self.check_open(&held)?;
        if self.renewed().elapsed() >= lately {
            self.reload(&mut held).await?;
            self.check_open(&held)?;
        }
        Ok(Arc::clone(&held.body))
    }

    /// The document as it was last written or read.
    pub(crate) async fn cached(&self) -> Arc<D> {
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
        // The caller retries.
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

    /// Removes the document; no write follows.
    pub(crate) async fn remove(&self) -> Result<(), LeaseError> {
        let mut held = self.held.lock().await;
        let mut retry = StoreRetry::new(&self.context, self.context.settings.lease);
        loop {
            self.check_open(&held)?;
            let store = &self.context.store;
            let expect = Expect::Version(held.version);
            let asked = store.delete(D::COLLECTION, &self.id, expect);
            match self.bounded(asked).await {
                // Deleted by our own earlier attempt: nobody else deletes a leased document.
                Ok(()) | Err(StoreError::Gone { .. }) => {
                    held.ended = true;
                    return Ok(());
                }
                Err(StoreError::Stale { .. }) => self.reload(&mut held).await?,
                Err(error) => retry.wait(&error).await?,
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

    fn check_open(&self, held: &LeaseState<D>) -> Result<(), LeaseError> {
        if held.ended {
            return Err(LeaseError::Ended);
        }
        if self.lost.is_cancelled() { Err(LeaseError::Lost) } else { Ok(()) }
    }

    async fn write(
        &self,
        held: &mut LeaseState<D>,
        change: Change<'_, D>,
        patience: Duration,
        last: bool,
    ) -> Result<(), LeaseError> {
        let mut retry = StoreRetry::new(&self.context, patience);
        let mut stale = 0;
        loop {
            self.check_open(held)?;
            let body = changed(&*held.body, change);
            let began = Instant::now();
            let asked =
                self.context.store.replace(D::COLLECTION, self.draft(&body)?, Expect::Version(held.version));
            match self.bounded(asked).await {
                Ok(stored) => {
                    self.written(held, &stored, body, began);
                    return Ok(());
                }
                Err(StoreError::Gone { .. }) => return Err(self.cancel_lost()),
                Err(StoreError::Stale { .. }) => {
                    self.reload(held).await?;
                    // A write that was not confirmed has happened after all.
                    if held.ended {
                        return if last { Ok(()) } else { Err(self.cancel_lost()) };
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
                    retry.wait(&error).await?;
                }
            }
        }
    }

    fn written(&self, held: &mut LeaseState<D>, stored: &Stored, body: D, began: Instant) {
        self.context.time.advance_to(stored.written);
        held.version = stored.version;
        held.unsure = false;
        let expires = body.lease().expires;
        held.body = Arc::new(body);
        if is_long_enough(expires, stored.written, &self.context.settings) {
            *self.renewed.lock() = began;
        }
    }

    /// Reads the document again. Our token with a released lease is the result of our own last write, if there was an
    /// unconfirmed one; otherwise the lease was taken away.
    async fn reload(&self, held: &mut LeaseState<D>) -> Result<(), LeaseError> {
        let found = self.bounded(self.context.store.get(D::COLLECTION, &self.id)).await;
        let stored = found.map_err(|error| LeaseError::Store(chain(&error).to_string()))?;
        let Some(stored) = stored else { return Err(self.cancel_lost()) };
        let body: D =
            serde_json::from_str(&stored.body).map_err(|error| LeaseError::Store(error.to_string()))?;
        let lease = body.lease();
        if held.unsure && lease.is_held_by("", self.token) {
            held.ended = true;
        } else if !lease.is_held_by(&self.context.owner, self.token) {
            return Err(self.cancel_lost());
        }
        held.version = stored.version;
        held.body = Arc::new(body);
        Ok(())
    }

    fn cancel_lost(&self) -> LeaseError {
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

/// Whether a lease written at that time expires for other processes only after its holder gives it up. If not, our
/// estimate of the store's clock was wrong, and the lease is renewed at once.
fn is_long_enough(expires: i64, written: Timestamp, settings: &rp_config::Backend) -> bool {
    let free = Timestamp::from_seconds(expires.saturating_add(1));
    free.since(written) >= settings.lease.saturating_sub(margin(settings))
}

/// Repeats writes to a store that did not answer.
struct StoreRetry<'a> {
    context: &'a Context,
    backoff: Backoff,
    until: Instant,
}

impl<'a> StoreRetry<'a> {
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
        let (settings, written) = (rp_config::Backend::default(), Timestamp::from_seconds(1000));
        assert!(is_long_enough(1060, written, &settings));
        assert!(is_long_enough(1049, written, &settings), "free at 1050, given up at 1050");
        assert!(!is_long_enough(1048, written, &settings));
        assert!(!is_long_enough(900, written, &settings));
        // The whole seconds of a short lease.
        let short = rp_config::Backend { lease: Duration::from_secs(1), ..settings };
        assert!(is_long_enough(1000, written, &short));
    }
}
