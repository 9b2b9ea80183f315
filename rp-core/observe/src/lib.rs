//! Watches the Kubernetes objects that users view, shared among all viewers and projected to their rows (`rp_rows`).
//!
//! Entry rule: what follows a cluster's objects and knows neither a page nor the store.
//!
//! [`Observer::watch`] gives a [`WatchGuard`]: while it is held, its kinds are listed and watched, once for all
//! viewers of the cluster. The known state is a [`ClusterSnapshot`], whose slices have a state of their own and
//! keep the last known objects when a watch breaks.

mod cluster;
mod fetch;
mod follow;
mod kinds;
mod metrics;
mod observer;
mod snapshot;
#[cfg(test)]
mod tests;
mod watch_error;
mod watch_guard;
mod wire;

pub use fetch::FetchError;
pub use kinds::Kind;
pub use metrics::register_metrics;
pub use observer::{ObserveLimits, Observer, ObserverParts};
pub use snapshot::{ClusterSnapshot, DisplayText, Slice, SliceState, SliceSummary};
pub use watch_guard::WatchGuard;
