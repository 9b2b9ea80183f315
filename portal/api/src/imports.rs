//! `/api/v1/imports`: clusters that an admin puts under the portal (`contract/rules.md` §1, §5.6).

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::imports::{ImportRequest, forget, import, store};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_documents::imported::CredentialKind;
use rp_documents::{ImportedCluster, ResourceId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Items, created, removed};

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImportedCluster")]
pub struct ImportView {
    name: String,
    resource_id: ResourceId,
    server: String,
    version: String,
    #[schemars(extend("enum" = ["certificate", "token"]))]
    credential: &'static str,
    /// Groups that are impersonated for a person with more than read rights.
    as_groups: Vec<String>,
    /// Names of the machines that can be signed in to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    machines: Vec<String>,
    imported_by: String,
    imported_at: Timestamp,
}

impl From<ImportedCluster> for ImportView {
    fn from(cluster: ImportedCluster) -> Self {
        Self {
            name: cluster.id,
            resource_id: cluster.resource_id,
            server: cluster.server,
            version: cluster.version,
            credential: match cluster.credential {
                CredentialKind::Certificate => "certificate",
                CredentialKind::Token => "token",
            },
            as_groups: cluster.as_groups,
            machines: cluster
                .ssh
                .map(|ssh| ssh.machines.into_iter().map(|machine| machine.name).collect())
                .unwrap_or_default(),
            imported_by: cluster.imported_by,
            imported_at: cluster.imported_at,
        }
    }
}

/// All imports, without credentials.
pub async fn list(State(state): State<PortalState>) -> Result<Response, Fault> {
    let all = store(&state).all().await.map_err(|error| Fault::store(&error))?;
    let items: Vec<ImportView> = all.into_iter().map(|versioned| versioned.value.into()).collect();
    json(&Items { total: Some(items.len()), items, next: None })
}

/// Imports one: 201 and what was stored.
pub async fn create(
    State(state): State<PortalState>,
    user: CurrentUser,
    body: Bytes,
) -> Result<Response, Fault> {
    let ask: ImportRequest = serde_json::from_slice(&body).map_err(|_| {
        Fault::bad_input(
            "The body is JSON with name, kubeconfig and perhaps context, as_groups, tunnel and ssh",
        )
    })?;
    let cluster = import(&state, &user, ask).await?;
    created(&ImportView::from(cluster))
}

/// Removes an import: 204.
pub async fn remove(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    forget(&state, &user, &name).await?;
    Ok(removed())
}
