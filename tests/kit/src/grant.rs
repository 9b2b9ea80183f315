//! Grants that nobody issued.

use rp_base::{Digest, Id, SystemRandom, Timestamp};
use rp_documents::{Grant, GrantKind, GrantOptions, Person, Rights, Unknown};

/// A grant without a target that reads, has a random id and no token, and is valid from `created` until `not_after`. Its
/// owner has the same subject and name and is in no group. A test sets what it needs: `Grant { target, ..grant(…) }`.
pub fn grant(kind: GrantKind, owner: &str, created: Timestamp, not_after: Timestamp) -> Grant {
    Grant {
        id: Id::random(&SystemRandom),
        kind,
        owner: Person { sub: owner.to_owned(), name: owner.to_owned(), groups: Vec::new() },
        target: None,
        rights: Rights::Read,
        reason: String::new(),
        ticket: None,
        elevation_id: None,
        parent: None,
        renewal: false,
        machine: None,
        destinations: Vec::new(),
        options: GrantOptions::default(),
        created,
        auth_time: None,
        not_after,
        revoked: None,
        secret_sha256: Digest::default(),
        unknown: Unknown::new(),
    }
}
