//! The controllers (`contract/operator.md` §8): a row of [`TABLE`], a file and a test each.

mod alert_webhook;
mod auto_sized_nodes;
mod banner;
mod cloud_provider;
mod cluster_dns;
mod cluster_operator;
mod control_plane_machines;
mod ingress;
mod ingress_certificate;
mod internet;
mod machine_sets;
mod machines;
mod monitoring;
mod node_drainer;
mod route_fix;
mod table;
mod yaml;

pub use table::{TABLE, markdown};
