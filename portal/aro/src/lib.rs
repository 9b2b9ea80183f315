//! Wiring of the portal and the proxy, and the commands of `aro`; `aro` is these functions behind a command line,
//! `aro-dev` the same with a simulated region.

pub mod api;
pub mod args;
pub mod audit;
pub mod command_reference;
pub mod completion;
pub mod config_args;
pub mod control;
pub mod doctor;
pub mod front;
pub mod keys;
pub mod metrics;
mod monitor_look;
pub mod monitor_once;
pub mod output;
mod portal_parts;
pub mod print;
mod proxy_front;
mod proxy_parts;
pub mod proxy_role;
pub mod proxy_tools;
mod recording;
pub mod serve;
pub mod ssh;
pub mod store;
pub mod store_copy;
pub mod store_restore;
