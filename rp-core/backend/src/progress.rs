//! [`Progress`] of a cluster's steps, stored by the writes of the lease holder.

use std::sync::Arc;

use async_trait::async_trait;
use rp_base::chain;
use rp_cluster::{Change, Progress, ProgressError, StepEvent};
use rp_database::{StoreError, Typed};
use rp_documents::billing::Billing;
use rp_documents::cluster::{Outcome, Position, Worker};
use rp_documents::{BillingDocument, ClusterDocument, Lease, Leased as _, ProvisioningState};
use serde_json::Map;

use crate::completion::{phase_of, shown_phase};
use crate::context::Context;
use crate::journal::Journal;
use crate::leased_document::{LeaseError, LeasedDocument};

/// Conflicts that one write of a billing record may meet.
const TRIES: u32 = 5;

/// The progress of one operation.
#[derive(Debug)]
pub(crate) struct LeasedProgress {
    context: Arc<Context>,
    leased: Arc<LeasedDocument<ClusterDocument>>,
    journal: Arc<Journal>,
}

impl From<LeaseError> for ProgressError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Lost | LeaseError::Ended => Self::Lost,
            LeaseError::Store(text) => Self::Store(text),
        }
    }
}

impl LeasedProgress {
    pub(crate) const fn new(
        context: Arc<Context>,
        leased: Arc<LeasedDocument<ClusterDocument>>,
        journal: Arc<Journal>,
    ) -> Self {
        Self { context, leased, journal }
    }
}

/// Begins the position of an operation that is taken, unless it is the same that was begun: `operation` holds the
/// operation's id (the asynchronous operation's, else one of its own), the phase, and the step to go on with.
///
/// Gives the id.
pub(crate) fn begin(
    document: &mut ClusterDocument,
    by: Worker,
    state: ProvisioningState,
    own: &str,
) -> String {
    let (wanted, known) = (&*document.async_operation_id, &*document.operation);
    let same = !known.id.is_empty() && *known.kind == *state.name();
    if same && (wanted.is_empty() || *wanted == *known.id) {
        return known.id.to_string();
    }
    let id = if wanted.is_empty() { own.to_owned() } else { wanted.to_owned() };
    let position = Position {
        id: Outcome::new(by, id.as_str()),
        kind: Outcome::new(by, state.name()),
        ..Position::default()
    };
    document.operation.set(by, position);
    id
}

/// The step that was saved for the phase that the document is in.
pub(crate) fn position_of(document: &ClusterDocument) -> Option<String> {
    let Position { next, phase, .. } = document.operation.get()?;
    (**phase == *phase_of(document) && !next.is_empty()).then(|| next.to_string())
}

/// A step that was not reached before is progress: it resets the count of dequeues.
fn save_in(document: &mut ClusterDocument, by: Worker, next: &str) {
    let phase = phase_of(document).to_owned();
    if position_of(document).as_deref() != Some(next) {
        let lease = document.lease();
        document.set_lease(&Lease { dequeues: lease.dequeues.min(1), ..lease });
        document.retry.clear(by);
    }
    document.operation.phase.set(by, phase);
    document.operation.next.set(by, next);
}

#[async_trait]
impl Progress for LeasedProgress {
    async fn read(&self) -> Result<Arc<ClusterDocument>, ProgressError> {
        Ok(self.leased.read().await?)
    }

    async fn patch(&self, change: Change) -> Result<Arc<ClusterDocument>, ProgressError> {
        let body = self.leased.patch(&|body, worker| change(&mut body.cluster, worker)).await?;
        self.journal.phase(shown_phase(&body));
        Ok(body)
    }

    async fn position(&self) -> Result<Option<String>, ProgressError> {
        // Nobody but the holder writes it.
        Ok(position_of(&*self.leased.fresh().await?))
    }

    async fn save(&self, next_step: &str) -> Result<(), ProgressError> {
        self.leased.patch(&|body, worker| save_in(body, worker, next_step)).await?;
        self.journal.flush_soon();
        Ok(())
    }

    fn record_event(&self, event: StepEvent<'_>) {
        self.journal.record_event(&event);
    }

    async fn create_billing_record(
        &self,
        infra_id: &str,
        tenant: &str,
        location: &str,
    ) -> Result<(), ProgressError> {
        // Checks the lease: a worker that lost it must not create a billing record.
        let body = self.leased.read().await?;
        let now = self.context.store.now().await.map_err(away)?;
        let document = BillingDocument {
            id: self.leased.id().to_owned(),
            key: body.key.clone(),
            cluster_resource_group_id_key: body.cluster_resource_group_id_key.to_string(),
            infra_id: infra_id.to_owned(),
            billing: Billing {
                creation_time: Some(now.seconds()),
                deletion_time: None,
                last_billing_time: None,
                location: location.to_owned(),
                tenant_id: tenant.to_owned(),
                unknown: Map::new(),
            },
            unknown: Map::new(),
        };
        match self.bills().create(document).await {
            Ok(_) => Ok(()),
            Err(StoreError::Exists { .. }) => {
                tracing::info!("billing record already present in DB");
                Ok(())
            }
            Err(error) => Err(away(error)),
        }
    }

    async fn end_billing_record(&self) -> Result<(), ProgressError> {
        self.leased.read().await?;
        let bills = self.bills();
        let mut tried = 0;
        loop {
            let Some(mut found) = bills.get(self.leased.id()).await.map_err(away)? else { return Ok(()) };
            if found.value.billing.deletion_time.is_some() {
                return Ok(());
            }
            found.value.billing.deletion_time = Some(self.context.store.now().await.map_err(away)?.seconds());
            tried += 1;
            match bills.replace(found).await {
                Ok(_) | Err(StoreError::Gone { .. }) => return Ok(()),
                // The billing service writes too.
                Err(StoreError::Stale { .. }) if tried < TRIES => {}
                Err(error) => return Err(away(error)),
            }
        }
    }
}

impl LeasedProgress {
    fn bills(&self) -> Typed<BillingDocument> {
        Typed::new(Arc::clone(&self.context.store))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "maps what a call gave")]
pub(crate) fn away(error: StoreError) -> ProgressError {
    ProgressError::Store(chain(&error).to_string())
}

#[cfg(test)]
mod tests;
