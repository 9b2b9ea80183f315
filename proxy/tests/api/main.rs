//! The Kubernetes API proxy behind its real listener, between raw clients and scripted API servers.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod allocations;
mod audited;
mod elevated;
mod endings;
mod failures;
#[path = "../../../rp-core/access/tests/grants/faults.rs"]
mod faults;
mod identity;
mod ipv6;
mod limited;
mod passing;
mod pooled;
mod releases;
mod reviews;
mod rights;
mod smuggling;
mod stalled;
mod trusted;
mod upgrades;
mod upstream;
mod wire;
mod withheld;
mod world;
