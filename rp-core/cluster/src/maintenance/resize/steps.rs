//! The steps for one master, whose number in the order is `N`.

use rp_actions::Mode;

use super::super::nodes::{
    self, DRAIN, LastResort, MACHINE, SHORT, again, azure_again, is_etcd_healthy, unread_is_not_yet,
};
use super::masters::{self, Size};
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;
use crate::step::{ConditionStatus, Step};
use crate::{action, condition};

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

async fn drain<const N: usize>(context: &Context) -> Result<(), StepError> {
    nodes::drain(context, &masters::master(context, N)?.node, LastResort::Delete).await
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
    Ok(unread_is_not_yet(is_ready(context, N).await))
}

async fn is_ready(context: &Context, n: usize) -> Result<ConditionStatus, StepError> {
    nodes::is_ready(context, &masters::master(context, n)?.node).await
}

async fn wait_etcd(context: &Context) -> Result<ConditionStatus, StepError> {
    Ok(unread_is_not_yet(is_etcd_healthy(context).await))
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
