//! Recovery of a broken member of etcd, and new certificates before 4.9 (`contract/frontend.md` §11.5, §11.6). Maintenance
//! carries both out; the answers follow it.

use std::time::Duration;

use http::StatusCode;
use rp_actions::control_plane::MACHINES;
use rp_actions::etcd::{PODS, broken_member, check_renewable};
use rp_api::CloudError;
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{Manifest, ManifestState, ManifestStep, Task};
use rp_openshift::{ClusterVersion, List, Machine, Pod, Whole};

use super::context::{ActionContext, within};
use super::failed;
use super::ordered::{FollowedOrder, Orders, cause, set_location};
use super::stream::{Gone, Output, Verdict, permit, streamed};
use crate::fault::Fault;
use crate::response::{HttpResponse, empty};

/// Time limit for all requests of the checks.
const WITHIN: Duration = Duration::from_secs(60);
/// How long an answer follows what has started: twice the limits of all steps.
const ENDS_WITHIN: Duration = Duration::from_hours(2);
/// Largest object and list, bytes.
const MOST_OBJECT: usize = 2 << 20;
const MOST_LIST: usize = 32 << 20;

/// Machines of the control plane.
const MASTERS_ONLY: &str = "labelSelector=machine.openshift.io%2Fcluster-api-machine-role%3Dmaster";
const VERSION_PATH: &str = "/apis/config.openshift.io/v1/clusterversions/version";

/// Finds the broken member and orders its recovery; the answer tells each step as it ends
/// (`contract/frontend.md` "Do better" 25).
pub(super) async fn recover(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let permit = permit(&of.parts.edge)?;
    let orders = Orders::new(&of, Task::RecoverEtcd, "A member of etcd is being recovered already");
    orders.refuse_second(None).await?;
    let (node, machine) = within(WITHIN, find(&of)).await?;
    let signal = of.signal();
    let made = orders.make(|manifest| manifest.machine = machine).await?;
    let id = made.id.clone();
    let order = orders.follow(made.id, ENDS_WITHIN);
    let first = format!("Maintenance manifest {id}: etcd recovery on node {node}");
    let mut answer = streamed("text/plain", ENDS_WITHIN, permit, |out| async move {
        let _signal = signal;
        out.line(&first).await?;
        tell(&out, order).await
    });
    set_location(&of, &id, &mut answer);
    Ok(answer)
}

/// The node of the broken member, and its machine.
async fn find(of: &ActionContext<'_>) -> Result<(String, String), CloudError> {
    let api = of.api().await?;
    let pods: List<Pod<Whole>> = api.get_as(PODS, MOST_LIST).await?;
    let machines: List<Machine<Whole>> = api.get_as(&format!("{MACHINES}?{MASTERS_ONLY}"), MOST_LIST).await?;
    let nodes: Vec<&str> =
        machines.items.iter().map(|machine| machine.status.node_ref.name.as_str()).collect();
    let node = broken_member(&pods.items, &nodes).map_err(failed)?;
    let machine = machine(&machines.items, &node)?;
    Ok((node, machine))
}

/// The name of the machine whose node it is; the node's own where no machine says.
fn machine(machines: &[Machine<Whole>], node: &str) -> Result<String, CloudError> {
    let own = machines.iter().find(|machine| machine.status.node_ref.name.as_str() == node);
    let name = own.map_or(node, |machine| machine.metadata.name.as_str());
    match rp_actions::rules::is_name(name) {
        true => Ok(name.to_owned()),
        false => Err(failed(format!("The machine of node {node} has no valid name."))),
    }
}

/// Tells what the order does until it is over. A client that leaves does not stop it.
async fn tell(out: &Output, mut order: FollowedOrder) -> Result<Verdict, Gone> {
    let (mut shown, mut waits) = (0, String::new());
    loop {
        let found = match order.look().await {
            Ok(found) => found.maintenance_manifest,
            Err(fault) => {
                out.line(&fault.into_cloud_error().body.message).await?;
                return Ok(Verdict::Failed);
            }
        };
        for step in found.steps.iter().skip(shown) {
            out.line(&step_line(step)).await?;
        }
        shown = found.steps.len();
        match found.state {
            ManifestState::Completed => {
                out.line(&found.status_text).await?;
                out.line("Done.").await?;
                return Ok(Verdict::Good);
            }
            state if state.is_terminal() => {
                out.line(&format!("{}: {}", state.name(), cause(&found))).await?;
                return Ok(Verdict::Failed);
            }
            _ if found.status_text != waits => {
                waits.clone_from(&found.status_text);
                out.line(&waits).await?;
            }
            _ => {}
        }
    }
}

fn step_line(step: &ManifestStep) -> String {
    let name = step.name.split_once('.').map_or(step.name.as_str(), |(_, name)| name);
    let took = Duration::from_millis(u64::try_from(step.milliseconds).unwrap_or_default());
    format!("{name} ({took:?})")
}

/// Orders new certificates, and answers when they are there.
pub(super) async fn renew_certificates(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let orders =
        Orders::new(&of, Task::RenewEtcdCertificates, "The certificates of etcd are being renewed already");
    orders.refuse_second(None).await?;
    within(WITHIN, check_version(&of)).await?;
    let _signal = of.signal();
    let made = orders.make(|_: &mut Manifest| {}).await?;
    let ended: ManifestDocument = orders.follow(made.id, ENDS_WITHIN).end().await?;
    match ended.maintenance_manifest.state {
        ManifestState::Completed => {
            let mut answer = empty(StatusCode::OK);
            set_location(&of, &ended.id, &mut answer);
            Ok(answer)
        }
        _ => Err(failed(cause(&ended.maintenance_manifest)).into()),
    }
}

async fn check_version(of: &ActionContext<'_>) -> Result<(), CloudError> {
    let version: ClusterVersion<Whole> = of.api().await?.get_as(VERSION_PATH, MOST_OBJECT).await?;
    let version = version.status.desired.version.as_str();
    check_renewable(version).map_err(|told| CloudError::new(403, "Forbidden", "", told))
}
