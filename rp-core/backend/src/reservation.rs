//! Names that only one cluster of the region may use (`contract/api.md` "Do better" 1): held again when a
//! cluster is taken up that is new or has another name, for the frontend holds them for a while only, and
//! given back when it is gone.

use rp_api::CloudError;
use rp_base::chain;
use rp_database::{Expect, StoreError, Typed};
use rp_documents::{ClusterDocument, Reservation};

/// Why a name could not be held.
#[derive(Debug)]
pub(crate) enum ReservationError {
    /// Another cluster has it.
    Taken(Box<CloudError>),
    Store(StoreError),
}

/// Reserves the names of a new cluster without an expiry.
pub(crate) async fn reserve(
    reservations: &Typed<Reservation>,
    document: &ClusterDocument,
) -> Result<(), ReservationError> {
    let cluster = document.key.as_str();
    for (name, used) in names(document) {
        let wanted = Reservation { id: name.clone(), cluster: cluster.to_owned() };
        let held = match reservations.get(&name).await.map_err(ReservationError::Store)? {
            Some(found) if found.value.cluster != cluster => {
                return Err(ReservationError::Taken(Box::new(used)));
            }
            Some(found) if found.expires_at.is_none() => continue,
            Some(found) => reservations.put(wanted, Expect::Version(found.version)).await,
            None => reservations.create(wanted).await,
        };
        match held {
            Ok(_) => {}
            // The frontend may make its own reservation permanent at the same time.
            Err(StoreError::Stale { .. } | StoreError::Exists { .. } | StoreError::Gone { .. }) => {
                let found = reservations.get(&name).await.map_err(ReservationError::Store)?;
                if found.is_none_or(|found| found.value.cluster != cluster) {
                    return Err(ReservationError::Taken(Box::new(used)));
                }
            }
            Err(error) => return Err(ReservationError::Store(error)),
        }
    }
    Ok(())
}

/// Whether the cluster's client id was changed. The frontend may have died before it released the former one.
pub(crate) fn is_renamed(document: &ClusterDocument) -> bool {
    former_client(document).is_some()
}

/// The cluster's former client id, when it was changed.
fn former_client(document: &ClusterDocument) -> Option<&str> {
    let former: &str = &document.former_client_id_key;
    (!former.is_empty() && former != &*document.client_id_key).then_some(former)
}

/// Releases the reservation of the former client id.
pub(crate) async fn release_former(
    reservations: &Typed<Reservation>,
    document: &ClusterDocument,
) -> Result<(), StoreError> {
    match former_client(document) {
        Some(former) => delete_if_owned(reservations, &document.key, &format!("client/{former}")).await,
        None => Ok(()),
    }
}

/// Releases the names of a deleted cluster. Reservations of other clusters stay.
pub(crate) async fn release(
    reservations: &Typed<Reservation>,
    document: &ClusterDocument,
) -> Result<(), StoreError> {
    for (name, _) in names(document) {
        delete_if_owned(reservations, &document.key, &name).await?;
    }
    release_former(reservations, document).await
}

async fn delete_if_owned(
    reservations: &Typed<Reservation>,
    cluster: &str,
    name: &str,
) -> Result<(), StoreError> {
    let found = match reservations.get(name).await {
        Err(error @ (StoreError::Malformed { .. } | StoreError::BadCall(_))) => {
            // The owner cannot be read; the deletion of the cluster must not wait for it.
            tracing::error!(error = %chain(&error), "a reserved name cannot be given back");
            return Ok(());
        }
        found => found?,
    };
    let Some(found) = found.filter(|found| found.value.cluster == cluster) else { return Ok(()) };
    match reservations.delete(name, Expect::Version(found.version)).await {
        Ok(()) | Err(StoreError::Gone { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Names to reserve, each with the error for a customer whose cluster cannot have it.
fn names(document: &ClusterDocument) -> Vec<(String, CloudError)> {
    let mut names = Vec::new();
    let client: &str = &document.client_id_key;
    if !client.is_empty() {
        let message = if document.cluster.properties.service_principal_profile.get().is_some() {
            format!(
                "The provided service principal with client ID '{client}' is already in use by a cluster."
            )
        } else {
            format!("The provided user assigned identity '{client}' is already in use by a cluster.")
        };
        names.push((format!("client/{client}"), CloudError::bad("DuplicateClientID", "", message)));
    }
    let group: &str = &document.cluster_resource_group_id_key;
    if !group.is_empty() {
        let message = format!("The provided resource group '{group}' already contains a cluster.");
        names.push((format!("group/{group}"), CloudError::bad("DuplicateResourceGroup", "", message)));
    }
    names
}
