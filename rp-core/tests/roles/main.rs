//! Roles over the process's services, in a process that links neither portal nor proxy.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod azure;
mod provider;
mod site;
