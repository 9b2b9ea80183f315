//! Orders and cancellations by people.

use http::StatusCode;
use portal_session::elevation::require_elevation;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_access::ReasonLimits;
use rp_base::Timestamp;
use rp_database::{Versioned, update_if};
use rp_documents::maintenance::{Manifest, ManifestState, Task, Times};
use rp_documents::{ManifestDocument, ProvisioningState, ResourceId, Rights, Side};

use super::{manifests, task_name, task_named};
use crate::cluster_document::cluster_document;
use crate::saved::{ChangeError, invalid, reason_limits, record};
use crate::state::PortalState;

/// What a person orders.
#[derive(Debug, Default)]
pub struct Order {
    /// Id or name of the task.
    pub task: String,
    /// Why, for the record.
    pub reason: String,
    pub times: Times,
    /// 0 (first) to 1000 (last).
    pub priority: i64,
    /// The machine that the task is about; empty: it is about none.
    pub machine: String,
    /// Skips the steps in the cluster: check, cordon, drain, the wait for the node.
    pub force: bool,
}

/// A member of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderField {
    Task,
    Reason,
    RunAfter,
    RunBefore,
    Priority,
    Machine,
    Force,
}

impl OrderField {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Reason => "reason",
            Self::RunAfter => "runAfter",
            Self::RunBefore => "runBefore",
            Self::Priority => "priority",
            Self::Machine => "machine",
            Self::Force => "force",
        }
    }

    /// The member that a problem of a manifest is about.
    fn with_target(target: &str) -> Self {
        match target {
            "runAfter" => Self::RunAfter,
            "runBefore" => Self::RunBefore,
            "priority" => Self::Priority,
            "machine" => Self::Machine,
            "force" => Self::Force,
            _ => Self::Task,
        }
    }
}

/// Why nothing was ordered.
#[derive(Debug, PartialEq, Eq)]
pub enum OrderError {
    /// The members that are wrong, each with what is wrong.
    Invalid(Vec<(OrderField, String)>),
    Refused(Fault),
}

impl From<Fault> for OrderError {
    fn from(fault: Fault) -> Self {
        Self::Refused(fault)
    }
}

impl From<OrderError> for Fault {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Refused(fault) => fault,
            OrderError::Invalid(wrong) => {
                let sentences = wrong.iter().map(|(field, message)| format!("{}: {message}", field.name()));
                invalid(sentences.collect::<Vec<_>>().join("; "))
            }
        }
    }
}

/// Orders a task on a cluster; on the record before it is stored.
///
/// # Errors
/// The person has no elevation to write rights on this cluster; there is no such cluster, or it is being deleted; the
/// task, a time or the reason is not one; or the store's.
pub async fn order(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    order: Order,
) -> Result<ManifestDocument, OrderError> {
    require_elevation(&state.session, &user.caller, id, Rights::Write).await?;
    check_cluster(state, id).await?;
    let store = &state.session.store;
    let now = store.now().await.map_err(|error| Fault::store(&error))?;
    let (task, reason, manifest) = checked(&order, reason_limits(state), now)?;
    let what = record_name(task, &manifest);
    record(state, user, "maintenance.plan", &what, &reason, Some(id)).await?;
    let document = ManifestDocument::new(state.session.random.uuid().to_string(), id.key(), manifest);
    let made = manifests(store).create(document).await.map_err(|error| Fault::store(&error))?;
    Ok(made.value)
}

/// What the audit log calls it: `restart machine worker-1`.
fn record_name(task: Task, manifest: &Manifest) -> String {
    let force = if manifest.force { ", forced" } else { "" };
    format!("{} {}{force}", task.name(), manifest.machine).trim().to_owned()
}

/// Task, reason and manifest of an order.
fn checked(
    order: &Order,
    limits: ReasonLimits,
    now: Timestamp,
) -> Result<(Task, String, Manifest), OrderError> {
    let mut wrong = Vec::new();
    let reason = limits.check(&order.reason).unwrap_or_else(|bad| {
        wrong.push((OrderField::Reason, bad.to_string()));
        ""
    });
    let Some(task) = task_named(&order.task) else {
        let what = "there is no such task: GET /api/v1/maintenance/tasks lists them";
        wrong.push((OrderField::Task, what.to_owned()));
        return Err(OrderError::Invalid(wrong));
    };
    // Where no end is named it may start within a week of its time, not of the order.
    let start = now.max(Timestamp::from_seconds(order.times.run_after));
    let manifest = Manifest::ordered(task.id(), order.priority, order.times, start);
    let manifest = Manifest { machine: order.machine.trim().to_owned(), force: order.force, ..manifest };
    if let Err(problem) = manifest.check() {
        wrong.push((OrderField::with_target(&problem.target), problem.message));
    }
    if wrong.is_empty() { Ok((task, reason.to_owned(), manifest)) } else { Err(OrderError::Invalid(wrong)) }
}

/// It is one of ours, and is not being deleted.
async fn check_cluster(state: &PortalState, id: &ResourceId) -> Result<(), Fault> {
    if id.is_imported() {
        return Err(invalid("An imported cluster has no maintenance by this service"));
    }
    let document = cluster_document(&state.session.store, id).await?.value;
    if document.cluster.properties.provisioning_state.get() == Some(&ProvisioningState::Deleting) {
        return Err(invalid("The cluster is being deleted"));
    }
    Ok(())
}

/// The manifest of that cluster, for a person who may cancel it: it waits.
///
/// # Errors
/// The person has no elevation to write rights on this cluster; there is no such manifest, or it runs or is over; or
/// the store's.
pub async fn waiting(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    manifest: &str,
) -> Result<ManifestDocument, Fault> {
    require_elevation(&state.session, &user.caller, id, Rights::Write).await?;
    let found = manifests(&state.session.store).get(&manifest.to_ascii_lowercase()).await;
    let found = found.map_err(|error| Fault::store(&error))?;
    let found = found.filter(|found| found.value.cluster_resource_id == id.key());
    let found = found.ok_or_else(Fault::not_found)?.value;
    check_waits(&found.maintenance_manifest)?;
    Ok(found)
}

/// Cancels what waits; on the record before it is stored.
///
/// # Errors
/// The reason is not one, or as [`waiting`].
pub async fn cancel(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    manifest: &str,
    why: &str,
) -> Result<ManifestDocument, ChangeError> {
    let found = waiting(state, user, id, manifest).await?;
    let reason = reason_limits(state).check(why)?;
    let name = task_name(&found.maintenance_manifest.maintenance_task_id);
    record(state, user, "maintenance.cancel", name, reason, Some(id)).await?;
    let store = &state.session.store;
    let now = store.now().await.map_err(|error| Fault::store(&error))?;
    let mut seen = found.maintenance_manifest.state;
    let change = |found: Versioned<ManifestDocument>| {
        seen = found.value.maintenance_manifest.state;
        found.try_map(|one| one.with_state(ManifestState::Cancelled, "", now))
    };
    let cancelled = update_if(&manifests(store), &found.id, change).await;
    match cancelled.map_err(|error| Fault::store(&error))? {
        Some(cancelled) => Ok(cancelled.value),
        None => Err(no_longer_waits(seen).into()),
    }
}

fn check_waits(manifest: &Manifest) -> Result<(), Fault> {
    if manifest.must_end() {
        let what = "The task was begun and must come to its end";
        return Err(Fault::new(StatusCode::CONFLICT, "does_not_wait", Side::You, what)
            .why("Machines would stay stopped."));
    }
    match manifest.state {
        ManifestState::Pending => Ok(()),
        state => Err(no_longer_waits(state)),
    }
}

fn no_longer_waits(state: ManifestState) -> Fault {
    let what = format!("The manifest does not wait any more: it is {}", state.name());
    Fault::new(StatusCode::CONFLICT, "does_not_wait", Side::You, what)
        .why("Only what has not begun can be cancelled.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const LIMITS: ReasonLimits = ReasonLimits { least: 10, most: 1000 };

    fn asked(task: &str, reason: &str) -> Order {
        Order { task: task.to_owned(), reason: reason.to_owned(), ..Order::default() }
    }

    fn wrong(order: &Order) -> Vec<OrderField> {
        match checked(order, LIMITS, NOW) {
            Err(OrderError::Invalid(wrong)) => wrong.into_iter().map(|(field, _)| field).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_order_is_checked_member_by_member() {
        let sound = asked("Fix SSH ", "  it times out  ");
        let (task, reason, manifest) = checked(&sound, LIMITS, NOW).unwrap();
        assert_eq!((task, &*reason), (Task::FixSsh, "it times out"));
        assert_eq!(manifest.run_after, NOW.seconds());
        let later = Times { run_after: NOW.seconds() + 100 * 86_400, run_before: 0 };
        let (.., far) = checked(&Order { times: later, ..sound }, LIMITS, NOW).unwrap();
        assert_eq!((far.run_after, far.run_before), (later.run_after, later.run_after + 7 * 86_400));
        assert_eq!(wrong(&asked("tidy up", "short")), [OrderField::Reason, OrderField::Task]);
        assert_eq!(wrong(&asked("MSI certificate renewal", "it times out")), [OrderField::Task]);
        let late = Order { priority: 1001, ..asked("fix SSH", "it times out") };
        assert_eq!(wrong(&late), [OrderField::Priority]);
        assert_eq!(wrong(&asked("restart machine", "it hangs since noon")), [OrderField::Machine]);
        let restart =
            Order { machine: " a-worker-1 ".to_owned(), ..asked("restart machine", "it hangs since noon") };
        let (task, _, manifest) = checked(&restart, LIMITS, NOW).unwrap();
        assert_eq!(record_name(task, &manifest), "restart machine a-worker-1");
        let forced = Order { force: true, ..asked("fix SSH", "it times out") };
        assert_eq!(wrong(&forced), [OrderField::Force]);
        let past = Times { run_after: 0, run_before: NOW.seconds() - 1 };
        assert_eq!(
            wrong(&Order { times: past, ..asked("fix SSH", "short") }),
            [OrderField::Reason, OrderField::RunBefore]
        );
    }

    #[test]
    fn a_script_is_told_every_member_that_is_wrong() {
        let bad = OrderError::Invalid(vec![
            (OrderField::Reason, "too short".to_owned()),
            (OrderField::Priority, "Must be between 0 and 1000".to_owned()),
        ]);
        let fault = Fault::from(bad);
        assert_eq!((fault.status.as_u16(), fault.code), (422, "invalid"));
        assert_eq!(fault.what, "reason: too short; priority: Must be between 0 and 1000");
    }

    #[test]
    fn only_what_waits_can_be_cancelled() {
        for state in ManifestState::ALL {
            let manifest = Manifest { state, ..Manifest::default() };
            assert_eq!(check_waits(&manifest).is_ok(), state == ManifestState::Pending, "{state:?}");
        }
    }
}
