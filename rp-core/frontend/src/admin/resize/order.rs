//! Orders the resize of a control plane, and answers when it has ended. The actuator of maintenance carries it out
//! (`docs/decisions/0021-short-actions-are-requests.md`): it survives this process and its client.

use std::fmt::Write as _;
use std::time::Duration;

use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use rp_api::CloudError;
use rp_database::{Span, Typed, Versioned, update_if};
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{Manifest, ManifestState, MasterResize, Resize, Task, Times};
use tokio::time::{Instant, sleep};

use super::super::azure::ManagedGroup;
use super::super::context::{ActionContext, within};
use super::super::failed;
use super::control_plane::ControlPlane;
use super::inventory::node_name;
use super::{WITHIN, all_checks, at};
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::response::{Change, HttpResponse, empty};

/// How long an order may wait for its cluster.
const STARTS_WITHIN: Duration = Duration::from_hours(1);
/// How long an answer waits for the end of what has started: 45 minutes a master, there and back.
const ENDS_WITHIN: Duration = Duration::from_mins(2 * 3 * 45);
/// Between two looks at the manifest.
const PERIOD: Duration = Duration::from_secs(1);
/// Looks that fail one after the other before the answer gives up; the resize goes on.
const MOST_FAILURES: u32 = 60;
/// Manifests of one cluster that are read at once.
const AT_ONCE: u32 = 200;

/// Gives the control plane the size `vmSize`, master by master.
pub(in super::super) async fn resize(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let deallocate = deallocate(of.text("deallocateVM"))?;
    let managed = ManagedGroup::find(&of).await?;
    let manifests = Typed::<ManifestDocument>::new(of.parts.store.clone());
    refuse_second(&manifests, &of.path.key(), None).await?;
    let (plane, vm_size) = within(WITHIN, Box::pin(all_checks(&of, &managed))).await?;
    let order = Resize { masters: masters(&plane, &vm_size)?, vm_size, deallocate, ..Resize::default() };
    if order.masters.is_empty() {
        return Ok(empty(StatusCode::OK));
    }
    let _signal = of.signal();
    let made = make(of, &manifests, order).await?;
    let ended = end(of.parts, &manifests, &made.value.id).await?;
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

/// Stores the order, unless there is one.
async fn make(
    of: ActionContext<'_>,
    manifests: &Typed<ManifestDocument>,
    order: Resize,
) -> Result<Versioned<ManifestDocument>, Fault> {
    let key = of.path.key();
    refuse_second(manifests, &key, None).await?;
    let now = of.parts.store.now().await?;
    let times = Times { run_after: now.seconds() - 1, run_before: (now + STARTS_WITHIN).seconds() };
    let manifest = Manifest::ordered(Task::ResizeControlPlane.id(), 0, times, now);
    let manifest = Manifest { resize: Some(order), ..manifest };
    let document = ManifestDocument::new(of.parts.random.uuid().to_string(), key.clone(), manifest);
    let made = manifests.create(document).await?;
    // Another one may have been made at the same time. Then each is taken back, unless it was begun.
    match refuse_second(manifests, &key, Some(&made.value.id)).await {
        Err(error) if cancel(of.parts, manifests, &made.value.id).await? => Err(error),
        _ => Ok(made),
    }
}

/// 409: an order other than `own` is not over.
async fn refuse_second(
    manifests: &Typed<ManifestDocument>,
    cluster: &str,
    own: Option<&str>,
) -> Result<(), Fault> {
    let open = ManifestDocument::open_keys(cluster);
    let task = Task::ResizeControlPlane.id();
    let mut after: Option<String> = None;
    loop {
        let page = manifests.scan(Span::Keys(&open), after.as_deref(), AT_ONCE).await?;
        let mut all = page.items.iter().map(|found| &found.value);
        let other = all.find(|found| {
            found.maintenance_manifest.maintenance_task_id == task && own != Some(found.id.as_str())
        });
        if let Some(other) = other {
            let message =
                format!("The control plane is being resized already: maintenance manifest {}.", other.id);
            return Err(CloudError::new(409, "RequestNotAllowed", "", message).into());
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn cancel(parts: &FrontendParts, manifests: &Typed<ManifestDocument>, id: &str) -> Result<bool, Fault> {
    let now = parts.store.now().await?;
    let change = |found: Versioned<ManifestDocument>| {
        found.try_map(|one| one.with_state(ManifestState::Cancelled, "", now))
    };
    Ok(update_if(manifests, id, change).await?.is_some())
}

/// Waits for the end of the order.
async fn end(
    parts: &FrontendParts,
    manifests: &Typed<ManifestDocument>,
    id: &str,
) -> Result<ManifestDocument, Fault> {
    let (began, mut started, mut failures) = (Instant::now(), None, 0);
    loop {
        sleep(PERIOD).await;
        let found = match manifests.get(id).await {
            Err(_) if failures < MOST_FAILURES => {
                failures += 1;
                continue;
            }
            found => found?,
        };
        failures = 0;
        let found = found.ok_or_else(|| failed(format!("maintenance manifest {id} was deleted")))?.value;
        let state = found.maintenance_manifest.state;
        if state.is_terminal() {
            return Ok(found);
        }
        if found.maintenance_manifest.must_end() {
            started.get_or_insert_with(Instant::now);
        }
        let late = match started {
            None => began.elapsed() > STARTS_WITHIN && cancel(parts, manifests, id).await?,
            Some(started) => started.elapsed() > ENDS_WITHIN,
        };
        if late {
            let why = &found.maintenance_manifest.status_text;
            let message =
                format!("Maintenance manifest {id} has not ended, and this answer waits no longer. {why}");
            return Err(failed(message.trim_end()).into());
        }
    }
}

fn answer(of: &ActionContext<'_>, ended: &ManifestDocument) -> Result<HttpResponse, Fault> {
    let manifest = &ended.maintenance_manifest;
    let order = manifest.resize.as_ref();
    match (manifest.state, order) {
        (ManifestState::Completed, Some(order)) => {
            let before = order.masters.first().map(|master| master.vm_size.as_str());
            let mut answer = empty(StatusCode::OK);
            let place = format!("/admin{}/maintenancemanifests/{}", of.path.original, ended.id);
            if let Ok(place) = HeaderValue::from_str(&place) {
                answer.headers_mut().insert(LOCATION, place);
            }
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
        ("", "") => (format!("The maintenance manifest is {}", manifest.state.name()), None),
        ("", text) => (text.strip_prefix("TerminalError: ").unwrap_or(text).to_owned(), None),
        (cause, text) => {
            let rollback = text.split_once(&format!("{cause}. Rollback errors: "));
            (cause.to_owned(), rollback.map(|(_, rollback)| rollback))
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
