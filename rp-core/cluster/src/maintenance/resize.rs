//! The control plane gets another size, one master after the other, and gets its old ones back after a failure
//! (`contract/frontend.md` §11.8).
//!
//! There are two plans: the way there and the way back. A failure on the way there stores its cause and the first step of
//! the way back, so that a worker that takes over knows which way it goes. Every step looks at what is there first: what is
//! done already is not done again.

mod masters;
mod steps;

use rp_documents::maintenance::{Resize, Task};

use super::{TaskFailure, failure};
use crate::context::Context;
use crate::engine;
use crate::errors::StepError;
use crate::metrics::StepMetrics;
use crate::step::Step;

/// Runs what is left of a resize, in the direction that was stored.
pub(super) async fn run(context: &Context, metrics: &StepMetrics) -> Result<(), TaskFailure> {
    let failed = |error: StepError| failure(Task::ResizeControlPlane, error);
    let order = context.resize().map_err(failed)?;
    let position = context.progress().position().await.map_err(|error| failed(error.into()))?;
    let back = plan(order, Direction::Back);
    let is_back = |stored: &String| engine::positions(&back).contains(stored);
    let cause = match position.as_ref().is_some_and(is_back) {
        true => order.cause.clone(),
        false => match there(context, order, metrics).await? {
            None => return Ok(()),
            Some(cause) => cause,
        },
    };
    match engine::run(context, &back, metrics).await {
        Ok(()) => Err(TaskFailure::Terminal(cause)),
        Err(stopped) => Err(with_cause(failed(stopped.error), &cause)),
    }
}

/// The way there. Gives the cause when the way back is to be taken, which is stored then.
async fn there(
    context: &Context,
    order: &Resize,
    metrics: &StepMetrics,
) -> Result<Option<String>, TaskFailure> {
    let plan = plan(order, Direction::There);
    let failed = |error: StepError| failure(Task::ResizeControlPlane, error);
    let Err(stopped) = engine::run(context, &plan, metrics).await else { return Ok(None) };
    if stopped.error.is_interruption() || stopped.step.is_none() {
        return Err(failed(stopped.error));
    }
    let cause = stopped.error.to_string();
    let position = context.progress().position().await.map_err(|error| failed(error.into()))?;
    let at = position.and_then(|stored| engine::positions(&plan).iter().position(|name| *name == stored));
    match first_step_back(order, at.unwrap_or_default()) {
        // Nothing was changed yet.
        None => Err(TaskFailure::Terminal(cause)),
        Some(first) => {
            let kept = context.progress().turn_back(&cause, &first).await;
            kept.map_err(|error| failed(error.into()))?;
            Ok(Some(cause))
        }
    }
}

/// The stored name of the step that begins the way back after the failure of that step of the way there; `None`: nothing was
/// changed before it.
fn first_step_back(order: &Resize, failed: usize) -> Option<String> {
    let of_master = steps::there::<0>().len();
    // The first step of a master only looks.
    let touched = failed / of_master + usize::from(!failed.is_multiple_of(of_master));
    let back = plan(order, Direction::Back);
    let untouched = order.masters.len().checked_sub(touched).filter(|_| touched > 0)?;
    engine::positions(&back).into_iter().nth(untouched * steps::back::<0>().len())
}

/// A failure of the way back, with why it was taken.
fn with_cause(failed: TaskFailure, cause: &str) -> TaskFailure {
    let told = |text: String| format!("{cause}. Rollback errors: {text}");
    match failed {
        TaskFailure::Transient(text) => TaskFailure::Transient(told(text)),
        TaskFailure::Terminal(text) => TaskFailure::Terminal(told(text)),
        other => other,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    There,
    Back,
}

/// The steps for all masters of the order: there in its order, back in reverse.
fn plan(order: &Resize, direction: Direction) -> Vec<Step> {
    let count = order.masters.len();
    match direction {
        Direction::There => {
            let all = [steps::there::<0>(), steps::there::<1>(), steps::there::<2>()];
            all.into_iter().take(count).flatten().collect()
        }
        Direction::Back => {
            let all = [steps::back::<0>(), steps::back::<1>(), steps::back::<2>()];
            all.into_iter().take(count).rev().flatten().collect()
        }
    }
}

#[cfg(test)]
mod tests;
