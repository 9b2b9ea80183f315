//! The JSON API of the portal: the contract's routes (`contract/portal.md` §8) and `/api/v1/…` for scripts and the
//! command line. Handlers only: which address leads to which stands in the route table of the crate `portal`.

pub mod actions;
pub mod answer;
pub mod audit;
pub mod cluster_legacy;
pub mod cluster_objects;
pub mod clusters;
pub mod elevations;
pub mod fleet;
pub mod grants;
pub mod imports;
pub mod info;
pub mod login;
pub mod looks;
pub mod maintenance;
pub mod notifications;
pub mod operations;
pub mod operator;
pub mod prom;
pub mod queries;
pub mod recordings;
pub mod robots;
pub mod schedules;
pub mod serial;
pub mod ssh;
pub mod terminals;
pub mod tunnels;
pub mod views;
