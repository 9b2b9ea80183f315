//! The settings files of a replica's processes.

use tests_kit::BALANCER;

/// From one look of the monitors at a cluster to the next, seconds.
pub(crate) const LOOK_EVERY: u64 = 10;
/// The resource provider's own subscription.
pub(crate) const OWN_SUBSCRIPTION: &str = "00000000-0000-4000-8000-0000000000a0";
/// The directory of that subscription.
pub(crate) const OWN_TENANT: &str = "00000000-0000-4000-8000-0000000000b0";
/// The common name of ARM's certificate.
pub(crate) const ARM: &str = "arm.test";
/// The common name of the certificate of administrators' tools.
pub(crate) const ADMIN: &str = "admin.test";

/// Store, keys, audit and admin listener, which every process has. `replica` is its number.
pub(crate) fn common(name: &str, replica: usize, admin: u16) -> String {
    format!(
        r#"[store]
kind = "postgres"
url_file = "database-{replica}"
[keys]
keyring_file = "{name}.keyring.json"
[audit]
checkpoint_key_file = "{name}.p8"
spool_file = "{name}.spool"
[imports]
allow = ["127.0.0.0/8"]
[private_link]
way = "connect"
address = "127.0.0.1:1"
ca_file = "arm-ca.pem"
client_cert_file = "server.crt"
client_key_file = "server.key"
[listen]
admin = "127.0.0.1:{admin}"
"#
    )
}

/// Portal and API proxy, after [`common`], whose last section goes on here. One person, from one address, asks for what
/// many would: rates have stories of their own.
pub(crate) fn portal(name: &str, balancer: u16, listen: u16, ssh: u16, issuer: &str) -> String {
    format!(
        r#"portal = "127.0.0.1:{listen}"
control = "{name}.sock"
proxy_protocol_from = ["{BALANCER}/32"]
[portal]
url = "https://localhost:{balancer}"
[proxy]
url = "https://127.0.0.1:{balancer}"
[tls]
cert_file = "server.crt"
key_file = "server.key"
ca_file = "ca.pem"
[oidc]
issuer = "{issuer}"
client_id = "aro"
client_secret_file = "client-secret"
scopes = ["openid", "profile", "groups"]
ca_file = "ca.pem"
[ssh]
listen = "127.0.0.1:{ssh}"
connections_per_minute = 0
[terminal]
grace = "2s"
[elevation]
self_service = ["team-sre"]
[roles]
sre = ["team-sre"]
elevated = ["team-sre"]
admin = ["team-admin"]
auditor = ["team-auditor"]
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
"#
    )
}

/// The resource provider, after [`common`]. `azure`: further lines of `[azure]`; `principal`: the object id of its
/// application. Leases are short, so that the other process goes on soon.
pub(crate) fn provider(listen: u16, azure: &str, principal: &str) -> String {
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
subscription = "{OWN_SUBSCRIPTION}"
tenant = "{OWN_TENANT}"
group = "rp-eastus"
gateway = false
service_principal = "{principal}"
[backend]
lease = "8s"
heartbeat = "2s"
poll = "1s"
retry = "200ms"
retry_most = "2s"
dequeues = 1000
"#
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
