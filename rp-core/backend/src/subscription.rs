//! One turn on a subscription that ARM has deleted: its clusters are deleted, and it waits until they are gone
//! (`contract/backend.md` §5, "Do better" 18).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rp_base::chain;
use rp_database::{Expect, Span, StoreError, Stored};
use rp_documents::{Collection, Lease};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::beat;
use crate::context::Context;
use crate::end;
use crate::kind::Kind;
use crate::metrics::Turn;
use crate::pen::{Pen, PenError};
use crate::queue::Picked;
use crate::take::{Claim, take};

const CLUSTERS: Collection = Collection::OpenShiftClusters;
/// Clusters of one page.
const PAGE: u32 = 100;
const TRIES: u32 = 5;

/// Why the clusters of a subscription were not looked through.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("handleDelete was called, but subscription is in state {0}")]
    State(String),
    #[error("unexpected provisioningState \"{state}\" of {cluster}")]
    Cluster { cluster: String, state: String },
    #[error("the store")]
    Store(#[from] StoreError),
}

/// Takes the subscription and deletes its clusters.
pub(crate) async fn turn(context: Arc<Context>, picked: Picked) -> Turn {
    let began = Instant::now();
    let claim = match take(&context, Kind::Subscription, &picked, |_| {}).await {
        Ok(Some(claim)) => claim,
        Ok(None) => return Turn::Beaten,
        Err(error) => {
            tracing::error!(subscription = &*picked.id, error = %chain(&error), "a subscription could not be taken");
            return Turn::NotTaken;
        }
    };
    let Claim { pen, body, dequeues, .. } = claim;
    let pen = Arc::new(pen);
    let span = tracing::info_span!("subscription", subscription = pen.id());
    async {
        let keep = beat::keep(Arc::clone(&context), Arc::clone(&pen));
        let _beat = AbortOnDropHandle::new(tokio::spawn(keep.in_current_span()));
        let turn = work(&context, &pen, &body, dequeues).await;
        tell(&context, &body, turn, began.elapsed());
        turn
    }
    .instrument(span)
    .await
}

async fn work(context: &Arc<Context>, pen: &Pen, body: &Value, dequeues: u32) -> Turn {
    let (pause, retries) = (context.settings.retry_most, end::retries(body).saturating_add(1));
    if dequeues > context.settings.dequeues {
        tracing::error!("dequeued {dequeues} times, failing");
        return release(context, pen, pause, 0, Turn::Later).await;
    }
    let looked = AssertUnwindSafe(delete_clusters(context, body)).catch_unwind();
    let looked = tokio::select! {
        biased;
        () = pen.lost.cancelled() => return lost(),
        () = context.cut.cancelled() => return release(context, pen, Duration::ZERO, 0, Turn::HandedOver).await,
        looked = looked => looked,
    };
    match looked {
        Ok(Ok(0)) => done(pen).await,
        Ok(Ok(left)) => {
            tracing::info!(left, "clusters of a deleted subscription are still there");
            release(context, pen, pause, 0, Turn::NextPhase).await
        }
        Ok(Err(error)) => {
            tracing::error!(error = %chain(&error), "the clusters of a deleted subscription were not looked through");
            let factor = 2u32.saturating_pow(retries.min(20) - 1);
            let wait = context.settings.retry.saturating_mul(factor).min(pause);
            release(context, pen, wait, retries, Turn::Later).await
        }
        Err(_) => {
            tracing::error!("the deletion of a subscription panicked");
            let wait = context.settings.retry;
            settle(pen.end(&|body| end::release(body, until(context, wait), true, 0)).await, Turn::Panicked)
        }
    }
}

/// Every cluster that is at rest is deleted; gives how many are still there. One in a state that nobody knows is told at
/// the end, and keeps no other.
async fn delete_clusters(context: &Context, body: &Value) -> Result<usize, Trouble> {
    let state = body.pointer("/subscription/state").and_then(Value::as_str).unwrap_or_default();
    if state != "Deleted" {
        return Err(Trouble::State(state.to_owned()));
    }
    let id = body.get("id").and_then(Value::as_str).unwrap_or_default();
    let prefix = format!("/subscriptions/{id}/");
    let (mut left, mut after, mut odd) = (0, None::<String>, None);
    loop {
        let page = context.store.scan(CLUSTERS, Span::Keys(&prefix), after.as_deref(), PAGE).await?;
        let full = page.len() == PAGE as usize;
        after = page.last().and_then(|last| last.unique_key.clone());
        for stored in page {
            left += 1;
            match delete_cluster(context, stored).await {
                Err(trouble @ Trouble::Cluster { .. }) => odd = odd.or(Some(trouble)),
                done => done?,
            }
        }
        if !full {
            return odd.map_or(Ok(left), Err);
        }
    }
}

async fn delete_cluster(context: &Context, mut stored: Stored) -> Result<(), Trouble> {
    for _ in 0..TRIES {
        let (id, key) = (stored.id.clone(), stored.unique_key.clone().unwrap_or_default());
        let mut body: Value = serde_json::from_str(&stored.body).unwrap_or_default();
        match end::text(&body, "provisioningState") {
            // They come back to rest, or go.
            "Creating" | "Updating" | "AdminUpdating" | "Deleting" => return Ok(()),
            "Succeeded" | "Failed" => {}
            other => return Err(Trouble::Cluster { cluster: key, state: other.to_owned() }),
        }
        queue(&mut body);
        let expect = Expect::Version(stored.version);
        match context.store.replace(CLUSTERS, stored.with_body(body.to_string()), expect).await {
            Ok(_) => return Ok(()),
            Err(StoreError::Gone { .. }) => return Ok(()),
            Err(StoreError::Stale { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(found) = context.store.get(CLUSTERS, &id).await? else { return Ok(()) };
        stored = found;
    }
    // Somebody else writes it all the time: with the next look.
    Ok(())
}

/// Without an asynchronous operation: nobody asked for one.
fn queue(body: &mut Value) {
    let old = end::text(body, "provisioningState").to_owned();
    if let Some(properties) = body.pointer_mut("/openShiftCluster/properties") {
        properties["provisioningState"] = Value::from("Deleting");
        properties["lastProvisioningState"] = Value::from(old);
    }
    let lease = Lease::of(body);
    Lease { dequeues: 0, ..lease }.write(body);
    if let Value::Object(envelope) = body {
        for name in ["asyncOperationId", "operation", "retry"] {
            envelope.remove(name);
        }
    }
}

async fn done(pen: &Pen) -> Turn {
    let ended = pen
        .end(&|body| {
            let lease = Lease::of(body);
            Lease { token: lease.token, ..Lease::default() }.write(body);
            if let Value::Object(envelope) = body {
                envelope.remove("deleting");
                envelope.remove("retry");
            }
        })
        .await;
    tracing::info!("every cluster of a deleted subscription is gone");
    settle(ended, Turn::Succeeded)
}

async fn release(context: &Context, pen: &Pen, wait: Duration, retries: u32, turn: Turn) -> Turn {
    let expires = if wait.is_zero() { 0 } else { until(context, wait) };
    let ended = pen
        .end(&|body| {
            end::release(body, expires, false, retries);
            let lease = Lease::of(body);
            Lease { dequeues: 0, ..lease }.write(body);
        })
        .await;
    settle(ended, turn)
}

fn settle(ended: Result<(), PenError>, turn: Turn) -> Turn {
    match ended {
        Ok(()) | Err(PenError::Ended) => turn,
        Err(PenError::Lost) => lost(),
        Err(PenError::Store(error)) => {
            tracing::error!(error, "the end of a subscription's turn was not written: its lease runs out");
            Turn::Later
        }
    }
}

fn lost() -> Turn {
    tracing::error!("lost lease: another worker goes on");
    Turn::Lost
}

fn until(context: &Context, wait: Duration) -> i64 {
    (context.time.now() + wait).seconds().saturating_sub(1)
}

fn tell(context: &Context, body: &Value, turn: Turn, took: Duration) {
    context.metrics.turn("Subscription", turn, took);
    let state = body.pointer("/subscription/state").and_then(Value::as_str).unwrap_or_default();
    let millis = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
    context.statsd.gauge("backend.subscriptions.duration", millis, &[("state", state)]);
    context.statsd.gauge("backend.subscriptions.count", 1, &[]);
}
