//! The controllers (`contract/operator.md` §8): a row of [`TABLE`], a file and a test each.

mod alert_webhook;
mod auto_sized_nodes;
mod banner;
mod cloud_provider;
mod cluster_dns;
mod cluster_operator;
mod control_plane_machines;
mod dnsmasq;
mod etc_hosts;
mod flow_logs;
mod geneva_logging;
mod guardrails;
mod image_config;
mod ingress;
mod ingress_certificate;
mod internet;
mod machine_configs;
mod machine_health_check;
mod machine_sets;
mod machines;
mod monitoring;
mod network_policy;
mod node_drainer;
mod pull_secret;
mod rbac;
mod route_fix;
mod service_principal;
mod storage_accounts;
mod subnets;
mod table;
mod upgrade_operator;
mod workarounds;
mod yaml;

pub use table::{TABLE, markdown};
