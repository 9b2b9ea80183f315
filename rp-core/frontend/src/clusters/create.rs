//! A new cluster (`spec/frontend.md` §6.3).

use http::StatusCode;
use rp_api::{CloudError, Version, convert, decode, defaults, text, validate};
use rp_base::Timestamp;
use rp_database::{StoreError, Typed};
use rp_documents::{Collection, Reservation, SubscriptionDocument, SubscriptionState};
use serde_json::{Value, json};

use super::{correlation, ground, identity, shown, system_data};
use crate::answer::{Answer, following};
use crate::call::Call;
use crate::document::{New, settled};
use crate::fault::Fault;
use crate::operations::Begun;
use crate::parts::FrontendParts;
use crate::path::ClusterPath;
use crate::{secrets, subscriptions};

/// The longest part of a key, in bytes.
const MOST_KEY: usize = 512;
/// A name that is held for a cluster which then does not come into being is free again after so long.
const HELD: std::time::Duration = std::time::Duration::from_secs(120);

pub(super) async fn create(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    version: &Version,
    subscription: &SubscriptionDocument,
    checked: &mut bool,
) -> Result<Answer, Fault> {
    if version.name == "admin" {
        let message = "Admin API does not allow cluster creation.";
        return Err(CloudError::bad("RequestNotAllowed", "", message).into());
    }
    let mut cluster = wanted(parts, path, version, &call.body)?;
    let profile = subscription.subscription.properties.as_ref();
    let tenant = profile.map(|properties| properties.tenant_id.as_str()).unwrap_or_default();
    if let Some(checks) = parts.checks.as_ref().filter(|_| !*checked) {
        checks.check(&path.subscription, tenant, &cluster).await?;
        *checked = true;
        // That takes a while: it may have ended meanwhile, and nobody would delete what is made in it.
        subscriptions::allow(parts, &path.subscription, &[SubscriptionState::Registered]).await?;
    }
    identities(parts, &cluster, version_of(&cluster))?;
    offered(parts, &cluster)?;
    system_data(call, &mut cluster);
    identity(call, &mut cluster)?;
    begin(&mut cluster);
    write(parts, call, path, version, cluster).await
}

/// What a new cluster of that body would be refused for.
pub(super) fn would(
    parts: &FrontendParts,
    path: &ClusterPath,
    version: &Version,
    body: &[u8],
) -> Result<(), Fault> {
    let cluster = wanted(parts, path, version, body)?;
    offered(parts, &cluster)?;
    Ok(identities(parts, &cluster, version_of(&cluster))?)
}

/// The cluster that a request asks for, checked by itself; secrets open.
fn wanted(parts: &FrontendParts, path: &ClusterPath, version: &Version, body: &[u8]) -> Result<Value, Fault> {
    let mut cluster = skeleton(parts, path);
    let mut sent = convert::put_base(version, &cluster);
    convert::without_read_only(version, &mut sent);
    decode::lay_over(version, &mut sent, body)?;
    if sent["properties"]["clusterProfile"]["version"].as_str().unwrap_or_default().is_empty() {
        sent["properties"]["clusterProfile"]["version"] = Value::from(default_version(parts)?);
    }
    validate::create(&ground(parts, path, version, &cluster), &sent)?;
    convert::create(version, &sent, &mut cluster);
    Ok(cluster)
}

fn skeleton(parts: &FrontendParts, path: &ClusterPath) -> Value {
    let name = path.original.rsplit('/').next().unwrap_or_default();
    json!({
        "id": path.original,
        "name": name,
        "type": rp_api::RESOURCE_TYPE,
        "properties": {
            "architectureVersion": 1,
            "provisioningState": "Succeeded",
            "createdAt": parts.clock.now(),
            "createdBy": parts.commit,
            "provisionedBy": parts.commit,
            "featureProfile": {"gatewayEnabled": parts.gateway},
        }
    })
}

fn default_version(parts: &FrontendParts) -> Result<String, CloudError> {
    parts.offers.default_version().ok_or_else(|| {
        let message = "No default OpenShift version is available. Please specify a version explicitly using the \
                       --version parameter.";
        CloudError::new(500, "InternalServerError", "properties.clusterProfile.version", message)
    })
}

/// The version can be installed (`spec/api.md` §12.2).
fn offered(parts: &FrontendParts, cluster: &Value) -> Result<(), CloudError> {
    let version = version_of(cluster);
    if text::version(version).is_some() && parts.offers.versions().iter().any(|offered| offered == version) {
        return Ok(());
    }
    let message = format!("The requested OpenShift version '{version}' is invalid.");
    Err(CloudError::invalid("properties.clusterProfile.version", message))
}

/// The version of OpenShift that a cluster has.
pub(super) fn version_of(cluster: &Value) -> &str {
    cluster["properties"]["clusterProfile"]["version"].as_str().unwrap_or_default()
}

/// The identities are those that the platform's operators of the version need (`spec/api.md` §12.4).
pub(super) fn identities(parts: &FrontendParts, cluster: &Value, version: &str) -> Result<(), CloudError> {
    let properties = &cluster["properties"];
    let profile = &properties["platformWorkloadIdentityProfile"];
    let Some(given) = profile["platformWorkloadIdentities"].as_object() else { return Ok(()) };
    let later =
        profile["upgradeableTo"].as_str().filter(|later| text::version(later) > text::version(version));
    let mut minors: Vec<String> =
        [Some(version), later].into_iter().flatten().filter_map(text::minor).collect();
    minors.dedup();
    let sets = parts.offers.role_sets();
    let mut names = std::collections::BTreeSet::new();
    for minor in &minors {
        let Some(set) = sets.iter().find(|set| set.open_shift_version == *minor) else {
            let message = format!(
                "No PlatformWorkloadIdentityRoleSet found for the requested or upgradeable OpenShift minor version \
                 '{minor}'. Please retry with different OpenShift version, and if the issue persists, raise an Azure \
                 support ticket"
            );
            return Err(CloudError::invalid("", message));
        };
        names.extend(set.platform_workload_identity_roles.iter().map(|role| role.operator_name.as_str()));
    }
    if given.len() == names.len() && given.keys().all(|name| names.contains(name.as_str())) {
        return Ok(());
    }
    let names: Vec<&str> = names.into_iter().collect();
    let message = format!(
        "There's a mismatch between the required and expected set of platform workload identities for the requested \
         OpenShift minor version '{}'. The required platform workload identities are '[{}]'",
        minors.join(" or "),
        names.join(" ")
    );
    let target = "properties.PlatformWorkloadIdentityProfile.PlatformWorkloadIdentities";
    Err(CloudError::bad("PlatformWorkloadIdentityMismatch", target, message))
}

fn begin(cluster: &mut Value) {
    let properties = &mut cluster["properties"];
    let group =
        properties["clusterProfile"]["resourceGroupId"].as_str().unwrap_or_default().to_ascii_lowercase();
    properties["clusterProfile"]["resourceGroupId"] = Value::from(group);
    properties["provisioningState"] = Value::from("Creating");
    defaults::fill(cluster);
}

async fn write(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    version: &Version,
    mut cluster: Value,
) -> Result<Answer, Fault> {
    let id = parts.random.uuid().to_string();
    let group =
        cluster["properties"]["clusterProfile"]["resourceGroupId"].as_str().unwrap_or_default().to_owned();
    let client = client_key(&cluster);
    let key = path.key();
    let until = parts.store.now().await? + HELD;
    let new = hold_client(parts, &key, &cluster, &client).await?;
    if let Err(refused) = hold(parts, &key, &format!("group/{group}"), until, || used_group(&group)).await {
        // Nothing came of it: nobody else is kept from the other name.
        if new {
            free(parts, &key, &format!("client/{client}")).await;
        }
        return Err(refused);
    }
    let begun = Begun::new(parts, path, "Creating");
    let answer = shown(StatusCode::CREATED, version, &cluster);
    secrets::seal(&parts.keyring, &id, None, &mut cluster)?;
    let mut bucket = [0u8; 1];
    parts.random.fill(&mut bucket);
    let new = New {
        id: &id,
        key: &key,
        subscription: &path.subscription,
        bucket: bucket[0],
        operation: begun.id(),
        group_key: &group,
        client_key: &client,
        correlation: correlation(call, parts),
        cluster,
    };
    let written = new.create(&parts.store).await;
    settled(&parts.store, &key, begun.id(), written).await?;
    begun.record(parts).await?;
    keep(parts, &key, &[format!("client/{client}"), format!("group/{group}")]).await;
    Ok(following(answer, &call.beside(&begun.status_path()), None))
}

/// Who the cluster is towards Azure: the client id, or its identity (`spec/api.md` §2).
pub(super) fn client_key(cluster: &Value) -> String {
    let client = cluster["properties"]["servicePrincipalProfile"]["clientId"].as_str();
    let identity = || {
        let map = cluster["managedServiceIdentity"]["userAssignedIdentities"].as_object();
        map.and_then(|map| map.keys().next()).map(String::as_str)
    };
    key_of(client.or_else(identity).unwrap_or_default())
}

/// A text of the caller as a part of a key: lower case, and a digest where it cannot be one.
fn key_of(text: &str) -> String {
    let key = text.to_lowercase();
    let odd = |c: char| c.is_uppercase() || c.is_control();
    if key.len() > MOST_KEY || key.chars().any(odd) {
        return format!("sha256/{}", rp_base::sha256(key.as_bytes()));
    }
    key
}

/// Holds a name for this cluster, for a while; gives whether it was free. A request that is sent again finds its own hold.
async fn hold(
    parts: &FrontendParts,
    cluster: &str,
    name: &str,
    until: Timestamp,
    used: impl FnOnce() -> CloudError,
) -> Result<bool, Fault> {
    let held = Reservation { id: name.to_owned(), cluster: cluster.to_owned() };
    let reservations = Typed::<Reservation>::new(parts.store.clone());
    match reservations.create_until(held, Some(until)).await {
        Err(StoreError::Exists { .. }) => {
            let holder = reservations.get(name).await?;
            let ours = holder.is_some_and(|held| held.value.cluster == cluster);
            if ours { Ok(false) } else { Err(used().into()) }
        }
        settled => settled.map(|_| true).map_err(Fault::from),
    }
}

/// Holds who the cluster is towards Azure.
pub(super) async fn hold_client(
    parts: &FrontendParts,
    key: &str,
    cluster: &Value,
    client: &str,
) -> Result<bool, Fault> {
    let until = parts.store.now().await? + HELD;
    hold(parts, key, &format!("client/{client}"), until, || used_client(cluster, client)).await
}

/// The cluster is somebody else towards Azure from now on: the new name is kept, the old one is free.
pub(super) async fn change_client(parts: &FrontendParts, key: &str, old: &str, new: &str) {
    keep(parts, key, &[format!("client/{new}")]).await;
    free(parts, key, &format!("client/{old}")).await;
}

/// The name is nobody's any more, if it was this cluster's.
async fn free(parts: &FrontendParts, key: &str, name: &str) {
    let reservations = Typed::<Reservation>::new(parts.store.clone());
    let freed = match reservations.get(name).await {
        Ok(Some(held)) if held.value.cluster == key => {
            parts
                .store
                .delete(Collection::Reservations, name, rp_database::Expect::Version(held.version))
                .await
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = freed {
        tracing::warn!(error = %rp_base::chain(&error), "a name stays taken though no cluster uses it");
    }
}

/// Holds the names for as long as the cluster lives. A process that dies before leaves them to the backend, which holds
/// them again when it takes the cluster up.
async fn keep(parts: &FrontendParts, cluster: &str, names: &[String]) {
    let reservations = Typed::<Reservation>::new(parts.store.clone());
    for name in names {
        match keep_one(&reservations, cluster, name).await {
            Ok(true) => {}
            // It lapsed while the cluster was written. The backend finds out before it makes anything.
            Ok(false) => tracing::error!(cluster, "a name that a cluster uses has become another's"),
            Err(error) => tracing::warn!(error = %rp_base::chain(&error), "a reservation will lapse"),
        }
    }
}

/// Whether the name is the cluster's from now on. What is another's stays another's.
async fn keep_one(reservations: &Typed<Reservation>, cluster: &str, name: &str) -> Result<bool, StoreError> {
    let kept = Reservation { id: name.to_owned(), cluster: cluster.to_owned() };
    let written = match reservations.get(name).await? {
        Some(found) if found.value.cluster != cluster => return Ok(false),
        Some(found) if found.expires_at.is_none() => return Ok(true),
        Some(found) => reservations.put(kept, rp_database::Expect::Version(found.version)).await,
        None => reservations.create(kept).await,
    };
    match written {
        Ok(_) => Ok(true),
        // Somebody wrote at the same time: the backend for this cluster, or another cluster.
        Err(StoreError::Stale { .. } | StoreError::Exists { .. } | StoreError::Gone { .. }) => {
            Ok(reservations.get(name).await?.is_some_and(|found| found.value.cluster == cluster))
        }
        Err(error) => Err(error),
    }
}

fn used_client(cluster: &Value, client: &str) -> CloudError {
    let message = if cluster["properties"]["servicePrincipalProfile"].is_object() {
        format!("The provided service principal with client ID '{client}' is already in use by a cluster.")
    } else {
        format!("The provided user assigned identity '{client}' is already in use by a cluster.")
    };
    CloudError::bad("DuplicateClientID", "", message)
}

fn used_group(group: &str) -> CloudError {
    let message = format!("The provided resource group '{group}' already contains a cluster.");
    CloudError::bad("DuplicateResourceGroup", "", message)
}
