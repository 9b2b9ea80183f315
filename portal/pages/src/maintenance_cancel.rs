//! `{RES}/maintenance/{id}/cancel`: the dialog that cancels a manifest that waits, and the cancellation.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::maintenance::{self, task_name};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_documents::ManifestDocument;
use serde::Deserialize;
use web::{ConfirmPage, Link, NavItem};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::confirm::{DialogForm, back_to, change_refused, done, question, why, why_hint};
use crate::frame::{frame, place};
use crate::maintenance::operations_path;

/// Where a manifest is cancelled.
pub(crate) fn cancel_path(entry: &Entry, manifest: &str) -> String {
    format!("{}/maintenance/{}/cancel", entry.path(), web::text::encode(manifest))
}

#[derive(Debug, Deserialize)]
pub struct ManifestPath {
    id: String,
}

fn cancel_page(
    state: &PortalState,
    context: &Context,
    entry: &Entry,
    document: &ManifestDocument,
) -> ConfirmPage {
    let manifest = &document.maintenance_manifest;
    let task = task_name(&manifest.maintenance_task_id);
    let time = |seconds: i64| Timestamp::from_seconds(seconds).to_string();
    let mut text = vec!["It does not start. Once it has begun it cannot be cancelled.".to_owned()];
    if !manifest.created_by_schedule.is_empty() {
        text.push("A schedule made it, and does not make it again for this time.".to_owned());
    }
    let facts = [
        ("Cluster", entry.id.name().to_owned()),
        ("Starts after", time(manifest.starts_after())),
        ("Not after", if manifest.run_before == 0 { String::new() } else { time(manifest.run_before) }),
        ("Waits", manifest.status_text.clone()),
    ];
    let back = Link::new("Operations", back_to(context, &operations_path(entry)));
    ConfirmPage {
        name: "cancel-maintenance",
        icon: "wrench",
        title: format!("Cancel {task}?"),
        text,
        facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
        command: format!("aro manifests cancel {} {} --why '…'", entry.id.name(), document.id),
        action: cancel_path(entry, &document.id),
        fields: vec![why("", true, &why_hint(state))],
        kind: "danger",
        submit: "Cancel the task".to_owned(),
        running: "Cancelling…".to_owned(),
        leave: "Keep it",
        ..question(frame(state, context), NavItem::Clusters, back)
    }
}

/// Asks whether to cancel one, and why.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(cluster): ClusterPath,
    Path(ManifestPath { id }): Path<ManifestPath>,
) -> Result<Response, Fault> {
    let (entry, _) = place(&state, &context, &cluster)?;
    let document = maintenance::waiting(&state, &user, &cluster, &id).await?;
    answer(&context, StatusCode::OK, &cancel_page(&state, &context, &entry, &document))
}

/// Cancels one that waits; 422 with the dialog when the reason is not one.
pub async fn cancel(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(cluster): ClusterPath,
    Path(ManifestPath { id }): Path<ManifestPath>,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = DialogForm::read(&body);
    let (entry, _) = place(&state, &context, &cluster)?;
    let error = match maintenance::cancel(&state, &user, &cluster, &id, &answered.why).await {
        Ok(_) => return Ok(done(&answered, &operations_path(&entry), Flash::MaintenanceCancelled)),
        Err(error) => error,
    };
    let Ok(document) = maintenance::waiting(&state, &user, &cluster, &id).await else {
        return Err(error.into());
    };
    let mut page = cancel_page(&state, &context, &entry, &document);
    for field in &mut page.fields {
        field.value.clone_from(&answered.why);
    }
    change_refused(&context, page, &answered.back, error)
}
