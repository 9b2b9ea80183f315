//! The keyring, and sealing again.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http::StatusCode;
use rp_base::chain;
use rp_core::reseal::{self, Progress};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::state::{Control, ControlError, PeerExtension, Reseal};

pub(super) fn routes() -> Router<Arc<Control>> {
    Router::new()
        .route("/keys", get(list))
        .route("/keys/rotate", post(rotate))
        .route("/keys/use", post(use_key))
        .route("/keys/forget", post(forget))
        .route("/keys/reseal", get(progress).post(begin))
}

async fn list(State(control): State<Arc<Control>>) -> Json<Value> {
    let ids = control.services.keyring.ids();
    Json(json!({ "current": ids.current, "keys": ids.all }))
}

#[derive(Deserialize)]
struct RotateRequest {
    #[serde(rename = "use")]
    use_it: bool,
}

async fn rotate(
    State(control): State<Arc<Control>>,
    Extension(peer): PeerExtension,
    Json(asked): Json<RotateRequest>,
) -> Result<Json<Value>, ControlError> {
    control.promise(peer, "keys.rotate", |_| {}).await?;
    let services = &control.services;
    let id = services.keyring.rotate(asked.use_it, &*services.random)?;
    control.access.reload_keys();
    tracing::info!(key = id, used = asked.use_it, "a key was added to the keyring");
    Ok(Json(json!({ "key": id, "current": services.keyring.ids().current })))
}

#[derive(Deserialize)]
struct KeyRequest {
    key: String,
}

async fn use_key(
    State(control): State<Arc<Control>>,
    Extension(peer): PeerExtension,
    Json(asked): Json<KeyRequest>,
) -> Result<Json<Value>, ControlError> {
    control.promise(peer, "keys.use", |entry| entry.name.clone_from(&asked.key)).await?;
    let services = &control.services;
    services.keyring.use_key(&asked.key, &*services.random)?;
    control.access.reload_keys();
    Ok(Json(json!({ "current": asked.key })))
}

/// Only after a sealing again, by this process, that left nothing sealed with the key.
async fn forget(
    State(control): State<Arc<Control>>,
    Extension(peer): PeerExtension,
    Json(asked): Json<KeyRequest>,
) -> Result<Json<Value>, ControlError> {
    let key = asked.key;
    let last = control.reseal.lock().as_ref().map(|seen| seen.borrow().clone());
    let services = &control.services;
    let current = services.keyring.ids().current;
    match last.filter(|last| last.progress.done && last.progress.key == current) {
        None => {
            return Err(ControlError(StatusCode::CONFLICT, "first run: aro keys reseal".to_owned()));
        }
        Some(last) if last.progress.left.get(&key).is_some_and(|left| *left > 0) => {
            let left = last.progress.left.get(&key).copied().unwrap_or_default();
            let message = format!(
                "{left} values are still sealed with {key} and could not be sealed again; the log names them"
            );
            return Err(ControlError(StatusCode::CONFLICT, message));
        }
        Some(_) => {}
    }
    control.promise(peer, "keys.forget", |entry| entry.name.clone_from(&key)).await?;
    services.keyring.forget(&key, &*services.random)?;
    control.access.reload_keys();
    Ok(Json(json!({ "forgotten": key, "current": current })))
}

async fn begin(
    State(control): State<Arc<Control>>,
    Extension(peer): PeerExtension,
) -> Result<Json<Value>, ControlError> {
    if running(control.reseal.lock().as_ref()) {
        return progress(State(control)).await;
    }
    control.promise(peer, "keys.reseal", |_| {}).await?;
    // Another process may have changed the file.
    control.services.keyring.reload()?;
    let (told, seen) = watch::channel(Reseal { progress: Progress::default(), failed: None });
    {
        let mut held = control.reseal.lock();
        if !running(held.as_ref()) {
            *held = Some(seen);
            tokio::spawn(run(Arc::clone(&control), told));
        }
    }
    progress(State(control)).await
}

fn running(last: Option<&watch::Receiver<Reseal>>) -> bool {
    last.is_some_and(|last| {
        let last = last.borrow();
        !last.progress.done && last.failed.is_none()
    })
}

async fn run(control: Arc<Control>, told: watch::Sender<Reseal>) {
    let services = &control.services;
    let (tell, mut steps) = watch::channel(Progress::default());
    let work = reseal::reseal(&services.store, &services.keyring, &tell);
    let mut work = std::pin::pin!(work);
    let outcome = loop {
        tokio::select! {
            outcome = &mut work => break outcome,
            Ok(()) = steps.changed() => {
                let progress = steps.borrow_and_update().clone();
                // The end is told below.
                told.send_modify(|told| told.progress = Progress { done: false, ..progress });
            }
        }
    };
    match outcome {
        Ok(progress) => {
            tracing::info!(resealed = progress.resealed, left = ?progress.left, "sealed again");
            told.send_modify(|told| told.progress = progress);
        }
        Err(error) => {
            tracing::error!(error = %chain(&error), "sealing again ended early");
            told.send_modify(|told| told.failed = Some(chain(&error).to_string()));
        }
    }
}

async fn progress(State(control): State<Arc<Control>>) -> Result<Json<Value>, ControlError> {
    let last = control.reseal.lock().as_ref().map(|seen| seen.borrow().clone());
    let last =
        last.ok_or_else(|| ControlError(StatusCode::NOT_FOUND, "nothing was sealed again yet".to_owned()))?;
    Ok(Json(json!({ "progress": last.progress, "failed": last.failed })))
}
