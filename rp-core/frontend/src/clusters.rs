//! Clusters: read, list, write, delete (`contract/frontend.md` §6).

mod create;
mod list;
mod unique_names;
mod update;

use http::StatusCode;
use rp_api::response::ClusterResponse;
use rp_api::state::{self, ClusterRequest};
use rp_api::validate::ValidationContext;
use rp_api::{Version, convert};
use rp_base::chain;
use rp_database::{StoreError, Typed};
use rp_documents::{ClusterMirror, SubscriptionState};
use serde_json::{Value, json};

pub(crate) use list::{list, page};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::{Document, confirm_write};
use crate::fault::Fault;
use crate::operations::NewOperation;
use crate::path::{ClusterPath, KIND};
use crate::response::{HttpResponse, empty, json_response, with_operation};
use crate::subscriptions;

/// Attempts of a whole request after concurrent writes (`contract/frontend.md` §6.3).
const TRIES: u32 = 5;

/// One cluster.
pub(crate) async fn get(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    let version = call.version(KIND)?;
    let found = Document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let cluster = enriched(parts, &found).await;
    Ok(cluster_response(StatusCode::OK, version, &cluster))
}

/// The response that shows a cluster; secrets are blanked.
fn cluster_response(status: StatusCode, version: &Version, cluster: &Value) -> HttpResponse {
    let shown = convert::to_answer(version, cluster);
    json_response(status, &ClusterResponse { version, shown: &shown })
}

/// Creates or updates a cluster.
pub(crate) async fn put(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    let version = call.version(KIND)?;
    let subscription =
        subscriptions::allow(parts, &path.subscription, &[SubscriptionState::Registered]).await?;
    let (mut tried, mut checked) = (0, false);
    loop {
        let written = match Document::find(&parts.store, &path.key()).await? {
            Some(found) => update::update(parts, call, path, version, found).await,
            // Azure is queried once per request, however often the write is retried
            // (`contract/frontend.md` "Do better" 39).
            None => create::create(parts, call, path, version, &subscription, &mut checked).await,
        };
        tried += 1;
        match written {
            // A concurrent write happened: the request is processed again, on the stored state of now.
            Err(Fault::Store(StoreError::Stale { .. } | StoreError::Exists { which: "key", .. }))
                if tried < TRIES =>
            {
                tokio::time::sleep(std::time::Duration::from_millis(100) * (tried - 1)).await;
            }
            settled => return settled,
        }
    }
}

/// Validates a PUT of that body without writing anything.
///
/// # Errors
/// As the PUT, except that Azure is not queried.
pub(crate) async fn validate_put(
    parts: &FrontendParts,
    path: &ClusterPath,
    version: &Version,
    body: &[u8],
) -> Result<(), Fault> {
    match Document::find(&parts.store, &path.key()).await? {
        Some(found) => update::validate_put(parts, path, version, &found, body).await,
        None => create::validate_put(parts, path, version, body),
    }
}

/// Accepts the deletion of a cluster.
pub(crate) async fn delete(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    call.version(KIND)?;
    let states = [SubscriptionState::Registered, SubscriptionState::Warned, SubscriptionState::Suspended];
    subscriptions::allow(parts, &path.subscription, &states).await?;
    let mut tried = 0;
    loop {
        let Some(mut found) = Document::find(&parts.store, &path.key()).await? else {
            return Ok(empty(StatusCode::NO_CONTENT));
        };
        state::check(ClusterRequest::Delete, found.cluster())?;
        let begun = NewOperation::new(parts, path, "Deleting");
        state::accept(ClusterRequest::Delete, &mut found.body["openShiftCluster"]);
        record_acceptance(&mut found.body, call, parts, &begun);
        tried += 1;
        let written = found.replace(&parts.store).await;
        match confirm_write(&parts.store, &path.key(), begun.id(), written).await {
            Err(StoreError::Stale { .. }) if tried < TRIES => {
                tokio::time::sleep(std::time::Duration::from_millis(100) * (tried - 1)).await;
            }
            settled => {
                settled?;
                begun.record(parts).await?;
                let result = call.url_with_path(&begun.result_path());
                return Ok(with_operation(
                    empty(StatusCode::ACCEPTED),
                    &call.url_with_path(&begun.status_path()),
                    Some(&result),
                    parts.edge.poll_after,
                ));
            }
        }
    }
}

/// Records in a document that a request was accepted (`contract/api.md` §2, §6).
fn record_acceptance(body: &mut Value, call: &Call, parts: &FrontendParts, begun: &NewOperation) {
    body["asyncOperationId"] = Value::from(begun.id());
    body["correlationData"] = correlation(call, parts);
    if let Value::Object(envelope) = body {
        // Zero is left out of documents.
        envelope.remove("dequeues");
    }
}

fn correlation(call: &Call, parts: &FrontendParts) -> Value {
    let data = &call.correlation;
    json!({
        "correlationId": data.correlation,
        "clientRequestId": data.client_request,
        "operationID": data.operation,
        "requestID": data.request,
        "requestTime": parts.clock.now(),
    })
}

/// The stored cluster with what the monitor mirrored of it (`contract/api.md` §14). What cannot be read is
/// left as stored.
async fn enriched(parts: &FrontendParts, document: &Document) -> Value {
    let mut cluster = document.cluster().clone();
    // While it is being created or deleted, the mirrored state is meaningless.
    if state::is_passing(&cluster) {
        return cluster;
    }
    if let Some(mirror) = mirrored(parts, document).await {
        merge(&mirror, &mut cluster);
    }
    cluster
}

/// What the monitor mirrored of a cluster, if it can be read.
async fn mirrored(parts: &FrontendParts, document: &Document) -> Option<ClusterMirror> {
    match Typed::<ClusterMirror>::new(parts.store.clone()).get(&document.id).await {
        Ok(found) => found.map(|mirror| mirror.value),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "the mirror of a cluster cannot be read");
            None
        }
    }
}

fn merge(mirror: &ClusterMirror, cluster: &mut Value) {
    let properties = &mut cluster["properties"];
    if let Some(version) = &mirror.version {
        properties["clusterProfile"]["version"] = Value::from(version.as_str());
    }
    let lists = [
        ("ingressProfiles", mirror.ingress_profiles.as_ref().map(serde_json::to_value)),
        ("workerProfilesStatus", mirror.worker_profiles.as_ref().map(serde_json::to_value)),
    ];
    for (name, list) in lists {
        if let Some(Ok(list)) = list {
            properties[name] = list;
        }
    }
    let principal = mirror.service_principal.as_ref();
    if let Some(principal) = principal.filter(|_| properties["servicePrincipalProfile"].is_object()) {
        properties["servicePrincipalProfile"]["clientId"] = Value::from(principal.client_id.as_str());
    }
}

/// Copies the mirrored members of `live` into a cluster whose secrets are decrypted.
fn with_mirrored_members(live: &Value, opened: &Value) -> Value {
    let mut cluster = opened.clone();
    let properties = &mut cluster["properties"];
    for name in ["ingressProfiles", "workerProfilesStatus"] {
        if live["properties"].get(name).is_some() {
            properties[name] = live["properties"][name].clone();
        }
    }
    properties["clusterProfile"]["version"] = live["properties"]["clusterProfile"]["version"].clone();
    cluster
}

/// The context in which a request is validated.
fn validation_context<'a>(
    parts: &'a FrontendParts,
    path: &'a ClusterPath,
    version: &'a Version,
    cluster: &Value,
) -> ValidationContext<'a> {
    ValidationContext {
        version,
        id: &path.original,
        name: &path.name,
        subscription: &path.subscription,
        group: &path.group,
        region: &parts.region,
        domain: &parts.domain,
        architecture: cluster["properties"]["architectureVersion"].as_u64().unwrap_or_default(),
        development_workers: parts.development_workers,
    }
}

/// Each non-empty member of ARM's header replaces ours (`contract/frontend.md` §6.3 step 8).
fn system_data(call: &Call, cluster: &mut Value) {
    let Some(Value::Object(said)) = &call.system_data else { return };
    const KNOWN: [&str; 6] =
        ["createdBy", "createdByType", "createdAt", "lastModifiedBy", "lastModifiedByType", "lastModifiedAt"];
    for name in KNOWN {
        if let Some(Value::String(text)) = said.get(name)
            && !text.is_empty()
        {
            cluster["systemData"][name] = Value::from(text.as_str());
        }
    }
}

/// The identity headers of clusters with workload identity (`contract/frontend.md` §6.3 step 11).
fn identity(call: &Call, cluster: &mut Value) -> Result<(), rp_api::CloudError> {
    let workload = cluster["properties"]["platformWorkloadIdentityProfile"].is_object()
        && !cluster["properties"]["servicePrincipalProfile"].is_object();
    if !workload {
        return Ok(());
    }
    let headers = [
        ("x-ms-identity-url", "identityURL", &call.identity_url),
        ("x-ms-home-tenant-id", "tenantId", &call.home_tenant),
    ];
    for (header, member, value) in headers {
        match value {
            Some(text) => cluster["managedServiceIdentity"][member] = Value::from(text.as_str()),
            None if call.method == http::Method::PUT => {
                let message = format!("The request header '{header}' is required.");
                return Err(rp_api::CloudError::bad("InvalidParameter", header, message));
            }
            None => {}
        }
    }
    Ok(())
}
