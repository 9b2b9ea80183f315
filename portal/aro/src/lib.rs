//! Wiring of the portal and proxy roles; `aro` is these functions behind a command line, `aro-dev` the
//! same with a simulated region.

pub mod api;
pub mod args;
pub mod audit;
pub mod azure;
pub mod carry;
pub mod control;
pub mod front;
pub mod keys;
pub mod monitor;
pub mod monitor_once;
pub mod moving;
pub mod parts;
pub mod print;
pub mod proxy_role;
mod recording;
pub mod reload;
pub mod restoring;
pub mod rp;
pub mod serve;
pub mod ssh;
pub mod statsd;
pub mod store;
