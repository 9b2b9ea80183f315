//! Elevations: more rights for a while, for a reason (`contract/rules.md` §3.6, §5.3). Writer: the portal.

use std::borrow::Cow;
use std::time::Duration;

use rp_base::{Id, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Person, ResourceId, Revocation, Rights, Unknown};

/// How an elevation takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElevationMethod {
    /// At once: the policy trusts the person's group with these rights.
    SelfService,
    /// When somebody else approves it.
    Approval,
    /// At once, with notifications; reviewed afterwards.
    BreakGlass,
}

impl ElevationMethod {
    /// The name on the wire and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SelfService => "self_service",
            Self::Approval => "approval",
            Self::BreakGlass => "break_glass",
        }
    }
}

/// What an approver said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub at: Timestamp,
    pub by: Person,
    pub approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Outcome of the review of a break-glass elevation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub at: Timestamp,
    pub by: Person,
    /// Whether the use was right.
    pub fine: bool,
    pub note: String,
}

/// A request for more rights, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elevation {
    pub id: Id,
    pub owner: Person,
    /// The one cluster it is for; `None`: every cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<ResourceId>,
    pub rights: Rights,
    pub way: ElevationMethod,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    pub asked: Timestamp,
    /// How long it lives once it is in force, in seconds.
    pub life_secs: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// When it took effect; `None`: not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Timestamp>,
    /// Ended before its time, or a request taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Revocation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// State of an elevation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElevationState {
    Waiting,
    /// Nobody decided in time.
    Lapsed,
    Refused,
    Active,
    Expired,
    Ended,
}

impl ElevationState {
    /// The name on the wire and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Lapsed => "lapsed",
            Self::Refused => "refused",
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Ended => "ended",
        }
    }
}

impl Elevation {
    /// How long a request waits for a decision.
    pub const REQUEST_LIFE: Duration = Duration::from_secs(3600);

    /// Prefix of the unique keys of elevations that need a review; the id follows.
    pub const UNREVIEWED: &'static str = "unreviewed|";

    /// The state at an instant; an elevation that was ended by hand and has expired counts as ended by hand.
    pub fn state(&self, now: Timestamp) -> ElevationState {
        if self.ended.is_some() {
            return ElevationState::Ended;
        }
        match (self.not_after, &self.decision) {
            (Some(end), _) if now < end => ElevationState::Active,
            (Some(_), _) => ElevationState::Expired,
            (None, Some(decision)) if !decision.approved => ElevationState::Refused,
            (None, _) if now >= self.asked + Self::REQUEST_LIFE => ElevationState::Lapsed,
            (None, _) => ElevationState::Waiting,
        }
    }

    /// Whether it covers this cluster.
    pub fn covers(&self, target: Option<&ResourceId>) -> bool {
        self.target.is_none() || self.target.as_ref() == target
    }

    /// Whether it still needs a review.
    pub const fn needs_review(&self) -> bool {
        matches!(self.way, ElevationMethod::BreakGlass) && self.review.is_none()
    }
}

impl Document for Elevation {
    const COLLECTION: Collection = Collection::Elevations;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    /// A person's elevations share a partition.
    fn partition(&self) -> &str {
        &self.owner.sub
    }

    /// Lists all elevations that still need a review, however old.
    fn unique_key(&self) -> Option<Cow<'_, str>> {
        self.needs_review().then(|| Cow::Owned(format!("{}{}", Self::UNREVIEWED, self.id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Elevation {
        Elevation {
            id: Id::random(&rp_base::SystemRandom),
            owner: Person { sub: "s".into(), name: "n".into(), groups: vec![] },
            target: None,
            rights: Rights::Admin,
            way: ElevationMethod::Approval,
            reason: "why".into(),
            ticket: None,
            asked: Timestamp::from_millis(0),
            life_secs: 60,
            decision: None,
            not_before: None,
            not_after: None,
            ended: None,
            review: None,
            unknown: Unknown::new(),
        }
    }

    #[test]
    fn a_request_waits_lapses_lives_and_ends() {
        let at = Timestamp::from_millis;
        let mut elevation = asked();
        assert_eq!(elevation.state(at(1)), ElevationState::Waiting);
        assert_eq!(elevation.state(at(3_600_000)), ElevationState::Lapsed);
        elevation.not_after = Some(at(60_000));
        assert_eq!(elevation.state(at(59_999)), ElevationState::Active);
        assert_eq!(elevation.state(at(60_000)), ElevationState::Expired);
        elevation.ended = Some(Revocation { at: at(5), by: "n".into(), why: None });
        assert_eq!(elevation.state(at(6)), ElevationState::Ended);
    }
}
