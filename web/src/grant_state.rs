//! What has become of a grant, and why.

use crate::parts::{Badge, Tone};

/// The state of a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GrantState {
    /// It works.
    #[default]
    Active,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked {
        /// When.
        at: i64,
        /// By whom; `you` for the person at the screen.
        by: String,
        /// Why, or empty.
        why: String,
    },
    /// It opens nothing, though it has neither expired nor been revoked.
    Ended {
        /// Why.
        reason: GrantEnd,
        /// When, where that is known: the time at which a person lost a group is not.
        at: Option<i64>,
    },
}

/// Why a grant ended before its time and without a revocation of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantEnd {
    /// The elevation behind it is over.
    ElevationOver,
    /// The owner's groups, or the robot's scope, no longer give its rights.
    RightsLost,
    /// Its robot was revoked.
    RobotRevoked,
    /// Its robot's time is over.
    RobotExpired,
    /// The store has not answered for too long.
    Unconfirmed,
}

impl GrantEnd {
    /// Every reason, for samples and tests.
    pub const EVERY: [Self; 5] =
        [Self::ElevationOver, Self::RightsLost, Self::RobotRevoked, Self::RobotExpired, Self::Unconfirmed];

    /// The reason in words, as they follow "Ended: ".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::ElevationOver => "elevation over",
            Self::RightsLost => "rights lost",
            Self::RobotRevoked => "robot revoked",
            Self::RobotExpired => "robot expired",
            Self::Unconfirmed => "not confirmed",
        }
    }
}

impl GrantState {
    /// How it is shown.
    #[must_use]
    pub fn badge(&self) -> Badge {
        let (tone, icon, word) = match self {
            Self::Active => (Tone::Ok, "ok", "Active"),
            Self::Expired => (Tone::Mute, "clock", "Expired"),
            Self::Revoked { .. } => (Tone::Bad, "revoke", "Revoked"),
            Self::Ended { .. } => (Tone::Mute, "down", "Ended"),
        };
        let word = match self {
            Self::Ended { reason, .. } => format!("{word}: {}", reason.words()),
            Self::Active | Self::Expired | Self::Revoked { .. } => word.to_owned(),
        };
        Badge { tone, icon, word, quiet: true }
    }
}
