//! Taking a document: the claim is one write by version, so that one of many wins.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Backoff, chain};
use rp_database::{Expect, StoreError, Stored};
use rp_documents::cluster::Worker;
use rp_documents::{Lease, Leased};
use tokio::time::{Instant, sleep};

use crate::context::Context;
use crate::kind::Kind;
use crate::leased_document::{Change, ClaimedDocument, LeasedDocument};
use crate::queue::QueuedDocument;

/// Reads to find out whether an unconfirmed claim was written.
const LOOKS: u32 = 5;

/// A claimed document.
#[derive(Debug)]
pub(crate) struct Claim<D> {
    pub(crate) leased: LeasedDocument<D>,
    /// As written by the claim.
    pub(crate) body: Arc<D>,
    pub(crate) dequeues: u32,
    /// Time between the last write of the document and the claim.
    pub(crate) stood: Duration,
}

/// Claims the picked document if it is unchanged; `prepare` may write more into it. `None`: another worker has it, or
/// it has no work any more.
///
/// # Errors
/// The store's.
pub(crate) async fn claim_document<D: Leased>(
    context: &Arc<Context>,
    kind: Kind,
    picked: &QueuedDocument,
    prepare: Change<'_, D>,
) -> Result<Option<Claim<D>>, StoreError> {
    let kept = context.queue(kind).lock().cached(picked);
    let found = match kept {
        Some(cached) => Some(cached.stored().clone()),
        None => context.store.get(kind.collection(), &picked.id).await?,
    };
    let Some(stored) = found else {
        context.work_ended(kind, &picked.id, None);
        return Ok(None);
    };
    if stored.version != picked.version && !is_free(context, kind, &stored) {
        context.observe(kind, &stored, Instant::now(), Duration::ZERO);
        return Ok(None);
    }
    let mut body: D = match serde_json::from_str(&stored.body) {
        Ok(body) => body,
        Err(error) => {
            tracing::error!(document = &*picked.id, %error, "a document cannot be read: nobody works on it");
            context.work_ended(kind, &picked.id, Some(stored.version));
            return Ok(None);
        }
    };
    let mut lease = body.lease();
    lease.owner.clone_from(&context.owner);
    lease.token = lease.token.saturating_add(1);
    lease.dequeues = lease.dequeues.saturating_add(1);
    lease.expires = (context.time.now() + context.settings.lease).seconds();
    body.set_lease(&lease);
    prepare(&mut body, Worker::holding(&lease));
    let stood = context.time.now().since(stored.written);
    let began = Instant::now();
    let Some((stored, body)) = write_claim(context, kind, stored, body, &lease).await? else {
        return Ok(None);
    };
    context.time.advance_to(stored.written);
    let dequeues = lease.dequeues;
    let body = Arc::new(body);
    let claimed = ClaimedDocument { stored, body: Arc::clone(&body), token: lease.token, began };
    Ok(Some(Claim { leased: LeasedDocument::new(Arc::clone(context), claimed), body, dequeues, stood }))
}

/// Whether a document that changed since it was read still has no owner.
fn is_free(context: &Context, kind: Kind, stored: &Stored) -> bool {
    let seen = kind.work_state(&stored.body).ok().flatten();
    seen.is_some_and(|seen| {
        seen.owner.is_empty() && seen.wait(context.time.now(), context.settings.retry_most).is_zero()
    })
}

/// Writes the claim and returns the stored document; `None`: another process was faster.
async fn write_claim<D: Leased>(
    context: &Context,
    kind: Kind,
    stored: Stored,
    body: D,
    lease: &Lease,
) -> Result<Option<(Stored, D)>, StoreError> {
    let (id, expect) = (stored.id.clone(), Expect::Version(stored.version));
    let text = serde_json::to_string(&body).map_err(|cause| {
        let (collection, id) = (D::COLLECTION, id.clone());
        StoreError::Malformed { collection, id, cause }
    })?;
    match context.store.replace(kind.collection(), stored.with_body(text), expect).await {
        Ok(stored) => Ok(Some((stored, body))),
        Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Ok(None),
        Err(error) => confirm_claim(context, kind, &id, lease, error).await,
    }
}

/// The claim was not confirmed: the document says whether it was made. A claim that nobody knows of would keep the
/// document until its lease ends.
async fn confirm_claim<D: Leased>(
    context: &Context,
    kind: Kind,
    id: &str,
    lease: &Lease,
    mut error: StoreError,
) -> Result<Option<(Stored, D)>, StoreError> {
    let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
    for _ in 0..LOOKS {
        tracing::warn!(error = %chain(&error), document = id, "a claim was not confirmed");
        sleep(backoff.step(context.random.as_ref())).await;
        match context.store.get(kind.collection(), id).await {
            // Others may have written after the claim: the stored document is the current one.
            Ok(found) => {
                return Ok(found.and_then(|stored| {
                    let body: D = serde_json::from_str(&stored.body).ok()?;
                    body.lease().is_held_by(&lease.owner, lease.token).then_some((stored, body))
                }));
            }
            Err(later) => error = later,
        }
    }
    Err(error)
}
