//! Watches of what somebody looks at, shared among all who look, projected to small plain structs.
//!
//! Entry rule: what follows a cluster's objects and knows neither a page nor the store.
//!
//! [`Observer::watch`] gives a [`Viewing`]: while it is held, the kinds it names are listed and watched, once for all
//! viewers of the cluster. What is known stands in a [`ClusterSnapshot`], whose slices say how well they are known and
//! keep what was last seen when a watch breaks.

mod cluster;
mod fetch;
mod follow;
mod kinds;
mod metrics;
pub mod namespaces;
pub mod objects;
mod observer;
mod snapshot;
#[cfg(test)]
mod tests;
mod trouble;
mod viewing;
mod wire;

pub use fetch::FetchError;
pub use kinds::Kind;
pub use metrics::register_metrics;
pub use observer::{ObserveLimits, Observer, ObserverParts};
pub use snapshot::{ClusterSnapshot, Shown, Slice, SliceState, SliceSummary};
pub use viewing::Viewing;
