//! A document that this process holds: every write of the holder goes through here, by version and by lease token, and
//! renews the lease (`contract/mimo.md` "Do better" 2).
//!
//! The store's clock decides when a lease ends. A write that the store did not confirm may have happened: the document is
//! read again, and the token says whose it is.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::chain;
use rp_database::{StoreError, Typed, Versioned};
use rp_documents::{Lease, Leased};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Attempts of a write that conflicts with writes of others (`contract/database.md` §7.1).
const TRIES: u32 = 5;
/// Between two attempts of a write that was not confirmed.
const PAUSE: Duration = Duration::from_millis(200);

/// Why something was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LeaseError {
    #[error("the lease was lost")]
    Lost,
    #[error("the store: {0}")]
    Store(String),
}

/// Who holds, and for how long after each write.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) owner: Arc<str>,
    pub(crate) lease: Duration,
}

/// A held document.
#[derive(Debug)]
pub(crate) struct LeasedDocument<D> {
    documents: Typed<D>,
    holder: Holder,
    token: u64,
    state: tokio::sync::Mutex<Versioned<D>>,
    /// When the last confirmed write began.
    renewed: Mutex<Instant>,
    /// Cancelled when the lease is lost.
    lost: CancellationToken,
}

impl<D: Leased> LeasedDocument<D> {
    /// Takes a document as it was read: one write by version, so that one of many wins. `change` may write more into it.
    /// `None`: it was changed or removed meanwhile.
    ///
    /// # Errors
    /// The store's; the document may then be held until its lease ends.
    pub(crate) async fn claim(
        documents: &Typed<D>,
        found: Versioned<D>,
        holder: &Holder,
        change: impl FnOnce(&mut D),
    ) -> Result<Option<Self>, StoreError> {
        let began = Instant::now();
        let now = documents.store().now().await?;
        let mut taken = found;
        change(&mut taken.value);
        let before = taken.value.lease();
        let lease = Lease {
            owner: holder.owner.to_string(),
            expires: (now + holder.lease).seconds(),
            token: before.token.saturating_add(1),
            dequeues: before.dequeues,
        };
        taken.value.set_lease(&lease);
        match documents.replace(taken).await {
            Ok(state) => Ok(Some(Self {
                documents: documents.clone(),
                holder: holder.clone(),
                token: lease.token,
                state: tokio::sync::Mutex::new(state),
                renewed: Mutex::new(began),
                lost: CancellationToken::new(),
            })),
            Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Cancelled when the lease is lost.
    pub(crate) const fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// The document as it was last read or written.
    pub(crate) async fn cached(&self) -> D {
        self.state.lock().await.value.clone()
    }

    /// Reads the document again.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    pub(crate) async fn read(&self) -> Result<D, LeaseError> {
        let mut state = self.state.lock().await;
        self.reload(&mut state).await?;
        Ok(state.value.clone())
    }

    /// Changes the document and renews the lease. `change` may run more than once, on newer documents.
    ///
    /// # Errors
    /// The lease is lost, or the store was away for a third of a lease.
    pub(crate) async fn patch(&self, change: impl Fn(&mut D) + Sync) -> Result<D, LeaseError> {
        let mut state = self.state.lock().await;
        let patience = self.holder.lease / 3;
        self.write(&mut state, patience, &|found| {
            let mut found = found;
            change(&mut found.value);
            Some(found)
        })
        .await?;
        Ok(state.value.clone())
    }

    /// Renews the lease; gives it up when it could not be renewed for five sixths of its time.
    pub(crate) async fn renew(&self) {
        if let Err(error) = self.patch(|_| {}).await {
            let silent = self.renewed.lock().elapsed();
            tracing::warn!(error = %chain(&error), "a lease was not renewed");
            if silent >= self.holder.lease * 5 / 6 {
                self.lost.cancel();
            }
        }
    }

    /// The last write: `change` gives the document as it is to be, and the lease is given back. Tried for as long as the
    /// lease lasts. `None` from `change`: there is nothing to write any more.
    ///
    /// # Errors
    /// The lease is lost, or the store was away for as long as the lease.
    pub(crate) async fn end(
        &self,
        change: impl Fn(Versioned<D>) -> Option<Versioned<D>> + Sync,
    ) -> Result<D, LeaseError> {
        let mut state = self.state.lock().await;
        let patience = self.holder.lease;
        let released = |found: Versioned<D>| {
            let mut found = change(found)?;
            let lease = found.value.lease();
            found.value.set_lease(&Lease { owner: String::new(), expires: 0, ..lease });
            Some(found)
        };
        let written = self.write_as(&mut state, patience, &released, true).await;
        self.lost.cancel();
        written?;
        Ok(state.value.clone())
    }

    async fn write(
        &self,
        state: &mut Versioned<D>,
        patience: Duration,
        change: &(dyn Fn(Versioned<D>) -> Option<Versioned<D>> + Sync),
    ) -> Result<(), LeaseError> {
        self.write_as(state, patience, change, false).await
    }

    async fn write_as(
        &self,
        state: &mut Versioned<D>,
        patience: Duration,
        change: &(dyn Fn(Versioned<D>) -> Option<Versioned<D>> + Sync),
        last: bool,
    ) -> Result<(), LeaseError> {
        let end = Instant::now() + patience;
        let mut conflicts = 0;
        loop {
            if self.lost.is_cancelled() {
                return Err(LeaseError::Lost);
            }
            let began = Instant::now();
            let error = match self.attempt(state, change, last).await {
                Ok(Some(written)) => {
                    *state = written;
                    *self.renewed.lock() = began;
                    return Ok(());
                }
                Ok(None) => return Ok(()),
                Err(error) => error,
            };
            match error {
                StoreError::Gone { .. } => return Err(self.lose()),
                StoreError::Stale { .. } => {
                    conflicts += 1;
                    self.reload_after(state, last).await?;
                    if conflicts >= TRIES {
                        return Err(LeaseError::Store("others were faster, again and again".to_owned()));
                    }
                }
                other if Instant::now() + PAUSE >= end => {
                    return Err(LeaseError::Store(chain(&other).to_string()));
                }
                _ => {
                    sleep(PAUSE).await;
                    self.reload_after(state, last).await.or_else(|error| match error {
                        LeaseError::Store(_) => Ok(()),
                        LeaseError::Lost => Err(LeaseError::Lost),
                    })?;
                }
            }
        }
    }

    /// One try; `None`: there is nothing to write.
    async fn attempt(
        &self,
        state: &Versioned<D>,
        change: &(dyn Fn(Versioned<D>) -> Option<Versioned<D>> + Sync),
        last: bool,
    ) -> Result<Option<Versioned<D>>, StoreError> {
        if state.value.lease().owner.is_empty() {
            // An earlier attempt was not confirmed and has happened: the lease is given back.
            return Ok(None);
        }
        let now = self.documents.store().now().await?;
        let Some(mut next) = change(state.clone()) else { return Ok(None) };
        if !last {
            let dequeues = next.value.lease().dequeues;
            next.value.set_lease(&Lease {
                owner: self.holder.owner.to_string(),
                expires: (now + self.holder.lease).seconds(),
                token: self.token,
                dequeues,
            });
        }
        self.documents.replace(next).await.map(Some)
    }

    async fn reload(&self, state: &mut Versioned<D>) -> Result<(), LeaseError> {
        self.reload_after(state, false).await
    }

    /// Reads again. After the last write, our token with a lease that is given back is our own write.
    async fn reload_after(&self, state: &mut Versioned<D>, last: bool) -> Result<(), LeaseError> {
        let id = state.value.id().to_owned();
        let found =
            self.documents.get(&id).await.map_err(|error| LeaseError::Store(chain(&error).to_string()))?;
        let Some(found) = found else { return Err(self.lose()) };
        let lease = found.value.lease();
        let released = last && lease.owner.is_empty() && lease.token == self.token;
        if !lease.is_held_by(&self.holder.owner, self.token) && !released {
            return Err(self.lose());
        }
        *state = found;
        Ok(())
    }

    fn lose(&self) -> LeaseError {
        self.lost.cancel();
        LeaseError::Lost
    }
}

#[cfg(test)]
mod tests;
