//! The steps for one master, whose number in the order is `N`.

use std::time::Duration;

use rp_actions::{DrainOptions, DrainPod, DrainReport, Mode};

use super::masters::{self, Size};
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, Tries, retry};
use crate::step::{ConditionStatus, Step};
use crate::{action, condition};

/// Attempts of a call of a step.
const TRIES: u32 = 3;
/// How long evictions are waited for in one attempt.
const EVICTIONS: Duration = Duration::from_mins(3);
/// Pods that a line names.
const NAMED: usize = 10;
const SHORT: Duration = Duration::from_mins(2);
/// For what Azure does with a machine.
const MACHINE: Duration = Duration::from_mins(10);
const DRAIN: Duration = Duration::from_mins(11);

/// There.
pub(super) fn there<const N: usize>() -> [Step; 11] {
    [
        action!("checkMasters", check::<N>).within(SHORT),
        action!("cordon", cordon::<N>).within(SHORT),
        action!("drain", drain::<N>).within(DRAIN),
        action!("stop", stop::<N>).within(MACHINE),
        action!("resize", resize::<N>).within(MACHINE),
        action!("start", start::<N>).within(MACHINE),
        condition!("waitReady", 30, wait_ready::<N>),
        condition!("waitEtcd", 10, wait_etcd),
        action!("uncordon", uncordon::<N>).within(SHORT),
        action!("updateMachine", update_machine::<N>).within(SHORT),
        action!("updateNodeLabels", update_node_labels::<N>).within(SHORT),
    ]
}

/// Back. A master that was not touched passes through.
pub(super) fn back<const N: usize>() -> [Step; 9] {
    [
        condition!("rollbackCheckMasters", 12, may_stop_back::<N>),
        action!("rollbackStop", stop_back::<N>).within(MACHINE),
        action!("rollbackResize", resize_back::<N>).within(MACHINE),
        action!("rollbackStart", start::<N>).within(MACHINE),
        condition!("rollbackWaitReady", 30, wait_ready::<N>),
        condition!("rollbackWaitEtcd", 10, wait_etcd),
        action!("rollbackMachine", restore_machine::<N>).within(SHORT),
        action!("rollbackNodeLabels", restore_node_labels::<N>).within(SHORT),
        action!("rollbackUncordon", uncordon::<N>).within(SHORT),
    ]
}

/// Makes a call to the cluster again while it fails.
async fn again<F: Future<Output = Result<(), StepError>>>(
    context: &Context,
    attempt: impl Fn() -> F,
) -> Result<(), StepError> {
    retry(context, Tries { most: TRIES, pause: Duration::from_secs(1) }, is_failure, attempt).await
}

/// Makes a call to Azure again while it fails.
async fn azure_again<F: Future<Output = Result<(), StepError>>>(
    context: &Context,
    attempt: impl Fn() -> F,
) -> Result<(), StepError> {
    retry(context, Tries { most: TRIES, pause: Duration::from_secs(5) }, is_failure, attempt).await
}

fn is_failure(error: &StepError) -> bool {
    !error.is_interruption()
}

async fn check<const N: usize>(context: &Context) -> Result<(), StepError> {
    again(context, || masters::check(context, N)).await
}

async fn cordon<const N: usize>(context: &Context) -> Result<(), StepError> {
    set_unschedulable(context, N, true).await
}

async fn uncordon<const N: usize>(context: &Context) -> Result<(), StepError> {
    set_unschedulable(context, N, false).await
}

async fn set_unschedulable(context: &Context, n: usize, wanted: bool) -> Result<(), StepError> {
    let node = &masters::master(context, n)?.node;
    again(context, || async {
        let kube = Kube::connect(context)?;
        rp_actions::set_unschedulable(&kube, node, wanted, Mode::Change).await?;
        Ok(())
    })
    .await
}

/// Moves the pods away by evictions, which honour the budgets of disruption. What budgets hold back for two attempts is
/// deleted in the third (`contract/frontend.md` "Do better" 29); an API server that does not answer is no such reason.
async fn drain<const N: usize>(context: &Context) -> Result<(), StepError> {
    let (mut held_back, mut errors) = (0, 0);
    loop {
        let force = held_back + 1 == TRIES;
        let failed = match drain_once(context, N, force).await {
            Ok(None) => return Ok(()),
            Ok(Some(left)) if force => return Err(left),
            Ok(Some(left)) => {
                held_back += 1;
                left
            }
            Err(error) if error.is_interruption() || errors + 1 == TRIES => return Err(error),
            Err(error) => {
                errors += 1;
                error
            }
        };
        context.waiting(&failed.to_string());
        context.sleep(Duration::from_secs(2).min(context.env.periods.poll)).await?;
    }
}

/// One attempt. Gives the pods that are left as an error when its time is over.
async fn drain_once(context: &Context, n: usize, force: bool) -> Result<Option<StepError>, StepError> {
    let node = &masters::master(context, n)?.node;
    let options = DrainOptions { force, mode: Mode::Change, wait: patience(context) };
    let mut report = DrainReport::default();
    let drained = async {
        let kube = Kube::connect(context)?;
        rp_actions::drain(&kube, node, options, &mut report).await.map_err(StepError::from)
    };
    let drained = context.unless_stopping(drained).await;
    if force && !report.moved.is_empty() {
        let names = names(report.moved.iter().cloned());
        tracing::warn!(
            resource_id = context.document().cluster_id(),
            node,
            pods = names,
            "pods were deleted that could not be evicted"
        );
        context.record_line("warning", &format!("{node}: not evicted in time, deleted: {names}"));
    }
    drained??;
    let left = || names(report.left.iter().map(DrainPod::place));
    Ok((!report.done).then(|| StepError::other(format!("node {node} has pods left: {}", left()))))
}

/// How long one attempt waits: where a region bounds its steps, a part of that, so that all attempts fit in.
fn patience(context: &Context) -> Duration {
    context.env.periods.longest.map_or(EVICTIONS, |longest| EVICTIONS.min(longest / 4))
}

fn names(all: impl Iterator<Item = String>) -> String {
    all.take(NAMED).collect::<Vec<_>>().join(", ")
}

async fn stop<const N: usize>(context: &Context) -> Result<(), StepError> {
    azure_again(context, || masters::stop(context, N, Size::Wanted)).await
}

async fn stop_back<const N: usize>(context: &Context) -> Result<(), StepError> {
    azure_again(context, || masters::stop(context, N, Size::Before)).await
}

async fn resize<const N: usize>(context: &Context) -> Result<(), StepError> {
    azure_again(context, || masters::resize(context, N, Size::Wanted)).await
}

async fn resize_back<const N: usize>(context: &Context) -> Result<(), StepError> {
    azure_again(context, || masters::resize(context, N, Size::Before)).await
}

async fn start<const N: usize>(context: &Context) -> Result<(), StepError> {
    azure_again(context, || masters::start(context, N)).await
}

async fn may_stop_back<const N: usize>(context: &Context) -> Result<ConditionStatus, StepError> {
    Ok(unread_is_not_yet(masters::may_stop_back(context, N).await))
}

async fn wait_ready<const N: usize>(context: &Context) -> Result<ConditionStatus, StepError> {
    Ok(unread_is_not_yet(masters::is_ready(context, N).await))
}

async fn wait_etcd(context: &Context) -> Result<ConditionStatus, StepError> {
    Ok(unread_is_not_yet(masters::is_etcd_healthy(context).await))
}

/// The API server may be away while a master is.
fn unread_is_not_yet(looked: Result<ConditionStatus, StepError>) -> ConditionStatus {
    looked.unwrap_or_else(|error| ConditionStatus::not_yet(error.to_string()))
}

async fn update_machine<const N: usize>(context: &Context) -> Result<(), StepError> {
    again(context, || masters::write_machine(context, N, Size::Wanted)).await
}

async fn restore_machine<const N: usize>(context: &Context) -> Result<(), StepError> {
    again(context, || masters::write_machine(context, N, Size::Before)).await
}

async fn update_node_labels<const N: usize>(context: &Context) -> Result<(), StepError> {
    again(context, || masters::write_node_labels(context, N, Size::Wanted)).await
}

async fn restore_node_labels<const N: usize>(context: &Context) -> Result<(), StepError> {
    again(context, || masters::write_node_labels(context, N, Size::Before)).await
}
