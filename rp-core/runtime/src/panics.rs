//! Panics are counted and logged once, without their stack on standard error.

use rp_base::text::clean;
use rp_metrics::{Counter, Register as _, Registry, Spec};

/// Logs each panic as one event and counts it in `process_panics_total`.
pub fn count_panics(registry: &Registry) {
    let spec = Spec { name: "process_panics_total", help: "Panics since the start.", buckets: &[] };
    let counter = Counter::register(registry, spec);
    std::panic::set_hook(Box::new(move |panic| {
        counter.inc();
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = clean(panic.payload_as_str().unwrap_or("a panic without text"), 500);
        let thread = std::thread::current();
        tracing::error!(place, thread = thread.name().unwrap_or(""), message, "panic");
    }));
}
