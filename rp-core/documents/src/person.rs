//! Who somebody is and what their groups make them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A person as the provider named them at sign-in, or a robot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The provider's subject: stable, opaque.
    pub sub: String,
    /// `preferred_username`: what people read.
    pub name: String,
    /// The provider's groups that mean something here, in configured order.
    #[serde(default)]
    pub groups: Vec<String>,
}

impl Person {
    /// How subjects of people begin for whom automation asks.
    const AUTOMATED: &'static str = "automation:";

    /// Somebody for whom automation asks that has made sure itself that they may (`contract/portal.md` §20).
    pub fn automated(name: &str) -> Self {
        Self { sub: format!("{}{name}", Self::AUTOMATED), name: name.to_owned(), groups: Vec::new() }
    }

    /// Whether the subject is such a person's.
    pub fn is_automated(&self) -> bool {
        self.sub.starts_with(Self::AUTOMATED)
    }
}

/// What somebody may do (`contract/rules.md` §5.2 "Who may").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Lists and pages.
    Viewer,
    /// Also read grants: kubeconfig, metrics, page.
    Sre,
    /// May elevate: write and admin rights.
    Elevated,
    /// Decides on other people's elevations.
    Approver,
    /// Audit, all grants, recordings.
    Auditor,
    /// Imports, robots, revokes anything.
    Admin,
}

impl Role {
    /// Every role, least first.
    pub const ALL: [Self; 6] =
        [Self::Viewer, Self::Sre, Self::Elevated, Self::Approver, Self::Auditor, Self::Admin];

    /// The role's name in configuration and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Sre => "sre",
            Self::Elevated => "elevated",
            Self::Approver => "approver",
            Self::Auditor => "auditor",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

/// A set of roles.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles(u8);

impl Roles {
    /// Nobody's set.
    pub const NONE: Self = Self(0);

    /// Adds a role. `Sre` and every role above it can also view; `Elevated` is an `Sre`.
    #[must_use]
    pub const fn with(self, role: Role) -> Self {
        let mut bits = self.0 | role.bit() | Role::Viewer.bit();
        if matches!(role, Role::Elevated) {
            bits |= Role::Sre.bit();
        }
        Self(bits)
    }

    /// Whether the role is in the set.
    pub const fn has(self, role: Role) -> bool {
        self.0 & role.bit() != 0
    }

    /// Whether no role is in the set: somebody who may not sign in.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The roles, least first.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.has(*role))
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        roles.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(Role::name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elevated_people_are_sres_and_everybody_views() {
        let roles: Roles = [Role::Elevated].into_iter().collect();
        assert!(roles.has(Role::Sre) && roles.has(Role::Viewer) && !roles.has(Role::Admin));
        assert!(Roles::NONE.is_empty());
    }
}
