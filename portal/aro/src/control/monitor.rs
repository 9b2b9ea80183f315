//! One look at a cluster, for `aro monitor once` on this machine.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Json, Router};
use http::StatusCode;
use rp_base::text::clean;
use serde_json::{Value, json};

use super::state::{Control, ControlError, PeerExtension};
use crate::monitor_look::{InspectionRequest, NotFound, look};

pub(super) fn routes() -> Router<Arc<Control>> {
    Router::new().route("/monitor/once", post(once))
}

async fn once(
    State(control): State<Arc<Control>>,
    Extension(peer): PeerExtension,
    Json(wanted): Json<InspectionRequest>,
) -> Result<Json<Value>, ControlError> {
    control.promise(peer, "monitor.once", |entry| entry.name = clean(&wanted.cluster, 300)).await?;
    let failed = |error: &dyn std::fmt::Display| {
        ControlError(StatusCode::INTERNAL_SERVER_ERROR, clean(&error.to_string(), 500))
    };
    match look(&wanted, &control.services).await {
        Ok(report) => serde_json::to_value(report).map(Json).map_err(|error| failed(&error)),
        Err(error) => match error.downcast_ref::<NotFound>() {
            Some(NotFound::None(name)) => Ok(Json(json!({ "unknown": name }))),
            Some(many @ NotFound::Many { .. }) => Err(ControlError(StatusCode::CONFLICT, many.to_string())),
            None => Err(failed(&format!("{error:#}"))),
        },
    }
}
