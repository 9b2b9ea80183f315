//! The operator inside a cluster (`contract/operator.md`): the controllers and the process that runs them.
//!
//! Entry rule: what runs inside a cluster and talks to its API server or to Azure. What an object looks like is in
//! `rp-operator-objects`.

pub mod access;
pub mod api;
pub mod apply;
pub mod azure;
pub mod controller;
pub mod controllers;
pub mod gate;
pub mod health;
pub mod kinds;
pub mod lease;
pub mod manifests;
pub mod metrics;
pub mod metrics_listener;
pub mod plan;
pub mod process;
pub mod queue;
pub mod readers;
pub mod runner;
pub mod status;
#[cfg(test)]
mod testing;
pub mod watch;
