//! A new cluster (`contract/frontend.md` §6.3).

use http::StatusCode;
use rp_api::{CloudError, Version, text, validate};
use rp_documents::cluster::{Edge, FeatureProfile, Intent};
use rp_documents::{ClusterDocument, OpenShiftCluster, ResourceId, SubscriptionDocument, SubscriptionState};

use super::accept::{fill_defaults, identity, record_acceptance, system_data};
use super::unique_names::{self, UniqueName};
use super::version_json::SentCluster;
use super::{cluster_response, validation_context};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::{self, confirm_write};
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
    identities(parts, &cluster, &cluster.properties.cluster_profile.version)?;
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
    Ok(identities(parts, &cluster, &cluster.properties.cluster_profile.version)?)
}

/// The cluster that a request asks for, checked by itself; secrets open.
fn decoded_cluster(
    parts: &FrontendParts,
    path: &ClusterPath,
    version: &Version,
    body: &[u8],
) -> Result<Box<OpenShiftCluster>, Fault> {
    let skeleton = skeleton(parts, path)?;
    let mut sent = SentCluster::decode(version, &skeleton, body)?;
    if !sent.has_openshift_version() {
        sent.set_openshift_version(default_version(parts)?);
    }
    validate::create(&validation_context(parts, path, version, &skeleton), sent.json())?;
    sent.create(version, &skeleton)
}

/// What a new cluster has whatever is sent.
fn skeleton(parts: &FrontendParts, path: &ClusterPath) -> Result<OpenShiftCluster, Fault> {
    let edge = Edge::accepting();
    let id = ResourceId::parse(&path.original).map_err(|_| path.missing())?;
    let name = id.name().to_owned();
    let mut cluster = OpenShiftCluster::new(id);
    cluster.name.set(edge, name);
    cluster.kind.set(edge, rp_api::RESOURCE_TYPE);
    let properties = &mut cluster.properties;
    properties.architecture_version.set(edge, 1);
    properties.created_at.set(edge, parts.clock.now());
    properties.created_by.set(edge, parts.commit.as_str());
    properties.provisioned_by.set(edge, parts.commit.as_str());
    let gateway = Intent::new(edge, parts.gateway);
    properties
        .feature_profile
        .set(edge, FeatureProfile { gateway_enabled: gateway, ..FeatureProfile::default() });
    Ok(cluster)
}

fn default_version(parts: &FrontendParts) -> Result<String, CloudError> {
    parts.offers.default_version().ok_or_else(|| {
        let message = "No default OpenShift version is available. Please specify a version explicitly using the \
                       --version parameter.";
        CloudError::new(500, "InternalServerError", "properties.clusterProfile.version", message)
    })
}

/// The version can be installed (`contract/api.md` §12.2).
fn check_offered(parts: &FrontendParts, cluster: &OpenShiftCluster) -> Result<(), CloudError> {
    let version = &*cluster.properties.cluster_profile.version;
    if text::version(version).is_some() && parts.offers.versions().iter().any(|offered| offered == version) {
        return Ok(());
    }
    let message = format!("The requested OpenShift version '{version}' is invalid.");
    Err(CloudError::invalid("properties.clusterProfile.version", message))
}

/// The identities are those that the platform's operators of the version need (`contract/api.md` §12.4).
pub(super) fn identities(
    parts: &FrontendParts,
    cluster: &OpenShiftCluster,
    version: &str,
) -> Result<(), CloudError> {
    let profile = &cluster.properties.platform_workload_identity_profile;
    let Some(given) = profile.platform_workload_identities.get() else { return Ok(()) };
    let later = profile.upgradeable_to.get().map(String::as_str);
    let later = later.filter(|later| text::version(later) > text::version(version));
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

fn set_initial_state(cluster: &mut OpenShiftCluster) {
    let (edge, properties) = (Edge::accepting(), &mut cluster.properties);
    let group = properties.cluster_profile.resource_group_id.to_ascii_lowercase();
    properties.cluster_profile.resource_group_id.set(edge, group);
    properties.create(edge);
    fill_defaults(cluster);
}

async fn write(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    version: &Version,
    mut cluster: Box<OpenShiftCluster>,
) -> Result<HttpResponse, Fault> {
    let id = parts.random.uuid().to_string();
    let group = cluster.properties.cluster_profile.resource_group_id.to_string();
    let client = unique_names::client_key(&cluster);
    let key = path.key();
    let held =
        unique_names::hold(parts, &key, [UniqueName::client(&cluster, &client), UniqueName::group(&group)])
            .await?;
    let begun = NewOperation::new(parts, path, cluster.properties.provisioning_state.word());
    let answer = cluster_response(StatusCode::CREATED, version, &cluster)?;
    secrets::seal(&parts.keyring, &id, None, &mut cluster)?;
    let mut bucket = [0u8; 1];
    parts.random.fill(&mut bucket);
    let edge = Edge::accepting();
    let mut new = ClusterDocument::new(id, cluster);
    new.bucket.set(edge, bucket[0]);
    new.cluster_resource_group_id_key.set(edge, group);
    new.client_id_key.set(edge, client);
    record_acceptance(&mut new, call, parts, &begun);
    let written = document::create(&parts.store, new).await;
    confirm_write(&parts.store, &key, begun.id(), written).await?;
    let (recorded, ()) = tokio::join!(begun.record(parts), held.keep());
    recorded?;
    Ok(with_operation(answer, &call.url_with_path(&begun.status_path()), None, parts.edge.poll_after))
}
