//! Servers that stand in for what our processes work with: Azure with the service's own resources, and a machine by SSH.
//!
//! They are apart from `tests-kit` because of what they depend on, which most tests do not need.

pub mod azure;
mod ssh_machine;

pub use azure::Azure;
pub use ssh_machine::{CommandAnswer, SshMachine, serve_ssh};
