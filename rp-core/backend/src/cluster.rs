//! One turn on a cluster's document: taken, worked on, brought to an end (`contract/backend.md` §3).

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
use rp_documents::cluster::provisioning::End;
use rp_documents::{ClusterDocument, Leased as _, Reservation, SubscriptionDocument};
use tokio::join;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::beat;
use crate::context::Context;
use crate::end::{Wrong, operation_of, phase_of, shown_phase, state_of};
use crate::journal::{About, Journal};
use crate::kind::Kind;
use crate::leased_document::LeasedDocument;
use crate::metrics::Turn;
use crate::operation::{self, Found};
use crate::progress::{Kept, begin};
use crate::queue::Picked;
use crate::reservation::{self, NotHeld};
use crate::take::{Claim, take};

/// Characters of what a panic said.
const LONGEST_PANIC: usize = 1024;

/// What came of a manager's run.
enum Ran {
    Done(Outcome),
    Failed(Failure),
    /// In the middle of a step: the process had no more time.
    Cut,
    /// With what it said.
    Panicked(String),
}

/// A cluster's document that is held.
struct Work {
    context: Arc<Context>,
    leased: Arc<LeasedDocument<ClusterDocument>>,
    journal: Arc<Journal>,
    operation: Operation,
    /// As taken.
    body: Arc<ClusterDocument>,
    /// Its asynchronous operation, as it was when the work began; for the first try of the end.
    found: Mutex<Option<Found>>,
    dequeues: u32,
}

/// Takes the document and does its work; gives how that ended, for the pause before it is looked at again.
pub(crate) async fn turn(context: Arc<Context>, picked: Picked) -> Turn {
    let began = Instant::now();
    let own = context.random.uuid().to_string();
    let prepare = |body: &mut ClusterDocument, worker: Worker| {
        if let Some(operation) = operation_of(body) {
            begin(body, worker, state_of(operation), &own);
        }
    };
    let claim = match take(&context, Kind::Cluster, &picked, &prepare).await {
        Ok(Some(claim)) => claim,
        Ok(None) => return Turn::Beaten,
        Err(error) => {
            tracing::error!(document = &*picked.id, error = %chain(&error), "a document could not be taken");
            return Turn::NotTaken;
        }
    };
    let Some(operation) = operation_of(&claim.body) else { return Turn::Beaten };
    context.metrics.picked_up(claim.stood);
    let span = span(&claim.body);
    async {
        let token = claim.body.lease().token;
        tracing::info!(dequeues = claim.dequeues, token, "dequeued");
        let turn = Work::new(Arc::clone(&context), claim, operation).held().await;
        let duration = began.elapsed();
        context.metrics.turn(state_of(operation).name(), turn, duration);
        // With the token, the logs of all processes say who worked when, and how each gave the lease back.
        tracing::info!(duration = duration.as_secs_f64(), result = turn.as_str(), token, "done");
        turn
    }
    .instrument(span)
    .await
}

impl Work {
    fn new(context: Arc<Context>, claim: Claim<ClusterDocument>, operation: Operation) -> Self {
        let Claim { leased, body, dequeues, .. } = claim;
        let position = &body.operation;
        let about = About {
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
        let journal = Journal::new(&context.store, Arc::clone(&context.clock), context.time.clone(), about);
        let (leased, journal) = (Arc::new(leased), Arc::new(journal));
        Self { context, leased, journal, operation, body, found: Mutex::default(), dequeues }
    }

    /// Works while the lease is kept and the log is written.
    async fn held(self) -> Turn {
        let keep = beat::keep(Arc::clone(&self.context), Arc::clone(&self.leased));
        // They end with this turn, also when it is cut off.
        let _beat = AbortOnDropHandle::new(tokio::spawn(keep.in_current_span()));
        let log = Arc::clone(&self.journal).keep();
        let _log = AbortOnDropHandle::new(tokio::spawn(log.in_current_span()));
        self.work().await
    }

    async fn work(&self) -> Turn {
        let limit = self.context.settings.dequeues;
        if self.dequeues > limit {
            let wrong = Wrong::internal(&format!("dequeued {} times, failing", self.dequeues));
            return self.finish("Failed", End::Failed, Some(wrong)).await;
        }
        let state = state_of(self.operation).name();
        match self.perform().await {
            Ran::Done(Outcome::Done) if self.operation == Operation::Delete => self.deleted().await,
            Ran::Done(Outcome::Done) => self.finish(state, End::Succeeded, None).await,
            Ran::Done(Outcome::NextPhase) => self.finish(state, End::NextPhase, None).await,
            Ran::Failed(Failure::Told { told, detail }) => {
                self.finish(state, End::Failed, Some(Wrong::told(&told, &detail))).await
            }
            Ran::Failed(Failure::Internal(text)) => {
                self.finish(state, End::Failed, Some(Wrong::internal(&text))).await
            }
            Ran::Failed(Failure::Later(text)) => self.put_off(&text).await,
            Ran::Failed(Failure::HandedOver) => self.hand_over(Duration::ZERO).await,
            Ran::Cut => self.hand_over(self.context.settings.margin()).await,
            Ran::Failed(Failure::Lost) => self.lost(),
            Ran::Panicked(text) => self.panicked(&text).await,
        }
    }

    /// The manager's run, with everything that may end it.
    async fn perform(&self) -> Ran {
        let (subscription, names, ()) = join!(self.subscription(), self.hold_names(), self.look_up());
        let subscription = match (subscription, names) {
            (Ok(subscription), Ok(())) => subscription,
            (Err(failure), _) | (_, Err(failure)) => return Ran::Failed(failure),
        };
        let task = phase_of(&self.body);
        match self.operation {
            Operation::Create => tracing::info!(phase = task, "creating"),
            Operation::Update => tracing::info!("updating"),
            Operation::AdminUpdate => tracing::info!("admin updating (type: {task})"),
            Operation::Delete => tracing::info!("deleting"),
        }
        let kept = Kept::new(Arc::clone(&self.context), Arc::clone(&self.leased), Arc::clone(&self.journal));
        let job = Job {
            operation: self.operation,
            document: Arc::clone(&self.body),
            subscription,
            progress: Arc::new(kept),
            lost: self.leased.lost.clone(),
            stopping: self.context.stopping.clone(),
        };
        let run = AssertUnwindSafe(self.context.manager.run(job)).catch_unwind();
        tokio::select! {
            biased;
            // Dropping the run ends it at once.
            () = self.leased.lost.cancelled() => Ran::Failed(Failure::Lost),
            () = self.context.cut.cancelled() => Ran::Cut,
            ran = run => match ran {
                Ok(Ok(outcome)) => Ran::Done(outcome),
                Ok(Err(failure)) => Ran::Failed(failure),
                Err(panic) => Ran::Panicked(said(panic.as_ref())),
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

    /// What the end will need. Not found out is as good: the end looks itself.
    async fn look_up(&self) {
        if let Ok(found) = operation::find(&self.operations(), &self.body).await {
            *self.found.lock() = Some(found);
        }
    }

    /// A new cluster's names, before anything is made for it, and the name of one that is somebody else now.
    async fn hold_names(&self) -> Result<(), Failure> {
        let changed = reservation::changed(&self.body);
        let wanted = match self.operation {
            Operation::Create => true,
            Operation::Update | Operation::AdminUpdate => changed,
            Operation::Delete => false,
        };
        if !wanted || !self.body.operation.phase.is_absent() {
            return Ok(());
        }
        let reservations = Typed::<Reservation>::new(Arc::clone(&self.context.store));
        reservation::hold(&reservations, &self.body).await.map_err(|error| match error {
            NotHeld::Taken(told) => Failure::from(*told),
            NotHeld::Store(error) => Failure::Later(chain(&error).to_string()),
        })?;
        let freed = reservation::release_former(&reservations, &self.body).await;
        freed.map_err(|error| Failure::Later(chain(&error).to_string()))
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no words");
    clean(text, LONGEST_PANIC)
}

/// What ties the operation to its request, for its log.
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
