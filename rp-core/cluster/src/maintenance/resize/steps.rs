//! The steps for one master, whose number in the order is `N`.

use std::time::Duration;

use rp_actions::{DrainOptions, DrainPod, DrainReport, Mode};

use super::masters::{self, Size};
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, retry};
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
        action!("checkMasters", masters::check::<N>).within(SHORT),
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
pub(super) fn back<const N: usize>() -> [Step; 8] {
    [
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

/// Makes a call again while it fails.
async fn again<F: Future<Output = Result<(), StepError>>>(
    context: &Context,
    attempt: impl Fn() -> F,
) -> Result<(), StepError> {
    retry(context, TRIES, |error| !error.is_interruption(), attempt).await
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

/// Moves the pods away by evictions, which honour the budgets of disruption. What a budget holds back for all but the last
/// attempt is deleted in the last (`contract/frontend.md` "Do better" 29).
async fn drain<const N: usize>(context: &Context) -> Result<(), StepError> {
    let node = &masters::master(context, N)?.node;
    let mut last = StepError::other("no attempt was made");
    for attempt in 1..=TRIES {
        let force = attempt == TRIES;
        let options = DrainOptions { force, mode: Mode::Change, wait: EVICTIONS.min(longest(context)) };
        let mut report = DrainReport::default();
        let drained = async {
            let kube = Kube::connect(context)?;
            rp_actions::drain(&kube, node, options, &mut report).await.map_err(StepError::from)
        };
        let drained = context.unless_stopping(drained).await?;
        if force && !report.moved.is_empty() {
            let names = names(report.moved.iter().cloned());
            context.record_line("warning", &format!("{node}: not evicted in time, deleted: {names}"));
        }
        match drained {
            Ok(()) if report.done => return Ok(()),
            Ok(()) => {
                let left = names(report.left.iter().map(DrainPod::place));
                last = StepError::other(format!("node {node} has pods left: {left}"));
            }
            Err(error) => last = error,
        }
        context.waiting(&last.to_string());
        context.sleep(Duration::from_secs(2).min(context.env.periods.poll)).await?;
    }
    Err(last)
}

/// The limit that a region sets for its steps.
fn longest(context: &Context) -> Duration {
    context.env.periods.longest.map_or(EVICTIONS, |longest| longest / 4)
}

fn names(all: impl Iterator<Item = String>) -> String {
    all.take(NAMED).collect::<Vec<_>>().join(", ")
}

async fn stop<const N: usize>(context: &Context) -> Result<(), StepError> {
    let order = context.resize()?;
    again(context, || masters::stop(context, N, &order.vm_size, order.deallocate)).await
}

async fn stop_back<const N: usize>(context: &Context) -> Result<(), StepError> {
    let before = &masters::master(context, N)?.vm_size;
    again(context, || masters::stop(context, N, before, true)).await
}

async fn resize<const N: usize>(context: &Context) -> Result<(), StepError> {
    again(context, || masters::resize(context, N, Size::Wanted)).await
}

async fn resize_back<const N: usize>(context: &Context) -> Result<(), StepError> {
    again(context, || masters::resize(context, N, Size::Before)).await
}

async fn start<const N: usize>(context: &Context) -> Result<(), StepError> {
    again(context, || masters::start(context, N)).await
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
