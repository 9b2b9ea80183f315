//! Wiring of the resource provider: [`Services`] opens what a process has one of, and a module for each role builds the
//! role on it. Nothing here knows the portal or the proxy, so that every role links without them.
//!
//! `reseal` is here because it needs both store and keyring.

pub mod backend;
pub mod environment;
pub mod files;
pub mod frontend;
mod installs;
pub mod listener_limits;
pub mod maintenance;
pub mod monitor;
pub mod notify;
pub mod process;
pub mod provider;
pub mod reload;
pub mod reseal;
pub mod services;

pub use services::{OpenError, Services};

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
