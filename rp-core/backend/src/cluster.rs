//! One turn on a cluster's document: claim it, do its work, write the end (`contract/backend.md` §3).

mod finish;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use rp_base::chain;
use rp_base::text::clean;
use rp_cluster::{Failure, Job, Operation, Outcome};
use rp_database::Typed;
use rp_documents::cluster::Worker;
use rp_documents::cluster::provisioning::OperationEnd;
use rp_documents::{ClusterDocument, Leased as _, Reservation, SubscriptionDocument};
use tokio::join;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::claim::{Claim, claim_document};
use crate::completion::{OperationFailure, operation_of, phase_of, shown_phase, state_of};
use crate::context::Context;
use crate::heartbeat;
use crate::journal::{Journal, LogHeader};
use crate::kind::Kind;
use crate::leased_document::LeasedDocument;
use crate::metrics::TurnOutcome;
use crate::operation::{self, StoredOperation};
use crate::progress::{LeasedProgress, begin};
use crate::queue::QueuedDocument;
use crate::reservation::{self, ReservationError};
use crate::settings::margin;

/// Characters of a panic message that are logged.
const LONGEST_PANIC: usize = 1024;

/// Result of a manager's run.
enum RunResult {
    Done(Outcome),
    Failed(Failure),
    /// In the middle of a step: the process had no more time.
    Cut,
    /// With the message of the panic.
    Panicked(String),
}

/// The work on a cluster's document while its lease is held.
struct ClusterWork {
    context: Arc<Context>,
    leased: Arc<LeasedDocument<ClusterDocument>>,
    journal: Arc<Journal>,
    operation: Operation,
    /// The document as it was claimed.
    body: Arc<ClusterDocument>,
    /// Its asynchronous operation, as it was when the work began; for the first try of the end.
    found: Mutex<Option<StoredOperation>>,
    dequeues: u32,
}

/// Claims the document and does its work. The outcome decides the pause before the document is picked again.
pub(crate) async fn process(context: Arc<Context>, picked: QueuedDocument) -> TurnOutcome {
    let began = Instant::now();
    let own = context.random.uuid().to_string();
    let prepare = |body: &mut ClusterDocument, worker: Worker| {
        if let Some(operation) = operation_of(body) {
            begin(body, worker, state_of(operation), &own);
        }
    };
    let claim = match claim_document(&context, Kind::Cluster, &picked, &prepare).await {
        Ok(Some(claim)) => claim,
        Ok(None) => return TurnOutcome::Beaten,
        Err(error) => {
            tracing::error!(document = &*picked.id, error = %chain(&error), "a document could not be taken");
            return TurnOutcome::NotTaken;
        }
    };
    let Some(operation) = operation_of(&claim.body) else { return TurnOutcome::Beaten };
    context.metrics.picked_up(claim.stood);
    let span = span(&claim.body);
    async {
        let token = claim.body.lease().token;
        tracing::info!(dequeues = claim.dequeues, token, "dequeued");
        let turn = ClusterWork::new(Arc::clone(&context), claim, operation).run().await;
        let duration = began.elapsed();
        context.metrics.turn(state_of(operation).name(), turn, duration);
        // With the token, the logs of all processes show which process held the lease at which time.
        tracing::info!(duration = duration.as_secs_f64(), result = turn.as_str(), token, "done");
        turn
    }
    .instrument(span)
    .await
}

impl ClusterWork {
    fn new(context: Arc<Context>, claim: Claim<ClusterDocument>, operation: Operation) -> Self {
        let Claim { leased, body, dequeues, .. } = claim;
        let position = &body.operation;
        let header = LogHeader {
            id: position.id.to_ascii_lowercase(),
            key: body.key.clone(),
            kind: state_of(operation).name().to_owned(),
            phase: shown_phase(&body).to_owned(),
            asked_by: body.cluster.system_data.last_modified_by.to_string(),
            correlation: correlation(&body),
            token: body.lease().token,
            // Its position has no phase before the first save; a later phase begins with an empty one too.
            fresh: dequeues == 1 && position.phase.is_absent() && body.retry.is_absent(),
        };
        let journal = Journal::new(&context.store, Arc::clone(&context.clock), context.time.clone(), header);
        let (leased, journal) = (Arc::new(leased), Arc::new(journal));
        Self { context, leased, journal, operation, body, found: Mutex::default(), dequeues }
    }

    /// Works while the lease is kept and the log is written.
    async fn run(self) -> TurnOutcome {
        let keep = heartbeat::renew_until_lost(Arc::clone(&self.context), Arc::clone(&self.leased));
        // They end with this turn, also when it is cut off.
        let _beat = AbortOnDropHandle::new(tokio::spawn(keep.in_current_span()));
        let log = Arc::clone(&self.journal).flush_until_dropped();
        let _log = AbortOnDropHandle::new(tokio::spawn(log.in_current_span()));
        self.work().await
    }

    async fn work(&self) -> TurnOutcome {
        let limit = self.context.settings.dequeues;
        if self.dequeues > limit {
            let failure = OperationFailure::internal(&format!("dequeued {} times, failing", self.dequeues));
            return self.finish("Failed", OperationEnd::Failed, Some(failure)).await;
        }
        let state = state_of(self.operation).name();
        match self.perform().await {
            RunResult::Done(Outcome::Done) if self.operation == Operation::Delete => self.deleted().await,
            RunResult::Done(Outcome::Done) => self.finish(state, OperationEnd::Succeeded, None).await,
            RunResult::Done(Outcome::NextPhase) => self.finish(state, OperationEnd::NextPhase, None).await,
            RunResult::Failed(Failure::Customer { told, detail }) => {
                self.finish(state, OperationEnd::Failed, Some(OperationFailure::for_customer(&told, &detail)))
                    .await
            }
            RunResult::Failed(Failure::Internal(text)) => {
                self.finish(state, OperationEnd::Failed, Some(OperationFailure::internal(&text))).await
            }
            RunResult::Failed(Failure::Later(text)) => self.postpone(&text).await,
            RunResult::Failed(Failure::HandedOver) => self.hand_over(Duration::ZERO).await,
            RunResult::Cut => self.hand_over(margin(&self.context.settings)).await,
            RunResult::Failed(Failure::Lost) => self.lost(),
            RunResult::Panicked(text) => self.panicked(&text).await,
        }
    }

    /// The manager's run, with everything that may end it.
    async fn perform(&self) -> RunResult {
        let (subscription, names, ()) =
            join!(self.subscription(), self.reserve_names(), self.find_operation());
        let subscription = match (subscription, names) {
            (Ok(subscription), Ok(())) => subscription,
            (Err(failure), _) | (_, Err(failure)) => return RunResult::Failed(failure),
        };
        let task = phase_of(&self.body);
        match self.operation {
            Operation::Create => tracing::info!(phase = task, "creating"),
            Operation::Update => tracing::info!("updating"),
            Operation::AdminUpdate => tracing::info!("admin updating (type: {task})"),
            Operation::Delete => tracing::info!("deleting"),
        }
        let progress = LeasedProgress::new(
            Arc::clone(&self.context),
            Arc::clone(&self.leased),
            Arc::clone(&self.journal),
        );
        let job = Job {
            operation: self.operation,
            document: Arc::clone(&self.body),
            subscription,
            progress: Arc::new(progress),
            lost: self.leased.lost.clone(),
            stopping: self.context.stopping.clone(),
        };
        let run = AssertUnwindSafe(self.context.manager.run(job)).catch_unwind();
        tokio::select! {
            biased;
            // Dropping the run ends it at once.
            () = self.leased.lost.cancelled() => RunResult::Failed(Failure::Lost),
            () = self.context.cut.cancelled() => RunResult::Cut,
            ran = run => match ran {
                Ok(Ok(outcome)) => RunResult::Done(outcome),
                Ok(Err(failure)) => RunResult::Failed(failure),
                Err(panic) => RunResult::Panicked(panic_message(panic.as_ref())),
            },
        }
    }

    async fn subscription(&self) -> Result<SubscriptionDocument, Failure> {
        let id = self.body.partition_key.as_str();
        let found = Typed::<SubscriptionDocument>::new(Arc::clone(&self.context.store)).get(id).await;
        let found = found.map_err(|error| Failure::Later(chain(&error).to_string()))?;
        let missing = || Failure::Later(format!("the subscription {id} is not known to us"));
        found.map(|found| found.value).ok_or_else(missing)
    }

    /// Reads the asynchronous operation early, for the end. A failure is ignored: the end reads it itself.
    async fn find_operation(&self) {
        if let Ok(found) = operation::find(&self.operations(), &self.body).await {
            *self.found.lock() = Some(found);
        }
    }

    /// Reserves the names of a new cluster before anything is created, and the name of a cluster whose client id
    /// changed.
    async fn reserve_names(&self) -> Result<(), Failure> {
        let changed = reservation::is_renamed(&self.body);
        let wanted = match self.operation {
            Operation::Create => true,
            Operation::Update | Operation::AdminUpdate => changed,
            Operation::Delete => false,
        };
        if !wanted || !self.body.operation.phase.is_absent() {
            return Ok(());
        }
        let reservations = Typed::<Reservation>::new(Arc::clone(&self.context.store));
        reservation::reserve(&reservations, &self.body).await.map_err(|error| match error {
            ReservationError::Taken(told) => Failure::from(*told),
            ReservationError::Store(error) => Failure::Later(chain(&error).to_string()),
        })?;
        let freed = reservation::release_former(&reservations, &self.body).await;
        freed.map_err(|error| Failure::Later(chain(&error).to_string()))
    }
}

/// The message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no words");
    clean(text, LONGEST_PANIC)
}

/// The correlation data of the request, for the operation's log.
fn correlation(body: &ClusterDocument) -> Option<serde_json::Value> {
    let there = !body.correlation_data.is_absent();
    there.then(|| serde_json::to_value(&body.correlation_data).unwrap_or_default())
}

/// The fields that stand on every line about an operation.
fn span(body: &ClusterDocument) -> tracing::Span {
    let (key, properties, correlation) = (&body.key, &body.cluster.properties, &body.correlation_data);
    let part = |at: usize| key.split('/').nth(at).unwrap_or_default();
    tracing::info_span!(
        "operation",
        resource_id = key,
        subscription_id = part(2),
        resource_group = part(4),
        resource_name = part(8),
        correlation_id = &*correlation.correlation_id,
        client_request_id = &*correlation.client_request_id,
        operation_id = &*body.async_operation_id,
        request_id = &*correlation.request_id,
        client_principal_name = &*correlation.client_principal_name,
        request_time = &*correlation.request_time,
        version = &*properties.cluster_profile.version,
        cluster_deployment_namespace = &*properties.hive_profile.namespace,
    )
}
