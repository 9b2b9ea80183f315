//! Manifests of clusters.

use http::StatusCode;
use rp_api::CloudError;
use rp_base::Timestamp;
use rp_base::text::clean;
use rp_database::{Expect, Span, StoreError, Typed, Versioned, update_if};
use rp_documents::maintenance::{Manifest, ManifestState, OPEN, Times};
use rp_documents::{ManifestDocument, ProvisioningState};
use serde::Deserialize;
use serde_json::json;

use super::view::{self, ListView};
use super::{TRIES, page_size, read_body, refused};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::{Fault, unavailable};
use crate::paging::PagedList;
use crate::path::ClusterPath;
use crate::response::{HttpResponse, json_response};

/// Documents read at once.
const AT_ONCE: u32 = 200;

/// What a caller may say of a new manifest. Other members are ignored, state and id among them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewManifest {
    #[serde(default, rename = "maintenanceTaskID")]
    maintenance_task_id: String,
    #[serde(default)]
    priority: i64,
    #[serde(default)]
    run_after: i64,
    #[serde(default)]
    run_before: i64,
    #[serde(default)]
    machine: String,
    #[serde(default)]
    force: bool,
}

fn manifests(parts: &FrontendParts) -> Typed<ManifestDocument> {
    Typed::new(parts.store.clone())
}

/// The cluster must be there, and not be deleted.
async fn check_cluster(parts: &FrontendParts, path: &ClusterPath, deleting: bool) -> Result<(), Fault> {
    let not_found = |message: String| CloudError::new(404, "NotFound", "", message);
    let found = document::find(&parts.store, &path.key()).await?;
    let found = found.ok_or_else(|| not_found(format!("cluster not found: {}", path.key())))?;
    let state = found.value.cluster.properties.provisioning_state.get();
    if !deleting && state == Some(&ProvisioningState::Deleting) {
        return Err(not_found("cluster being deleted".to_owned()).into());
    }
    Ok(())
}

async fn find(
    parts: &FrontendParts,
    path: &ClusterPath,
    id: &str,
) -> Result<Versioned<ManifestDocument>, Fault> {
    let found = manifests(parts).get(id).await?;
    let own = found.filter(|found| found.value.cluster_resource_id == path.key());
    own.ok_or_else(|| {
        CloudError::new(404, "NotFound", "", format!("manifest not found: {}", clean(id, 64))).into()
    })
}

pub(super) async fn list(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    check_cluster(parts, path, false).await?;
    let (key, size) = (path.key(), page_size(call));
    let list = PagedList { place: "api/skipToken/manifests", prefix: "" };
    let after = list.after(parts, call)?;
    let found = manifests(parts).scan(Span::Partition(&key), after.as_deref(), size + 1).await?;
    let more = found.items.len() > size as usize;
    let shown: Vec<_> = found.items.into_iter().take(size as usize).map(|found| found.value).collect();
    let next_link = match shown.last().filter(|_| more) {
        Some(last) => list.next(parts, call, &last.id)?,
        None => String::new(),
    };
    let value = shown.into_iter().map(view::manifest).collect();
    Ok(json_response(StatusCode::OK, &ListView { value, next_link }))
}

pub(super) async fn create(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    check_cluster(parts, path, false).await?;
    let sent: NewManifest = read_body(call)?;
    let times = Times { run_after: sent.run_after, run_before: sent.run_before };
    let now = parts.store.now().await?;
    let manifest = Manifest::ordered(&sent.maintenance_task_id, sent.priority, times, now);
    let manifest = Manifest { machine: sent.machine, force: sent.force, ..manifest };
    manifest.check().map_err(refused)?;
    let document = ManifestDocument::new(parts.random.uuid().to_string(), path.key(), manifest);
    let made = manifests(parts).create(document).await?;
    Ok(json_response(StatusCode::CREATED, &view::manifest(made.value)))
}

pub(super) async fn get(parts: &FrontendParts, path: &ClusterPath, id: &str) -> Result<HttpResponse, Fault> {
    check_cluster(parts, path, false).await?;
    Ok(json_response(StatusCode::OK, &view::manifest(find(parts, path, id).await?.value)))
}

/// Removes it; a task of it that runs is stopped.
pub(super) async fn delete(
    parts: &FrontendParts,
    path: &ClusterPath,
    id: &str,
) -> Result<HttpResponse, Fault> {
    check_cluster(parts, path, true).await?;
    for _ in 0..TRIES {
        let found = find(parts, path, id).await?;
        refuse_under_way(&found.value)?;
        // Whatever stands there goes: the contract's deletion has no condition. What must end may begin meanwhile.
        let expect = match found.value.maintenance_manifest.gives_way() {
            false => Expect::Version(found.version),
            true => Expect::Any,
        };
        match manifests(parts).delete(&found.value.id, expect).await {
            Ok(()) | Err(StoreError::Gone { .. }) => return Ok(json_response(StatusCode::OK, &json!({}))),
            Err(StoreError::Stale { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(unavailable().into())
}

/// 409: a task that takes machines away was begun.
fn refuse_under_way(document: &ManifestDocument) -> Result<(), CloudError> {
    if document.maintenance_manifest.must_end() {
        let message = "The task was begun and must come to its end: machines would stay stopped.";
        return Err(CloudError::new(409, "RequestNotAllowed", "", message));
    }
    Ok(())
}

pub(super) async fn cancel(
    parts: &FrontendParts,
    path: &ClusterPath,
    id: &str,
) -> Result<HttpResponse, Fault> {
    check_cluster(parts, path, false).await?;
    let found = find(parts, path, id).await?.value;
    refuse_under_way(&found)?;
    let now = parts.store.now().await?;
    let mut state = found.maintenance_manifest.state;
    let change = |found: Versioned<ManifestDocument>| {
        state = found.value.maintenance_manifest.state;
        found.try_map(|one| one.with_state(ManifestState::Cancelled, "", now))
    };
    match update_if(&manifests(parts), &found.id, change).await? {
        Some(document) => Ok(json_response(StatusCode::OK, &view::manifest(document.value))),
        None => {
            let message = format!("cannot cancel task in state {}", state.name());
            Err(CloudError::new(406, "PropertyChangeNotAllowed", "", message).into())
        }
    }
}

/// Manifests of all clusters that wait and that nobody works on, also those of a time to come.
pub(super) async fn queued(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let size = page_size(call) as usize;
    let list = PagedList { place: "api/skipToken/queuedManifests", prefix: OPEN };
    let now = parts.store.now().await?;
    let mut after = list.after(parts, call)?;
    let mut shown = Vec::new();
    loop {
        let page = manifests(parts).scan(Span::Keys(OPEN), after.as_deref(), AT_ONCE).await?;
        shown.extend(page.items.into_iter().map(|found| found.value).filter(|one| waits(one, now)));
        after = page.next;
        if after.is_none() || shown.len() > size {
            break;
        }
    }
    let more = shown.len() > size;
    shown.truncate(size);
    let next_link = match shown.last().filter(|_| more) {
        Some(last) => {
            let key = format!("{}{}", ManifestDocument::open_keys(&last.cluster_resource_id), last.id);
            list.next(parts, call, &key)?
        }
        None => String::new(),
    };
    let value = shown.into_iter().map(view::manifest_of_any).collect();
    Ok(json_response(StatusCode::OK, &ListView { value, next_link }))
}

fn waits(document: &ManifestDocument, now: Timestamp) -> bool {
    document.maintenance_manifest.state == ManifestState::Pending && document.lease_expires < now.seconds()
}

/// Cancels what a schedule planned for a time to come.
pub(super) async fn cancel_of_schedule(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let schedule = call.parameter("scheduleID").unwrap_or_default().to_ascii_lowercase();
    if schedule.is_empty() {
        return Err(CloudError::invalid("scheduleID", "Parameter is missing").into());
    }
    let (cancelled, errors) = cancel_planned(parts, &schedule).await?;
    Ok(json_response(StatusCode::OK, &json!({"cancelled": cancelled, "errors": errors})))
}

/// Gives how many were cancelled, and how many could not be.
pub(super) async fn cancel_planned(parts: &FrontendParts, schedule: &str) -> Result<(u64, u64), Fault> {
    let now = parts.store.now().await?;
    let (mut count, mut errors) = (0, 0);
    let mut after: Option<String> = None;
    loop {
        let page = manifests(parts).scan(Span::Keys(OPEN), after.as_deref(), AT_ONCE).await?;
        for found in page.items {
            let manifest = &found.value.maintenance_manifest;
            if manifest.created_by_schedule != schedule || manifest.run_after <= now.seconds() {
                continue;
            }
            let cancelled = found.try_map(|one| one.with_state(ManifestState::Cancelled, "", now));
            let Some(changed) = cancelled else { continue };
            match manifests(parts).replace(changed).await {
                Ok(_) => count += 1,
                Err(error) => {
                    tracing::warn!(error = %rp_base::chain(&error), "a manifest of a schedule was not cancelled");
                    errors += 1;
                }
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok((count, errors));
        }
    }
}
