//! What pages and JSON show alike: the index of clusters, what is read from a cluster, grants, imports, recordings,
//! views; and [`state::PortalState`], which every handler works with. No handler and no template is in here.

pub mod access_kinds;
pub mod access_offer;
pub mod actions;
pub mod audit_kinds;
pub mod cluster_document;
pub mod cluster_list;
mod feed;
pub mod fleet_maintenance;
pub mod fleet_schedules;
pub mod grant_fields;
pub mod grant_search;
pub mod host_keys;
pub mod import_ssh;
pub mod imports;
pub mod index;
pub mod live_limits;
pub mod look;
pub mod maintenance;
pub mod named_cluster;
pub mod notifications;
pub mod objects;
pub mod operations;
pub mod operator;
pub mod parts;
pub mod prom;
pub mod recordings;
pub mod saved;
pub mod session_follow;
pub mod ssh;
pub mod state;
pub mod time_range;
pub mod tunnels;
pub mod views;
pub mod vms;
