//! A change of a cluster that is there (`contract/frontend.md` §6.3).

use http::{Method, StatusCode};
use rp_api::{Version, validate};
use rp_documents::cluster::Edge;
use rp_documents::cluster::provisioning::Request;
use rp_documents::{ClusterDocument, ClusterMirror, Document as _};

use super::accept::{fill_defaults, identity, record_acceptance, system_data};
use super::unique_names::{self, UniqueName};
use super::version_json::{self, ChangeRequest};
use super::{cluster_response, create, live, mirrored, validation_context};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::{self, StoredCluster, confirm_write};
use crate::fault::Fault;
use crate::operations::NewOperation;
use crate::path::ClusterPath;
use crate::response::{HttpResponse, with_operation};
use crate::secrets::{self, Before};

pub(super) async fn update(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    version: &Version,
    mut found: StoredCluster,
) -> Result<HttpResponse, Fault> {
    let edge = Edge::accepting();
    let request = if version.name == "admin" { Request::AdminUpdate } else { Request::Update };
    found.value.cluster.properties.allows(request)?;
    let opened = secrets::opened(&parts.keyring, &found.value)?;
    // What the caller sees and compares with; it is not stored.
    let live = live(parts, &found.value, &opened).await;
    let mut change = ChangeRequest::decode(&call.method, &call.body, version, &live)?;
    restore_mirrored_secret(parts, &found.value, &mut change).await?;
    if request == Request::AdminUpdate {
        change.check_maintenance_task()?;
    }
    validate::update(&validation_context(parts, path, version, &opened), &change.is, &change.wanted)?;
    let mut updated = change.update(version, &opened)?;
    system_data(call, &mut updated);
    // The cluster may have been upgraded since it was stored.
    create::identities(parts, &updated, &live.properties.cluster_profile.version)?;
    identity(call, &mut updated)?;
    let work = updated.properties.accept(edge, request);
    fill_defaults(&mut updated);
    let mut begun = NewOperation::new(parts, path, updated.properties.provisioning_state.word());
    let mut answered = updated.clone();
    answered.show_as(&live);
    answered.properties.worker_profiles_status.clear(edge);
    let answer = cluster_response(StatusCode::OK, version, &answered)?;
    // The Azure identity must be unique, also when it changes (`contract/api.md` "Do better" 2).
    let (client, before) = (unique_names::client_key(&updated), unique_names::client_key(&opened));
    let mut held = None;
    if client != before {
        held = Some(unique_names::hold(parts, &path.key(), [UniqueName::client(&updated, &client)]).await?);
        found.value.client_id_key.set(edge, client.as_str());
        // The backend finishes the change if this process dies before.
        found.value.former_client_id_key.set(edge, before.as_str());
    }
    let earlier = Before { sealed: &found.value.cluster, opened: &opened };
    secrets::seal(&parts.keyring, &found.value.id, Some(earlier), &mut updated)?;
    found.value.cluster = updated;
    if work {
        record_acceptance(&mut found.value, call, parts, &begun);
    } else {
        begun.complete(parts.clock.now(), version_json::json(&found.value.cluster)?);
    }
    let written = document::replace(&parts.store, found).await;
    confirm_write(&parts.store, &path.key(), begun.id(), written).await?;
    begun.record(parts).await?;
    if let Some(held) = held {
        held.keep_instead_of(&path.key(), &before).await;
    }
    Ok(with_operation(answer, &call.url_with_path(&begun.status_path()), None, parts.edge.poll_after))
}

/// Validates a PUT of that body without writing anything.
pub(super) async fn validate_put(
    parts: &FrontendParts,
    path: &ClusterPath,
    version: &Version,
    found: &ClusterDocument,
    body: &[u8],
) -> Result<(), Fault> {
    let opened = secrets::opened(&parts.keyring, found)?;
    let live = live(parts, found, &opened).await;
    let change = ChangeRequest::decode(&Method::PUT, body, version, &live)?;
    validate::update(&validation_context(parts, path, version, &opened), &change.is, &change.wanted)?;
    let updated = change.update(version, &opened)?;
    Ok(create::identities(parts, &updated, &live.properties.cluster_profile.version)?)
}

/// If a request repeats the service principal that a GET mirrored from the cluster, without a secret, it means that
/// principal: its secret is the mirrored one, not the secret of the stored principal.
async fn restore_mirrored_secret(
    parts: &FrontendParts,
    found: &ClusterDocument,
    change: &mut ChangeRequest,
) -> Result<(), Fault> {
    if !change.changes_client_without_secret() {
        return Ok(());
    }
    let principal = mirrored(parts, &found.id).await.and_then(|mirror| mirror.service_principal);
    let Some(principal) = principal.filter(|one| change.names_client(one)) else { return Ok(()) };
    let place = format!("{}/{}/clientSecret", ClusterMirror::COLLECTION.name(), found.id);
    let secret = parts.keyring.open(&principal.client_secret, &place)?;
    let text = std::str::from_utf8(secret.expose()).map_err(|_| Fault::Stored("a mirrored secret"))?;
    change.set_client_secret(text);
    Ok(())
}
