//! The end of an asynchronous operation (`contract/backend.md` §4).
//!
//! It is written before the cluster's document, which hides it: a status is shown as running while the cluster names
//! the operation. So nobody sees it before the cluster says the same, and a worker that dies in between leaves nothing
//! to mend.

use rp_base::Timestamp;
use rp_database::{Expect, StoreError, Typed, Version, Versioned};
use rp_documents::cluster::provisioning::OperationEnd;
use rp_documents::{
    AsyncOperation, AsyncOperationDocument, ClusterDocument, Collection, OpenShiftCluster, ProvisioningState,
};
use serde_json::Map;

use crate::completion::OperationFailure;

/// Resource provider in the path of an operation that the frontend did not write.
const PROVIDER: &str = "microsoft.redhatopenshift";

/// How an operation ended.
#[derive(Debug)]
pub(crate) struct OperationResult<'a> {
    /// The cluster's document before its end is written.
    pub(crate) body: &'a ClusterDocument,
    /// The state that the operation began with.
    pub(crate) initial: ProvisioningState,
    pub(crate) end: OperationEnd,
    pub(crate) failure: Option<&'a OperationFailure>,
    /// As it will be stored; `None`: it is deleted.
    pub(crate) cluster: Option<OpenShiftCluster>,
    pub(crate) now: Timestamp,
}

/// The stored state of an operation.
#[derive(Debug)]
pub(crate) enum StoredOperation {
    Nothing,
    Written(Box<Versioned<AsyncOperationDocument>>),
    /// It cannot be read.
    Damaged(Version),
}

/// The document's operation, as the store has it. Read before it is made sure that the lease is ours: a process that writes
/// between has another version.
pub(crate) async fn find(
    operations: &Typed<AsyncOperationDocument>,
    body: &ClusterDocument,
) -> Result<StoredOperation, StoreError> {
    let id = id_of(body);
    if id.is_empty() {
        return Ok(StoredOperation::Nothing);
    }
    let found = match operations.store().get(Collection::AsyncOperations, id).await {
        // An invalid id has no operation.
        Err(StoreError::BadCall(_)) => None,
        found => found?,
    };
    let Some(stored) = found else { return Ok(StoredOperation::Nothing) };
    Ok(match serde_json::from_str(&stored.body) {
        Ok(value) => {
            let expires_at = stored.expires_at;
            StoredOperation::Written(Box::new(Versioned { value, version: stored.version, expires_at }))
        }
        Err(error) => {
            tracing::error!(operation = id, %error, "an operation cannot be read: its end is written over it");
            StoredOperation::Damaged(stored.version)
        }
    })
}

/// The name of the operation that a cluster waits for; empty: none.
pub(crate) fn id_of(body: &ClusterDocument) -> &str {
    &body.async_operation_id
}

/// Writes the end over what was found. An operation that was never written, because the frontend died, is made, and so
/// is one that nobody can read.
///
/// # Errors
/// [`StoreError::Stale`] and [`StoreError::Exists`]: it was written meanwhile; look again. Or the store's.
pub(crate) async fn end(
    operations: &Typed<AsyncOperationDocument>,
    found: StoredOperation,
    ended: &OperationResult<'_>,
) -> Result<(), StoreError> {
    if id_of(ended.body).is_empty() {
        return Ok(());
    }
    let until = Some(ended.now + AsyncOperationDocument::LIFE);
    match found {
        StoredOperation::Written(mut found) => {
            write(&mut found.value, ended);
            found.expires_at = until;
            operations.replace(*found).await?;
        }
        StoredOperation::Nothing => match operations.create_until(made(ended), until).await {
            Err(StoreError::BadCall(why)) => {
                tracing::error!(operation = id_of(ended.body), why, "an operation cannot be recorded");
            }
            made => drop(made?),
        },
        StoredOperation::Damaged(version) => {
            operations.put_until(made(ended), until, Expect::Version(version)).await?;
        }
    }
    Ok(())
}

fn write(document: &mut AsyncOperationDocument, ended: &OperationResult<'_>) {
    let operation = &mut document.async_operation;
    ended.end.state().name().clone_into(&mut operation.status);
    operation.end_time = Some(ended.now);
    operation.error = ended.failure.map(|failure| failure.body.clone());
    document.open_shift_cluster =
        ended.cluster.as_ref().and_then(|cluster| serde_json::to_value(cluster).ok());
}

fn made(ended: &OperationResult<'_>) -> AsyncOperationDocument {
    let mut made = missing(ended);
    write(&mut made, ended);
    made
}

fn missing(ended: &OperationResult<'_>) -> AsyncOperationDocument {
    let body = ended.body;
    let id = id_of(body).to_owned();
    let region = body.cluster.location.to_ascii_lowercase();
    let subscription = &body.partition_key;
    let began = Timestamp::parse(&body.correlation_data.request_time).unwrap_or(ended.now);
    let operation = AsyncOperation {
        id: format!(
            "/subscriptions/{subscription}/providers/{PROVIDER}/locations/{region}/operationsstatus/{id}"
        ),
        name: id.clone(),
        initial_status: ended.initial.name().to_owned(),
        status: ended.initial.name().to_owned(),
        start_time: began,
        end_time: None,
        error: None,
        unknown: Map::new(),
    };
    AsyncOperationDocument {
        id,
        async_operation: operation,
        open_shift_cluster_key: body.key.clone(),
        open_shift_cluster: None,
        unknown: Map::new(),
    }
}
