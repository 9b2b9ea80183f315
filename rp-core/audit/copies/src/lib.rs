//! Copies of the audit log elsewhere: files, syslog, HTTP. Each sink has its own place in the log, kept in the store, and
//! moves it on only after the copy was taken: nothing is left out, something may come twice. Entries of a writer
//! arrive in their order. Checkpoints and tombstones are copied too: with them a log that was truncated in the store
//! is detected.
//!
//! [`Sinks::start`] begins to copy; the log is given the result as its [`rp_audit::Copies`].

mod cursor;
mod file;
mod format;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod http;
mod metrics;
mod options;
mod outlet;
mod runner;
mod sinks;
mod syslog;

pub use format::{IfxOrigin, SinkFormat};
pub use options::{SinkOptions, SinkPolicy, SinkTarget, SyslogTarget};
pub use sinks::Sinks;

/// Registers the metrics of the copies: for the generated reference, and once by [`Sinks::start`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::SinkMetrics::register(registry);
}

#[cfg(test)]
mod tests;
