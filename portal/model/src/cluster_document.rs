//! The document of a cluster of this service.

use std::sync::Arc;

use portal_session::fault::Fault;
use rp_database::{SharedStore, Typed, Versioned};
use rp_documents::{ClusterDocument, ResourceId};

/// The document of the cluster with that resource id.
///
/// # Errors
/// 404: there is none; or the store's.
pub async fn cluster_document(
    store: &SharedStore,
    id: &ResourceId,
) -> Result<Versioned<ClusterDocument>, Fault> {
    let clusters = Typed::<ClusterDocument>::new(Arc::clone(store));
    let found = clusters.get_by_key(id.key()).await.map_err(|error| Fault::store(&error))?;
    found.ok_or_else(Fault::no_cluster)
}
