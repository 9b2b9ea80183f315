//! Notifications: elevations, failures, certificates and clusters that do not answer, told to receivers outside.
//!
//! Each event is a document of its own for each destination before anything is sent. One process of the fleet reads the
//! change feeds and sends; a receiver may get a notification again, with the same id, and never loses one that was
//! recorded. [`Notifier::start`] begins; [`Notifications`] is what pages and the API show of it.

mod addresses;
mod courier;
mod endpoint;
mod events;
mod feeds;
mod health;
mod lease;
mod metrics;
mod notifications;
mod notifier;
mod options;
mod outbox;
mod post;
mod shapes;
mod signature;
#[cfg(test)]
mod tests;

pub use endpoint::{Endpoint, InvalidEndpoint};
pub use notifications::{DestinationView, Notifications, UnknownDestination};
pub use notifier::{Notifier, NotifierParts};
pub use options::{Destination, Shape, TOPICS};
pub use signature::{ID, SIGNATURE, TIMESTAMP, signature};

/// Registers what notifications count: for the generated reference, and once by [`Notifier::start`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::NotifyMetrics::register(registry);
}
