//! What every process does: logging, the admin listener, its end.

pub mod admin;
pub mod control;
#[cfg(feature = "jemalloc")]
mod heap;
mod lifecycle;
mod logging;
mod memory;
mod panics;
#[cfg(feature = "profiling")]
mod profile;
mod readiness;
mod tasks;
mod watch;

pub use admin::{Admin, AdminError};
#[cfg(feature = "jemalloc")]
pub use heap::Allocator;
pub use lifecycle::{Lifecycle, ShutdownTimeouts, on_hangup};
pub use logging::{InvalidFilter, LogControl, LogError, LogOutput, flush_log, start_logging};
pub use panics::count_panics;
pub use readiness::{Check, Readiness, Report};
pub use tasks::register as register_runtime_metrics;
pub use watch::{WATCH_PERIOD, Watch};

/// The build: the commit or tag where the build names it (`ARO_COMMIT`, `contract/deploy.md` §1), else the version of the
/// workspace.
pub const VERSION: &str = match option_env!("ARO_COMMIT") {
    Some(commit) => commit,
    None => env!("CARGO_PKG_VERSION"),
};

/// Registers what every process counts: its build, its tasks, its panics, what the kernel knows of it, whether it is ready.
/// `service`: its role (`contract/metrics.md` §4.1).
pub fn register_process_metrics(registry: &rp_metrics::Registry, service: &'static str) {
    let build =
        rp_metrics::Spec { name: "aro_build_info", help: "1, with the role and the build.", buckets: &[] };
    registry.info(build, &["service", "version"], &[service, VERSION]);
    readiness::register_metrics(registry);
    rp_metrics::register_round_metrics(registry);
    register_runtime_metrics(registry);
    count_panics(registry);
    rp_metrics::process::register(registry);
}
