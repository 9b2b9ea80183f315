//! A new cluster (`contract/frontend.md` §6.3).

use http::StatusCode;
use rp_api::{CloudError, Version, convert, decode, defaults, text, validate};
use rp_documents::{SubscriptionDocument, SubscriptionState};
use serde_json::{Value, json};

use super::unique_names::{self, UniqueName};
use super::{cluster_response, correlation, identity, system_data, validation_context};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::{NewCluster, confirm_write};
use crate::fault::Fault;
use crate::operations::NewOperation;
use crate::path::ClusterPath;
use crate::response::{HttpResponse, with_operation};
use crate::{secrets, subscriptions};

pub(super) async fn create(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    version: &Version,
    subscription: &SubscriptionDocument,
    checked: &mut bool,
) -> Result<HttpResponse, Fault> {
    if version.name == "admin" {
        let message = "Admin API does not allow cluster creation.";
        return Err(CloudError::bad("RequestNotAllowed", "", message).into());
    }
    let mut cluster = decoded_cluster(parts, path, version, &call.body)?;
    let profile = subscription.subscription.properties.as_ref();
    let tenant = profile.map(|properties| properties.tenant_id.as_str()).unwrap_or_default();
    if let Some(checks) = parts.checks.as_ref().filter(|_| !*checked) {
        checks.check(&path.subscription, tenant, &cluster).await?;
        *checked = true;
        // The checks take a while: the subscription may have been deleted meanwhile, and nothing would
        // delete a cluster that is created in it.
        subscriptions::allow(parts, &path.subscription, &[SubscriptionState::Registered]).await?;
    }
    identities(parts, &cluster, version_of(&cluster))?;
    check_offered(parts, &cluster)?;
    system_data(call, &mut cluster);
    identity(call, &mut cluster)?;
    set_initial_state(&mut cluster);
    write(parts, call, path, version, cluster).await
}

/// What a new cluster of that body would be refused for.
pub(super) fn validate_put(
    parts: &FrontendParts,
    path: &ClusterPath,
    version: &Version,
    body: &[u8],
) -> Result<(), Fault> {
    let cluster = decoded_cluster(parts, path, version, body)?;
    check_offered(parts, &cluster)?;
    Ok(identities(parts, &cluster, version_of(&cluster))?)
}

/// The cluster that a request asks for, checked by itself; secrets open.
fn decoded_cluster(
    parts: &FrontendParts,
    path: &ClusterPath,
    version: &Version,
    body: &[u8],
) -> Result<Value, Fault> {
    let mut cluster = skeleton(parts, path);
    let mut sent = convert::put_base(version, &cluster);
    convert::without_read_only(version, &mut sent);
    decode::decode_into(version, &mut sent, body)?;
    if sent["properties"]["clusterProfile"]["version"].as_str().unwrap_or_default().is_empty() {
        sent["properties"]["clusterProfile"]["version"] = Value::from(default_version(parts)?);
    }
    validate::create(&validation_context(parts, path, version, &cluster), &sent)?;
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

/// The version can be installed (`contract/api.md` §12.2).
fn check_offered(parts: &FrontendParts, cluster: &Value) -> Result<(), CloudError> {
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

/// The identities are those that the platform's operators of the version need (`contract/api.md` §12.4).
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

fn set_initial_state(cluster: &mut Value) {
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
) -> Result<HttpResponse, Fault> {
    let id = parts.random.uuid().to_string();
    let group =
        cluster["properties"]["clusterProfile"]["resourceGroupId"].as_str().unwrap_or_default().to_owned();
    let client = unique_names::client_key(&cluster);
    let key = path.key();
    let held =
        unique_names::hold(parts, &key, [UniqueName::client(&cluster, &client), UniqueName::group(&group)])
            .await?;
    let begun = NewOperation::new(parts, path, "Creating");
    let answer = cluster_response(StatusCode::CREATED, version, &cluster);
    secrets::seal(&parts.keyring, &id, None, &mut cluster)?;
    let mut bucket = [0u8; 1];
    parts.random.fill(&mut bucket);
    let new = NewCluster {
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
    confirm_write(&parts.store, &key, begun.id(), written).await?;
    let (recorded, ()) = tokio::join!(begun.record(parts), held.keep());
    recorded?;
    Ok(with_operation(answer, &call.url_with_path(&begun.status_path()), None, parts.edge.poll_after))
}
