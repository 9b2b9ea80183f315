//! Names that only one cluster may use: its Azure identity, and the resource group of its machines. They are reserved
//! for a while before the cluster is written, and kept once it is: an interrupted request reserves nothing permanently.

use std::time::Duration;

use rp_api::CloudError;
use rp_base::chain;
use rp_database::{Expect, StoreError, Typed, Versioned};
use rp_documents::{OpenShiftCluster, Reservation};

use crate::dependencies::FrontendParts;
use crate::fault::Fault;

/// The longest part of a key, in bytes.
const MOST_KEY: usize = 512;
/// A name that is reserved for a cluster that is then not created is free again after this time.
const HOLD_TIME: Duration = Duration::from_secs(120);

/// A name, and the error if another cluster uses it.
pub(super) struct UniqueName {
    id: String,
    used: CloudError,
}

impl UniqueName {
    pub(super) fn client(cluster: &OpenShiftCluster, client: &str) -> Self {
        let message = if cluster.properties.service_principal_profile.get().is_some() {
            format!(
                "The provided service principal with client ID '{client}' is already in use by a cluster."
            )
        } else {
            format!("The provided user assigned identity '{client}' is already in use by a cluster.")
        };
        Self { id: client_name(client), used: CloudError::bad("DuplicateClientID", "", message) }
    }

    pub(super) fn group(group: &str) -> Self {
        let message = format!("The provided resource group '{group}' already contains a cluster.");
        Self { id: format!("group/{group}"), used: CloudError::bad("DuplicateResourceGroup", "", message) }
    }
}

fn client_name(client: &str) -> String {
    format!("client/{client}")
}

/// The cluster's Azure identity: the client id, or its managed identity (`contract/api.md` §2).
pub(super) fn client_key(cluster: &OpenShiftCluster) -> String {
    let client = cluster.properties.service_principal_profile.client_id.get();
    let identity = || cluster.managed_service_identity.user_assigned_identities.keys().next();
    key_of(client.or_else(identity).map(String::as_str).unwrap_or_default())
}

/// A caller's string as part of a key: lower case, or a digest if it cannot be part of a key.
fn key_of(text: &str) -> String {
    let key = text.to_lowercase();
    let odd = |c: char| c.is_uppercase() || c.is_control();
    if key.len() > MOST_KEY || key.chars().any(odd) {
        return format!("sha256/{}", rp_base::sha256(key.as_bytes()));
    }
    key
}

/// Names that are held for a cluster.
pub(super) struct HeldNames {
    names: Vec<Versioned<Reservation>>,
    reservations: Typed<Reservation>,
}

/// Reserves the names for this cluster, all or none. A repeated request finds its own reservation.
pub(super) async fn hold<const N: usize>(
    parts: &FrontendParts,
    cluster: &str,
    names: [UniqueName; N],
) -> Result<HeldNames, Fault> {
    let until = Some(parts.store.now().await? + HOLD_TIME);
    let reservations = Typed::<Reservation>::new(parts.store.clone());
    let of = |name: &UniqueName| Reservation { id: name.id.clone(), cluster: cluster.to_owned() };
    let names = match reservations.create_all_until(names.iter().map(of).collect(), until).await {
        Ok(held) => held,
        // One by one and in this order: of two clusters that want the same names one gets them all.
        Err(StoreError::Exists { .. }) => {
            let mut held = Vec::new();
            for name in names {
                match hold_one(&reservations, of(&name), until).await? {
                    Some(one) => held.push(one),
                    None => {
                        // It failed: release the names that were reserved before.
                        for (one, _) in held.iter().filter(|(_, new)| *new) {
                            let freed =
                                reservations.delete(&one.value.id, Expect::Version(one.version)).await;
                            log_release(freed);
                        }
                        return Err(name.used.into());
                    }
                }
            }
            held.into_iter().map(|(one, _)| one).collect()
        }
        Err(error) => return Err(error.into()),
    };
    Ok(HeldNames { names, reservations })
}

/// The hold, and whether it is new; `None`: the name is another cluster's.
async fn hold_one(
    reservations: &Typed<Reservation>,
    wanted: Reservation,
    until: Option<rp_base::Timestamp>,
) -> Result<Option<(Versioned<Reservation>, bool)>, StoreError> {
    match reservations.create_until(wanted.clone(), until).await {
        Err(StoreError::Exists { .. }) => {
            let holder = reservations.get(&wanted.id).await?;
            Ok(holder.filter(|held| held.value.cluster == wanted.cluster).map(|held| (held, false)))
        }
        settled => settled.map(|held| Some((held, true))),
    }
}

impl HeldNames {
    /// Keeps the names for as long as the cluster lives. A process that dies before leaves them to the backend, which
    /// holds them again when it takes the cluster up.
    pub(super) async fn keep(self) {
        let Self { names, reservations } = self;
        let kept = names.into_iter().map(|held| keep_one(&reservations, held));
        futures_util::future::join_all(kept).await;
    }

    /// As [`HeldNames::keep`] for a changed Azure identity; the name of the former one is released.
    pub(super) async fn keep_instead_of(self, cluster: &str, client: &str) {
        let reservations = self.reservations.clone();
        self.keep().await;
        release(&reservations, cluster, &client_name(client)).await;
    }
}

async fn keep_one(reservations: &Typed<Reservation>, held: Versioned<Reservation>) {
    let cluster = held.value.cluster.clone();
    match confirm(reservations, held).await {
        Ok(true) => {}
        // The reservation expired while the cluster was written. The backend detects that before it creates anything.
        Ok(false) => tracing::error!(cluster, "a name that a cluster uses has become another's"),
        Err(error) => tracing::warn!(error = %chain(&error), "a reservation will lapse"),
    }
}

/// Makes a reservation permanent. Returns whether the name belongs to the cluster; another cluster's is not touched.
async fn confirm(
    reservations: &Typed<Reservation>,
    held: Versioned<Reservation>,
) -> Result<bool, StoreError> {
    if held.expires_at.is_none() {
        return Ok(true);
    }
    let ours = held.value.clone();
    let mut written = reservations.put(held.value, Expect::Version(held.version)).await;
    if let Err(StoreError::Gone { .. }) = written {
        written = reservations.create(ours.clone()).await;
    }
    match written {
        Ok(_) => Ok(true),
        // Somebody wrote at the same time: the backend for this cluster, or another cluster.
        Err(StoreError::Stale { .. } | StoreError::Exists { .. }) => {
            Ok(reservations.get(&ours.id).await?.is_some_and(|found| found.value.cluster == ours.cluster))
        }
        Err(error) => Err(error),
    }
}

/// Releases the name, if it is reserved for this cluster.
async fn release(reservations: &Typed<Reservation>, cluster: &str, name: &str) {
    let freed = match reservations.get(name).await {
        Ok(Some(held)) if held.value.cluster == cluster => {
            reservations.delete(name, Expect::Version(held.version)).await
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    log_release(freed);
}

fn log_release(freed: Result<(), StoreError>) {
    match freed {
        // It was reserved again in the meantime: it is in use.
        Ok(()) | Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => {}
        Err(error) => tracing::warn!(error = %chain(&error), "a name stays taken though no cluster uses it"),
    }
}
