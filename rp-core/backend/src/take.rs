//! Taking a document: the claim is one write by version, so that one of many wins.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Backoff, chain};
use rp_database::{Expect, StoreError, Stored};
use rp_documents::Lease;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::context::Context;
use crate::kind::Kind;
use crate::pen::{Pen, Taken};
use crate::queue::Picked;

/// Looks after a claim that the store did not confirm.
const LOOKS: u32 = 5;

/// A document that is ours now.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) pen: Pen,
    /// As written by the claim.
    pub(crate) body: Value,
    pub(crate) dequeues: u32,
    /// How long it stood in the store since its last write.
    pub(crate) stood: Duration,
}

/// Takes what was picked, when it is as it was seen; `prepare` may write more into it. `None`: it is somebody else's, or
/// has no work any more.
///
/// # Errors
/// The store's.
pub(crate) async fn take(
    context: &Arc<Context>,
    kind: Kind,
    picked: &Picked,
    prepare: impl Fn(&mut Value) + Send + Sync,
) -> Result<Option<Claim>, StoreError> {
    let kept = context.queue(kind).lock().sheet(picked);
    let found = match kept {
        Some(sheet) => Some(sheet.stored().clone()),
        None => context.store.get(kind.collection(), &picked.id).await?,
    };
    let Some(stored) = found else {
        context.settled(kind, &picked.id, None);
        return Ok(None);
    };
    if stored.version != picked.version && !is_free(context, kind, &stored) {
        context.see(kind, &stored, Instant::now(), Duration::ZERO);
        return Ok(None);
    }
    let Ok(mut body) = serde_json::from_str::<Value>(&stored.body) else {
        context.settled(kind, &picked.id, Some(stored.version));
        return Ok(None);
    };
    let mut lease = Lease::of(&body);
    lease.owner.clone_from(&context.owner);
    lease.token = lease.token.saturating_add(1);
    lease.dequeues = lease.dequeues.saturating_add(1);
    lease.expires = (context.time.now() + context.settings.lease).seconds();
    lease.write(&mut body);
    prepare(&mut body);
    let stood = context.time.now().since(stored.written);
    let began = Instant::now();
    let Some((stored, body)) = claim(context, kind, stored, body, &lease).await? else { return Ok(None) };
    context.time.saw(stored.written);
    let dequeues = lease.dequeues;
    let taken = Taken { stored, body: body.clone(), token: lease.token, began };
    Ok(Some(Claim { pen: Pen::new(Arc::clone(context), kind, taken), body, dequeues, stood }))
}

/// It changed since it was seen, but is nobody's all the same.
fn is_free(context: &Context, kind: Kind, stored: &Stored) -> bool {
    let seen = kind.see(&stored.body).ok().flatten();
    seen.is_some_and(|seen| {
        seen.owner.is_empty() && seen.wait(context.time.now(), context.settings.retry_most).is_zero()
    })
}

/// Writes the claim, and gives what stands there then; `None`: somebody was faster.
async fn claim(
    context: &Context,
    kind: Kind,
    stored: Stored,
    body: Value,
    lease: &Lease,
) -> Result<Option<(Stored, Value)>, StoreError> {
    let (id, expect) = (stored.id.clone(), Expect::Version(stored.version));
    match context.store.replace(kind.collection(), stored.with_body(body.to_string()), expect).await {
        Ok(stored) => Ok(Some((stored, body))),
        Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Ok(None),
        Err(error) => settle(context, kind, &id, lease, error).await,
    }
}

/// The claim was not confirmed: the document says whether it was made. A claim that nobody knows of would keep the
/// document until its lease ends.
async fn settle(
    context: &Context,
    kind: Kind,
    id: &str,
    lease: &Lease,
    mut error: StoreError,
) -> Result<Option<(Stored, Value)>, StoreError> {
    let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
    for _ in 0..LOOKS {
        tracing::warn!(error = %chain(&error), document = id, "a claim was not confirmed");
        sleep(backoff.step(context.random.as_ref())).await;
        match context.store.get(kind.collection(), id).await {
            // Others may have written over the claim: what stands there is what is held.
            Ok(found) => {
                return Ok(found.and_then(|stored| {
                    let body: Value = serde_json::from_str(&stored.body).ok()?;
                    Lease::of(&body).is_held_by(&lease.owner, lease.token).then_some((stored, body))
                }));
            }
            Err(later) => error = later,
        }
    }
    Err(error)
}
