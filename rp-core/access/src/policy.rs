//! What the configuration says about people and lives.

use std::collections::BTreeMap;
use std::time::Duration;

use rp_base::{Id, Timestamp};
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

/// Groups, lives and reasons (`[roles]`, `[access]`, `[elevation]` and `[robots]` of the configuration).
#[derive(Debug, Clone)]
pub struct Policy {
    /// Which of the provider's groups give which role; compared exactly (`contract/portal.md` §6).
    pub groups: BTreeMap<Role, Vec<String>>,
    /// Life of a grant when none is asked for.
    pub default_life: Duration,
    /// Longest life that is given.
    pub max_life: Duration,
    /// Longest life of a grant above read-only.
    pub max_power_life: Duration,
    /// Longest life of a grant from its making, extensions included.
    pub max_total_life: Duration,
    /// Longest life of a renewed token.
    pub renew_life: Duration,
    /// The one-time password of an SSH grant opens a shell within this time of its making.
    pub password_life: Duration,
    /// Shortest life of a grant, an elevation or a robot.
    pub min_life: Duration,
    /// Shortest reason, in characters.
    pub min_reason: usize,
    /// Living grants a person may hold at once.
    pub max_grants: usize,
    /// Streams that a person or a robot may have open at once on one replica.
    pub max_streams: usize,
    /// Other requests to clusters that a person or a robot may have under way at once on one replica.
    pub max_requests: usize,
    /// Dangerous actions need a sign-in younger than this.
    pub fresh_sign_in: Duration,
    /// Groups whose elevations need no approver.
    pub elevation_self_service: Vec<String>,
    /// The most rights that such an elevation gives.
    pub self_service_rights: Rights,
    /// Longest life of an elevation.
    pub max_elevation: Duration,
    /// Whether people may elevate without an approver, loudly.
    pub break_glass: bool,
    /// Longest life of a robot.
    pub max_robot_life: Duration,
    /// The provider's client ids and the names of the robots that they are.
    pub robot_clients: BTreeMap<String, String>,
    /// Rate limits of requests.
    pub rates: PerMinute,
    /// What happens to accesses while the store is away.
    pub outage: Outage,
}

/// What happens to accesses while the store is away (`contract/rules.md` §3.7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outage {
    /// New ones are refused after 5 s, streams are cut after 15 s.
    #[default]
    Refuse,
    /// Those in use live on, audited to local disk.
    Spool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            groups: BTreeMap::new(),
            default_life: Duration::from_secs(6 * 3600),
            max_life: Duration::from_secs(12 * 3600),
            max_power_life: Duration::from_secs(6 * 3600),
            max_total_life: Duration::from_secs(24 * 3600),
            renew_life: Duration::from_secs(15 * 60),
            password_life: Duration::from_secs(120),
            min_life: Duration::from_secs(60),
            min_reason: 10,
            max_grants: 100,
            max_streams: 1000,
            max_requests: 500,
            fresh_sign_in: Duration::from_secs(15 * 60),
            elevation_self_service: Vec::new(),
            self_service_rights: Rights::Write,
            max_elevation: Duration::from_secs(4 * 3600),
            break_glass: true,
            max_robot_life: Duration::from_secs(90 * 24 * 3600),
            robot_clients: BTreeMap::new(),
            rates: PerMinute::default(),
            outage: Outage::Refuse,
        }
    }
}

impl Policy {
    /// The roles that a person's groups give.
    pub fn roles_of(&self, groups: &[String]) -> Roles {
        let given = |wanted: &[String]| wanted.iter().any(|group| groups.contains(group));
        self.groups.iter().filter(|(_, wanted)| given(wanted)).map(|(role, _)| *role).collect()
    }

    /// What every robot may do beside its scope.
    pub(crate) fn robot_roles() -> Roles {
        Roles::NONE.with(Role::Sre)
    }

    /// Those of a person's groups that mean something here, in configured order, each once.
    pub fn known_groups(&self, groups: &[String]) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for group in self.groups.values().flatten().chain(&self.elevation_self_service) {
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
        rights <= self.self_service_rights
            && self.elevation_self_service.iter().any(|group| groups.contains(group))
    }

    /// The longest life of a grant with these rights.
    pub fn longest(&self, rights: Rights) -> Duration {
        if rights > Rights::Read { self.max_power_life.min(self.max_life) } else { self.max_life }
    }

    /// A grant that was made longer ago than this has ended, unless it is a robot's token.
    pub(crate) fn oldest_life(&self) -> Duration {
        self.max_total_life.max(self.max_life)
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

    #[test]
    fn self_service_is_by_group_and_up_to_its_rights() {
        let policy = Policy { elevation_self_service: vec!["on-call".to_owned()], ..Policy::default() };
        let on_call = ["on-call".to_owned()];
        assert!(policy.is_self_service(&on_call, Rights::Write));
        assert!(!policy.is_self_service(&on_call, Rights::Admin));
        assert!(!policy.is_self_service(&["On-Call".to_owned()], Rights::Write));
        assert_eq!(policy.known_groups(&on_call), on_call);
    }
}
