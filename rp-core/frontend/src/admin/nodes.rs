//! Nodes of a cluster: cordoned and drained (`contract/frontend.md` §11.1).

use std::time::Duration;

use http::StatusCode;
use rp_actions::{DrainOptions, DrainPod, DrainReport, Mode, PodState};
use rp_api::CloudError;

use super::context::{ActionContext, within};
use super::failed;
use super::object_writes::flag;
use super::rules;
use crate::fault::Fault;
use crate::response::{Change, HttpResponse, empty};

/// Time limit of cordoning.
const CORDON: Duration = Duration::from_secs(60);
/// Time limit of draining.
const DRAIN: Duration = Duration::from_mins(3);
/// Pods that an error names.
const NAMED: usize = 10;

/// Cordons a node (`shouldCordon=true`), or uncordons it.
pub(super) async fn cordon(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let node = node(&of)?;
    let wanted = of.text("shouldCordon") == "true";
    within(CORDON, async {
        let _signal = of.signal();
        let api = of.admin_api().await?;
        let change = rp_actions::set_unschedulable(&api, node, wanted, Mode::Change).await;
        let change = change.map_err(rules::action)?;
        let mut answer = empty(StatusCode::OK);
        answer.extensions_mut().insert(Change::new(&change.before, &change.after));
        Ok(answer)
    })
    .await
}

/// The node that `vmName` names, under the rules of objects.
fn node<'a>(of: &ActionContext<'a>) -> Result<&'a str, CloudError> {
    let node = of.text("vmName");
    rules::write(&rp_actions::node_resource(), "", node)?;
    Ok(node)
}

/// Moves the pods of a node away. By default through evictions, which honour the budgets of disruption
/// (`contract/frontend.md` "Do better" 29); `force=true` deletes the pods, as the contract has it.
///
/// A call that ended early leaves the node cordoned and may be made again: it goes on with the pods that are left.
pub(super) async fn drain(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let node = node(&of)?;
    let force = flag(of.text("force"), "force")?;
    let _signal = of.signal();
    let api = of.admin_api().await?;
    let options = DrainOptions { force, mode: Mode::Change, wait: DRAIN };
    let mut report = DrainReport::default();
    let drained = rp_actions::drain(&api, node, options, &mut report).await;
    drained.map_err(rules::action)?;
    if !report.done {
        return Err(unfinished(node, &report).into());
    }
    let after = format!("cordoned, {} pods removed", report.moved.len());
    let mut answer = empty(StatusCode::OK);
    answer.extensions_mut().insert(Change::new(report.before(), &after));
    Ok(answer)
}

/// What is left when the time is over, and what stands in its way.
fn unfinished(node: &str, report: &DrainReport) -> CloudError {
    let names = |all: &mut dyn Iterator<Item = String>| all.take(NAMED).collect::<Vec<_>>().join(", ");
    let mut message = format!(
        "Node '{node}' is cordoned, but {} pods are left after {} s: {}.",
        report.left.len(),
        DRAIN.as_secs(),
        names(&mut report.left.iter().map(DrainPod::place))
    );
    let blocked = || report.left.iter().filter(|pod| pod.state == PodState::Blocked);
    if blocked().next().is_some() {
        let mut why = blocked().map(|pod| format!("{}: {}", pod.place(), pod.why));
        message.push_str(&format!(" Evictions that are refused: {}.", names(&mut why)));
    }
    failed(rp_base::text::clean(&message, 4096))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_drain_names_what_is_left_and_why() {
        let pod = |n: usize| DrainPod {
            namespace: "openshift-dns".to_owned(),
            name: format!("p{n}"),
            ..DrainPod::default()
        };
        let mut left: Vec<_> = (0..30).map(pod).collect();
        left[1].state = PodState::Blocked;
        left[1].why = "budget".to_owned();
        let told = unfinished("n", &DrainReport { left, ..DrainReport::default() }).body.message;
        assert!(told.contains("30 pods are left") && told.contains("openshift-dns/p9"), "{told}");
        assert!(!told.contains("openshift-dns/p10,"), "{told}");
        assert!(told.ends_with("Evictions that are refused: openshift-dns/p1: budget."), "{told}");
    }
}
