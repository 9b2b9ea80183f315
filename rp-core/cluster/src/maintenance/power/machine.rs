//! What is read and written of the machine: its virtual machine in Azure, its Machine and its node in the cluster.

use rp_actions::control_plane::{ETCD, MASTERS};
use rp_azure::{Resources as _, vm_body};
use rp_openshift::Node;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::super::nodes::{
    self, LastResort, again, azure_again, check_operator, control_plane_nodes, node_name, node_path,
    readiness, unread_is_not_yet,
};
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, merge_into};
use crate::resources::azure::must_get;
use crate::resources::machines::{start_vm, stop_vm, vm_id};
use crate::step::ConditionStatus;
use crate::templates::versions::COMPUTE;

/// On a node that a task of maintenance has cordoned.
const CORDONED: &str = "maintenance.aro.openshift.io/cordoned";
/// The boot of a node when it was cordoned; a node with another one has started anew since.
const BOOT: &str = "maintenance.aro.openshift.io/boot-id";

fn machine_id(context: &Context) -> String {
    vm_id(&context.document(), &context.order().machine)
}

/// Whether the machine may be taken away: it is there, and of a control plane all other masters serve.
pub(super) async fn check(context: &Context) -> Result<(), StepError> {
    must_get(&context.customer(), &machine_id(context), COMPUTE).await?;
    again(context, || async {
        let kube = Kube::connect(context)?;
        let name = node_name(context, &kube).await?;
        if !kube.exists(&node_path(&name)).await? {
            return Err(StepError::other(format!(
                "The cluster has no node {name}. Use force to skip the steps in the cluster."
            )));
        }
        check_control_plane(&kube, &name).await
    })
    .await
}

/// etcd needs two of three members. The machine of a master that is not Ready is no loss.
async fn check_control_plane(kube: &Kube, own: &str) -> Result<(), StepError> {
    let nodes = control_plane_nodes(kube).await?;
    let Some(node) = nodes.iter().find(|node| node.metadata.name.as_str() == own) else { return Ok(()) };
    let others = nodes.iter().filter(|node| node.metadata.name.as_str() != own);
    let ready = others.clone().filter(|node| node.ready().is_true()).count();
    if ready + 1 < MASTERS {
        let away = others.filter(|node| !node.ready().is_true()).map(|node| node.metadata.name.as_str());
        return Err(StepError::other(format!(
            "{own} is a control plane node, and {ready} of the {} others are Ready{}. Without it etcd would lose its quorum.",
            MASTERS - 1,
            away.map(|name| format!(", {name} is not")).collect::<String>(),
        )));
    }
    if node.ready().is_true() { check_operator(kube, ETCD).await } else { Ok(()) }
}

fn annotations(node: &mut Value) -> Option<&mut Map<String, Value>> {
    node.pointer_mut("/metadata/annotations")?.as_object_mut()
}

/// Cordons the node, and notes whether it took pods before and which boot it is in.
pub(super) async fn cordon(context: &Context) -> Result<(), StepError> {
    again(context, || async {
        let kube = Kube::connect(context)?;
        let name = node_name(context, &kube).await?;
        let cordon = |node: &mut Value| {
            let boot = node["status"]["nodeInfo"]["bootID"].as_str().unwrap_or_default();
            let mut notes = json!({ BOOT: boot });
            if node["spec"]["unschedulable"] != true {
                notes[CORDONED] = "true".into();
            }
            merge_into(node, &json!({"metadata": {"annotations": notes}, "spec": {"unschedulable": true}}))
        };
        kube.set(&node_path(&name), cordon).await
    })
    .await
}

pub(super) async fn drain(context: &Context) -> Result<(), StepError> {
    let name = node_name(context, &Kube::connect(context)?).await?;
    nodes::drain(context, &name, LastResort::Fail).await
}

/// Stops the machine; it keeps its host.
pub(super) async fn power_off(context: &Context) -> Result<(), StepError> {
    stop(context, "powerOff", &["stopped", "deallocated"]).await
}

/// Stops the machine and gives its host back.
pub(super) async fn stop_and_deallocate(context: &Context) -> Result<(), StepError> {
    stop(context, "deallocate", &["deallocated"]).await
}

async fn stop(context: &Context, action: &str, done: &[&str]) -> Result<(), StepError> {
    let (client, id) = (context.customer(), machine_id(context));
    azure_again(context, || stop_vm(&client, &id, action, done)).await
}

pub(super) async fn start(context: &Context) -> Result<(), StepError> {
    let (client, id) = (context.customer(), machine_id(context));
    azure_again(context, || start_vm(&client, &id)).await
}

/// Moves the machine to another host, unless its node has started anew since it was cordoned.
pub(super) async fn redeploy(context: &Context) -> Result<(), StepError> {
    if !context.order().force && matches!(node(context).await, Ok((_, node)) if boot(&node) == Boot::Another)
    {
        return Ok(());
    }
    let (client, id) = (context.customer(), machine_id(context));
    azure_again(context, || async {
        client.post(&format!("{id}/redeploy"), COMPUTE, None).await?;
        Ok(())
    })
    .await
}

/// The name of the machine's node, and the node.
async fn node(context: &Context) -> Result<(String, Value), StepError> {
    let kube = Kube::connect(context)?;
    let name = node_name(context, &kube).await?;
    let node = kube.get_required(&node_path(&name)).await?;
    Ok((name, node))
}

/// Which boot a node is in, by its note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Boot {
    /// The one in which it was cordoned.
    Noted,
    Another,
    /// There is no note, or the node does not say.
    Unknown,
}

fn boot(node: &Value) -> Boot {
    let noted = node["metadata"]["annotations"][BOOT].as_str().unwrap_or_default();
    let now = node["status"]["nodeInfo"]["bootID"].as_str().unwrap_or_default();
    match (noted, now) {
        ("", _) | (_, "") => Boot::Unknown,
        (noted, now) if noted == now => Boot::Noted,
        _ => Boot::Another,
    }
}

/// Whether the node serves again. One that the control plane has not yet missed is still reported as Ready.
pub(super) async fn is_back(context: &Context) -> Result<ConditionStatus, StepError> {
    let looked = async {
        let (name, node) = node(context).await?;
        if boot(&node) == Boot::Noted {
            return Ok(ConditionStatus::not_yet(format!("node {name} has not started anew")));
        }
        let unreadable = |error| StepError::other(format!("node {name} cannot be read: {error}"));
        Ok(readiness(&Node::deserialize(&node).map_err(unreadable)?, &name))
    };
    Ok(unread_is_not_yet(looked.await))
}

/// A move to another host loses a disk that is on the host.
pub(super) async fn check_disk(context: &Context) -> Result<(), StepError> {
    let body = must_get(&context.customer(), &machine_id(context), COMPUTE).await?;
    match vm_body::has_ephemeral_disk(&body) {
        true => Err(StepError::other(format!(
            "VM '{}' has an Ephemeral Disk OS and cannot be redeployed.",
            context.order().machine
        ))),
        false => Ok(()),
    }
}

/// Lets the node take pods again if a task has cordoned it, and removes the notes.
pub(super) async fn release(context: &Context) -> Result<(), StepError> {
    again(context, || async {
        let kube = Kube::connect(context)?;
        let name = node_name(context, &kube).await?;
        let release = |node: &mut Value| {
            let Some(notes) = annotations(node) else { return false };
            let (ours, noted) = (notes.remove(CORDONED).is_some(), notes.remove(BOOT).is_some());
            if ours {
                merge_into(node, &json!({"spec": {"unschedulable": false}}));
            }
            ours || noted
        };
        // A node that is gone is not cordoned.
        kube.change(&node_path(&name), release).await.map(drop)
    })
    .await
}
