//! Runs a plan: from the stored position, step by step, until its end or the first failure
//! (`contract/backend.md` §9).
//!
//! Nothing is rolled back. Every step may run again: after a crash in it, or when its position could not be kept.

use std::collections::HashMap;
use std::time::Duration;

use rp_base::text::clean;
use tokio::time::{Instant, timeout};

use crate::context::Context;
use crate::convert::is_authorization;
use crate::errors::StepError;
use crate::metrics::{FinishedStep, StepMetrics};
use crate::progress::StepEvent;
use crate::step::{ActionFn, ConditionFn, ConditionStatus, Step, StepFuture, StepKind};

/// Characters of an error that people are shown of a step.
const SHOWN: usize = 2000;

/// Why a plan ended early.
#[derive(Debug)]
pub(crate) struct PlanError {
    /// The step that ran; `None`: between two steps.
    pub(crate) step: Option<Step>,
    pub(crate) error: StepError,
}

impl PlanError {
    const fn between(error: StepError) -> Self {
        Self { step: None, error }
    }
}

/// Names under which positions of a plan are kept: the stored name, and of a step that occurs again its number.
pub(crate) fn positions(plan: &[Step]) -> Vec<String> {
    let mut seen = HashMap::<String, u32>::new();
    let name = |step: &Step| {
        let name = step.stored_name();
        let times = seen.entry(name.clone()).or_default();
        *times += 1;
        if *times == 1 { name } else { format!("{name}#{times}") }
    };
    plan.iter().map(name).collect()
}

/// Runs the remaining steps.
///
/// # Errors
/// The first step that failed; or the lease was lost, or the process stops.
pub(crate) async fn run(context: &Context, plan: &[Step], metrics: &StepMetrics) -> Result<(), PlanError> {
    let positions = positions(plan);
    let start = start(context, &positions).await?;
    for (at, step) in plan.iter().enumerate().skip(start) {
        context.check_running().map_err(PlanError::between)?;
        let attempt = if at == start { context.attempt() } else { 1 };
        run_step(context, step, StepPosition { at, planned: plan.len(), attempt }, metrics)
            .await
            .map_err(|error| PlanError { step: Some(*step), error })?;
        if let Some(next) = positions.get(at + 1) {
            context.progress().save(next).await.map_err(|error| PlanError::between(error.into()))?;
        }
    }
    Ok(())
}

/// Where the run begins. A position of another release that this plan does not have: at the beginning, for every step
/// may run again.
async fn start(context: &Context, positions: &[String]) -> Result<usize, PlanError> {
    let stored = context.progress().position().await.map_err(|error| PlanError::between(error.into()))?;
    let Some(stored) = stored else { return Ok(0) };
    if let Some(at) = positions.iter().position(|name| *name == stored) {
        if at > 0 {
            context.record_line("info", &format!("goes on with {stored}"));
        }
        return Ok(at);
    }
    tracing::warn!(resource_id = context.document().cluster_id(), position = %stored, "no step of the plan has the stored position");
    context.record_line("warning", "the stored position is of another plan: the phase begins again");
    Ok(0)
}

/// The position of a running step in its plan.
#[derive(Debug, Clone, Copy)]
struct StepPosition {
    at: usize,
    planned: usize,
    attempt: u32,
}

async fn run_step(
    context: &Context,
    step: &Step,
    position: StepPosition,
    metrics: &StepMetrics,
) -> Result<(), StepError> {
    let StepPosition { at, planned, attempt } = position;
    let name = step.stored_name();
    let document = context.document();
    let cluster = document.cluster_id();
    tracing::info!(cluster, step = %name, attempt, "running step");
    context.begin(&name);
    context.record_event(StepEvent::Started { name: &name, at, planned, attempt });
    let began = Instant::now();
    let limit = context.env.periods.longest.map_or(step.limit, |longest| longest.min(step.limit));
    let result = match step.kind {
        StepKind::Action(act) => run_once(context, step.name, act, limit).await,
        StepKind::AuthorizationRetrying(act) => until_authorized(context, step.name, act, limit).await,
        StepKind::Condition { look, fail } => {
            let met = until_met(context, step.name, look, limit).await;
            if fail { met } else { tolerate_unmet(context, &name, met) }
        }
    };
    let took = began.elapsed();
    match &result {
        Ok(()) => context.record_event(StepEvent::Done { name: &name, took }),
        // Nothing failed: the next worker begins the step again.
        Err(error) if error.is_interruption() => return result,
        Err(error) => {
            let text = error.to_string();
            tracing::error!(cluster, step = %name, attempt, error = %text, "step encountered error");
            context.record_event(StepEvent::Failed { name: &name, took, error: &clean(&text, SHOWN) });
        }
    }
    metrics.ended(&FinishedStep { operation: context.operation, step, attempt, took, ok: result.is_ok() });
    result
}

/// Turns the failure of an optional condition into a warning.
fn tolerate_unmet(context: &Context, name: &str, met: Result<(), StepError>) -> Result<(), StepError> {
    match met {
        Err(error) if !error.is_interruption() => {
            let document = context.document();
            tracing::warn!(resource_id = document.cluster_id(), step = %name, error = %error, "goes on without");
            context.record_line("warning", &format!("{name}: {}", clean(&error.to_string(), SHOWN)));
            Ok(())
        }
        met => met,
    }
}

/// One run, ended by its deadline and by the loss of the lease. A stop of the process ends only its waits
/// ([`Context::sleep`]): a call to Azure that was begun is completed.
async fn run_once(
    context: &Context,
    name: &'static str,
    act: ActionFn,
    limit: Duration,
) -> Result<(), StepError> {
    unless_lease_lost(context, timeout(limit, act(context)))
        .await?
        .unwrap_or(Err(StepError::Overdue { name, limit }))
}

async fn unless_lease_lost<T>(context: &Context, work: impl Future<Output = T>) -> Result<T, StepError> {
    tokio::select! {
        biased;
        () = context.lost().cancelled() => Err(StepError::Lost),
        done = work => Ok(done),
    }
}

/// Repeats the step while Azure does not know the rights yet. When the time is over, the last error of the step itself
/// is returned, never that of the credential's renewal.
async fn until_authorized(
    context: &Context,
    name: &'static str,
    act: ActionFn,
    limit: Duration,
) -> Result<(), StepError> {
    let periods = &context.env.periods;
    let end = Instant::now() + periods.authorization_limit.min(limit);
    loop {
        let error = match run_once(context, name, act, limit).await {
            Err(error) if is_authorization(&error) => error,
            done => return done,
        };
        if Instant::now() + periods.authorization_retry > end {
            return Err(error);
        }
        context.waiting(&clean(&error.to_string(), SHOWN));
        context.sleep(periods.authorization_retry).await?;
        context.env.azure.renew_first_party(&context.tenant());
    }
}

/// Checks until the condition is met; a check without an answer counts as not met.
async fn until_met(
    context: &Context,
    name: &'static str,
    look: ConditionFn,
    limit: Duration,
) -> Result<(), StepError> {
    let end = Instant::now() + limit;
    loop {
        let seen = match unless_lease_lost(context, evaluate(look(context), end)).await?? {
            ConditionStatus::Yes => return Ok(()),
            ConditionStatus::NotYet(seen) => clean(&seen, SHOWN),
        };
        context.waiting(&seen);
        let now = Instant::now();
        if now >= end {
            return Err(StepError::Unmet { name, limit, seen });
        }
        context.sleep(context.env.periods.poll.min(end - now)).await?;
    }
}

/// One check, which may exceed the condition's limit by little.
async fn evaluate(look: StepFuture<'_, ConditionStatus>, end: Instant) -> Result<ConditionStatus, StepError> {
    const LEAST: Duration = Duration::from_secs(5);
    let patience = end.saturating_duration_since(Instant::now()).max(LEAST);
    timeout(patience, look).await.unwrap_or_else(|_| Ok(ConditionStatus::not_yet("no answer in time")))
}
