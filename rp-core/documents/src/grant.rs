//! Grants: the one concept of access (`contract/rules.md` §3.6, §5.1). Writer: the issuer (portal, admin
//! API).

use std::borrow::Cow;

use rp_base::{Digest, Id, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Person, ResourceId, Unknown};

/// What a grant opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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

/// Extra options of a shell grant; each is off unless requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantOptions {
    /// Offer an agent on the machine that holds the cluster's key, to hop on from there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub agent_forwarding: bool,
}

impl GrantOptions {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Who ended a grant, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revocation {
    pub at: Timestamp,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One grant.
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
    /// The grant that was used to create this one; when it ends, so does this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Id>,
    /// This is a short-lived renewal token of the parent grant; it is not listed as a grant of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub renewal: bool,
    /// The one machine of the cluster that a shell is for, by name; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// `host:port` that a tunnel, or a local forwarding of a shell, may reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<String>,
    #[serde(default, skip_serializing_if = "GrantOptions::is_empty")]
    pub options: GrantOptions,
    pub created: Timestamp,
    /// When the owner last showed the provider who they are; of a command line's token only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<Timestamp>,
    pub not_after: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Revocation>,
    /// SHA-256 of the token's secret part; the secret itself is never stored.
    pub secret_sha256: Digest,
    #[serde(flatten)]
    pub unknown: Unknown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Whether a grant opens anything now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantState {
    Active,
    Expired,
    Revoked,
}

impl Grant {
    /// The grant's state at an instant; a grant that is both revoked and expired is revoked.
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

impl Grant {
    /// The id that is shown to people: for a renewal, the parent's.
    pub fn primary_id(&self) -> &Id {
        self.parent.as_ref().filter(|_| self.renewal).unwrap_or(&self.id)
    }

    /// Prefix of the unique keys of a cluster's grants; the grant's id follows.
    pub fn unique_key_prefix(target: &ResourceId) -> String {
        format!("{}|", target.key())
    }
}

impl Document for Grant {
    const COLLECTION: Collection = Collection::Grants;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    /// A person's grants share a partition; renewals are with their parent. A robot's tokens are apart from the
    /// grants that were made with them.
    fn partition(&self) -> &str {
        match (&self.parent, self.kind) {
            (Some(parent), _) if self.renewal => parent.as_str(),
            (_, GrantKind::Robot) => &self.owner.name,
            _ => &self.owner.sub,
        }
    }

    /// Lists a cluster's grants by key prefix.
    fn unique_key(&self) -> Option<Cow<'_, str>> {
        let target = self.target.as_ref().filter(|_| !self.renewal)?;
        Some(Cow::Owned(format!("{}{}", Self::unique_key_prefix(target), self.id)))
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
