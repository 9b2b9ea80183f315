//! Grants: the one concept of access (`design.md` §3 Access, §5). Writer: the issuer (portal, admin API).

use rp_base::{Digest, Id, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Person, ResourceId, Unknown};

/// What a grant opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantKind {
    Kubeconfig,
    Cli,
    Ssh,
    Terminal,
    Metrics,
    Tunnel,
    Page,
    Robot,
}

impl GrantKind {
    /// The name in tokens, URLs and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kubeconfig => "kubeconfig",
            Self::Cli => "cli",
            Self::Ssh => "ssh",
            Self::Terminal => "terminal",
            Self::Metrics => "metrics",
            Self::Tunnel => "tunnel",
            Self::Page => "page",
            Self::Robot => "robot",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Kubeconfig,
            Self::Cli,
            Self::Ssh,
            Self::Terminal,
            Self::Metrics,
            Self::Tunnel,
            Self::Page,
            Self::Robot,
        ]
        .into_iter()
        .find(|kind| kind.name() == name)
    }
}

/// How much of the target a grant opens. Ordered: more is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rights {
    /// Default-deny reading: no Secrets, no exec.
    Read,
    /// Everything but RBAC, Secrets and token requests.
    Write,
    /// Everything.
    Admin,
}

impl Rights {
    /// The name on the wire and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// Who ended a grant, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    pub at: Timestamp,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// An access that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub id: Id,
    pub kind: GrantKind,
    pub owner: Person,
    /// The one cluster it is for; `None` for a `cli` grant, which opens the JSON API only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<ResourceId>,
    pub rights: Rights,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elevation_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Id>,
    pub created: Timestamp,
    pub not_after: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Revocation>,
    /// SHA-256 of the token's secret part; the secret itself is never stored.
    pub secret_sha256: Digest,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Whether a grant opens anything now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantState {
    Active,
    Expired,
    Revoked,
}

impl Grant {
    /// The grant's state at an instant; revocation is named before expiry.
    pub fn state(&self, now: Timestamp) -> GrantState {
        if self.revoked.is_some() {
            GrantState::Revoked
        } else if now >= self.not_after {
            GrantState::Expired
        } else {
            GrantState::Active
        }
    }
}

impl Document for Grant {
    const COLLECTION: Collection = Collection::Grants;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    /// A person's grants are listed together.
    fn partition(&self) -> &str {
        &self.owner.sub
    }
}

/// When a grant was last used and from where. Writer: proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantUse {
    pub id: Id,
    pub last_used: Timestamp,
    pub from: String,
}

impl Document for GrantUse {
    const COLLECTION: Collection = Collection::GrantUse;

    fn id(&self) -> &str {
        self.id.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_ordered_and_kinds_have_names() {
        assert!(Rights::Read < Rights::Write && Rights::Write < Rights::Admin);
        assert_eq!(GrantKind::from_name("kubeconfig"), Some(GrantKind::Kubeconfig));
        assert_eq!(GrantKind::from_name("root"), None);
    }
}
