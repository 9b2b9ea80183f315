//! A later end for a grant.

use std::time::Duration;

use rp_audit::AuditError;
use rp_base::{Id, Timestamp};
use rp_database::{StoreError, update};
use rp_documents::elevation::ElevationState;
use rp_documents::grant::GrantState;
use rp_documents::{Grant, GrantKind, Phase};

use crate::access::Access;
use crate::policy::Caller;

/// Why a grant was not extended.
#[derive(Debug, thiserror::Error)]
pub enum ExtendError {
    #[error("no such grant")]
    Unknown,
    #[error("only its owner can extend a grant")]
    NotYours,
    #[error("the grant has ended already; take a new one")]
    Ended,
    /// From now.
    #[error("it can be extended to at most {} minutes from now, and only to a later end", longest.as_secs() / 60)]
    Life { longest: Duration },
    #[error("grants of this kind are not extended")]
    Kind,
    #[error("the store did not answer; nothing was done")]
    Store(#[source] StoreError),
    #[error("the audit entry could not be written, so nothing was done")]
    Audit(#[source] AuditError),
}

impl Access {
    /// Moves the end of one's own grant to `life` from now: later than it was, never past the policy's total or
    /// the end of the elevation behind it.
    ///
    /// # Errors
    /// [`ExtendError`]; then nothing was done.
    pub async fn extend(&self, caller: &Caller, id: &Id, life: Duration) -> Result<Grant, ExtendError> {
        let found = self.grants.get(id.as_str()).await.map_err(ExtendError::Store)?;
        let grant = found.ok_or(ExtendError::Unknown)?.value;
        if !caller.owns(&grant.owner.sub) {
            return Err(ExtendError::NotYours);
        }
        if grant.renewal || grant.kind == GrantKind::Robot {
            return Err(ExtendError::Kind);
        }
        let now = self.clock.now();
        let live = self.live_of(grant).await.map_err(ExtendError::Store)?;
        if live.ended(now).is_some() {
            return Err(ExtendError::Ended);
        }
        let latest = self.latest_end(&live.grant, now).await.map_err(ExtendError::Store)?;
        let (longest, not_after) = (latest.since(now), now + life);
        if life < self.policy.access.min_life || not_after > latest || not_after <= live.grant.not_after {
            return Err(ExtendError::Life { longest });
        }
        let mut entry = caller.entry(now, Phase::Single, "grant.extend");
        entry.grant = Some(id.clone());
        entry.target.clone_from(&live.grant.target);
        entry.query = format!("until {not_after}");
        self.audit.promise(entry).await.map_err(ExtendError::Audit)?;
        let mut living = true;
        let extended = update(&self.grants, id.as_str(), |grant: &mut Grant| {
            // A revocation that came between stays.
            living = grant.state(now) == GrantState::Active;
            if living {
                grant.not_after = grant.not_after.max(not_after);
            }
        })
        .await
        .map_err(ExtendError::Store)?;
        if !living {
            return Err(ExtendError::Ended);
        }
        self.apply(id.as_str(), Some(extended.value.clone()));
        Ok(extended.value)
    }

    async fn latest_end(&self, grant: &Grant, now: Timestamp) -> Result<Timestamp, StoreError> {
        let mut latest = grant.created + self.policy.access.max_total_life;
        let elevation = grant.elevation_id.as_ref().and_then(|id| self.privileges.elevation(id));
        if let Some(elevation) = elevation.filter(|each| each.state(now) == ElevationState::Active) {
            latest = elevation.not_after.map_or(latest, |end| latest.min(end));
        }
        if let Some(parent) = &grant.parent
            && let Some(read) = self.grants.get(parent.as_str()).await?
        {
            latest = latest.min(read.value.not_after);
        }
        Ok(latest)
    }
}
