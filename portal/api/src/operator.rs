//! `/api/v1/clusters{RES}/operator`: what the operator inside a cluster reports, and its flags (`contract/operator.md` §3, §4).

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
pub use portal_model::operator::OperatorReport;
use portal_model::operator::{FlagChanges, report, set_flags};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::body;
use crate::maintenance::ManifestView;
use crate::prom::{ClusterPath, cluster};

/// How long a script waits for a cluster's first response.
const PATIENCE: Duration = Duration::from_secs(20);

/// Version, conditions and flags.
pub async fn status(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    json(&report(&state, &cluster(&path)?, PATIENCE).await?)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = serde_json::json!({
    "flags": {"aro.banner.enabled": "true", "aro.machine.enabled": null}, "reason": "INC-1234 the customer is to call"
}))]
pub struct FlagsRequest {
    /// Values by the name of the flag; `null`: back to its default.
    flags: BTreeMap<String, Option<String>>,
    /// Why, for the record.
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OperatorFlagsSet")]
pub struct FlagsAnswer {
    /// The values of these flags in the cluster's document; `null`: the document does not have it.
    flags: BTreeMap<String, Option<String>>,
    /// The maintenance that writes them to the cluster.
    manifest: ManifestView,
}

/// Sets flags in the document, and orders the maintenance that writes them to the cluster.
pub async fn set(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(path): ClusterPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    let FlagsRequest { flags, reason } = body(&bytes)?;
    let set = set_flags(&state, &user, &id, FlagChanges { flags, reason }).await.map_err(Fault::from)?;
    json(&FlagsAnswer { flags: set.flags, manifest: ManifestView::from(set.manifest) })
}
