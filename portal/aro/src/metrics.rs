//! What the portal and the proxy count.

use std::sync::Arc;

use rp_metrics::{Kind, Registry, Spec};
use rp_net::listen::Gauge;

/// Registers everything that `aro serve` counts.
pub fn register(registry: &Registry, front: &Arc<Gauge>) {
    rp_runtime::register_process_metrics(registry, "portal");
    rp_net::rate::register_metrics(registry);
    rp_net::tls::register_metrics(registry);
    rp_net::door::register_metrics(registry);
    rp_audit::register_metrics(registry);
    rp_audit_copies::register_metrics(registry);
    rp_recording::register_metrics(registry);
    rp_access::register_metrics(registry);
    rp_notify::register_metrics(registry);
    portal::register_metrics(registry);
    proxy::api::register_metrics(registry);
    proxy::prom::register_metrics(registry);
    proxy::ssh::register_metrics(registry);
    proxy::tunnel_endpoint::register_metrics(registry);
    proxy::terminal::register_metrics(registry);
    rp_net::budget::register_metrics(registry);
    rp_observe::register_metrics(registry);
    let (front, help) = (Arc::clone(front), "Connections open at the web listener.");
    #[expect(clippy::cast_precision_loss, reason = "connections are few")]
    let open = move || Some(front.open() as f64);
    registry.callback(Kind::Gauge, Spec { name: "aro_front_connections", help, buckets: &[] }, open);
}
