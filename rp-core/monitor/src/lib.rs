//! Checks every cluster from outside and turns the result into metrics (`contract/monitor.md`). It never
//! changes a cluster and never writes a cluster document.
//!
//! Entry rule: what concerns one look (one check of one cluster), or its scheduling.

pub mod check;
pub mod cluster_objects;
pub mod collect;
pub mod connect;
pub mod emit;
pub mod expose;
#[cfg(test)]
mod fake_cluster;
pub mod feed;
pub mod fetch;
pub mod health;
pub mod hive;
mod looks;
pub mod mirror;
pub mod names;
pub mod nsg;
pub mod objects;
pub mod once;
pub mod runner;
pub mod sample;
pub mod service;
pub mod view;
pub mod worker;

pub use service::{Emit, MonitorParts, MonitorService, StartError};
pub use view::{ClusterView, WorkerProfile};
pub use worker::{Look, LookOutcome, Round};
