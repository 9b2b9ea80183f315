//! The settings files of a replica's processes.

use tests_kit::{PortalSettings, process_settings};
use tests_stand_ins::azure;

/// From one look of the monitors at a cluster to the next, seconds.
pub(crate) const LOOK_EVERY: u64 = 10;
/// The common name of ARM's certificate.
pub(crate) const ARM: &str = "arm.test";
/// The common name of the certificate of administrators' tools.
pub(crate) const ADMIN: &str = "admin.test";

/// A cluster's API is at a port where nobody listens: clusters of the resource provider are never finished.
const PRIVATE_LINK: &str = r#"[private_link]
way = "connect"
address = "127.0.0.1:1"
ca_file = "arm-ca.pem"
client_cert_file = "server.crt"
client_key_file = "server.key"
"#;

/// One person, from one address, asks for what many would: rates have stories of their own.
const NO_RATES: &str = r#"[terminal]
grace = "2s"
[access]
max_streams = 100000
max_grants = 10000
[limits]
connections_per_minute = 0
sign_in_per_minute = 0
issue_per_minute = 0
renewals_per_minute = 0
misses_per_minute = 0
streams_per_minute = 0
cluster_requests_per_second = 0
"#;

/// Store, keys, audit and admin listener, which every process has. `replica` is its number.
pub(crate) fn common(name: &str, replica: usize, admin: u16) -> String {
    format!("{PRIVATE_LINK}{}", process_settings(name, &format!("database-{replica}"), "", admin))
}

/// Portal and API proxy, after [`common`], whose last section goes on here.
pub(crate) fn portal(name: &str, balancer: u16, web: u16, ssh: u16, issuer: &str) -> String {
    let ssh_lines = "connections_per_minute = 0\n";
    format!("{}{NO_RATES}", PortalSettings { name, balancer, web, ssh, issuer, ssh_lines }.toml())
}

/// The resource provider, after [`common`]. `azure`: further lines of `[azure]`.
pub(crate) fn provider(listen: u16, azure: &str) -> String {
    format!(
        r#"[azure]
region = "eastus"
{azure}[rp]
listen = "127.0.0.1:{listen}"
cert_file = "server.crt"
key_file = "server.key"
domain = "eastus.aroapp.io"
ready_delay = "1ms"
read_time = "10s"
arm_ca_file = "arm-ca.pem"
arm_common_name = "{ARM}"
admin_ca_file = "admin-ca.pem"
admin_common_name = "{ADMIN}"
{}"#,
        azure::provider_settings()
    )
}

/// The monitor, after [`common`].
pub(crate) fn monitor() -> String {
    format!(
        r#"[monitor]
interval = "{LOOK_EVERY}s"
start_delay = "1s"
timeout = "8s"
grace = "1s"
bucket_interval = "500ms"
worker_ttl = "6s"
lease = "6s"
feed_poll = "500ms"
verify = "2s"
record_interval = "1s"
ready_delay = "1ms"
ready_within = "6s"
drain = "5s"
"#
    )
}
