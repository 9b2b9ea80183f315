//! Maintenance of clusters (`contract/mimo.md`): what is planned, what runs and what has ended, and how people plan and
//! cancel it. The backend's actuator does the rest.

use std::cmp::Reverse;
use std::sync::Arc;

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_database::{SharedStore, Span, StoreError, Typed, Versioned, update_if};
use rp_documents::maintenance::{Manifest, ManifestState, OPEN, Task, Times};
use rp_documents::{ClusterDocument, ManifestDocument, ProvisioningState, ResourceId, Rights, Side};

use crate::saved::invalid;
use crate::state::PortalState;

/// Manifests read at once.
const AT_ONCE: u32 = 200;
/// Manifests of one cluster that are looked through for those that are over.
const MOST: usize = 2_000;
/// Of those that are over, the newest are given.
const KEPT: usize = 30;
/// Characters of a reason.
const MOST_REASON: usize = 500;

fn manifests(store: &SharedStore) -> Typed<ManifestDocument> {
    Typed::new(Arc::clone(store))
}

/// The manifests of the cluster with that lower-cased resource id: what runs, what waits by its time, and the newest of
/// what is over.
///
/// # Errors
/// The store did not answer.
pub async fn of_cluster(store: &SharedStore, key: &str) -> Result<Vec<ManifestDocument>, StoreError> {
    let mut all = open(store, &ManifestDocument::open_keys(key)).await?;
    let mut over = Vec::new();
    let (mut after, mut looked) = (None::<String>, 0);
    while looked < MOST {
        let page = manifests(store).scan(Span::Partition(key), after.as_deref(), AT_ONCE).await?;
        looked += page.items.len();
        let ended = page.items.into_iter().map(|found| found.value);
        over.extend(ended.filter(|one| one.maintenance_manifest.state.is_terminal()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    over.sort_by_key(|one| Reverse(one.maintenance_manifest.ended));
    over.truncate(KEPT);
    all.extend(over);
    Ok(all)
}

/// What runs and what waits on all clusters, in the order in which it is due; at most [`MOST`].
///
/// # Errors
/// The store did not answer.
pub async fn of_fleet(store: &SharedStore) -> Result<Vec<ManifestDocument>, StoreError> {
    open(store, OPEN).await
}

async fn open(store: &SharedStore, keys: &str) -> Result<Vec<ManifestDocument>, StoreError> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    while all.len() < MOST {
        let page = manifests(store).scan(Span::Keys(keys), after.as_deref(), AT_ONCE).await?;
        all.extend(page.items.into_iter().map(|found| found.value));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    all.sort_by_key(|one| {
        let manifest = &one.maintenance_manifest;
        (manifest.state == ManifestState::Pending, manifest.run_after, manifest.priority)
    });
    Ok(all)
}

/// What a person orders.
#[derive(Debug)]
pub struct Order {
    /// Id or name of the task.
    pub task: String,
    /// Why, for the record.
    pub reason: String,
    pub times: Times,
    /// 0 (first) to 1000 (last).
    pub priority: i64,
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
) -> Result<ManifestDocument, Fault> {
    check_elevated(state, user, id).await?;
    let reason = reason(&order.reason)?;
    let task = task(&order.task)?;
    check_cluster(state, id).await?;
    let store = &state.session.store;
    let now = store.now().await.map_err(|error| Fault::store(&error))?;
    let manifest = Manifest::ordered(task.id(), order.priority, order.times, now);
    manifest.check().map_err(|problem| invalid(format!("{}: {}", problem.target, problem.message)))?;
    record(state, user, "maintenance.plan", id, task.name(), &reason).await?;
    let document = ManifestDocument::new(state.session.random.uuid().to_string(), id.key(), manifest);
    let made = manifests(store).create(document).await.map_err(|error| Fault::store(&error))?;
    Ok(made.value)
}

/// Cancels what waits; on the record before it is stored.
///
/// # Errors
/// The person has no elevation to write rights on this cluster; there is no such manifest, or it runs or is over; or
/// the store's.
pub async fn cancel(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    manifest: &str,
    why: &str,
) -> Result<ManifestDocument, Fault> {
    check_elevated(state, user, id).await?;
    let reason = reason(why)?;
    let store = &state.session.store;
    let found = manifests(store).get(manifest).await.map_err(|error| Fault::store(&error))?;
    let found = found.filter(|found| found.value.cluster_resource_id == id.key());
    let found = found.ok_or_else(Fault::not_found)?.value;
    let mut seen = found.maintenance_manifest.state;
    check_waits(seen)?;
    let name = task_name(&found.maintenance_manifest.maintenance_task_id);
    record(state, user, "maintenance.cancel", id, name, &reason).await?;
    let now = store.now().await.map_err(|error| Fault::store(&error))?;
    let change = |found: Versioned<ManifestDocument>| {
        seen = found.value.maintenance_manifest.state;
        let version = found.version;
        let (value, expires_at) = found.value.with_state(ManifestState::Cancelled, "", now)?;
        Some(Versioned { value, version, expires_at })
    };
    let cancelled = update_if(&manifests(store), &found.id, change).await;
    match cancelled.map_err(|error| Fault::store(&error))? {
        Some(cancelled) => Ok(cancelled.value),
        None => Err(no_longer_waits(seen)),
    }
}

async fn check_elevated(state: &PortalState, user: &CurrentUser, id: &ResourceId) -> Result<(), Fault> {
    let elevated = state.session.access.is_elevated(&user.caller, id, Rights::Write).await;
    if elevated.map_err(|error| Fault::store(&error))? {
        return Ok(());
    }
    Err(refusals::issue(&rp_access::IssueError::ElevationNeeded { rights: Rights::Write }))
}

/// It is one of ours, and is not being deleted.
async fn check_cluster(state: &PortalState, id: &ResourceId) -> Result<(), Fault> {
    if id.is_imported() {
        return Err(invalid("An imported cluster has no maintenance by this service"));
    }
    let clusters = Typed::<ClusterDocument>::new(Arc::clone(&state.session.store));
    let found = clusters.get_by_key(id.key()).await.map_err(|error| Fault::store(&error))?;
    let document = found.ok_or_else(Fault::no_cluster)?.value;
    if document.cluster.properties.provisioning_state.get() == Some(&ProvisioningState::Deleting) {
        return Err(invalid("The cluster is being deleted"));
    }
    Ok(())
}

fn check_waits(state: ManifestState) -> Result<(), Fault> {
    if state == ManifestState::Pending { Ok(()) } else { Err(no_longer_waits(state)) }
}

fn no_longer_waits(state: ManifestState) -> Fault {
    let what = format!("The manifest does not wait any more: it is {}", state.name());
    Fault::new(StatusCode::CONFLICT, "does_not_wait", Side::You, what)
        .why("Only what has not begun can be cancelled.")
}

fn reason(text: &str) -> Result<String, Fault> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MOST_REASON {
        return Err(invalid(format!("A reason has 1 to {MOST_REASON} characters")));
    }
    Ok(text.to_owned())
}

/// By id or by name, in any case.
fn task(asked: &str) -> Result<Task, Fault> {
    let found = rp_documents::maintenance::TASKS.into_iter();
    let mut found =
        found.filter(|task| task.id().eq_ignore_ascii_case(asked) || task.name().eq_ignore_ascii_case(asked));
    found.next().ok_or_else(|| invalid("There is no such task: GET /api/v1/maintenance/tasks lists them"))
}

/// The name of a task for people; its id where this version does not know it.
pub fn task_name(id: &str) -> &str {
    match Task::with_id(id) {
        Some(task) => task.name(),
        None => id,
    }
}

async fn record(
    state: &PortalState,
    user: &CurrentUser,
    verb: &str,
    id: &ResourceId,
    name: &str,
    reason: &str,
) -> Result<(), Fault> {
    crate::saved::record(state, user, verb, name, reason, Some(id)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_found_by_id_and_by_name() {
        assert_eq!(task("fix ssh").unwrap(), Task::FixSsh);
        assert_eq!(task(Task::FixSsh.id()).unwrap(), Task::FixSsh);
        assert!(task("").is_err());
        assert_eq!(task_name("unknown-id"), "unknown-id");
    }

    #[test]
    fn only_what_waits_can_be_cancelled() {
        for state in ManifestState::ALL {
            assert_eq!(check_waits(state).is_ok(), state == ManifestState::Pending, "{state:?}");
        }
    }
}
