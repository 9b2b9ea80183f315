//! One pass of the loop (`contract/monitor.md` §3.2).

use std::time::Duration;

use rp_base::{Timestamp, chain};
use rp_database::{Expect, SharedStore, StoreError, Typed, Version, Versioned};
use rp_documents::pool::Allocation;
use rp_documents::{PoolDocument, Unknown};
use tokio::time::{Instant, sleep};

use super::liveness::LivenessTracker;
use super::{Buckets, PoolError, PoolLabels, PoolMetrics, PoolParts, PoolTimes, WorkerType, balance, moved};

/// Attempts of a write that may conflict, and the growing delay between them
/// (`contract/database.md` §7.1).
const TRIES: u32 = 5;
const WAIT: Duration = Duration::from_millis(100);
/// Page size of the workers.
const PAGE: u32 = 1000;

/// One worker, and the master when it holds the lease.
#[derive(Debug)]
pub(super) struct Member {
    id: String,
    worker_type: WorkerType,
    documents: Typed<PoolDocument>,
    times: PoolTimes,
    workers: LivenessTracker,
    lease: LivenessTracker,
    is_master: bool,
    metrics: PoolMetrics,
    labels: PoolLabels,
}

impl Member {
    pub(super) fn new(parts: &PoolParts, times: PoolTimes) -> Self {
        Self {
            id: parts.random.uuid().to_string(),
            worker_type: parts.worker_type,
            documents: Typed::new(SharedStore::clone(&parts.store)),
            times,
            workers: LivenessTracker::default(),
            lease: LivenessTracker::default(),
            is_master: false,
            metrics: PoolMetrics::register(&parts.registry),
            labels: PoolLabels { worker_type: parts.worker_type.0 },
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// It exists already, which is fine.
    pub(super) async fn create_master(&self) -> Result<(), PoolError> {
        match self.documents.create(self.document(self.worker_type.0)).await {
            Ok(_) | Err(StoreError::Exists { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn document(&self, id: &str) -> PoolDocument {
        PoolDocument {
            id: id.to_owned(),
            worker_type: self.worker_type.0.to_owned(),
            ttl: None,
            lease_owner: String::new(),
            lease_expires: 0,
            pool_worker: None,
            unknown: Unknown::new(),
        }
    }

    /// Heartbeat, lease, balance, own buckets. Also returns whether we are the master.
    pub(super) async fn pass(&mut self, began: Instant) -> Result<(Buckets, bool), PoolError> {
        let store = self.documents.store().now().await?;
        self.workers.clock(store, began, self.times.ttl);
        self.lease.clock(store, began, self.times.lease);
        self.heartbeat(store).await?;
        let mut read = self.master().await?;
        if !self.is_master && self.is_free(&read, store, began) {
            read = self.try_lease(read, store).await?;
        }
        if self.is_master {
            read = self.serve_as_master(read, store, began).await?;
        }
        self.metrics.master.with(&self.labels).set_count(usize::from(self.is_master));
        let allocation = read.value.pool_worker.as_ref().map(|given| given.buckets.as_slice());
        let given = allocation.filter(|buckets| !buckets.is_empty()).ok_or(PoolError::NotInitialized)?;
        let own = Buckets::owned_by(given, &self.id);
        self.record_assignment(given, own, store);
        Ok((own, self.is_master))
    }

    fn record_assignment(&self, given: &[String], own: Buckets, store: Timestamp) {
        self.metrics.buckets.with(&self.labels).set_count(own.len());
        let unowned = given.iter().filter(|owner| owner.is_empty()).count();
        self.metrics.unowned.with(&self.labels).set_count(unowned);
        #[expect(clippy::cast_precision_loss, reason = "seconds stay below 2^53")]
        self.metrics.assignment.with(&self.labels).set(store.seconds() as f64);
    }

    pub(super) fn failed(&self) {
        self.metrics.failures.with(&self.labels).inc();
    }

    /// The last writer wins: nobody else writes this document.
    async fn heartbeat(&self, store: Timestamp) -> Result<(), PoolError> {
        let document = PoolDocument { ttl: Some(self.times.ttl.as_secs().max(1)), ..self.document(&self.id) };
        self.documents.put_until(document, Some(store + self.times.ttl), Expect::Any).await?;
        Ok(())
    }

    async fn master(&self) -> Result<Versioned<PoolDocument>, PoolError> {
        self.documents.get(self.worker_type.0).await?.ok_or(PoolError::NotInitialized)
    }

    /// Expired by the store's clock, or by ours when not renewed for the length of a lease. While the store's clock
    /// has just jumped, only by ours.
    fn is_free(&mut self, read: &Versioned<PoolDocument>, store: Timestamp, now: Instant) -> bool {
        let unchanged = self.lease.note(self.worker_type.0, read.version, now);
        let expired = read.value.lease_expires < store.seconds() && !self.lease.jumped(now, self.times.lease);
        read.value.lease_owner.is_empty() || expired || unchanged > self.times.lease
    }

    /// On a conflict the other process is the master.
    async fn try_lease(
        &mut self,
        mut read: Versioned<PoolDocument>,
        store: Timestamp,
    ) -> Result<Versioned<PoolDocument>, PoolError> {
        self.id.clone_into(&mut read.value.lease_owner);
        read.value.lease_expires = (store + self.times.lease).seconds();
        match self.documents.replace(read).await {
            Ok(read) => {
                tracing::info!(worker = self.id, "this worker shares out the buckets");
                self.is_master = true;
                Ok(read)
            }
            Err(StoreError::Stale { .. }) => self.master().await,
            Err(error) => Err(error.into()),
        }
    }

    /// Assigns buckets and renews the lease in one write.
    async fn serve_as_master(
        &mut self,
        read: Versioned<PoolDocument>,
        store: Timestamp,
        now: Instant,
    ) -> Result<Versioned<PoolDocument>, PoolError> {
        let listed = self.listed().await?;
        let living = self.workers.living(&listed, now, self.times.ttl);
        self.metrics.workers.with(&self.labels).set_count(living.len());
        let until = (store + self.times.lease).seconds();
        let own = self.id.clone();
        let mut shift = 0;
        let written = self
            .write(read, |document| {
                shift = allocate(document, &living);
                document.lease_expires = until;
                own.clone_into(&mut document.lease_owner);
            })
            .await?;
        match written {
            Some(written) => {
                if shift > 0 {
                    tracing::info!(buckets = shift, workers = living.len(), "buckets shared out anew");
                    self.metrics.rebalances.with(&self.labels).inc();
                    self.metrics.moved.with(&self.labels).add(u64::try_from(shift).unwrap_or(0));
                }
                Ok(written)
            }
            None => {
                tracing::info!(worker = self.id, "lost lease");
                self.is_master = false;
                self.metrics.workers.with(&self.labels).set_count(0);
                self.master().await
            }
        }
    }

    /// Changes the master's document while we own the lease; `None`: we do not.
    async fn write(
        &self,
        mut read: Versioned<PoolDocument>,
        mut change: impl FnMut(&mut PoolDocument),
    ) -> Result<Option<Versioned<PoolDocument>>, PoolError> {
        for attempt in 1.. {
            if read.value.lease_owner != self.id {
                return Ok(None);
            }
            change(&mut read.value);
            match self.documents.replace(read).await {
                Ok(written) => return Ok(Some(written)),
                Err(StoreError::Stale { .. }) if attempt < TRIES => sleep(WAIT * (attempt - 1)).await,
                Err(error) => return Err(error.into()),
            }
            read = self.master().await?;
        }
        Ok(None)
    }

    /// Workers with a document that has not expired.
    async fn listed(&self) -> Result<Vec<(String, Version)>, PoolError> {
        let (mut listed, mut from) = (Vec::new(), None::<String>);
        loop {
            let page = self.documents.list(Some(self.worker_type.0), from.as_deref(), PAGE).await?;
            let workers = page.items.into_iter().filter(|read| read.value.id != self.worker_type.0);
            listed.extend(workers.map(|read| (read.value.id, read.version)));
            from = page.continuation;
            if from.is_none() {
                return Ok(listed);
            }
        }
    }

    /// Gives up our buckets: by an immediate assignment when we are the master.
    pub(super) async fn leave(mut self, now: Instant) {
        self.metrics.buckets.with(&self.labels).set_count(0);
        self.metrics.master.with(&self.labels).set_count(0);
        if let Err(error) = self.give_up(now).await {
            tracing::warn!(error = %chain(&error), "the worker's document could not be given up");
        }
    }

    async fn give_up(&mut self, now: Instant) -> Result<(), PoolError> {
        match self.documents.delete(&self.id, Expect::Any).await {
            Ok(()) | Err(StoreError::Gone { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if !self.is_master {
            return Ok(());
        }
        let listed: Vec<_> = self.listed().await?.into_iter().filter(|(id, _)| *id != self.id).collect();
        let mut living = self.workers.living(&listed, now, self.times.ttl);
        living.retain(|id| *id != self.id);
        let read = self.master().await?;
        let free = |document: &mut PoolDocument| {
            allocate(document, &living);
            document.lease_owner.clear();
            document.lease_expires = 0;
        };
        self.write(read, free).await?;
        Ok(())
    }
}

/// Assigns buckets to the live workers; returns how many moved. Other members of the document stay.
fn allocate(document: &mut PoolDocument, living: &[String]) -> usize {
    let allocation = document.pool_worker.get_or_insert_with(Allocation::default);
    let after = balance(&allocation.buckets, &living.iter().map(String::as_str).collect::<Vec<_>>());
    let shift = moved(&allocation.buckets, &after);
    allocation.buckets = after;
    shift
}
