//! Names that one cluster has at a time: who it is towards Azure, and the resource group of its machines. They are held for
//! a while before the cluster is written, and kept once it is: a request that breaks off takes nothing for good.

use std::time::Duration;

use rp_api::CloudError;
use rp_base::chain;
use rp_database::{Expect, StoreError, Typed, Versioned};
use rp_documents::Reservation;
use serde_json::Value;

use crate::fault::Fault;
use crate::parts::FrontendParts;

/// The longest part of a key, in bytes.
const MOST_KEY: usize = 512;
/// A name that is held for a cluster which then does not come into being is free again after so long.
const HELD: Duration = Duration::from_secs(120);

/// A name, and what is said when another cluster has it.
pub(super) struct Name {
    id: String,
    used: CloudError,
}

impl Name {
    pub(super) fn client(cluster: &Value, client: &str) -> Self {
        let message = if cluster["properties"]["servicePrincipalProfile"].is_object() {
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

/// Who the cluster is towards Azure: the client id, or its identity (`contract/api.md` §2).
pub(super) fn client_key(cluster: &Value) -> String {
    let client = cluster["properties"]["servicePrincipalProfile"]["clientId"].as_str();
    let identity = || {
        let map = cluster["managedServiceIdentity"]["userAssignedIdentities"].as_object();
        map.and_then(|map| map.keys().next()).map(String::as_str)
    };
    key_of(client.or_else(identity).unwrap_or_default())
}

/// A text of the caller as a part of a key: lower case, and a digest where it cannot be one.
fn key_of(text: &str) -> String {
    let key = text.to_lowercase();
    let odd = |c: char| c.is_uppercase() || c.is_control();
    if key.len() > MOST_KEY || key.chars().any(odd) {
        return format!("sha256/{}", rp_base::sha256(key.as_bytes()));
    }
    key
}

/// Names that are held for a cluster.
pub(super) struct Held {
    names: Vec<Versioned<Reservation>>,
    reservations: Typed<Reservation>,
}

/// Holds the names for this cluster, all or none. A request that is sent again finds its own hold.
pub(super) async fn hold<const N: usize>(
    parts: &FrontendParts,
    cluster: &str,
    names: [Name; N],
) -> Result<Held, Fault> {
    let until = Some(parts.store.now().await? + HELD);
    let reservations = Typed::<Reservation>::new(parts.store.clone());
    let of = |name: &Name| Reservation { id: name.id.clone(), cluster: cluster.to_owned() };
    let names = match reservations.create_all_until(names.iter().map(of).collect(), until).await {
        Ok(held) => held,
        // One by one and in this order: of two clusters that want the same names one gets them all.
        Err(StoreError::Exists { .. }) => {
            let mut held = Vec::new();
            for name in names {
                match hold_one(&reservations, of(&name), until).await? {
                    Some(one) => held.push(one),
                    None => {
                        // Nothing came of it: nobody else is kept from the names before.
                        for (one, _) in held.iter().filter(|(_, new)| *new) {
                            let freed =
                                reservations.delete(&one.value.id, Expect::Version(one.version)).await;
                            told(freed);
                        }
                        return Err(name.used.into());
                    }
                }
            }
            held.into_iter().map(|(one, _)| one).collect()
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Held { names, reservations })
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

impl Held {
    /// Keeps the names for as long as the cluster lives. A process that dies before leaves them to the backend, which
    /// holds them again when it takes the cluster up.
    pub(super) async fn keep(self) {
        let Self { names, reservations } = self;
        let kept = names.into_iter().map(|held| keep_one(&reservations, held));
        futures_util::future::join_all(kept).await;
    }

    /// As [`Held::keep`] for who the cluster is towards Azure from now on; what it was before is free.
    pub(super) async fn keep_instead_of(self, cluster: &str, client: &str) {
        let reservations = self.reservations.clone();
        self.keep().await;
        free(&reservations, cluster, &client_name(client)).await;
    }
}

async fn keep_one(reservations: &Typed<Reservation>, held: Versioned<Reservation>) {
    let cluster = held.value.cluster.clone();
    match kept(reservations, held).await {
        Ok(true) => {}
        // It lapsed while the cluster was written. The backend finds out before it makes anything.
        Ok(false) => tracing::error!(cluster, "a name that a cluster uses has become another's"),
        Err(error) => tracing::warn!(error = %chain(&error), "a reservation will lapse"),
    }
}

/// Whether the name is the cluster's from now on. What is another's stays another's.
async fn kept(reservations: &Typed<Reservation>, held: Versioned<Reservation>) -> Result<bool, StoreError> {
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

/// The name is nobody's any more, if it was this cluster's.
async fn free(reservations: &Typed<Reservation>, cluster: &str, name: &str) {
    let freed = match reservations.get(name).await {
        Ok(Some(held)) if held.value.cluster == cluster => {
            reservations.delete(name, Expect::Version(held.version)).await
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    told(freed);
}

fn told(freed: Result<(), StoreError>) {
    match freed {
        // Taken up meanwhile: then it is in use.
        Ok(()) | Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => {}
        Err(error) => tracing::warn!(error = %chain(&error), "a name stays taken though no cluster uses it"),
    }
}
