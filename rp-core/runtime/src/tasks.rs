//! The Tokio runtime's numbers (`contract/metrics.md` §4.2 `aro_runtime_*`).

use rp_metrics::{Kind, Registry, Spec};
use serde_json::{Value, json};
use tokio::runtime::{Handle, RuntimeMetrics};

/// Registers the runtime's metrics. Call it on the runtime.
pub fn register(registry: &Registry) {
    let metrics = Handle::current().metrics();
    let ask = |kind, name, help, read: fn(&RuntimeMetrics) -> f64| {
        let metrics = metrics.clone();
        registry.callback(kind, Spec { name, help, buckets: &[] }, move || Some(read(&metrics)));
    };
    ask(Kind::Gauge, "aro_runtime_tasks", "Tasks alive.", |m| count(m.num_alive_tasks()));
    ask(Kind::Gauge, "aro_runtime_workers", "Worker threads.", |m| count(m.num_workers()));
    ask(Kind::Gauge, "aro_runtime_queued_tasks", "Tasks in the global queue.", |m| {
        count(m.global_queue_depth())
    });
    ask(Kind::Counter, "aro_runtime_busy_seconds_total", "Time that workers were busy.", busy);
}

/// The same for people.
pub(crate) fn page() -> Value {
    let metrics = Handle::current().metrics();
    let workers: Vec<Value> = (0..metrics.num_workers())
        .map(|n| {
            let busy = metrics.worker_total_busy_duration(n).as_secs_f64();
            json!({"worker": n, "busy_seconds": busy, "parks": metrics.worker_park_count(n)})
        })
        .collect();
    json!({"tasks": metrics.num_alive_tasks(), "queued": metrics.global_queue_depth(), "workers": workers})
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
const fn count(n: usize) -> f64 {
    n as f64
}

fn busy(metrics: &RuntimeMetrics) -> f64 {
    (0..metrics.num_workers()).map(|n| metrics.worker_total_busy_duration(n).as_secs_f64()).sum()
}
