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
use rp_documents::{Collection, Lease, Reservation};
use serde_json::Value;
use tokio::join;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::beat;
use crate::context::Context;
use crate::end::{Target, Wrong, operation_of, phase_of, shown_phase, state_of};
use crate::journal::{About, Journal};
use crate::kind::Kind;
use crate::metrics::Turn;
use crate::operation::{self, Found};
use crate::pen::Pen;
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
    pen: Arc<Pen>,
    journal: Arc<Journal>,
    operation: Operation,
    /// As taken.
    body: Value,
    /// Its asynchronous operation, as it was when the work began; for the first try of the end.
    found: Mutex<Option<Found>>,
    dequeues: u32,
}

/// Takes the document and does its work; gives how that ended, for the pause before it is looked at again.
pub(crate) async fn turn(context: Arc<Context>, picked: Picked) -> Turn {
    let began = Instant::now();
    let own = context.random.uuid().to_string();
    let prepare = |body: &mut Value| {
        if let Some(operation) = operation_of(body) {
            begin(body, state_of(operation), &own);
        }
    };
    let claim = match take(&context, Kind::Cluster, &picked, prepare).await {
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
        let token = Lease::of(&claim.body).token;
        tracing::info!(dequeues = claim.dequeues, token, "dequeued");
        let turn = Work::new(Arc::clone(&context), claim, operation).held().await;
        let duration = began.elapsed();
        context.metrics.turn(state_of(operation), turn, duration);
        // With the token, the logs of all processes say who worked when, and how each gave the lease back.
        tracing::info!(duration = duration.as_secs_f64(), result = turn.as_str(), token, "done");
        turn
    }
    .instrument(span)
    .await
}

impl Work {
    fn new(context: Arc<Context>, claim: Claim, operation: Operation) -> Self {
        let Claim { pen, body, dequeues, .. } = claim;
        let text =
            |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let about = About {
            id: text("/operation/id").to_ascii_lowercase(),
            key: text("/key"),
            kind: state_of(operation).to_owned(),
            phase: shown_phase(&body).to_owned(),
            asked_by: text("/openShiftCluster/systemData/lastModifiedBy"),
            correlation: body.get("correlationData").cloned(),
            token: Lease::of(&body).token,
            // Its position has no phase before the first save; a later phase begins with an empty one too.
            fresh: dequeues == 1 && body.pointer("/operation/phase").is_none() && body.get("retry").is_none(),
        };
        let journal = Journal::new(&context.store, Arc::clone(&context.clock), context.time.clone(), about);
        let (pen, journal) = (Arc::new(pen), Arc::new(journal));
        Self { context, pen, journal, operation, body, found: Mutex::default(), dequeues }
    }

    /// Works while the lease is kept and the log is written.
    async fn held(self) -> Turn {
        let keep = beat::keep(Arc::clone(&self.context), Arc::clone(&self.pen));
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
            return self.finish("Failed", Target::Failed, Some(wrong)).await;
        }
        let state = state_of(self.operation);
        match self.perform().await {
            Ran::Done(Outcome::Done) if self.operation == Operation::Delete => self.deleted().await,
            Ran::Done(Outcome::Done) => self.finish(state, Target::Succeeded, None).await,
            Ran::Done(Outcome::NextPhase) => self.finish(state, Target::NextPhase, None).await,
            Ran::Failed(Failure::Told { told, detail }) => {
                self.finish(state, Target::Failed, Some(Wrong::told(&told, &detail))).await
            }
            Ran::Failed(Failure::Internal(text)) => {
                self.finish(state, Target::Failed, Some(Wrong::internal(&text))).await
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
        let kept = Kept::new(Arc::clone(&self.context), Arc::clone(&self.pen), Arc::clone(&self.journal));
        let job = Job {
            operation: self.operation,
            document: self.body.clone(),
            subscription,
            progress: Arc::new(kept),
            lost: self.pen.lost.clone(),
            stopping: self.context.stopping.clone(),
        };
        let run = AssertUnwindSafe(self.context.manager.run(job)).catch_unwind();
        tokio::select! {
            biased;
            // Dropping the run ends it at once.
            () = self.pen.lost.cancelled() => Ran::Failed(Failure::Lost),
            () = self.context.cut.cancelled() => Ran::Cut,
            ran = run => match ran {
                Ok(Ok(outcome)) => Ran::Done(outcome),
                Ok(Err(failure)) => Ran::Failed(failure),
                Err(panic) => Ran::Panicked(said(panic.as_ref())),
            },
        }
    }

    async fn subscription(&self) -> Result<Value, Failure> {
        let id = self.body.get("partitionKey").and_then(Value::as_str).unwrap_or_default();
        let found = self.context.store.get(Collection::Subscriptions, id).await;
        let found = found.map_err(|error| Failure::Later(chain(&error).to_string()))?;
        let missing = || Failure::Later(format!("the subscription {id} is not known to us"));
        let stored = found.ok_or_else(missing)?;
        serde_json::from_str(&stored.body)
            .map_err(|error| Failure::Later(format!("the subscription {id} cannot be read: {error}")))
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
        if !wanted || self.body.pointer("/operation/phase").is_some() {
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

/// The fields that stand on every line about an operation.
fn span(body: &Value) -> tracing::Span {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let key = text("/key");
    let part = |at: usize| key.split('/').nth(at).unwrap_or_default();
    tracing::info_span!(
        "operation",
        resource_id = key,
        subscription_id = part(2),
        resource_group = part(4),
        resource_name = part(8),
        correlation_id = text("/correlationData/correlationId"),
        client_request_id = text("/correlationData/clientRequestId"),
        operation_id = text("/asyncOperationId"),
        request_id = text("/correlationData/requestID"),
        client_principal_name = text("/correlationData/clientPrincipalName"),
        request_time = text("/correlationData/requestTime"),
        version = text("/openShiftCluster/properties/clusterProfile/version"),
        cluster_deployment_namespace = text("/openShiftCluster/properties/hiveProfile/namespace"),
    )
}
