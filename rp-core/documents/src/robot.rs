//! Robots: scripts with a name, a scope and an end (`contract/rules.md` §5.5 "Sign-in of scripts"). Writer:
//! the portal.

use rp_base::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, GrantKind, Person, ResourceId, Revocation, Rights, Unknown};

/// Which clusters a robot may ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RobotScope")]
pub enum Scope {
    All,
    Only(Vec<ResourceId>),
}

impl Scope {
    /// Whether the cluster is in the scope.
    pub fn covers(&self, target: &ResourceId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.contains(target),
        }
    }
}

/// A robot. Its tokens are grants of kind robot, several at once while one takes over from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Robot {
    /// Lower-case name; the id.
    pub name: String,
    pub clusters: Scope,
    /// What it may ask for.
    pub kinds: Vec<GrantKind>,
    /// The most rights it may ask for.
    pub rights: Rights,
    pub reason: String,
    pub created: Timestamp,
    pub created_by: Person,
    pub not_after: Timestamp,
    /// Living grants it may hold at once.
    pub max_grants: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Revocation>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Robot {
    /// The subject of the grants of the robot of that name.
    pub fn subject(name: &str) -> String {
        format!("robot:{name}")
    }

    /// The robot's name in the subject of a grant's owner; `None` for people.
    pub fn name_in(sub: &str) -> Option<&str> {
        sub.strip_prefix("robot:")
    }

    /// Whether it is neither revoked nor expired.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && now < self.not_after
    }

    /// The robot as the owner of grants.
    pub fn person(&self) -> Person {
        Person { sub: Self::subject(&self.name), name: format!("robot {}", self.name), groups: Vec::new() }
    }
}

impl Document for Robot {
    const COLLECTION: Collection = Collection::Robots;

    fn id(&self) -> &str {
        &self.name
    }
}
