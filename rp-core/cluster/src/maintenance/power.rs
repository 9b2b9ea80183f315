//! One machine is started, stopped, restarted or moved to another host, on the order of a person.
//!
//! The node is cordoned and drained first, with the budgets of disruption honoured, and takes pods again at the end unless it
//! was cordoned before. Every step looks at what is there first, so that a worker that takes over does nothing a second time.

mod machine;

use rp_documents::maintenance::Task;

use self::machine::{
    check, check_disk, cordon, drain, is_back, power_off, redeploy, release, start, stop_and_deallocate,
};
use super::nodes::{DRAIN, MACHINE, SHORT};
use super::{TaskFailure, failure};
use crate::context::Context;
use crate::engine;
use crate::metrics::StepMetrics;
use crate::step::Step;
use crate::{action, condition};

const CORDON: [Step; 3] = [
    action!("checkMachine", check).within(SHORT),
    action!("cordon", cordon).within(SHORT),
    action!("drain", drain).within(DRAIN),
];
const START: Step = action!("start", start).within(MACHINE);
const POWER_OFF: Step = action!("powerOff", power_off).within(MACHINE);
const DEALLOCATE: Step = action!("deallocate", stop_and_deallocate).within(MACHINE);
const CHECK_DISK: Step = action!("checkDisk", check_disk).within(SHORT);
const REDEPLOY: Step = action!("redeploy", redeploy).within(MACHINE);
const SERVE: [Step; 2] = [condition!("waitReady", 30, is_back), action!("uncordon", release).within(SHORT)];

/// The steps of a task on a machine. A forced one skips those in the cluster.
pub(super) fn plan(task: Task, force: bool) -> Vec<Step> {
    let (look, before, power, after): (&[Step], &[Step], &[Step], &[Step]) = match task {
        Task::StartMachine => (&[], &[], &[START], &SERVE),
        Task::StopMachine => (&[], &CORDON, &[DEALLOCATE], &[]),
        Task::RestartMachine => (&[], &CORDON, &[POWER_OFF, START], &SERVE),
        Task::RedeployMachine => (&[CHECK_DISK], &CORDON, &[REDEPLOY], &SERVE),
        _ => (&[], &[], &[], &[]),
    };
    match force {
        true => [look, power].concat(),
        false => [look, before, power, after].concat(),
    }
}

/// Runs what is left of the plan. A failure that no attempt follows, before the machine was touched, lets the node take pods
/// again.
pub(super) async fn run(context: &Context, task: Task, metrics: &StepMetrics) -> Result<(), TaskFailure> {
    let plan = plan(task, context.order().force);
    let Err(stopped) = engine::run(context, &plan, metrics).await else { return Ok(()) };
    let is_before = stopped.step.is_some_and(|step| CORDON.iter().any(|before| before.name == step.name));
    let failed = ended(stopped.step, failure(task, stopped.error));
    if is_before
        && matches!(failed, TaskFailure::Terminal(_))
        && let Err(error) = release(context).await
    {
        tracing::warn!(
            resource_id = context.document().cluster_id(),
            machine = context.order().machine,
            error = %rp_base::chain(&error),
            "a node stays cordoned after a task that failed"
        );
    }
    Err(failed)
}

/// A node that did not come back in the time of its step is for a person to look at: another attempt would only hold the
/// cluster longer.
fn ended(step: Option<Step>, failed: TaskFailure) -> TaskFailure {
    match failed {
        TaskFailure::Transient(text) if step.is_some_and(|step| step.name == SERVE[0].name) => {
            TaskFailure::Terminal(text)
        }
        failed => failed,
    }
}

#[cfg(test)]
mod tests;
