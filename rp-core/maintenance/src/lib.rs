//! Maintenance of clusters (`contract/mimo.md`): the scheduler writes manifests when schedules are due, the actuator runs
//! them.
//!
//! Entry rule: what decides which maintenance task runs on which cluster, and when. What a manifest and a schedule are
//! stands in `rp_documents::maintenance`, what a task does in `rp-cluster`.

mod actuator;
mod caches;
mod cluster_tasks;
mod ending;
mod lease;
mod metrics;
mod run;
mod scheduler;
mod service;
mod task;

pub use cluster_tasks::ClusterTasks;
pub use metrics::{MaintenanceMetrics, register_metrics};
pub use run::Run;
pub use service::{MaintenanceParts, MaintenanceService, Ready, StartError};
pub use task::{TaskError, TaskJob, TaskRunner};
