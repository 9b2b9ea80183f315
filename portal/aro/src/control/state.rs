//! What the routes of the control socket work on, and how they refuse.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use parking_lot::Mutex;
use rp_access::Access;
use rp_base::{Id, chain};
use rp_core::Services;
use rp_core::reseal::Progress;
use rp_database::StoreError;
use rp_documents::{Actor, Entry, Phase};
use rp_runtime::control::Peer;
use rp_seal::SealError;
use serde_json::json;
use tokio::sync::watch;

/// What the routes work on.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) services: Services,
    pub(super) access: Arc<Access>,
    /// The last sealing again, running or done, or why it ended.
    pub(super) reseal: Mutex<Option<watch::Receiver<Reseal>>>,
}

#[derive(Debug, Clone)]
pub(super) struct Reseal {
    pub(super) progress: Progress,
    pub(super) failed: Option<String>,
}

impl Control {
    /// Writes a durable audit entry before an operation, which must not happen when this fails.
    pub(super) async fn promise(
        &self,
        peer: Peer,
        verb: &str,
        fill: impl FnOnce(&mut Entry),
    ) -> Result<(), ControlError> {
        let Services { clock, random, audit, .. } = &self.services;
        let mut entry = Entry::new(clock.now(), Phase::Single, Id::random(&**random), actor(peer), verb);
        fill(&mut entry);
        audit.promise(entry).await.map(drop).map_err(|error| {
            let message =
                format!("nothing was done, for the audit trail cannot be written: {}", chain(&error));
            ControlError(StatusCode::SERVICE_UNAVAILABLE, message)
        })
    }
}

fn actor(peer: Peer) -> Actor {
    Actor { sub: format!("uid:{}", peer.uid), name: "operator".to_owned(), from: "control socket".to_owned() }
}

/// An error response.
pub(super) struct ControlError(pub(super) StatusCode, pub(super) String);

impl IntoResponse for ControlError {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "message": self.1 }))).into_response()
    }
}

impl From<StoreError> for ControlError {
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

impl From<SealError> for ControlError {
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

/// The operator who asks.
pub(super) type PeerExtension = Extension<Peer>;
