//! What becomes of an elevation: decided, ended, reviewed.

use std::time::Duration;

use rp_base::{Id, Timestamp};
use rp_database::{StoreError, Versioned};
use rp_documents::elevation::{Decision, ElevationState, Review};
use rp_documents::{Elevation, Entry, Outcome, Phase, Role, Side};

use super::{ElevationError, describe, require};
use crate::access::Access;
use crate::grants::AccessError;
use crate::policy::Caller;
use crate::reason::ReasonLimits;
use crate::revoke::EndRequest;

/// Writers of one elevation that may be in each other's way.
const TRIES: usize = 5;

impl Access {
    /// Approves or refuses somebody else's request. Needs the role approver. Of two deciders at once, one wins.
    ///
    /// # Errors
    /// [`ElevationError`]; then nothing was decided.
    pub async fn decide(
        &self,
        caller: &Caller,
        id: &Id,
        approve: bool,
        why: Option<String>,
    ) -> Result<Elevation, ElevationError> {
        require(caller, &[Role::Approver])?;
        let verb = if approve { "elevation.approve" } else { "elevation.refuse" };
        let decided = self
            .change_elevation(caller, id, verb, why.clone(), |elevation, now| {
                if elevation.owner.sub == caller.person.sub {
                    return Err(ElevationError::Own);
                }
                match elevation.state(now) {
                    ElevationState::Waiting => {}
                    ElevationState::Lapsed => return Err(ElevationError::Lapsed),
                    ElevationState::Ended => return Err(ElevationError::Over),
                    ElevationState::Refused | ElevationState::Active | ElevationState::Expired => {
                        return Err(ElevationError::AlreadyDecided);
                    }
                }
                let (by, at) = (caller.person.clone(), now);
                elevation.decision = Some(Decision { at, by, approved: approve, why: why.clone() });
                if approve {
                    elevation.not_before = Some(now);
                    // Never longer than the policy says now.
                    let life = Duration::from_secs(elevation.life_secs).min(self.policy.elevation.max_life);
                    elevation.not_after = Some(now + life);
                }
                Ok(())
            })
            .await?;
        if approve {
            self.came_into_force(&decided);
        }
        Ok(decided)
    }

    /// Ends an elevation before its time, or takes a request back. Its owner, approvers and admins may.
    ///
    /// # Errors
    /// [`ElevationError`]; then nothing was done.
    pub async fn end_elevation(
        &self,
        caller: &Caller,
        id: &Id,
        why: Option<String>,
    ) -> Result<Elevation, ElevationError> {
        let ending = EndRequest::by(caller, self.clock.now(), why.clone());
        self.change_elevation(caller, id, "elevation.end", why, |elevation, now| {
            let may = caller.roles.has(Role::Approver) || caller.roles.has(Role::Admin);
            if !caller.owns(&elevation.owner.sub) && !may {
                return Err(ElevationError::NotYours);
            }
            if !matches!(elevation.state(now), ElevationState::Active | ElevationState::Waiting) {
                return Err(ElevationError::Over);
            }
            elevation.ended = Some(ending.revocation());
            Ok(())
        })
        .await
    }

    /// Says what was found when a break-glass elevation was looked at afterwards. Needs the role approver or
    /// auditor; nobody reviews their own.
    ///
    /// # Errors
    /// [`ElevationError`]; then nothing was done.
    pub async fn review(
        &self,
        caller: &Caller,
        id: &Id,
        fine: bool,
        note: String,
    ) -> Result<Elevation, ElevationError> {
        require(caller, &[Role::Approver, Role::Auditor])?;
        let note = ReasonLimits::OPTIONAL.check(&note)?.to_owned();
        self.change_elevation(caller, id, "elevation.review", Some(note.clone()), |elevation, now| {
            if elevation.owner.sub == caller.person.sub {
                return Err(ElevationError::Own);
            }
            if !elevation.needs_review() {
                return Err(ElevationError::NothingToReview);
            }
            let by = caller.person.clone();
            elevation.review = Some(Review { at: now, by, fine, note: note.clone() });
            Ok(())
        })
        .await
    }

    /// Ends an elevation for one of our own reasons; one that is over already is left as it is.
    pub(crate) async fn finish_elevation(
        &self,
        elevation: &Elevation,
        ending: &EndRequest,
    ) -> Result<(), AccessError> {
        let mut entry = ending.entry("elevation.end");
        describe(&mut entry, elevation);
        entry.reason = ending.why.clone().unwrap_or_default();
        self.audit.promise(entry).await.map_err(AccessError::Audit)?;
        let written = rp_database::update(&self.elevations, elevation.id.as_str(), |elevation| {
            if elevation.ended.is_none() {
                elevation.ended = Some(ending.revocation());
            }
        })
        .await;
        match written {
            Ok(read) => {
                self.take_elevation(read);
                Ok(())
            }
            Err(StoreError::Gone { .. }) => Ok(()),
            Err(error) => Err(AccessError::Store(error)),
        }
    }

    pub(super) async fn read_elevation(&self, id: &Id) -> Result<Versioned<Elevation>, ElevationError> {
        let read = self.elevations.get(id.as_str()).await.map_err(ElevationError::Store)?;
        read.ok_or(ElevationError::Unknown)
    }

    /// Reads, checks and changes, promises the entry, writes what was read. The writer that loses a race looks again, and
    /// the audit trail says that the entry came to nothing.
    async fn change_elevation(
        &self,
        caller: &Caller,
        id: &Id,
        verb: &str,
        why: Option<String>,
        change: impl Fn(&mut Elevation, Timestamp) -> Result<(), ElevationError>,
    ) -> Result<Elevation, ElevationError> {
        let mut lost: Option<Entry> = None;
        for _ in 0..TRIES {
            let mut read = self.read_elevation(id).await?;
            let now = self.clock.now();
            if let Err(refused) = change(&mut read.value, now) {
                self.record_lost_race(lost).await;
                return Err(refused);
            }
            let mut entry = caller.entry(now, Phase::Single, verb);
            describe(&mut entry, &read.value);
            entry.reason = why.clone().unwrap_or_default();
            if lost.is_none() {
                self.audit.promise(entry.clone()).await.map_err(ElevationError::Audit)?;
                lost = Some(entry);
            }
            match self.elevations.replace(read).await {
                Ok(written) => return Ok(Elevation::clone(&self.take_elevation(written))),
                Err(StoreError::Stale { .. }) => {}
                Err(StoreError::Gone { .. }) => {
                    self.record_lost_race(lost).await;
                    return Err(ElevationError::Unknown);
                }
                Err(error) => return Err(ElevationError::Store(error)),
            }
        }
        self.record_lost_race(lost).await;
        Err(ElevationError::AlreadyDecided)
    }

    /// Writes the end of an entry that was promised for a change that another caller made first.
    pub(crate) async fn record_lost_race(&self, entry: Option<Entry>) {
        let Some(mut entry) = entry else { return };
        entry.phase = Phase::End;
        entry.result = Outcome { status: 409, word: "refused".to_owned(), side: Some(Side::You) };
        if let Err(error) = self.audit.queue(entry).await {
            tracing::error!(error = %rp_base::chain(&error), "a lost race could not be audited");
        }
    }
}
