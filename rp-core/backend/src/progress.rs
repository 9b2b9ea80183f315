//! What a cluster's steps keep, over writes of the lease holder.

use std::sync::Arc;

use async_trait::async_trait;
use rp_base::chain;
use rp_cluster::{Change, Progress, ProgressError, StepEvent};
use rp_database::{StoreError, Typed};
use rp_documents::billing::Billing;
use rp_documents::{BillingDocument, Lease};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::end::{phase_of, shown_phase};
use crate::journal::Journal;
use crate::pen::{Pen, PenError};

/// Conflicts of one write of a bill.
const TRIES: u32 = 5;

/// The pen of one operation.
#[derive(Debug)]
pub(crate) struct Kept {
    context: Arc<Context>,
    pen: Arc<Pen>,
    journal: Arc<Journal>,
}

impl From<PenError> for ProgressError {
    fn from(error: PenError) -> Self {
        match error {
            PenError::Lost | PenError::Ended => Self::Lost,
            PenError::Store(text) => Self::Store(text),
        }
    }
}

impl Kept {
    pub(crate) const fn new(context: Arc<Context>, pen: Arc<Pen>, journal: Arc<Journal>) -> Self {
        Self { context, pen, journal }
    }
}

/// Begins the position of an operation that is taken, unless it is the same that was begun: `operation` holds the
/// operation's id (the asynchronous operation's, else one of its own), the phase, and the step to go on with.
///
/// Gives the id.
pub(crate) fn begin(body: &mut Value, state: &str, own: &str) -> String {
    let wanted = body.get("asyncOperationId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let known = |name: &str| {
        body.pointer(&format!("/operation/{name}")).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (id, kind) = (known("id"), known("kind"));
    let same = !id.is_empty() && kind == state && (wanted.is_empty() || wanted == id);
    if same {
        return id;
    }
    let id = if wanted.is_empty() { own.to_owned() } else { wanted };
    body["operation"] = json!({"id": id, "kind": state});
    id
}

/// The step that was saved for the phase that the document is in.
pub(crate) fn position_of(body: &Value) -> Option<String> {
    let operation = body.get("operation")?;
    let text = |name: &str| operation.get(name).and_then(Value::as_str).unwrap_or_default();
    (text("phase") == phase_of(body) && !text("next").is_empty()).then(|| text("next").to_owned())
}

/// A step that was not reached before also shows that the takes until now were not in vain.
fn save_in(body: &mut Value, next: &str) {
    let phase = phase_of(body).to_owned();
    if position_of(body).as_deref() != Some(next) {
        let lease = Lease::of(body);
        Lease { dequeues: lease.dequeues.min(1), ..lease }.write(body);
        if let Value::Object(envelope) = body {
            envelope.remove("retry");
        }
    }
    if !body["operation"].is_object() {
        body["operation"] = json!({});
    }
    body["operation"]["phase"] = Value::from(phase);
    body["operation"]["next"] = Value::from(next);
}

#[async_trait]
impl Progress for Kept {
    async fn read(&self) -> Result<Value, ProgressError> {
        Ok(self.pen.read().await?)
    }

    async fn patch(&self, change: Change) -> Result<Value, ProgressError> {
        let body = self.pen.patch(&*change).await?;
        self.journal.phase(shown_phase(&body));
        Ok(body)
    }

    async fn position(&self) -> Result<Option<String>, ProgressError> {
        // Nobody but the holder writes it.
        Ok(position_of(&self.pen.fresh().await?))
    }

    async fn save(&self, next_step: &str) -> Result<(), ProgressError> {
        self.pen.patch(&|body| save_in(body, next_step)).await?;
        self.journal.flush_soon();
        Ok(())
    }

    fn tell(&self, event: StepEvent<'_>) {
        self.journal.tell(&event);
    }

    async fn bill(&self, infra_id: &str, tenant: &str, location: &str) -> Result<(), ProgressError> {
        // Ours still: whoever lost the lease makes no bill.
        let body = self.pen.read().await?;
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let now = self.context.store.now().await.map_err(away)?;
        let document = BillingDocument {
            id: self.pen.id().to_owned(),
            key: text("key"),
            cluster_resource_group_id_key: text("clusterResourceGroupIdKey"),
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

    async fn end_bill(&self) -> Result<(), ProgressError> {
        self.pen.read().await?;
        let bills = self.bills();
        let mut tried = 0;
        loop {
            let Some(mut found) = bills.get(self.pen.id()).await.map_err(away)? else { return Ok(()) };
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

impl Kept {
    fn bills(&self) -> Typed<BillingDocument> {
        Typed::new(Arc::clone(&self.context.store))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "maps what a call gave")]
fn away(error: StoreError) -> ProgressError {
    ProgressError::Store(chain(&error).to_string())
}

#[cfg(test)]
mod tests;
