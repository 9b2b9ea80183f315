//! Clusters: read, list, write, delete (`contract/frontend.md` §6).

mod accept;
mod create;
mod list;
mod unique_names;
mod update;
pub(crate) mod version_json;

use http::StatusCode;
use rp_api::Version;
use rp_api::response::ClusterResponse;
use rp_api::validate::ValidationContext;
use rp_base::chain;
use rp_database::{StoreError, Typed};
use rp_documents::cluster::Edge;
use rp_documents::cluster::provisioning::Request;
use rp_documents::{ClusterDocument, ClusterMirror, OpenShiftCluster, SubscriptionState};

pub(crate) use list::{list, page};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::{self, confirm_write};
use crate::fault::Fault;
use crate::operations::NewOperation;
use crate::path::{ClusterPath, KIND};
use crate::response::{HttpResponse, empty, json_response, with_operation};
use crate::subscriptions;
use accept::record_acceptance;

/// Attempts of a whole request after concurrent writes (`contract/frontend.md` §6.3).
const TRIES: u32 = 5;

/// One cluster.
pub(crate) async fn get(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    let version = call.version(KIND)?;
    let found = document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let cluster = enriched(parts, found.value).await;
    cluster_response(StatusCode::OK, version, &cluster)
}

/// The response that shows a cluster; secrets are blanked.
fn cluster_response(
    status: StatusCode,
    version: &Version,
    cluster: &OpenShiftCluster,
) -> Result<HttpResponse, Fault> {
    let shown = version_json::answer(version, cluster)?;
    Ok(json_response(status, &ClusterResponse { version, shown: &shown }))
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
        let written = match document::find(&parts.store, &path.key()).await? {
            Some(found) => Box::pin(update::update(parts, call, path, version, found)).await,
            // Azure is queried once per request, however often the write is retried
            // (`contract/frontend.md` "Do better" 39).
            None => Box::pin(create::create(parts, call, path, version, &subscription, &mut checked)).await,
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
    match document::find(&parts.store, &path.key()).await? {
        Some(found) => update::validate_put(parts, path, version, &found.value, body).await,
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
        let Some(mut found) = document::find(&parts.store, &path.key()).await? else {
            return Ok(empty(StatusCode::NO_CONTENT));
        };
        let properties = &mut found.value.cluster.properties;
        properties.allows(Request::Delete)?;
        properties.accept(Edge::accepting(), Request::Delete);
        let begun = NewOperation::new(parts, path, properties.provisioning_state.word());
        record_acceptance(&mut found.value, call, parts, &begun);
        tried += 1;
        let written = document::replace(&parts.store, found).await;
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

/// The stored cluster with what the monitor mirrored of it (`contract/api.md` §14). What cannot be read is
/// left as stored.
async fn enriched(parts: &FrontendParts, document: ClusterDocument) -> Box<OpenShiftCluster> {
    let ClusterDocument { id, mut cluster, .. } = document;
    show_mirror(parts, &id, &mut cluster).await;
    cluster
}

/// The cluster with decrypted secrets as the caller sees it: with what the monitor mirrored.
async fn live(
    parts: &FrontendParts,
    document: &ClusterDocument,
    opened: &OpenShiftCluster,
) -> Box<OpenShiftCluster> {
    let mut live = Box::new(opened.clone());
    let mut shown = document.cluster.clone();
    show_mirror(parts, &document.id, &mut shown).await;
    live.show_as(&shown);
    live
}

/// Puts what the monitor mirrored of the document of that id into the cluster.
async fn show_mirror(parts: &FrontendParts, id: &str, cluster: &mut OpenShiftCluster) {
    // While it is being created or deleted, the mirrored state is meaningless.
    if cluster.properties.is_passing() {
        return;
    }
    if let Some(mirror) = mirrored(parts, id).await {
        cluster.show_mirror(&mirror);
    }
}

/// What the monitor mirrored of a cluster, if it can be read.
async fn mirrored(parts: &FrontendParts, id: &str) -> Option<ClusterMirror> {
    match Typed::<ClusterMirror>::new(parts.store.clone()).get(id).await {
        Ok(found) => found.map(|mirror| mirror.value),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "the mirror of a cluster cannot be read");
            None
        }
    }
}

/// The context in which a request is validated.
fn validation_context<'a>(
    parts: &'a FrontendParts,
    path: &'a ClusterPath,
    version: &'a Version,
    cluster: &OpenShiftCluster,
) -> ValidationContext<'a> {
    ValidationContext {
        version,
        id: &path.original,
        name: &path.name,
        subscription: &path.subscription,
        group: &path.group,
        region: &parts.region,
        domain: &parts.domain,
        architecture: u64::try_from(*cluster.properties.architecture_version).unwrap_or_default(),
        development_workers: parts.development_workers,
    }
}
