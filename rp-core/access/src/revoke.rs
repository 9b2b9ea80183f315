//! Ending grants: one, all of a person, all of a cluster, all.

use std::ops::ControlFlow;

use futures_util::StreamExt as _;
use rp_base::{Id, Timestamp};
use rp_database::{Span, StoreError, update};
use rp_documents::elevation::ElevationState;
use rp_documents::grant::GrantState;
use rp_documents::{Actor, Elevation, Entry, Grant, GrantKind, Phase, ResourceId, Revocation, Robot, Role};

use crate::access::Access;
use crate::active_grant::EndReason;
use crate::grants::AccessError;
use crate::policy::Caller;

/// Grants ended at once.
const AT_ONCE: usize = 64;
/// Rounds over grants that were issued while earlier rounds ran.
const MOST_ROUNDS: usize = 5;

/// Whose grants to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevokeScope {
    /// Of the person (or robot) with this subject.
    Person(String),
    Cluster(ResourceId),
    Everything,
}

/// Who ends something, when and why.
#[derive(Debug, Clone)]
pub(crate) struct EndRequest {
    pub(crate) actor: Actor,
    pub(crate) request_id: Id,
    pub(crate) at: Timestamp,
    pub(crate) why: Option<String>,
}

impl EndRequest {
    pub(crate) fn by(caller: &Caller, at: Timestamp, why: Option<String>) -> Self {
        let Entry { actor, request_id, .. } = caller.entry(at, Phase::Single, "");
        Self { actor, request_id, at, why }
    }

    pub(crate) fn entry(&self, verb: &str) -> Entry {
        let mut entry = Entry::new(self.at, Phase::Single, self.request_id.clone(), self.actor.clone(), verb);
        entry.reason = self.why.clone().unwrap_or_default();
        entry
    }

    pub(crate) fn revocation(&self) -> Revocation {
        Revocation { at: self.at, by: self.actor.name.clone(), why: self.why.clone() }
    }
}

impl Access {
    /// Ends a grant everywhere, with what was made with it. Its owner and admins may.
    ///
    /// # Errors
    /// [`AccessError`]; on `Store` and `Audit` nothing was done.
    pub async fn revoke(&self, caller: &Caller, id: &Id, why: Option<String>) -> Result<Grant, AccessError> {
        let found = self.grants.get(id.as_str()).await.map_err(AccessError::Store)?;
        let grant = found.ok_or(AccessError::Unknown)?.value;
        if !caller.owns(&grant.owner.sub) && !caller.roles.has(Role::Admin) {
            return Err(AccessError::NotYours);
        }
        let now = self.clock.now();
        if grant.state(now) != GrantState::Active {
            return Err(AccessError::Ended);
        }
        let ending = EndRequest::by(caller, now, why);
        let revoked = self.end_grant(&grant, &ending).await?;
        if grant.kind == GrantKind::Robot {
            self.end_made_with(&grant, &ending).await?;
        }
        Ok(revoked)
    }

    /// Ends every living grant in a scope, and tells how many. A person's own: anybody; else admins.
    ///
    /// # Errors
    /// [`AccessError`]; some may have been ended then, and calling again ends the rest.
    pub async fn revoke_all(
        &self,
        caller: &Caller,
        scope: RevokeScope,
        why: Option<String>,
    ) -> Result<u64, AccessError> {
        let own = matches!(&scope, RevokeScope::Person(sub) if caller.owns(sub));
        if !own && !caller.roles.has(Role::Admin) {
            return Err(AccessError::NotYours);
        }
        self.end_scope(&scope, &EndRequest::by(caller, self.clock.now(), why)).await
    }

    /// Ends grants and elevations of a person who may no longer have any: the provider refused a refresh, or sent
    /// a back-channel logout. `by` is named in the audit trail. Gives the number of grants.
    ///
    /// # Errors
    /// As [`Access::revoke_all`].
    pub async fn end_person(&self, sub: &str, why: &str, by: &str) -> Result<u64, AccessError> {
        let ending = self.ending(why, by);
        self.end_elevations(sub, &ending, |_| true).await?;
        self.end_scope(&RevokeScope::Person(sub.to_owned()), &ending).await
    }

    /// A person's groups as the provider gives them now (those known here): written into the living grants,
    /// whose rights follow on every replica; elevations that the groups no longer give end. Gives the number of
    /// grants that changed.
    ///
    /// # Errors
    /// The store did not answer; what was done stays done, and calling again does the rest.
    pub async fn set_person_groups(&self, sub: &str, groups: &[String]) -> Result<u64, StoreError> {
        let most = self.policy.most_rights(self.policy.roles_of(groups));
        let ending = self.ending("the groups no longer give these rights", "sign-in provider");
        let lost = |elevation: &Elevation| most.is_none_or(|most| elevation.rights > most);
        self.end_elevations(sub, &ending, lost).await.map_err(|error| match error {
            AccessError::Store(cause) => cause,
            other => StoreError::Unavailable(Box::new(other)),
        })?;
        let (now, mut changed) = (self.clock.now(), Vec::new());
        self.walk(Span::Partition(sub), None, Some(now - self.policy.oldest_life()), |read| {
            let grant = &read.value;
            let differs = grant.owner.sub == sub && grant.owner.groups != groups;
            if differs && grant.state(now) == GrantState::Active {
                changed.push(grant.id.clone());
            }
            ControlFlow::Continue(())
        })
        .await?;
        for id in &changed {
            let written = update(&self.grants, id.as_str(), |grant: &mut Grant| {
                grant.owner.groups = groups.to_vec();
            })
            .await;
            match written {
                Ok(read) => self.apply(id.as_str(), Some(read.value)),
                Err(StoreError::Gone { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(u64::try_from(changed.len()).unwrap_or(u64::MAX))
    }

    fn ending(&self, why: &str, by: &str) -> EndRequest {
        EndRequest {
            actor: Actor { sub: String::new(), name: by.to_owned(), from: String::new() },
            request_id: Id::random(&*self.random),
            at: self.clock.now(),
            why: Some(why.to_owned()),
        }
    }

    pub(crate) async fn end_scope(
        &self,
        scope: &RevokeScope,
        ending: &EndRequest,
    ) -> Result<u64, AccessError> {
        let mut ended = 0;
        // What was given during a round is newer than where the round began: the next one finds it.
        for _ in 0..MOST_ROUNDS {
            let living = self.living_in(scope).await.map_err(AccessError::Store)?;
            if living.is_empty() {
                break;
            }
            let mut endings = futures_util::stream::iter(living)
                .map(|grant| async move {
                    match self.end_grant(&grant, ending).await {
                        Ok(_) => Ok(1),
                        Err(AccessError::Ended | AccessError::Unknown) => Ok(0),
                        Err(error) => Err(error),
                    }
                })
                .buffer_unordered(AT_ONCE);
            while let Some(one) = endings.next().await {
                ended += one?;
            }
        }
        Ok(ended)
    }

    async fn living_in(&self, scope: &RevokeScope) -> Result<Vec<Grant>, StoreError> {
        let keys = match scope {
            RevokeScope::Cluster(target) => Grant::unique_key_prefix(target),
            RevokeScope::Person(_) | RevokeScope::Everything => String::new(),
        };
        let (span, owner) = match scope {
            RevokeScope::Person(sub) => (Span::Partition(sub), Some(sub)),
            RevokeScope::Cluster(_) => (Span::Keys(&keys), None),
            RevokeScope::Everything => (Span::All, None),
        };
        let (now, mut living) = (self.clock.now(), Vec::new());
        self.walk_living(span, |grant| {
            let concerned = owner.is_none_or(|sub| *sub == grant.owner.sub);
            if concerned && grant.state(now) == GrantState::Active {
                living.push(grant.clone());
            }
            ControlFlow::Continue(())
        })
        .await?;
        let robots = match scope {
            RevokeScope::Person(sub) => {
                Robot::name_in(sub).and_then(|name| self.privileges.robot(name)).into_iter().collect()
            }
            RevokeScope::Cluster(_) => Vec::new(),
            RevokeScope::Everything => self.privileges.all_robots(),
        };
        for robot in robots {
            let tokens = self.tokens_of(&robot).await?.into_iter().map(|read| read.value);
            living.extend(tokens.filter(|token| token.state(now) == GrantState::Active));
        }
        Ok(living)
    }

    /// The grants that were made with a robot's token. They end with it anyway; this says so in each.
    async fn end_made_with(&self, token: &Grant, ending: &EndRequest) -> Result<(), AccessError> {
        let scope = RevokeScope::Person(token.owner.sub.clone());
        let living = self.living_in(&scope).await.map_err(AccessError::Store)?;
        for grant in living.iter().filter(|grant| grant.parent.as_ref() == Some(&token.id)) {
            match self.end_grant(grant, ending).await {
                Ok(_) | Err(AccessError::Ended | AccessError::Unknown) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Audited first, then stored, then ended here at once; the other replicas follow the feed.
    pub(crate) async fn end_grant(&self, grant: &Grant, ending: &EndRequest) -> Result<Grant, AccessError> {
        let mut entry = ending.entry("grant.revoke");
        entry.grant = Some(grant.id.clone());
        entry.target.clone_from(&grant.target);
        self.audit.promise(entry).await.map_err(AccessError::Audit)?;
        let mut first = false;
        let revoked = update(&self.grants, grant.id.as_str(), |grant: &mut Grant| {
            first = grant.revoked.is_none();
            if first {
                grant.revoked = Some(ending.revocation());
            }
        })
        .await;
        let revoked = match revoked {
            Ok(read) => read.value,
            Err(StoreError::Gone { .. }) => return Err(AccessError::Unknown),
            Err(error) => return Err(AccessError::Store(error)),
        };
        if let Some(live) = self.cache.write().remove(&grant.id) {
            live.end(EndReason::Revoked);
        }
        if !first {
            return Err(AccessError::Ended);
        }
        self.metrics.revoked.inc();
        Ok(revoked)
    }

    /// Ends those of a person's elevations that a predicate selects.
    pub(crate) async fn end_elevations(
        &self,
        sub: &str,
        ending: &EndRequest,
        picks: impl Fn(&Elevation) -> bool,
    ) -> Result<(), AccessError> {
        let (now, mut open) = (self.clock.now(), Vec::new());
        self.walk_elevations(Span::Partition(sub), now - self.elevation_window(), |read| {
            let state = read.value.state(now);
            let lives = matches!(state, ElevationState::Active | ElevationState::Waiting);
            if lives && read.value.owner.sub == sub && picks(&read.value) {
                open.push(read.value);
            }
            ControlFlow::Continue(())
        })
        .await
        .map_err(AccessError::Store)?;
        for elevation in open {
            self.finish_elevation(&elevation, ending).await?;
        }
        Ok(())
    }
}
