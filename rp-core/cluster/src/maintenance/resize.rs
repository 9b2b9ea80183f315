//! The control plane gets another size, one master after the other, and gets its old ones back after a failure
//! (`contract/frontend.md` §11.8).
//!
//! There are two plans: the way there and the way back. A failure on the way there stores its cause and the first step of
//! the way back, so that a worker that takes over knows which way it goes. Every step looks at what is there first: what is
//! done already is not done again.

mod masters;
mod steps;

use rp_base::text::clean;
use rp_documents::maintenance::{Resize, Task};

use super::{TaskFailure, failure};
use crate::context::Context;
use crate::engine;
use crate::errors::StepError;
use crate::metrics::StepMetrics;
use crate::step::Step;

/// Characters of a cause.
const MOST_CAUSE: usize = 800;

/// Runs what is left of a resize, in the direction that was stored.
pub(super) async fn run(context: &Context, metrics: &StepMetrics) -> Result<(), TaskFailure> {
    let order = context.resize().map_err(failed)?;
    let cause = match order.cause.as_str() {
        "" => match there(context, order, metrics).await? {
            None => return Ok(()),
            Some(cause) => cause,
        },
        stored => stored.to_owned(),
    };
    match engine::run(context, &plan(order, Direction::Back), metrics).await {
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
    let Err(stopped) = engine::run(context, &plan, metrics).await else { return Ok(None) };
    if stopped.error.is_interruption() || stopped.step.is_none() {
        return Err(failed(stopped.error));
    }
    let cause = clean(&stopped.error.to_string(), MOST_CAUSE);
    let at = match context.progress().position().await.map_err(|error| failed(error.into()))? {
        None => 0,
        // A position of another release: any master may have been touched.
        Some(stored) => {
            let known = engine::positions(&plan).iter().position(|name| *name == stored);
            known.unwrap_or(plan.len())
        }
    };
    match first_step_back(order, at) {
        // Nothing was changed yet.
        None => Err(TaskFailure::Terminal(cause)),
        Some(first) => {
            let kept = context.progress().turn_back(&cause, &first).await;
            kept.map_err(|error| failed(error.into()))?;
            Ok(Some(cause))
        }
    }
}

fn failed(error: StepError) -> TaskFailure {
    failure(Task::ResizeControlPlane, error)
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

/// A failure of the way back, with why it was taken. It is tried again whatever the failure is: quota or capacity in Azure
/// may come back, and a master that stays stopped is worse than another attempt.
fn with_cause(failed: TaskFailure, cause: &str) -> TaskFailure {
    match failed {
        TaskFailure::Transient(text) | TaskFailure::Terminal(text) => {
            TaskFailure::Transient(format!("{cause}. Rollback errors: {text}"))
        }
        interrupted => interrupted,
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
