//! A change of a cluster that is there (`contract/frontend.md` §6.3).

use http::{Method, StatusCode};
use rp_api::state::{self, Asked};
use rp_api::{Version, admin, convert, decode, defaults, validate};
use rp_documents::{ClusterMirror, Document as _};
use serde_json::Value;

use super::names::{self, Name};
use super::{create, enriched, ground, identity, mark, merge_again, mirrored, shown, system_data};
use crate::answer::{Answer, following};
use crate::call::Call;
use crate::document::{Document, settled};
use crate::fault::Fault;
use crate::operations::Begun;
use crate::parts::FrontendParts;
use crate::path::ClusterPath;
use crate::secrets;

const PROFILE: &str = "servicePrincipalProfile";

pub(super) async fn update(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    version: &Version,
    mut found: Document,
) -> Result<Answer, Fault> {
    let asked = if version.name == "admin" { Asked::AdminUpdate } else { Asked::Update };
    state::check(asked, found.cluster())?;
    let sealed = found.cluster().clone();
    let opened = found.opened(&parts.keyring)?;
    // What the caller sees and compares with; it is never stored.
    let live = merge_again(&enriched(parts, &found).await, &opened);
    let mut stored = opened.clone();
    let (is, mut wanted) = laid_over(&call.method, &call.body, version, &live)?;
    own_secret(parts, &found, &is, &mut wanted).await?;
    if version.name == "admin" {
        let task = wanted["properties"]["maintenanceTask"].as_str().unwrap_or_default();
        admin::check_task(task)?;
    }
    validate::update(&ground(parts, path, version, &stored), &is, &wanted)?;
    convert::update(version, &is, &wanted, &mut stored);
    system_data(call, &mut stored);
    // It may have been upgraded since it was stored.
    create::identities(parts, &stored, create::version_of(&live))?;
    identity(call, &mut stored)?;
    let work = state::accept(asked, &mut stored);
    defaults::fill(&mut stored);
    let status = stored["properties"]["provisioningState"].as_str().unwrap_or_default().to_owned();
    let mut begun = Begun::new(parts, path, &status);
    let mut answered = merge_again(&live, &stored);
    if let Value::Object(properties) = &mut answered["properties"] {
        properties.remove("workerProfilesStatus");
    }
    let answer = shown(StatusCode::OK, version, &answered);
    // Who it is towards Azure is unique, also when it changes (`contract/api.md` "Do better" 2).
    let (client, before) = (names::client_key(&stored), names::client_key(&opened));
    let mut held = None;
    if client != before {
        held = Some(names::hold(parts, &path.key(), [Name::client(&stored, &client)]).await?);
        found.body["clientIdKey"] = Value::from(client.as_str());
        // Whoever takes it up finishes the change if this process dies before it does.
        found.body["formerClientIdKey"] = Value::from(before.as_str());
    }
    secrets::seal(&parts.keyring, &found.id, Some((&sealed, &opened)), &mut stored)?;
    found.body["openShiftCluster"] = stored;
    if work {
        mark(&mut found.body, call, parts, &begun);
    } else {
        begun.done(parts.clock.now(), found.cluster());
    }
    let written = found.replace(&parts.store).await;
    settled(&parts.store, &path.key(), begun.id(), written).await?;
    begun.record(parts).await?;
    if let Some(held) = held {
        held.keep_instead_of(&path.key(), &before).await;
    }
    Ok(following(answer, &call.beside(&begun.status_path()), None, parts.edge.poll_after))
}

/// What a PUT of that body would be refused for.
pub(super) async fn would(
    parts: &FrontendParts,
    path: &ClusterPath,
    version: &Version,
    found: &Document,
    body: &[u8],
) -> Result<(), Fault> {
    let opened = found.opened(&parts.keyring)?;
    let live = merge_again(&enriched(parts, found).await, &opened);
    let (is, wanted) = laid_over(&Method::PUT, body, version, &live)?;
    validate::update(&ground(parts, path, version, &opened), &is, &wanted)?;
    let mut stored = opened;
    convert::update(version, &is, &wanted, &mut stored);
    Ok(create::identities(parts, &stored, create::version_of(&live))?)
}

/// The cluster as the version shows it, and as the request wants it: what must not be sent is cleared in both.
fn laid_over(method: &Method, body: &[u8], version: &Version, live: &Value) -> Result<(Value, Value), Fault> {
    let mut is = convert::to_external(version, live);
    let mut wanted = if method == Method::PUT { convert::put_base(version, live) } else { is.clone() };
    if version.name == "admin" && method == Method::PATCH {
        let mut asked = Value::Object(serde_json::Map::new());
        decode::lay_over(version, &mut asked, body)?;
        admin::start_flags(asked["operatorFlagsMergeStrategy"].as_str().unwrap_or_default(), &mut wanted)?;
    }
    convert::without_read_only(version, &mut is);
    convert::without_read_only(version, &mut wanted);
    if method == Method::PATCH {
        new_identity(body, live, &mut wanted)?;
    }
    decode::lay_over(version, &mut wanted, body)?;
    Ok((is, wanted))
}

/// A request that repeats the service principal which a GET showed of the cluster itself, and no secret, means that one
/// whole: its secret is the cluster's, not that of the one which is stored.
async fn own_secret(
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
    decode::lay_over(newest, &mut asked, body)?;
    let named = asked["identity"]["userAssignedIdentities"].as_object().filter(|named| !named.is_empty());
    if let Some(named) = named {
        let empty = named.keys().map(|key| (key.clone(), Value::Object(serde_json::Map::new()))).collect();
        wanted["identity"]["userAssignedIdentities"] = Value::Object(empty);
    }
    Ok(())
}
