//! Asynchronous operations: start, status, result (`contract/frontend.md` §6.5), and the list of what the
//! provider can do.

use http::StatusCode;
use rp_api::response::ClusterResponse;
use rp_api::{CloudError, convert};
use rp_base::Timestamp;
use rp_database::{StoreError, Typed};
use rp_documents::{AsyncOperation, AsyncOperationDocument};
use serde_json::{Value, json};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::Fault;
use crate::path::{ClusterPath, PROVIDER};
use crate::response::{HttpResponse, accepted_at, empty, json_response, with_retry_after};

/// An operation that a request begins.
pub(crate) struct NewOperation {
    document: AsyncOperationDocument,
    base: String,
}

impl NewOperation {
    /// An operation on that cluster, with the state that it brings.
    pub(crate) fn new(parts: &FrontendParts, path: &ClusterPath, status: &str) -> Self {
        let id = parts.random.uuid().to_string();
        let region = parts.region.to_ascii_lowercase();
        let base = format!("/subscriptions/{}/providers/{PROVIDER}/locations/{region}", path.subscription);
        let operation = AsyncOperation {
            id: format!("{base}/operationsstatus/{id}"),
            name: id.clone(),
            initial_status: status.to_owned(),
            status: status.to_owned(),
            start_time: parts.clock.now(),
            end_time: None,
            error: None,
            unknown: serde_json::Map::new(),
        };
        let document = AsyncOperationDocument {
            id,
            async_operation: operation,
            open_shift_cluster_key: path.key(),
            open_shift_cluster: None,
            unknown: serde_json::Map::new(),
        };
        Self { document, base }
    }

    pub(crate) fn id(&self) -> &str {
        &self.document.id
    }

    /// There is no work for the backend: it is recorded as done, with the cluster as now stored (
    /// `contract/backend.md` "Do better" 17). No other process would end it.
    pub(crate) fn complete(&mut self, at: Timestamp, cluster: Value) {
        let operation = &mut self.document.async_operation;
        "Succeeded".clone_into(&mut operation.initial_status);
        "Succeeded".clone_into(&mut operation.status);
        operation.end_time = Some(at);
        self.document.open_shift_cluster = Some(cluster);
    }

    pub(crate) fn status_path(&self) -> String {
        format!("{}/operationsstatus/{}", self.base, self.document.id)
    }

    pub(crate) fn result_path(&self) -> String {
        format!("{}/operationresults/{}", self.base, self.document.id)
    }

    /// Writes it, after its cluster (`contract/frontend.md` "Do better" 7): an operation without a cluster
    /// would never end. A cluster whose operation was not written (the process died between) gets it from the
    /// backend.
    pub(crate) async fn record(&self, parts: &FrontendParts) -> Result<(), Fault> {
        let until = parts.store.now().await? + AsyncOperationDocument::LIFE;
        let operations = Typed::<AsyncOperationDocument>::new(parts.store.clone());
        match operations.create_until(self.document.clone(), Some(until)).await {
            // It has already ended, and the backend recorded that.
            Ok(_) | Err(StoreError::Exists { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The status of an operation.
pub(crate) async fn status(
    parts: &FrontendParts,
    call: &Call,
    subscription: &str,
    operation: &str,
) -> Result<HttpResponse, Fault> {
    call.version("")?;
    let (found, running) = find(parts, subscription, operation).await?;
    let told = &found.async_operation;
    let status = if running { &told.initial_status } else { &told.status };
    let mut body = json!({"id": told.id, "name": told.name, "status": status, "startTime": told.start_time});
    if !running {
        if let Some(end) = told.end_time {
            body["endTime"] = json!(end);
        }
        if let Some(error) = &told.error {
            body["error"] = error.clone();
        }
    }
    let answer = json_response(StatusCode::OK, &body);
    Ok(if running { with_retry_after(answer, parts.edge.poll_after) } else { answer })
}

/// The result of an operation.
pub(crate) async fn result(
    parts: &FrontendParts,
    call: &Call,
    subscription: &str,
    operation: &str,
) -> Result<HttpResponse, Fault> {
    let version = call.version("")?;
    let (found, running) = find(parts, subscription, operation).await?;
    if running {
        return Ok(accepted_at(&call.referer, parts.edge.poll_after));
    }
    match &found.open_shift_cluster {
        None => Ok(empty(StatusCode::NO_CONTENT)),
        Some(cluster) => {
            let shown = convert::to_answer(version, cluster);
            Ok(json_response(StatusCode::OK, &ClusterResponse { version, shown: &shown }))
        }
    }
}

/// The operation of a subscription, and whether its cluster is still running it.
async fn find(
    parts: &FrontendParts,
    subscription: &str,
    id: &str,
) -> Result<(AsyncOperationDocument, bool), Fault> {
    let missing = || CloudError::new(404, "NotFound", "", "The entity was not found.");
    let operations = Typed::<AsyncOperationDocument>::new(parts.store.clone());
    let found = operations.get(id).await?.ok_or_else(missing)?.value;
    let theirs = found.open_shift_cluster_key.starts_with(&format!("/subscriptions/{subscription}/"));
    if !theirs {
        return Err(missing().into());
    }
    let cluster = document::find(&parts.store, &found.open_shift_cluster_key).await?;
    let running = cluster.is_some_and(|cluster| *cluster.value.async_operation_id == *id);
    Ok((found, running))
}

/// What the provider can do (`contract/api.md` §8.4): name, resource, words.
const OPERATIONS: [(&str, &str, &str); 11] = [
    ("locations/operationresults/read", "locations/operationresults", "Read operation results"),
    ("locations/operationsstatus/read", "locations/operationsstatus", "Read operations status"),
    ("operations/read", "operations", "Read operations"),
    ("openShiftClusters/read", "openShiftClusters", "Read OpenShift cluster"),
    ("openShiftClusters/write", "openShiftClusters", "Write OpenShift cluster"),
    ("openShiftClusters/delete", "openShiftClusters", "Delete OpenShift cluster"),
    (
        "openShiftClusters/listCredentials/action",
        "openShiftClusters",
        "List credentials of an OpenShift cluster",
    ),
    (
        "openShiftClusters/listAdminCredentials/action",
        "openShiftClusters",
        "List Admin Kubeconfig of an OpenShift cluster",
    ),
    ("openShiftClusters/detectors/read", "openShiftClusters", "Get OpenShift Cluster Detector"),
    (
        "locations/listPlatformWorkloadIdentityRoleSets/read",
        "listPlatformWorkloadIdentityRoleSets",
        "Lists all PlatformWorkloadIdentityRoleSets available in the specified location",
    ),
    (
        "locations/openshiftVersions/read",
        "openshiftVersions",
        "Lists all OpenShift versions available to install in the specified location",
    ),
];

/// The list of operations, the same for every version: ARM merges the lists of several services.
pub(crate) fn all() -> HttpResponse {
    let value: Vec<Value> = OPERATIONS
        .iter()
        .map(|(name, resource, operation)| {
            json!({
                "name": format!("Microsoft.RedHatOpenShift/{name}"),
                "display": {"provider": "Azure Red Hat OpenShift", "resource": resource, "operation": operation},
                "origin": "user,system",
            })
        })
        .collect();
    json_response(StatusCode::OK, &json!({"value": value}))
}
