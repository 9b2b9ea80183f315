//! Backups, and documents as they are stored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http::StatusCode;
use rp_core::Services;
use rp_core::services::AUDIT;
use rp_database::{SharedStore, Stored};
use rp_documents::Collection;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::state::{Control, ControlError, PeerExtension};

pub(super) fn routes() -> Router<Arc<Control>> {
    Router::new()
        .route("/store/backup", post(backup))
        .route("/store/document", get(document))
        .route("/store/documents", get(documents))
}

#[derive(Deserialize)]
struct BackupRequest {
    /// Absolute; `.audit` is added for the audit trail.
    file: PathBuf,
}

async fn backup(
    State(control): State<Arc<Control>>,
    Extension(peer): PeerExtension,
    Json(asked): Json<BackupRequest>,
) -> Result<Json<Value>, ControlError> {
    let file = asked.file;
    if !file.is_absolute() {
        return Err(ControlError(StatusCode::BAD_REQUEST, "the path of a backup is absolute".to_owned()));
    }
    control.promise(peer, "store.backup", |entry| entry.query = file.display().to_string()).await?;
    let services = &control.services;
    let mut files = vec![file.clone()];
    services.store.backup(&file).await?;
    if services.settings.audit.path.is_some() {
        let audit = file.with_added_extension("audit");
        services.audit_store.backup(&audit).await?;
        files.push(audit);
    }
    let files: Result<Vec<Value>, ControlError> = files.iter().map(|file| about(file)).collect();
    Ok(Json(json!({ "files": files? })))
}

fn about(file: &Path) -> Result<Value, ControlError> {
    let bytes = std::fs::metadata(file)
        .map_err(|error| {
            ControlError(StatusCode::INTERNAL_SERVER_ERROR, format!("{}: {error}", file.display()))
        })?
        .len();
    Ok(json!({ "file": file, "bytes": bytes }))
}

#[derive(Deserialize)]
struct DocumentQuery {
    collection: String,
    id: String,
}

async fn document(
    State(control): State<Arc<Control>>,
    Extension(peer): PeerExtension,
    Query(asked): Query<DocumentQuery>,
) -> Result<Json<Value>, ControlError> {
    let collection = collection(&asked.collection)?;
    read(&control, peer, collection, &asked.id).await?;
    // People write resource ids as they like.
    let id = asked.id.to_lowercase();
    let store = store_of(&control, collection);
    let found = match store.get(collection, &id).await? {
        Some(found) => Some(found),
        None => store.get_by_key(collection, &id).await?,
    };
    let found = found.ok_or_else(|| {
        ControlError(StatusCode::NOT_FOUND, format!("{} has no document {}", collection.name(), asked.id))
    })?;
    Ok(Json(shown(found)?))
}

#[derive(Deserialize)]
struct DocumentsQuery {
    collection: String,
    partition: Option<String>,
    #[serde(rename = "continue")]
    from: Option<String>,
    #[serde(default = "page")]
    limit: u32,
}

const fn page() -> u32 {
    100
}

async fn documents(
    State(control): State<Arc<Control>>,
    Extension(peer): PeerExtension,
    Query(asked): Query<DocumentsQuery>,
) -> Result<Json<Value>, ControlError> {
    let collection = collection(&asked.collection)?;
    read(&control, peer, collection, "").await?;
    let store = &control.services.store;
    let store = if AUDIT.contains(&collection) { &control.services.audit_store } else { store };
    let page = store.list(collection, asked.partition.as_deref(), asked.from.as_deref(), asked.limit).await?;
    let items: Result<Vec<Value>, ControlError> = page.items.into_iter().map(shown).collect();
    Ok(Json(json!({ "items": items?, "continue": page.continuation })))
}

/// The audit trail may be elsewhere.
fn store_of(control: &Control, collection: Collection) -> &SharedStore {
    let Services { store, audit_store, .. } = &control.services;
    if AUDIT.contains(&collection) { audit_store } else { store }
}

async fn read(
    control: &Control,
    peer: rp_runtime::control::Peer,
    collection: Collection,
    id: &str,
) -> Result<(), ControlError> {
    let fill = |entry: &mut rp_documents::Entry| {
        collection.name().clone_into(&mut entry.resource);
        id.clone_into(&mut entry.name);
    };
    control.promise(peer, "store.read", fill).await
}

/// The body as it is stored: sealed values stay sealed, tokens are hashes.
fn shown(stored: Stored) -> Result<Value, ControlError> {
    let broken =
        |error: serde_json::Error| ControlError(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let body = RawValue::from_string(stored.body).map_err(broken)?;
    Ok(json!({
        "id": stored.id,
        "partition": stored.partition,
        "key": stored.unique_key,
        "version": stored.version.0,
        "written": stored.written,
        "expires_at": stored.expires_at,
        "document": serde_json::to_value(&body).map_err(broken)?,
    }))
}

fn collection(name: &str) -> Result<Collection, ControlError> {
    Collection::ALL.into_iter().find(|each| each.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<&str> = Collection::ALL.into_iter().map(Collection::name).collect();
        ControlError(StatusCode::NOT_FOUND, format!("no such collection; there are {}", names.join(", ")))
    })
}
