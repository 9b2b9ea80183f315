//! Tunnels to the web consoles and other TLS services of clusters: one WebSocket, many streams, a list of places.
//!
//! A grant of kind tunnel names the places; each stream's place is compared with that list before anything is dialled.
//! A cluster of ours is entered through a port-forward to a ready router pod, an imported one at the addresses that
//! its import names. TLS goes from the browser to the cluster: nothing is read here but, for a cluster of ours, the name
//! that the client asks for in its first message, for all names of an ingress lead to the same router.

mod client_hello;
mod destinations;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handle;
mod pin;
mod relay;
mod session;

pub use destinations::{DestinationError, Destinations, Offer, entry};
pub use handle::{TunnelApi, TunnelApiParts};
pub use rp_tunnel::{Destination, Keepalive};

/// Registers what is counted: for the generated reference, and once by [`TunnelApi::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    handle::TunnelMetrics::register(registry);
}
