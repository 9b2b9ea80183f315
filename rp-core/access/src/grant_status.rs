//! What has become of a grant: the one answer that pages, the JSON API and, through it, the command line give.

use rp_base::Timestamp;
use rp_documents::Grant;
use rp_documents::grant::GrantState;

use crate::active_grant::EndReason;

/// What a grant is worth now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantStatus {
    /// It opens what its rights say.
    Active,
    /// Its time is over.
    Expired,
    /// A person or the service revoked it.
    Revoked,
    /// It opens nothing, though it has neither expired nor been revoked.
    Ended(EndReason),
}

impl GrantStatus {
    /// From what the document says and why its owner holds nothing for it any more. What the document says comes first:
    /// a revoked grant whose owner lost a group stays a revoked one.
    pub const fn new(state: GrantState, ended: Option<EndReason>) -> Self {
        match (state, ended) {
            (GrantState::Expired, _) => Self::Expired,
            (GrantState::Revoked, _) => Self::Revoked,
            (GrantState::Active, None) => Self::Active,
            (GrantState::Active, Some(reason)) => Self::Ended(reason),
        }
    }

    /// The status by the document alone: of a grant that was just given, extended or revoked, which checked what its
    /// owner holds.
    pub fn by_document(grant: &Grant, now: Timestamp) -> Self {
        Self::new(grant.state(now), None)
    }

    /// Its name in JSON: `active`, `expired`, `revoked` or `ended`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Ended(_) => "ended",
        }
    }

    /// Why it ended before its time and without a revocation of its own.
    pub const fn end_reason(self) -> Option<EndReason> {
        match self {
            Self::Ended(reason) => Some(reason),
            Self::Active | Self::Expired | Self::Revoked => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_counts_only_for_a_grant_that_would_be_active() {
        let lost = Some(EndReason::RightsLost);
        for (state, ended, status, name) in [
            (GrantState::Active, None, GrantStatus::Active, "active"),
            (GrantState::Active, lost, GrantStatus::Ended(EndReason::RightsLost), "ended"),
            (GrantState::Expired, lost, GrantStatus::Expired, "expired"),
            (GrantState::Revoked, lost, GrantStatus::Revoked, "revoked"),
        ] {
            let found = GrantStatus::new(state, ended);
            assert_eq!((found, found.name()), (status, name));
            assert_eq!(found.end_reason().is_some(), name == "ended");
        }
    }
}
