//! The person of a test, and the groups that give rights here.

use rp_access::{Caller, Policy, Via};
use rp_base::{Id, SystemRandom};
use rp_config::SelfServiceRights;
use rp_documents::Person;

/// Group `sres` reads, group `power` elevates itself to any rights, group `admins` administers.
pub(crate) fn policy() -> Policy {
    let group = |name: &str| vec![name.to_owned()];
    Policy {
        roles: rp_config::Roles {
            sre: group("sres"),
            elevated: group("power"),
            admin: group("admins"),
            ..rp_config::Roles::default()
        },
        elevation: rp_config::Elevation {
            self_service: group("power"),
            self_service_rights: SelfServiceRights::Admin,
            ..rp_config::Elevation::default()
        },
        ..Policy::default()
    }
}

/// Ada, in those groups, signed in at the portal.
pub(crate) fn caller(groups: &[&str]) -> Caller {
    let groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
    let roles = policy().roles_of(&groups);
    let person = Person { sub: "sub-ada".to_owned(), name: "ada@example.com".to_owned(), groups };
    let request_id = Id::random(&SystemRandom);
    Caller { person, roles, from: "127.0.0.1".to_owned(), request_id, via: Via::Session }
}
