//! `{RES}/host-keys`: what the machines of a cluster show, and the key that an administrator trusts.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use portal_model::host_keys::{TrustKeyRequest, trust};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use proxy::ssh::host_keys::fingerprint_of;
use rp_documents::host_key::HostKeySource;
use rp_documents::{HostKey, Role};
use web::{HostKeyRow, HostKeysPage, RefusedKeyRow};

use crate::answer::{answer, see_other};
use crate::cluster_path::ClusterPath;
use crate::frame::place;

/// All of them.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
) -> Result<Response, Fault> {
    let (entry, frame) = place(&state, &context, &id)?;
    let known = state.ssh()?.host_keys.list(&entry.id).await;
    let page = HostKeysPage {
        cluster: entry.id.name().to_owned(),
        path: entry.path(),
        may_trust: user.has(Role::Admin),
        rows: known.map_err(|error| Fault::store(&error))?.iter().map(row).collect(),
        failure: None,
        frame,
    };
    answer(&context, StatusCode::OK, &page)
}

fn row(known: &HostKey) -> HostKeyRow {
    let who = known.by.as_deref().unwrap_or_default();
    HostKeyRow {
        machine: known.machine.clone(),
        uid: known.id.split_once('|').map(|(_, uid)| uid.to_owned()).unwrap_or_default(),
        keys: known.keys.iter().map(|key| split(key)).collect(),
        learned: match known.learned {
            HostKeySource::Cluster => "read by the cluster's API".to_owned(),
            HostKeySource::Import => "named by the import".to_owned(),
            HostKeySource::Person => format!("trusted by {who}"),
        },
        at: known.at.seconds(),
        refused: known.refused.as_ref().map(|refused| {
            let (algorithm, fingerprint) = split(&refused.key);
            RefusedKeyRow { algorithm, fingerprint, at: refused.at.seconds() }
        }),
    }
}

/// Algorithm and fingerprint of a stored key.
fn split(key: &str) -> (String, String) {
    let (before, rest) = match key.strip_prefix("@cert-authority ") {
        Some(rest) => ("authority, ", rest),
        None => ("", key),
    };
    let algorithm = rest.split(' ').next().unwrap_or_default();
    (format!("{before}{algorithm}"), fingerprint_of(key).unwrap_or_default())
}

/// Trusts the key that was refused last.
pub async fn post(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    body: Bytes,
) -> Result<Response, Fault> {
    user.require_fresh(&state.session, &context.came_from)?;
    let mut asked = TrustKeyRequest::default();
    for (name, value) in url::form_urlencoded::parse(&body) {
        match name.as_ref() {
            "uid" => asked.uid = value.into_owned(),
            "fingerprint" => asked.fingerprint = value.into_owned(),
            _ => {}
        }
    }
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    trust(&state, &user, &entry.id, &asked).await?;
    Ok(see_other(&format!("{}/host-keys", entry.path())))
}
