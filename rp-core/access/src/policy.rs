//! What the configuration says about people and lives.

use std::time::Duration;

use rp_base::{Id, Timestamp};
use rp_config::SelfServiceRights;
use rp_documents::{Actor, Entry, Person, Phase, Rights, Robot, Role, Roles};
use rp_net::PerMinute;

/// How a caller showed who it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Via {
    /// A browser session.
    #[default]
    Session,
    /// The token of this grant.
    Token(Id),
    /// A token of the provider, for a robot.
    Client,
    /// Automation with a certificate of its own, which approved the access itself (`contract/portal.md` §20).
    Automation,
}

/// Somebody who asks for something, as the edge established it.
#[derive(Debug, Clone)]
pub struct Caller {
    pub person: Person,
    pub roles: Roles,
    /// Network address without the port.
    pub from: String,
    pub request_id: Id,
    pub via: Via,
}

impl Caller {
    /// A robot that acts.
    pub fn robot(robot: &Robot, from: String, request_id: Id, via: Via) -> Self {
        Self { person: robot.person(), roles: Policy::robot_roles(), from, request_id, via }
    }

    /// An audit entry that this caller causes.
    pub fn entry(&self, at: Timestamp, phase: Phase, verb: &str) -> Entry {
        let actor =
            Actor { sub: self.person.sub.clone(), name: self.person.name.clone(), from: self.from.clone() };
        Entry::new(at, phase, self.request_id.clone(), actor, verb)
    }

    /// Whether a grant or elevation of this subject is the caller's own. A person whom the provider names like a
    /// robot, or like somebody automation asks for, owns nothing of theirs.
    pub(crate) fn owns(&self, sub: &str) -> bool {
        let shown = match (self.robot_name(), self.person.is_automated()) {
            (Some(_), _) => self.via != Via::Session,
            (None, true) => self.via == Via::Automation,
            (None, false) => true,
        };
        self.person.sub == sub && shown
    }

    /// A person for whom automation acts. Their rights are decided by the automation, not by groups.
    pub fn automated(name: &str, from: String, request_id: Id) -> Self {
        Self { person: Person::automated(name), roles: Roles::NONE, from, request_id, via: Via::Automation }
    }

    /// The robot's name, when it is one.
    pub(crate) fn robot_name(&self) -> Option<&str> {
        Robot::name_in(&self.person.sub)
    }
}

/// Groups, lives and reasons: the sections of the configuration that decide about them, as they were read.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Which of the provider's groups give which role: [`Policy::groups`].
    pub roles: rp_config::Roles,
    pub access: rp_config::Access,
    pub elevation: rp_config::Elevation,
    pub robots: rp_config::Robots,
    /// Rate limits of requests, of `[limits]`.
    pub rates: PerMinute,
    /// What happens to accesses while the store is away (`contract/rules.md` §3.7), of `[store]`.
    pub outage: rp_config::Outage,
}

impl Policy {
    /// The provider's groups that give a role; compared exactly (`contract/portal.md` §6).
    pub fn groups(&self, role: Role) -> &[String] {
        match role {
            Role::Viewer => &self.roles.viewer,
            Role::Sre => &self.roles.sre,
            Role::Elevated => &self.roles.elevated,
            Role::Approver => &self.roles.approver,
            Role::Auditor => &self.roles.auditor,
            Role::Admin => &self.roles.admin,
        }
    }

    /// The roles that a person's groups give.
    pub fn roles_of(&self, groups: &[String]) -> Roles {
        let given = |role: &Role| self.groups(*role).iter().any(|group| groups.contains(group));
        Role::ALL.into_iter().filter(given).collect()
    }

    /// What every robot may do beside its scope.
    pub(crate) fn robot_roles() -> Roles {
        Roles::NONE.with(Role::Sre)
    }

    /// Those of a person's groups that mean something here, in configured order, each once.
    pub fn known_groups(&self, groups: &[String]) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        let giving = Role::ALL.into_iter().flat_map(|role| self.groups(role));
        for group in giving.chain(&self.elevation.self_service) {
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

    /// Whether an elevation of somebody in these groups comes into force without an approver.
    pub fn is_self_service(&self, groups: &[String], rights: Rights) -> bool {
        let most = match self.elevation.self_service_rights {
            SelfServiceRights::Write => Rights::Write,
            SelfServiceRights::Admin => Rights::Admin,
        };
        rights <= most && self.elevation.self_service.iter().any(|group| groups.contains(group))
    }

    /// The longest life of a grant with these rights.
    pub fn longest(&self, rights: Rights) -> Duration {
        let access = &self.access;
        if rights > Rights::Read { access.max_power_life.min(access.max_life) } else { access.max_life }
    }

    /// A grant that was made longer ago than this has ended, unless it is a robot's token.
    pub(crate) fn oldest_life(&self) -> Duration {
        self.access.max_total_life.max(self.access.max_life)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_give_roles_by_exact_match() {
        let policy = Policy {
            roles: rp_config::Roles {
                sre: vec!["sre".to_owned()],
                elevated: vec!["Power".to_owned()],
                ..rp_config::Roles::default()
            },
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

    #[test]
    fn self_service_is_by_group_and_up_to_its_rights() {
        let self_service = vec!["on-call".to_owned()];
        let elevation = rp_config::Elevation { self_service, ..rp_config::Elevation::default() };
        let policy = Policy { elevation, ..Policy::default() };
        let on_call = ["on-call".to_owned()];
        assert!(policy.is_self_service(&on_call, Rights::Write));
        assert!(!policy.is_self_service(&on_call, Rights::Admin));
        assert!(!policy.is_self_service(&["On-Call".to_owned()], Rights::Write));
        assert_eq!(policy.known_groups(&on_call), on_call);
    }
}
