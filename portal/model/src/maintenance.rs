//! Maintenance of clusters (`contract/mimo.md`): what is planned, what runs and what has ended, and how people plan and
//! cancel it. The backend's actuator does the rest.

mod change;

use std::cmp::Reverse;
use std::sync::Arc;

use portal_session::fault::Fault;
use rp_database::{SharedStore, Span, StoreError, Typed};
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{ManifestState, OPEN, TASKS, Task};

pub use change::{Order, OrderError, OrderField, cancel, order, waiting};

/// Manifests read at once.
const AT_ONCE: u32 = 200;
/// Manifests of one cluster that are looked through for those that are over.
const MOST: usize = 2_000;
/// Of those that are over, the newest are given.
const KEPT: usize = 30;
/// Bytes of a cursor.
const LONGEST_CURSOR: usize = 1_000;

fn manifests(store: &SharedStore) -> Typed<ManifestDocument> {
    Typed::new(Arc::clone(store))
}

/// The manifests of the cluster with that lower-cased resource id: what runs, what waits by its time, and the newest of
/// what is over.
///
/// # Errors
/// The store did not answer.
pub async fn of_cluster(store: &SharedStore, key: &str) -> Result<Vec<ManifestDocument>, StoreError> {
    let keys = ManifestDocument::open_keys(key);
    let mut all = looked_through(store, Span::Keys(&keys)).await?;
    all.sort_by_key(|one| {
        let manifest = &one.maintenance_manifest;
        (manifest.state == ManifestState::Pending, manifest.run_after, manifest.priority)
    });
    let mut over = looked_through(store, Span::Partition(key)).await?;
    over.retain(|one| one.maintenance_manifest.state.is_terminal());
    over.sort_by_key(|one| Reverse(one.maintenance_manifest.ended));
    over.truncate(KEPT);
    all.extend(over);
    Ok(all)
}

/// The first [`MOST`] of a span.
async fn looked_through(store: &SharedStore, span: Span<'_>) -> Result<Vec<ManifestDocument>, StoreError> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    while all.len() < MOST {
        let page = manifests(store).scan(span, after.as_deref(), AT_ONCE).await?;
        all.extend(page.items.into_iter().map(|found| found.value));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(all)
}

/// A part of the manifests of all clusters that run or wait.
#[derive(Debug)]
pub struct OpenPage {
    pub items: Vec<ManifestDocument>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<String>,
}

/// What runs and what waits on all clusters, by the cluster: at most `limit` (1 to 1000) after the cursor, which is
/// [`OpenPage::next`] of the part before.
///
/// # Errors
/// 400: the cursor is not one of this list; or the store did not answer.
pub async fn open_page(store: &SharedStore, cursor: Option<&str>, limit: u32) -> Result<OpenPage, Fault> {
    let after = cursor.map(key_of).transpose()?;
    let found = manifests(store).scan(Span::Keys(OPEN), after.as_deref(), limit).await;
    let found = found.map_err(|error| Fault::store(&error))?;
    let next = found.next.and_then(|key| key.strip_prefix(OPEN).map(str::to_owned));
    Ok(OpenPage { items: found.items.into_iter().map(|one| one.value).collect(), next })
}

/// The unique key that a cursor stands for: the cluster, and the id of its manifest.
fn key_of(cursor: &str) -> Result<String, Fault> {
    let sound = cursor.starts_with('/')
        && cursor.len() <= LONGEST_CURSOR
        && cursor.chars().all(|letter| !letter.is_control() && !letter.is_whitespace());
    if sound { Ok(format!("{OPEN}{cursor}")) } else { Err(Fault::bad_cursor()) }
}

/// The task of that id or name, in any case.
pub fn task_named(asked: &str) -> Option<Task> {
    let asked = asked.trim();
    let is_it =
        |task: &Task| task.id().eq_ignore_ascii_case(asked) || task.name().eq_ignore_ascii_case(asked);
    TASKS.into_iter().find(is_it)
}

/// The name of a task for people; its id where this version does not know it.
pub fn task_name(id: &str) -> &str {
    match Task::with_id(id) {
        Some(task) => task.name(),
        None => id,
    }
}

#[cfg(test)]
mod tests;
