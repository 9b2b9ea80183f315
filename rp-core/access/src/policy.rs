//! What the configuration says about people and lives.

use std::collections::BTreeMap;
use std::time::Duration;

use rp_base::Id;
use rp_documents::{Person, Rights, Role, Roles};

/// Somebody who asks for something, as the edge established it.
#[derive(Debug, Clone)]
pub struct Caller {
    pub person: Person,
    pub roles: Roles,
    /// Network address without the port.
    pub from: String,
    pub request_id: Id,
}

/// Groups, lives and reasons (`[roles]` and `[access]` of the configuration).
#[derive(Debug, Clone)]
pub struct Policy {
    /// Which of the provider's groups give which role; compared exactly (`spec/portal.md` §6).
    pub groups: BTreeMap<Role, Vec<String>>,
    /// Life of a grant when none is asked for.
    pub default_life: Duration,
    /// Longest life that is given.
    pub max_life: Duration,
    /// Longest life of a grant above read-only.
    pub max_power_life: Duration,
    /// Shortest reason, in characters.
    pub min_reason: usize,
    /// Living grants a person may hold at once.
    pub max_grants: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            groups: BTreeMap::new(),
            default_life: Duration::from_secs(6 * 3600),
            max_life: Duration::from_secs(12 * 3600),
            max_power_life: Duration::from_secs(6 * 3600),
            min_reason: 10,
            max_grants: 100,
        }
    }
}

impl Policy {
    /// The roles that a person's groups give.
    pub fn roles_of(&self, groups: &[String]) -> Roles {
        let given = |wanted: &[String]| wanted.iter().any(|group| groups.contains(group));
        self.groups.iter().filter(|(_, wanted)| given(wanted)).map(|(role, _)| *role).collect()
    }

    /// Those of a person's groups that mean something here, in configured order, each once.
    pub fn known_groups(&self, groups: &[String]) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for group in self.groups.values().flatten() {
            if groups.contains(group) && !known.contains(group) {
                known.push(group.clone());
            }
        }
        known
    }

    /// The most rights these roles may hold; `None` when they may hold no grant at all.
    pub fn most_rights(&self, roles: Roles) -> Option<Rights> {
        if roles.has(Role::Elevated) {
            Some(Rights::Admin)
        } else if roles.has(Role::Sre) {
            Some(Rights::Read)
        } else {
            None
        }
    }

    /// The longest life of a grant with these rights.
    pub fn longest(&self, rights: Rights) -> Duration {
        if rights > Rights::Read { self.max_power_life.min(self.max_life) } else { self.max_life }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_give_roles_by_exact_match() {
        let policy = Policy {
            groups: [(Role::Sre, vec!["sre".to_owned()]), (Role::Elevated, vec!["Power".to_owned()])].into(),
            ..Policy::default()
        };
        let roles =
            |groups: &[&str]| policy.roles_of(&groups.iter().map(|g| (*g).to_owned()).collect::<Vec<_>>());
        assert!(roles(&["sre"]).has(Role::Sre));
        assert!(roles(&["SRE", "power"]).is_empty());
        assert_eq!(policy.most_rights(roles(&["sre"])), Some(Rights::Read));
        assert_eq!(policy.most_rights(roles(&["Power"])), Some(Rights::Admin));
        assert_eq!(policy.most_rights(Roles::NONE.with(Role::Viewer)), None);
    }
}
