//! Clusters in the store: read with their version, written with it (`contract/api.md` §1.2).

use rp_database::{SharedStore, StoreError, Stored, Typed, Versioned};
use rp_documents::{ClusterDocument, Document as _};

use crate::fault::Fault;

/// A cluster's document and the version that it was read at; secrets sealed.
pub(crate) type StoredCluster = Versioned<ClusterDocument>;

/// The cluster of that key.
///
/// # Errors
/// The store's, or the document cannot be read.
pub(crate) async fn find(store: &SharedStore, key: &str) -> Result<Option<StoredCluster>, Fault> {
    Ok(clusters(store).get_by_key(key).await?)
}

/// Reads what is stored.
///
/// # Errors
/// It is not a cluster's document.
pub(crate) fn read(stored: &Stored) -> Result<ClusterDocument, Fault> {
    serde_json::from_str(&stored.body).map_err(|cause| {
        let collection = ClusterDocument::COLLECTION;
        Fault::from(StoreError::Malformed { collection, id: stored.id.clone(), cause })
    })
}

/// Writes it back, provided that it was not changed since it was read.
///
/// # Errors
/// [`StoreError::Stale`]: it was changed since it was read. Or the store's.
pub(crate) async fn replace(store: &SharedStore, mut changed: StoredCluster) -> Result<(), StoreError> {
    remove_nulls(&mut changed.value)?;
    clusters(store).replace(changed).await.map(drop)
}

/// Writes a new one.
///
/// # Errors
/// [`StoreError::Exists`]: a cluster of that name was created in the meantime. Or the store's.
pub(crate) async fn create(store: &SharedStore, mut new: ClusterDocument) -> Result<(), StoreError> {
    remove_nulls(&mut new)?;
    clusters(store).create(new).await.map(drop)
}

/// Resolves a write whose response was lost: it succeeded if the stored cluster names the request's operation.
///
/// # Errors
/// The write's.
pub(crate) async fn confirm_write(
    store: &SharedStore,
    key: &str,
    operation: &str,
    written: Result<(), StoreError>,
) -> Result<(), StoreError> {
    let Err(StoreError::Unavailable(cause)) = written else { return written };
    let found = clusters(store).get_by_key(key).await.ok().flatten();
    match found.is_some_and(|found| *found.value.async_operation_id == *operation) {
        true => Ok(()),
        false => Err(StoreError::Unavailable(cause)),
    }
}

/// Documents leave absent values out, and members that a version of the API lacks are not null.
fn remove_nulls(document: &mut ClusterDocument) -> Result<(), StoreError> {
    *document.cluster = document.cluster.without_nulls().map_err(|cause| StoreError::Malformed {
        collection: ClusterDocument::COLLECTION,
        id: document.id.clone(),
        cause,
    })?;
    Ok(())
}

fn clusters(store: &SharedStore) -> Typed<ClusterDocument> {
    Typed::new(SharedStore::clone(store))
}
