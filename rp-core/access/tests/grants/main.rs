//! Grants as portal and proxy use them: against the embedded store in memory, with a store that fails on request.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod allocations;
mod authenticating;
mod automation;
mod clocks;
mod directory;
mod elevating;
mod ending;
mod faults;
mod freshness;
mod identity;
mod issuing;
mod managing;
mod robots;
mod scale;
mod ssh;
mod world;
