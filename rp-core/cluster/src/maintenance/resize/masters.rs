//! What is read and written of one master: its virtual machine in Azure, its Machine and its node in the cluster.

use rp_actions::control_plane::{API_SERVER, ETCD, MACHINE_SET, MACHINES, MASTERS, check_machine_set};
use rp_azure::Resources as _;
use rp_azure::vm_body::size;
use rp_documents::maintenance::MasterResize;
use rp_openshift::{ControlPlaneMachineSet, MACHINE_SIZE, NODE_SIZES, Whole};
use serde_json::{Value, json};

use super::super::nodes::{check_operator, control_plane_nodes, is_etcd_healthy, node_path};
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, merge_into};
use crate::resources::azure::must_get;
use crate::resources::machines::{start_vm, stop_vm, vm_id};
use crate::step::ConditionStatus;
use crate::templates::versions::COMPUTE;

/// Which of the two sizes of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Wanted,
    Before,
}

impl Size {
    fn of(self, context: &Context, n: usize) -> Result<&str, StepError> {
        match self {
            Self::Wanted => Ok(&context.resize()?.vm_size),
            Self::Before => Ok(&master(context, n)?.vm_size),
        }
    }
}

/// The master of that number in the order.
pub(super) fn master(context: &Context, n: usize) -> Result<&MasterResize, StepError> {
    let found = context.resize()?.masters.get(n);
    found.ok_or_else(|| StepError::other("the order has fewer masters than its plan"))
}

/// Whether a master may be taken away: all serve, etcd is healthy, and the machine has the size that the order knows.
pub(super) async fn check(context: &Context, n: usize) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let nodes = control_plane_nodes(&kube).await?;
    let own = master(context, n)?.node.as_str();
    if nodes.len() != MASTERS || !nodes.iter().any(|node| node.metadata.name.as_str() == own) {
        return Err(StepError::other(format!(
            "Expected {MASTERS} control plane nodes, {own} among them, but found {}.",
            nodes.len()
        )));
    }
    for node in &nodes {
        let name = node.metadata.name.as_str();
        if !node.ready().is_true() {
            return Err(StepError::other(format!(
                "Control plane node {name} is not Ready. Resolve node health before resizing another master."
            )));
        }
        if node.spec.unschedulable {
            return Err(StepError::other(format!(
                "Control plane node {name} is unschedulable. Uncordon and verify the node before resizing another master."
            )));
        }
    }
    check_operator(&kube, ETCD).await?;
    if n == 0 {
        check_unchanged(&kube).await?;
    }
    check_size(context, n).await
}

/// What may have changed while the order waited.
async fn check_unchanged(kube: &Kube) -> Result<(), StepError> {
    check_operator(kube, API_SERVER).await?;
    let set: Option<ControlPlaneMachineSet<Whole>> = kube.get(MACHINE_SET).await?;
    check_machine_set(set.as_ref()).map_err(StepError::other)
}

/// Whether this master may be stopped on the way back: all others serve. While it serves itself, etcd must be healthy too.
pub(super) async fn may_stop_back(context: &Context, n: usize) -> Result<ConditionStatus, StepError> {
    if has_size(context, n, Size::Before).await? {
        return Ok(ConditionStatus::Yes);
    }
    let own = master(context, n)?.node.as_str();
    let mut serves = false;
    for node in control_plane_nodes(&Kube::connect(context)?).await? {
        match (node.metadata.name.as_str(), node.ready().is_true()) {
            (name, ready) if name == own => serves = ready,
            (_, true) => {}
            (name, false) => return Ok(ConditionStatus::not_yet(format!("node {name} is not Ready"))),
        }
    }
    if serves { is_etcd_healthy(context).await } else { Ok(ConditionStatus::Yes) }
}

/// Somebody else may have given the machine another size since the order.
async fn check_size(context: &Context, n: usize) -> Result<(), StepError> {
    let (found, before) = (size(&machine(context, n).await?).to_owned(), Size::Before.of(context, n)?);
    if found.eq_ignore_ascii_case(before) {
        return Ok(());
    }
    let name = &master(context, n)?.machine;
    Err(StepError::other(format!(
        "VM {name} has the size {found}; it had {before} when the resize was ordered. Order it again."
    )))
}

fn machine_id(context: &Context, n: usize) -> Result<String, StepError> {
    Ok(vm_id(&context.document(), &master(context, n)?.machine))
}

async fn machine(context: &Context, n: usize) -> Result<Value, StepError> {
    must_get(&context.customer(), &machine_id(context, n)?, COMPUTE).await
}

/// Whether the machine has that size.
async fn has_size(context: &Context, n: usize, wanted: Size) -> Result<bool, StepError> {
    Ok(size(&machine(context, n).await?).eq_ignore_ascii_case(wanted.of(context, n)?))
}

/// Stops the machine, unless it is stopped or has the size already. On the way back it always gives its host back.
pub(super) async fn stop(context: &Context, n: usize, wanted: Size) -> Result<(), StepError> {
    if has_size(context, n, wanted).await? {
        return Ok(());
    }
    let (client, id) = (context.customer(), machine_id(context, n)?);
    let deallocate = wanted == Size::Before || context.resize()?.deallocate;
    let (action, after) = if deallocate { ("deallocate", "deallocated") } else { ("powerOff", "stopped") };
    stop_vm(&client, &id, action, &[after]).await
}

pub(super) async fn resize(context: &Context, n: usize, wanted: Size) -> Result<(), StepError> {
    if !has_size(context, n, wanted).await? {
        let body = json!({"properties": {"hardwareProfile": {"vmSize": wanted.of(context, n)?}}});
        context.customer().patch(&machine_id(context, n)?, COMPUTE, &body).await?;
    }
    Ok(())
}

pub(super) async fn start(context: &Context, n: usize) -> Result<(), StepError> {
    start_vm(&context.customer(), &machine_id(context, n)?).await
}

/// Writes the size into the provider spec and the label of the Machine.
pub(super) async fn write_machine(context: &Context, n: usize, wanted: Size) -> Result<(), StepError> {
    let size = wanted.of(context, n)?;
    let written = json!({
        "metadata": {"labels": {MACHINE_SIZE: size}}, "spec": {"providerSpec": {"value": {"vmSize": size}}}
    });
    let path = format!("{MACHINES}/{}", master(context, n)?.machine);
    Kube::connect(context)?.set(&path, |found| merge_into(found, &written)).await
}

pub(super) async fn write_node_labels(context: &Context, n: usize, wanted: Size) -> Result<(), StepError> {
    let size = wanted.of(context, n)?;
    let written = json!({"metadata": {"labels": {NODE_SIZES[0]: size, NODE_SIZES[1]: size}}});
    let path = node_path(&master(context, n)?.node);
    Kube::connect(context)?.set(&path, |found| merge_into(found, &written)).await
}
