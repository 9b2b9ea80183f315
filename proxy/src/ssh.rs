//! Shells on the machines of clusters (`contract/portal.md` §15–17 with its "Do better" 21–27).
//!
//! [`server`] is the bastion that people's SSH clients reach; [`leg`] the connection towards a machine, which
//! the terminal in the browser uses too. [`machines`], [`host_keys`] and [`keys`] say which machines there are, what
//! they show, and with which keys we show ourselves.

mod agent;
mod algorithms;
mod audit;
mod auth;
mod banner;
mod connection;
mod gate;
pub mod host_keys;
mod idle;
pub mod keys;
pub mod leg;
mod limits;
pub mod machines;
mod metrics;
mod program;
mod relay;
pub mod server;
mod session;

pub use agent::Witness;
pub use leg::{Leg, LegError, LegOptions, LegParts, Legs};
pub use server::{Bastion, BastionParts};

/// Registers what the bastion counts: for the generated reference, and once by [`Bastion::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::SshMetrics::register(registry);
}
