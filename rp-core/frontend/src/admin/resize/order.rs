//! Orders the resize of a control plane, and answers when it has ended. The actuator of maintenance carries it out
//! (`docs/decisions/0021-short-actions-are-requests.md`): it survives this process and its client.

use std::fmt::Write as _;
use std::time::Duration;

use http::StatusCode;
use rp_api::CloudError;
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{Manifest, ManifestState, MasterResize, Resize, Task};

use super::super::azure::ManagedGroup;
use super::super::context::{ActionContext, within};
use super::super::failed;
use super::super::ordered::{Orders, cause, set_location};
use super::control_plane::ControlPlane;
use super::inventory::node_name;
use super::{WITHIN, all_checks, at};
use crate::fault::Fault;
use crate::response::{Change, HttpResponse, empty};

/// How long an answer waits for the end of what has started: 45 minutes a master, there and back.
const ENDS_WITHIN: Duration = Duration::from_mins(2 * 3 * 45);

/// Gives the control plane the size `vmSize`, master by master.
pub(in super::super) async fn resize(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let deallocate = deallocate(of.text("deallocateVM"))?;
    let managed = ManagedGroup::find(&of).await?;
    let orders = Orders::new(&of, Task::ResizeControlPlane, "The control plane is being resized already");
    orders.refuse_second(None).await?;
    let (plane, vm_size) = within(WITHIN, Box::pin(all_checks(&of, &managed))).await?;
    let order = Resize { masters: masters(&plane, &vm_size)?, vm_size, deallocate, ..Resize::default() };
    if order.masters.is_empty() {
        return Ok(empty(StatusCode::OK));
    }
    let _signal = of.signal();
    let made = orders.make(|manifest| manifest.resize = Some(order)).await?;
    let ended = orders.follow(made.id, ENDS_WITHIN).end().await?;
    answer(&of, &ended)
}

fn deallocate(given: &str) -> Result<bool, CloudError> {
    match given {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let message = format!(
                "The provided deallocateVM value '{}' is invalid. Allowed values are 'true' or 'false'.",
                rp_base::text::clean(other, 64)
            );
            Err(CloudError::invalid("deallocateVM", message))
        }
    }
}

/// The masters that do not have the size, in the order of their nodes' names from the end.
fn masters(plane: &ControlPlane, wanted: &str) -> Result<Vec<MasterResize>, CloudError> {
    let mut masters = Vec::new();
    for (machine, vm) in plane.machines.iter().filter(|(_, vm)| !vm.size.eq_ignore_ascii_case(wanted)) {
        let (machine, node) = (machine.metadata.name.as_str(), node_name(machine));
        // They become parts of paths, and the cluster is not trusted to name them well.
        for name in [machine, node] {
            if !rp_actions::rules::is_name(name) {
                return Err(at(
                    "controlPlaneMachines",
                    failed(format!("'{name}' is not a valid machine name.")),
                ));
            }
        }
        let (machine, node) = (machine.to_owned(), node.to_owned());
        masters.push(MasterResize { machine, node, vm_size: vm.size.clone(), ..MasterResize::default() });
    }
    masters.sort_by(|a, b| b.node.cmp(&a.node));
    Ok(masters)
}

fn answer(of: &ActionContext<'_>, ended: &ManifestDocument) -> Result<HttpResponse, Fault> {
    let manifest = &ended.maintenance_manifest;
    let order = manifest.resize.as_ref();
    match (manifest.state, order) {
        (ManifestState::Completed, Some(order)) => {
            let before = order.masters.first().map(|master| master.vm_size.as_str());
            let mut answer = empty(StatusCode::OK);
            set_location(of, &ended.id, &mut answer);
            answer.extensions_mut().insert(Change::new(before.unwrap_or_default(), &order.vm_size));
            Ok(answer)
        }
        _ => Err(failed(told(manifest)).into()),
    }
}

/// Cause, steps and errors of the way back (`contract/frontend.md` §11.8).
fn told(manifest: &Manifest) -> String {
    let stored = manifest.resize.as_ref().map(|order| order.cause.as_str()).unwrap_or_default();
    let text = manifest.status_text.as_str();
    let (cause, rollback) = match (stored, text) {
        ("", _) => (cause(manifest), None),
        (stored, text) => {
            let rollback = text.split_once(&format!("{stored}. Rollback errors: "));
            (stored.to_owned(), rollback.map(|(_, rollback)| rollback))
        }
    };
    let mut told = cause;
    for (n, step) in manifest.steps.iter().enumerate() {
        let (name, node) = manifest.resize.as_ref().map(|order| order.step(&step.name)).unwrap_or_default();
        let before = if n == 0 { ". Steps: " } else { ", " };
        let took = Duration::from_millis(u64::try_from(step.milliseconds).unwrap_or_default());
        let _ = write!(told, "{before}{node}:{name} ({took:?})");
    }
    if let Some(rollback) = rollback {
        let _ = write!(told, ". Rollback errors: {rollback}");
    }
    told
}

#[cfg(test)]
mod tests {
    use rp_documents::maintenance::ManifestStep;

    use super::*;

    #[test]
    fn only_true_and_false_are_taken() {
        assert_eq!(
            ["", "true", "false"].map(|given| deallocate(given).ok()),
            [Some(true), Some(true), Some(false)]
        );
        let told = deallocate("yes").unwrap_err().body;
        assert_eq!(
            (told.target.as_str(), told.message.as_str()),
            (
                "deallocateVM",
                "The provided deallocateVM value 'yes' is invalid. Allowed values are 'true' or 'false'."
            )
        );
    }

    #[test]
    fn a_failure_tells_cause_steps_and_what_the_way_back_met() {
        let master = |node: &str| MasterResize { node: node.to_owned(), ..MasterResize::default() };
        let step = |name: &str, milliseconds| ManifestStep {
            name: name.to_owned(),
            milliseconds,
            ..ManifestStep::default()
        };
        let manifest = Manifest {
            state: ManifestState::RetriesExceeded,
            status_text: "did not succeed after 5 times, failing -- TransientError: no room. Rollback errors: no answer"
                .to_owned(),
            steps: vec![
                step("action.cordon", 250),
                step("action.stop#2", 61_000),
                step("action.rollbackStop", 2000),
                step("action.rollbackStart#2", 3000),
            ],
            resize: Some(Resize {
                masters: vec![master("c"), master("a")],
                cause: "no room".to_owned(),
                ..Resize::default()
            }),
            ..Manifest::default()
        };
        assert_eq!(
            told(&manifest),
            "no room. Steps: c:cordon (250ms), a:stop (61s), a:rollbackStop (2s), c:rollbackStart (3s). \
             Rollback errors: no answer"
        );
    }

    #[test]
    fn an_order_that_was_cancelled_says_so() {
        let manifest = Manifest { state: ManifestState::Cancelled, ..Manifest::default() };
        assert_eq!(told(&manifest), "The maintenance manifest is Cancelled");
        let failed = Manifest { status_text: "TerminalError: etcd is not healthy".to_owned(), ..manifest };
        assert_eq!(told(&failed), "etcd is not healthy");
    }
}
