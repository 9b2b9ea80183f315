//! Clusters: read, list, write, delete (`contract/frontend.md` §6).

mod create;
mod list;
mod names;
mod update;

use http::StatusCode;
use rp_api::answer::Answer as Shown;
use rp_api::state::{self, Asked};
use rp_api::validate::Ground;
use rp_api::{Version, convert};
use rp_base::chain;
use rp_database::{StoreError, Typed};
use rp_documents::{ClusterMirror, SubscriptionState};
use serde_json::{Value, json};

pub(crate) use list::{list, page};

use crate::answer::{Answer, empty, following, json_of};
use crate::call::Call;
use crate::document::{Document, settled};
use crate::fault::Fault;
use crate::operations::Begun;
use crate::parts::FrontendParts;
use crate::path::{ClusterPath, KIND};
use crate::subscriptions;

/// Whole requests that are tried again when somebody else wrote meanwhile (`contract/frontend.md` §6.3).
const TRIES: u32 = 5;

/// One cluster.
pub(crate) async fn get(parts: &FrontendParts, call: &Call, path: &ClusterPath) -> Result<Answer, Fault> {
    let version = call.version(KIND)?;
    let found = Document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let cluster = enriched(parts, &found).await;
    Ok(shown(StatusCode::OK, version, &cluster))
}

/// The answer that shows a cluster; secrets are blanked.
fn shown(status: StatusCode, version: &Version, cluster: &Value) -> Answer {
    let shown = convert::to_answer(version, cluster);
    json_of(status, &Shown { version, shown: &shown })
}

/// Makes a cluster, or changes one.
pub(crate) async fn put(parts: &FrontendParts, call: &Call, path: &ClusterPath) -> Result<Answer, Fault> {
    let version = call.version(KIND)?;
    let subscription =
        subscriptions::allow(parts, &path.subscription, &[SubscriptionState::Registered]).await?;
    let (mut tried, mut checked) = (0, false);
    loop {
        let written = match Document::find(&parts.store, &path.key()).await? {
            Some(found) => update::update(parts, call, path, version, found).await,
            // Azure is asked once for a request, however often it is written
            // (`contract/frontend.md` "Do better" 39).
            None => create::create(parts, call, path, version, &subscription, &mut checked).await,
        };
        tried += 1;
        match written {
            // Somebody else was faster: the request is looked at again, over what stands there now.
            Err(Fault::Store(StoreError::Stale { .. } | StoreError::Exists { which: "key", .. }))
                if tried < TRIES =>
            {
                tokio::time::sleep(std::time::Duration::from_millis(100) * (tried - 1)).await;
            }
            settled => return settled,
        }
    }
}

/// What a PUT of that body would be refused for.
///
/// # Errors
/// As the PUT, but that Azure is not asked.
pub(crate) async fn would(
    parts: &FrontendParts,
    path: &ClusterPath,
    version: &Version,
    body: &[u8],
) -> Result<(), Fault> {
    match Document::find(&parts.store, &path.key()).await? {
        Some(found) => update::would(parts, path, version, &found, body).await,
        None => create::would(parts, path, version, body),
    }
}

/// Asks for a cluster's end.
pub(crate) async fn delete(parts: &FrontendParts, call: &Call, path: &ClusterPath) -> Result<Answer, Fault> {
    call.version(KIND)?;
    let states = [SubscriptionState::Registered, SubscriptionState::Warned, SubscriptionState::Suspended];
    subscriptions::allow(parts, &path.subscription, &states).await?;
    let mut tried = 0;
    loop {
        let Some(mut found) = Document::find(&parts.store, &path.key()).await? else {
            return Ok(empty(StatusCode::NO_CONTENT));
        };
        state::check(Asked::Delete, found.cluster())?;
        let begun = Begun::new(parts, path, "Deleting");
        state::accept(Asked::Delete, &mut found.body["openShiftCluster"]);
        mark(&mut found.body, call, parts, &begun);
        tried += 1;
        let written = found.replace(&parts.store).await;
        match settled(&parts.store, &path.key(), begun.id(), written).await {
            Err(StoreError::Stale { .. }) if tried < TRIES => {
                tokio::time::sleep(std::time::Duration::from_millis(100) * (tried - 1)).await;
            }
            settled => {
                settled?;
                begun.record(parts).await?;
                let result = call.beside(&begun.result_path());
                return Ok(following(
                    empty(StatusCode::ACCEPTED),
                    &call.beside(&begun.status_path()),
                    Some(&result),
                    parts.edge.poll_after,
                ));
            }
        }
    }
}

/// Notes on a document that a request was accepted (`contract/api.md` §2, §6).
fn mark(body: &mut Value, call: &Call, parts: &FrontendParts, begun: &Begun) {
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

/// The stored cluster with what the monitor mirrored of it (`contract/api.md` §14). What cannot be had is
/// left as stored.
async fn enriched(parts: &FrontendParts, document: &Document) -> Value {
    let mut cluster = document.cluster().clone();
    // While it comes or goes, what was mirrored says nothing.
    if state::is_passing(&cluster) {
        return cluster;
    }
    if let Some(mirror) = mirrored(parts, document).await {
        merge(&mirror, &mut cluster);
    }
    cluster
}

/// What the monitor mirrored of a cluster, if it can be had.
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

/// What was mirrored, over a cluster whose secrets are open.
fn merge_again(live: &Value, opened: &Value) -> Value {
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

/// The rules' view of a request.
fn ground<'a>(
    parts: &'a FrontendParts,
    path: &'a ClusterPath,
    version: &'a Version,
    cluster: &Value,
) -> Ground<'a> {
    Ground {
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
