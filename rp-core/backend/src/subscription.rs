//! One turn on a subscription that ARM has deleted: its clusters are deleted, and it waits until they are gone
//! (`contract/backend.md` §5, "Do better" 18).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rp_base::chain;
use rp_database::{Expect, Span, StoreError, Stored};
use rp_documents::cluster::Worker;
use rp_documents::{
    ClusterDocument, Collection, Lease, Leased as _, SubscriptionDocument, SubscriptionState,
};
use std::panic::AssertUnwindSafe;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::claim::{Claim, claim_document};
use crate::completion;
use crate::context::Context;
use crate::heartbeat;
use crate::kind::Kind;
use crate::leased_document::{LeaseError, LeasedDocument};
use crate::metrics::TurnOutcome;
use crate::queue::QueuedDocument;

type LeasedSubscription = LeasedDocument<SubscriptionDocument>;

const CLUSTERS: Collection = Collection::OpenShiftClusters;
/// Clusters of one page.
const PAGE: u32 = 100;
const TRIES: u32 = 5;

/// Why the clusters of a subscription could not be read and queued for deletion.
#[derive(Debug, thiserror::Error)]
enum SubscriptionError {
    #[error("handleDelete was called, but subscription is in state {0}")]
    State(String),
    #[error("unexpected provisioningState \"{state}\" of {cluster}")]
    Cluster { cluster: String, state: String },
    #[error("the store")]
    Store(#[from] StoreError),
}

/// Claims the subscription and deletes its clusters.
pub(crate) async fn process(context: Arc<Context>, picked: QueuedDocument) -> TurnOutcome {
    let began = Instant::now();
    let claim = match claim_document::<SubscriptionDocument>(
        &context,
        Kind::Subscription,
        &picked,
        &|_, _| {},
    )
    .await
    {
        Ok(Some(claim)) => claim,
        Ok(None) => return TurnOutcome::Beaten,
        Err(error) => {
            tracing::error!(subscription = &*picked.id, error = %chain(&error), "a subscription could not be taken");
            return TurnOutcome::NotTaken;
        }
    };
    let Claim { leased, body, dequeues, .. } = claim;
    let leased = Arc::new(leased);
    let span = tracing::info_span!("subscription", subscription = leased.id());
    async {
        let keep = heartbeat::renew_until_lost(Arc::clone(&context), Arc::clone(&leased));
        let _beat = AbortOnDropHandle::new(tokio::spawn(keep.in_current_span()));
        let turn = work(&context, &leased, &body, dequeues).await;
        emit_duration(&context, &body, turn, began.elapsed());
        turn
    }
    .instrument(span)
    .await
}

async fn work(
    context: &Arc<Context>,
    leased: &LeasedSubscription,
    body: &SubscriptionDocument,
    dequeues: u32,
) -> TurnOutcome {
    let (pause, retries) = (context.settings.retry_most, body.retries().saturating_add(1));
    if dequeues > context.settings.dequeues {
        tracing::error!("dequeued {dequeues} times, failing");
        return release(context, leased, pause, 0, TurnOutcome::Later).await;
    }
    let result = AssertUnwindSafe(delete_clusters(context, body)).catch_unwind();
    let result = tokio::select! {
        biased;
        () = leased.lost.cancelled() => return lost(),
        () = context.cut.cancelled() => return release(context, leased, Duration::ZERO, 0, TurnOutcome::HandedOver).await,
        result = result => result,
    };
    match result {
        Ok(Ok(0)) => finish(leased).await,
        Ok(Ok(left)) => {
            tracing::info!(left, "clusters of a deleted subscription are still there");
            release(context, leased, pause, 0, TurnOutcome::NextPhase).await
        }
        Ok(Err(error)) => {
            tracing::error!(error = %chain(&error), "the clusters of a deleted subscription were not looked through");
            let factor = 2u32.saturating_pow(retries.min(20) - 1);
            let wait = context.settings.retry.saturating_mul(factor).min(pause);
            release(context, leased, wait, retries, TurnOutcome::Later).await
        }
        Err(_) => {
            tracing::error!("the deletion of a subscription panicked");
            let wait = context.settings.retry;
            outcome_after(
                leased.end(&|body, _| release_later(body, until(context, wait), true, 0)).await,
                TurnOutcome::Panicked,
            )
        }
    }
}

/// Every cluster that is at rest is deleted; gives how many are still there. One in a state that nobody knows is told
/// at the end, and keeps no other.
async fn delete_clusters(context: &Context, body: &SubscriptionDocument) -> Result<usize, SubscriptionError> {
    let state = body.subscription.state;
    if state != SubscriptionState::Deleted {
        return Err(SubscriptionError::State(state.name().to_owned()));
    }
    let prefix = format!("/subscriptions/{}/", body.id);
    let (mut left, mut after, mut odd) = (0, None::<String>, None);
    loop {
        let page = context.store.scan(CLUSTERS, Span::Keys(&prefix), after.as_deref(), PAGE).await?;
        let full = page.len() == PAGE as usize;
        after = page.last().and_then(|last| last.unique_key.clone());
        for stored in page {
            left += 1;
            match delete_cluster(context, stored).await {
                Err(error @ SubscriptionError::Cluster { .. }) => odd = odd.or(Some(error)),
                done => done?,
            }
        }
        if !full {
            return odd.map_or(Ok(left), Err);
        }
    }
}

async fn delete_cluster(context: &Context, mut stored: Stored) -> Result<(), SubscriptionError> {
    for _ in 0..TRIES {
        let (id, key) = (stored.id.clone(), stored.unique_key.clone().unwrap_or_default());
        let odd = |state: &str| SubscriptionError::Cluster { cluster: key.clone(), state: state.to_owned() };
        let mut document: ClusterDocument = serde_json::from_str(&stored.body).map_err(|_| odd(""))?;
        let state = &document.cluster.properties.provisioning_state;
        // An operation runs; it ends in a terminal state or in a deletion.
        if state.get().is_some_and(|state| state.is_queued()) {
            return Ok(());
        }
        if !state.get().is_some_and(|state| state.is_terminal()) {
            return Err(odd(state.word()));
        }
        queue_deletion(&mut document);
        let body = serde_json::to_string(&document).map_err(|cause| {
            let (collection, id) = (CLUSTERS, id.clone());
            StoreError::Malformed { collection, id, cause }
        })?;
        let expect = Expect::Version(stored.version);
        match context.store.replace(CLUSTERS, stored.with_body(body), expect).await {
            Ok(_) => return Ok(()),
            Err(StoreError::Gone { .. }) => return Ok(()),
            Err(StoreError::Stale { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(found) = context.store.get(CLUSTERS, &id).await? else { return Ok(()) };
        stored = found;
    }
    // Conflicts again and again: the next turn retries.
    Ok(())
}

/// Queues the deletion without an asynchronous operation: no caller waits for one.
fn queue_deletion(document: &mut ClusterDocument) {
    let lease = Lease { dequeues: 0, ..document.lease() };
    let worker = Worker::holding(&lease);
    document.cluster.properties.delete_with_subscription(worker);
    document.set_lease(&lease);
    document.async_operation_id.clear(worker);
    document.operation.clear(worker);
    document.retry.clear(worker);
}

async fn finish(leased: &LeasedSubscription) -> TurnOutcome {
    let ended = leased
        .end(&|body, _| {
            let lease = body.lease();
            body.set_lease(&Lease { token: lease.token, ..Lease::default() });
            body.clear_deleting();
            body.set_retries(0);
        })
        .await;
    tracing::info!("every cluster of a deleted subscription is gone");
    outcome_after(ended, TurnOutcome::Succeeded)
}

/// Releases the lease while clusters are left.
fn release_later(body: &mut SubscriptionDocument, expires: i64, counts: bool, retries: u32) {
    completion::release(body, expires, counts);
    body.set_retries(retries);
}

async fn release(
    context: &Context,
    leased: &LeasedSubscription,
    wait: Duration,
    retries: u32,
    turn: TurnOutcome,
) -> TurnOutcome {
    let expires = if wait.is_zero() { 0 } else { until(context, wait) };
    let ended = leased
        .end(&|body, _| {
            release_later(body, expires, false, retries);
            let lease = body.lease();
            body.set_lease(&Lease { dequeues: 0, ..lease });
        })
        .await;
    outcome_after(ended, turn)
}

fn outcome_after(ended: Result<(), LeaseError>, turn: TurnOutcome) -> TurnOutcome {
    match ended {
        Ok(()) | Err(LeaseError::Ended) => turn,
        Err(LeaseError::Lost) => lost(),
        Err(LeaseError::Store(error)) => {
            tracing::error!(error, "the end of a subscription's turn was not written: its lease runs out");
            TurnOutcome::Later
        }
    }
}

fn lost() -> TurnOutcome {
    tracing::error!("lost lease: another worker goes on");
    TurnOutcome::Lost
}

fn until(context: &Context, wait: Duration) -> i64 {
    (context.time.now() + wait).seconds().saturating_sub(1)
}

fn emit_duration(context: &Context, body: &SubscriptionDocument, turn: TurnOutcome, took: Duration) {
    context.metrics.turn("Subscription", turn, took);
    let state = body.subscription.state.name();
    let millis = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
    context.statsd.gauge("backend.subscriptions.duration", millis, &[("state", state)]);
    context.statsd.gauge("backend.subscriptions.count", 1, &[]);
}
