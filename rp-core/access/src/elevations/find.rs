//! Elevations that are looked for.

use std::ops::ControlFlow;
use std::sync::Arc;

use rp_base::{Id, Timestamp};
use rp_database::{Span, StoreError};
use rp_documents::elevation::ElevationState;
use rp_documents::{Elevation, ResourceId, Rights, Role};

use super::ElevationError;
use crate::access::Access;
use crate::policy::Caller;

/// The longest list.
const MOST_LISTED: usize = 1000;

/// Which elevations to list, newest first.
#[derive(Debug, Clone, Default)]
pub struct ElevationFilter {
    pub owner_sub: Option<String>,
    /// Requests that can still be decided.
    pub waiting_only: bool,
    pub active_only: bool,
    /// Break-glass elevations that nobody has looked at, however old.
    pub unreviewed_only: bool,
    /// 1 to 1000.
    pub limit: usize,
}

impl Access {
    /// One elevation. Its owner, approvers, auditors and admins may.
    ///
    /// # Errors
    /// [`ElevationError`].
    pub async fn elevation(&self, caller: &Caller, id: &Id) -> Result<Elevation, ElevationError> {
        let read = self.read_elevation(id).await?;
        let reads_all =
            [Role::Approver, Role::Auditor, Role::Admin].iter().any(|role| caller.roles.has(*role));
        if !caller.owns(&read.value.owner.sub) && !reads_all {
            return Err(ElevationError::NotYours);
        }
        Ok(read.value)
    }

    /// Lists elevations, newest first.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn elevations(&self, filter: &ElevationFilter) -> Result<Vec<Elevation>, StoreError> {
        let (now, limit) = (self.clock.now(), filter.limit.clamp(1, MOST_LISTED));
        let span = match &filter.owner_sub {
            Some(sub) => Span::Partition(sub),
            None if filter.unreviewed_only => Span::Keys(Elevation::UNREVIEWED),
            None => Span::All,
        };
        let oldest = if filter.waiting_only {
            now - Elevation::REQUEST_LIFE
        } else if filter.active_only {
            now - self.elevation_window()
        } else {
            Timestamp::default()
        };
        let mut found = Vec::new();
        self.walk_elevations(span, oldest, |read| {
            let (elevation, state) = (&read.value, read.value.state(now));
            let takes = filter.owner_sub.as_ref().is_none_or(|sub| *sub == elevation.owner.sub)
                && (!filter.waiting_only || state == ElevationState::Waiting)
                && (!filter.active_only || state == ElevationState::Active)
                && (!filter.unreviewed_only || elevation.needs_review());
            if takes {
                found.push(read.value);
            }
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .await?;
        Ok(found)
    }

    /// A person's elevations that are in force, the newest first: from the cache that follows the feed.
    pub fn active_elevations(&self, sub: &str) -> Vec<Arc<Elevation>> {
        let mut active = self.privileges.active(sub, self.clock.now());
        active.sort_by(|a, b| a.id.cmp(&b.id));
        active
    }

    /// Whether the caller has an elevation in force with these rights for this cluster, and groups that give them.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn is_elevated(
        &self,
        caller: &Caller,
        target: &ResourceId,
        rights: Rights,
    ) -> Result<bool, StoreError> {
        Ok(self.elevation_of(caller, target, rights).await?.is_some())
    }

    /// The caller's elevation in force with these rights for this cluster; `None` also when their groups do not give them.
    /// What another replica made a moment ago is read from the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn elevation_of(
        &self,
        caller: &Caller,
        target: &ResourceId,
        rights: Rights,
    ) -> Result<Option<Arc<Elevation>>, StoreError> {
        if self.policy.most_rights(caller.roles).is_none_or(|most| rights > most) {
            return Ok(None);
        }
        self.elevation_for(&caller.person.sub, Some(target), rights).await
    }

    /// The elevation in force that gives a person these rights for a cluster, the longest living of several.
    pub(crate) async fn elevation_for(
        &self,
        sub: &str,
        target: Option<&ResourceId>,
        rights: Rights,
    ) -> Result<Option<Arc<Elevation>>, StoreError> {
        let best = || {
            let active = self.active_elevations(sub).into_iter();
            active
                .filter(|each| each.covers(target) && each.rights >= rights)
                .max_by_key(|each| each.not_after)
        };
        if let Some(found) = best() {
            return Ok(Some(found));
        }
        let oldest = self.clock.now() - self.elevation_window();
        self.walk_elevations(Span::Partition(sub), oldest, |read| {
            self.privileges.put_elevation(read);
            ControlFlow::Continue(())
        })
        .await?;
        Ok(best())
    }
}
