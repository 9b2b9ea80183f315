//! What every process does: logging, the admin listener, its end.

pub mod admin;
pub mod control;
#[cfg(feature = "heap-profile")]
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
#[cfg(feature = "heap-profile")]
pub use heap::Allocator;
pub use lifecycle::{Lifecycle, ShutdownTimeouts, on_hangup};
pub use logging::{InvalidFilter, LogControl, LogError, flush_log, start_logging};
pub use panics::count_panics;
pub use readiness::{Check, Readiness, Report};
pub use tasks::register as register_runtime_metrics;
pub use watch::{WATCH_PERIOD, Watch};

/// Registers what every process counts: its tasks, its panics, what the kernel knows of it.
pub fn register_process_metrics(registry: &rp_metrics::Registry) {
    register_runtime_metrics(registry);
    count_panics(registry);
    rp_metrics::process::register(registry);
}
