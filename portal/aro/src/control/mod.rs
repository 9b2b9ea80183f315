//! What an operator of this machine asks of a running process over its control socket, and how the verbs ask.

mod client;
mod keys;
mod monitor;
mod store;

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use parking_lot::Mutex;
use rp_access::Access;
use rp_base::{Id, chain};
use rp_config::Settings;
use rp_core::Foundation;
use rp_core::reseal::Progress;
use rp_database::StoreError;
use rp_documents::{Actor, Entry, Phase};
use rp_runtime::Lifecycle;
use rp_runtime::control::Peer;
use rp_seal::SealError;
use serde_json::json;
use tokio::sync::watch;

pub use client::Client;

/// What the routes work on.
#[derive(Debug)]
struct Control {
    foundation: Foundation,
    settings: Settings,
    access: Arc<Access>,
    /// The audit trail is a file of its own.
    own_audit_file: bool,
    /// The last sealing again, running or done, or why it ended.
    reseal: Mutex<Option<watch::Receiver<Reseal>>>,
}

#[derive(Debug, Clone)]
struct Reseal {
    progress: Progress,
    failed: Option<String>,
}

/// Opens the socket that the settings name. A process that cannot have it serves nevertheless.
pub fn start(settings: &Settings, foundation: &Foundation, access: &Arc<Access>, life: &Lifecycle) {
    let Some(path) = &settings.listen.control else { return };
    let control = Arc::new(Control {
        foundation: foundation.clone(),
        settings: settings.clone(),
        access: Arc::clone(access),
        own_audit_file: settings.audit.path.is_some(),
        reseal: Mutex::new(None),
    });
    let routes = Router::new()
        .merge(store::routes())
        .merge(keys::routes())
        .merge(monitor::routes())
        .with_state(control);
    match rp_runtime::control::serve(path, routes, life.cutting()) {
        Ok(()) => tracing::info!(path = %path.display(), "control socket open"),
        Err(error) => {
            tracing::error!(error = %chain(&error), "no control socket: aro store and aro keys do not work");
        }
    }
}

impl Control {
    /// A durable entry before what is to be done; it must not be done when this fails.
    async fn promise(&self, peer: Peer, verb: &str, fill: impl FnOnce(&mut Entry)) -> Result<(), Refused> {
        let Foundation { clock, random, audit, .. } = &self.foundation;
        let mut entry = Entry::new(clock.now(), Phase::Single, Id::random(&**random), actor(peer), verb);
        fill(&mut entry);
        audit.promise(entry).await.map(drop).map_err(|error| {
            let message =
                format!("nothing was done, for the audit trail cannot be written: {}", chain(&error));
            Refused(StatusCode::SERVICE_UNAVAILABLE, message)
        })
    }
}

fn actor(peer: Peer) -> Actor {
    Actor { sub: format!("uid:{}", peer.uid), name: "operator".to_owned(), from: "control socket".to_owned() }
}

/// An answer without success.
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "message": self.1 }))).into_response()
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::BadCall(_) => StatusCode::BAD_REQUEST,
            StoreError::Gone { .. } => StatusCode::NOT_FOUND,
            StoreError::Exists { .. } | StoreError::Stale { .. } => StatusCode::CONFLICT,
            StoreError::Malformed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            StoreError::Held { .. } | StoreError::Unavailable(_) | StoreError::Full | StoreError::Closed => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        Self(status, chain(&error).to_string())
    }
}

impl From<SealError> for Refused {
    fn from(error: SealError) -> Self {
        let status = match &error {
            SealError::UnknownKey(_) => StatusCode::NOT_FOUND,
            SealError::Current(_) | SealError::NoFile => StatusCode::CONFLICT,
            SealError::Unopenable
            | SealError::Unsealable
            | SealError::File { .. }
            | SealError::Open { .. }
            | SealError::Form { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, chain(&error).to_string())
    }
}

type Who = Extension<Peer>;
