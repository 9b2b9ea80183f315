//! What a person may get of a cluster now: a kind of access with its rights and lives, and why not. Dialogs and pages show
//! it; `rp_access::Access::issue` decides again when the access is given.

use std::sync::Arc;

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::user::{CurrentUser, missing_with_groups};
use rp_access::Policy;
use rp_base::Timestamp;
use rp_documents::{Elevation, Rights, Role, Side};

use crate::access_kinds::{AccessKind, Needs};
use crate::index::Entry;
use crate::ssh;
use crate::state::PortalState;

/// A kind of access, as a person may get it of a cluster now.
#[derive(Debug)]
pub struct AccessOffer {
    /// Why it is not for them at all; `None`: it is, with those rights that are theirs.
    pub refusal: Option<AccessRefusal>,
    /// The rights to choose from, the least first.
    pub rights: Vec<RightsOffer>,
    /// Lengths of life to choose from, in seconds, shortest first; empty: it is not asked.
    pub lives: Vec<u64>,
}

/// Why an access is not for a person at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessRefusal {
    /// Their groups do not give the role sre.
    NoRole,
    /// Nothing can reach the cluster's API yet.
    NotReachable,
    /// This service has no way to machines.
    NoMachines,
}

/// Rights, and whether they are the person's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RightsOffer {
    pub rights: Rights,
    pub standing: Standing,
}

/// How a person stands to rights on a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// They are theirs without an elevation.
    Own,
    /// They are theirs by an elevation, until then.
    Elevated(Timestamp),
    /// They are not.
    Lacks(Lack),
}

/// What a person lacks for rights on a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Their groups do not let them elevate.
    Role,
    /// They have to elevate first.
    Elevation,
}

impl AccessRefusal {
    /// As a failure of the request.
    pub fn fault(self, policy: &Policy) -> Fault {
        match self {
            Self::NoRole => missing_with_groups(Role::Sre, policy),
            Self::NotReachable => Fault::new(
                StatusCode::CONFLICT,
                "not_reachable",
                Side::Cluster,
                "This cluster cannot be reached yet",
            )
            .why(self.sentence()),
            Self::NoMachines => ssh::switched_off(),
        }
    }

    /// In a sentence, for the page of the cluster.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NoRole => "You need the sre role to connect; your groups do not include it.",
            Self::NotReachable => "It has no private endpoint yet, so nothing can reach its API.",
            Self::NoMachines => "This service has no way to its machines.",
        }
    }
}

impl AccessOffer {
    /// The least rights of the kind and what the person lacks for them; `None`: they may have it.
    pub fn barred(&self) -> Option<(Rights, Lack)> {
        let least = self.rights.first()?;
        match least.standing {
            Standing::Own | Standing::Elevated(_) => None,
            Standing::Lacks(lack) => Some((least.rights, lack)),
        }
    }
}

/// Why a kind of access to a cluster is not for a person at all.
pub fn refusal(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    kind: &AccessKind,
) -> Option<AccessRefusal> {
    let away = || state.model.clusters.ssh.is_none().then_some(AccessRefusal::NoMachines);
    match kind.needs {
        Needs::Nothing => (!user.has(Role::Sre)).then_some(AccessRefusal::NoRole),
        Needs::Cluster => cluster_refusal(user, entry),
        Needs::Machines => cluster_refusal(user, entry).or_else(away),
    }
}

/// Why no access that needs the cluster itself is for a person.
pub fn cluster_refusal(user: &CurrentUser, entry: &Entry) -> Option<AccessRefusal> {
    if !user.has(Role::Sre) {
        Some(AccessRefusal::NoRole)
    } else if !entry.reachable {
        Some(AccessRefusal::NotReachable)
    } else {
        None
    }
}

/// What a person may get of a cluster now.
pub async fn offer(state: &PortalState, user: &CurrentUser, entry: &Entry, kind: &AccessKind) -> AccessOffer {
    let refusal = refusal(state, user, entry, kind);
    let access = &state.session.access;
    if refusal.is_none() {
        // The whole dialog depends on the least rights.
        read_elevation(state, user, entry, kind.least_rights()).await;
    }
    let elevations = access.active_elevations(&user.caller.person.sub);
    let offer = |rights| RightsOffer { rights, standing: standing(user, entry, &elevations, rights) };
    AccessOffer {
        refusal,
        rights: kind.rights().into_iter().map(offer).collect(),
        lives: kind.lives(access.policy()),
    }
}

/// How a person stands to rights on a cluster now.
pub async fn standing_now(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    rights: Rights,
) -> Standing {
    read_elevation(state, user, entry, rights).await;
    standing(user, entry, &state.session.access.active_elevations(&user.caller.person.sub), rights)
}

/// Lets the cache have an elevation that another replica gave a moment ago. A store error counts as "not elevated" here;
/// what needs the rights reports the error.
async fn read_elevation(state: &PortalState, user: &CurrentUser, entry: &Entry, rights: Rights) {
    if rights > Rights::Read && user.has(Role::Elevated) {
        state.session.access.is_elevated(&user.caller, &entry.id, rights).await.ok();
    }
}

/// How a person stands to rights on a cluster, by their elevations in force.
fn standing(user: &CurrentUser, entry: &Entry, elevations: &[Arc<Elevation>], rights: Rights) -> Standing {
    if rights == Rights::Read {
        return Standing::Own;
    }
    if !user.has(Role::Elevated) {
        return Standing::Lacks(Lack::Role);
    }
    let covering = elevations.iter().filter(|each| each.rights >= rights && each.covers(Some(&entry.id)));
    covering.max_by_key(|each| each.not_after).map_or(Standing::Lacks(Lack::Elevation), |longest| {
        Standing::Elevated(longest.not_after.unwrap_or(longest.asked))
    })
}
