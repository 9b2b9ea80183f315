//! A change of a cluster that is there (`contract/frontend.md` §6.3).

use http::{Method, StatusCode};
use rp_api::state::{self, ClusterRequest};
use rp_api::{Version, admin, convert, decode, defaults, validate};
use rp_documents::{ClusterMirror, Document as _};
use serde_json::Value;

use super::unique_names::{self, UniqueName};
use super::{
    cluster_response, create, enriched, identity, mirrored, record_acceptance, system_data,
    validation_context, with_mirrored_members,
};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::{Document, confirm_write};
use crate::fault::Fault;
use crate::operations::NewOperation;
use crate::path::ClusterPath;
use crate::response::{HttpResponse, with_operation};
use crate::secrets;

const PROFILE: &str = "servicePrincipalProfile";

pub(super) async fn update(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    version: &Version,
    mut found: Document,
) -> Result<HttpResponse, Fault> {
    let asked = if version.name == "admin" { ClusterRequest::AdminUpdate } else { ClusterRequest::Update };
    state::check(asked, found.cluster())?;
    let sealed = found.cluster().clone();
    let opened = found.opened(&parts.keyring)?;
    // What the caller sees and compares with; it is not stored.
    let live = with_mirrored_members(&enriched(parts, &found).await, &opened);
    let mut stored = opened.clone();
    let (is, mut wanted) = merged_request(&call.method, &call.body, version, &live)?;
    restore_mirrored_secret(parts, &found, &is, &mut wanted).await?;
    if version.name == "admin" {
        let task = wanted["properties"]["maintenanceTask"].as_str().unwrap_or_default();
        admin::check_task(task)?;
    }
    validate::update(&validation_context(parts, path, version, &stored), &is, &wanted)?;
    convert::update(version, &is, &wanted, &mut stored);
    system_data(call, &mut stored);
    // The cluster may have been upgraded since it was stored.
    create::identities(parts, &stored, create::version_of(&live))?;
    identity(call, &mut stored)?;
    let work = state::accept(asked, &mut stored);
    defaults::fill(&mut stored);
    let status = stored["properties"]["provisioningState"].as_str().unwrap_or_default().to_owned();
    let mut begun = NewOperation::new(parts, path, &status);
    let mut answered = with_mirrored_members(&live, &stored);
    if let Value::Object(properties) = &mut answered["properties"] {
        properties.remove("workerProfilesStatus");
    }
    let answer = cluster_response(StatusCode::OK, version, &answered);
    // The Azure identity must be unique, also when it changes (`contract/api.md` "Do better" 2).
    let (client, before) = (unique_names::client_key(&stored), unique_names::client_key(&opened));
    let mut held = None;
    if client != before {
        held = Some(unique_names::hold(parts, &path.key(), [UniqueName::client(&stored, &client)]).await?);
        found.body["clientIdKey"] = Value::from(client.as_str());
        // The backend finishes the change if this process dies before.
        found.body["formerClientIdKey"] = Value::from(before.as_str());
    }
    secrets::seal(&parts.keyring, &found.id, Some((&sealed, &opened)), &mut stored)?;
    found.body["openShiftCluster"] = stored;
    if work {
        record_acceptance(&mut found.body, call, parts, &begun);
    } else {
        begun.complete(parts.clock.now(), found.cluster());
    }
    let written = found.replace(&parts.store).await;
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
    found: &Document,
    body: &[u8],
) -> Result<(), Fault> {
    let opened = found.opened(&parts.keyring)?;
    let live = with_mirrored_members(&enriched(parts, found).await, &opened);
    let (is, wanted) = merged_request(&Method::PUT, body, version, &live)?;
    validate::update(&validation_context(parts, path, version, &opened), &is, &wanted)?;
    let mut stored = opened;
    convert::update(version, &is, &wanted, &mut stored);
    Ok(create::identities(parts, &stored, create::version_of(&live))?)
}

/// The cluster as the version shows it, and as the request wants it: what must not be sent is cleared in both.
fn merged_request(
    method: &Method,
    body: &[u8],
    version: &Version,
    live: &Value,
) -> Result<(Value, Value), Fault> {
    let mut is = convert::to_external(version, live);
    let mut wanted = if method == Method::PUT { convert::put_base(version, live) } else { is.clone() };
    if version.name == "admin" && method == Method::PATCH {
        let mut asked = Value::Object(serde_json::Map::new());
        decode::decode_into(version, &mut asked, body)?;
        admin::start_flags(asked["operatorFlagsMergeStrategy"].as_str().unwrap_or_default(), &mut wanted)?;
    }
    convert::without_read_only(version, &mut is);
    convert::without_read_only(version, &mut wanted);
    if method == Method::PATCH {
        new_identity(body, live, &mut wanted)?;
    }
    decode::decode_into(version, &mut wanted, body)?;
    Ok((is, wanted))
}

/// If a request repeats the service principal that a GET mirrored from the cluster, without a secret, it means that
/// principal: its secret is the mirrored one, not the secret of the stored principal.
async fn restore_mirrored_secret(
    parts: &FrontendParts,
    found: &Document,
    is: &Value,
    wanted: &mut Value,
) -> Result<(), Fault> {
    let (was, now) = (&is["properties"][PROFILE], &wanted["properties"][PROFILE]);
    if was["clientId"] == now["clientId"] || was["clientSecret"] != now["clientSecret"] {
        return Ok(());
    }
    let principal = mirrored(parts, found).await.and_then(|mirror| mirror.service_principal);
    let Some(principal) = principal.filter(|one| now["clientId"] == one.client_id) else { return Ok(()) };
    let place = format!("{}/{}/clientSecret", ClusterMirror::COLLECTION.name(), found.id);
    let secret = parts.keyring.open(&principal.client_secret, &place)?;
    let text = std::str::from_utf8(secret.expose()).map_err(|_| Fault::Stored("a mirrored secret"))?;
    wanted["properties"][PROFILE]["clientSecret"] = Value::from(text);
    Ok(())
}

/// A PATCH that names an identity replaces the cluster's, whatever its version (`contract/api.md` §10 step
/// 3).
fn new_identity(body: &[u8], live: &Value, wanted: &mut Value) -> Result<(), Fault> {
    let platform = live["properties"]["platformWorkloadIdentityProfile"].is_object();
    if !platform || !wanted["identity"].is_object() {
        return Ok(());
    }
    let Some(newest) = rp_api::all().last() else { return Ok(()) };
    let mut asked = Value::Object(serde_json::Map::new());
    decode::decode_into(newest, &mut asked, body)?;
    let named = asked["identity"]["userAssignedIdentities"].as_object().filter(|named| !named.is_empty());
    if let Some(named) = named {
        let empty = named.keys().map(|key| (key.clone(), Value::Object(serde_json::Map::new()))).collect();
        wanted["identity"]["userAssignedIdentities"] = Value::Object(empty);
    }
    Ok(())
}
