//! Settings of replicas that share a store behind a balancer.

use crate::BALANCER;

/// What every process has: store, keys, audit, imports and the admin listener. The last section is `[listen]`, so lines
/// of that section may follow. `name` names the files of the process; `database_file` has the URL of the database;
/// `store` are further lines of `[store]`, each with its end.
pub fn process_settings(name: &str, database_file: &str, store: &str, admin: u16) -> String {
    format!(
        r#"[store]
kind = "postgres"
url_file = "{database_file}"
{store}[keys]
keyring_file = "{name}.keyring.json"
[audit]
checkpoint_key_file = "{name}.p8"
spool_file = "{name}.spool"
[imports]
allow = ["127.0.0.0/8"]
[listen]
admin = "127.0.0.1:{admin}"
"#
    )
}

/// Portal, API proxy and SSH of a replica behind [`Haproxy`](crate::Haproxy).
#[derive(Debug, Clone, Copy)]
pub struct PortalSettings<'a> {
    /// The name of its files.
    pub name: &'a str,
    /// The port that people use.
    pub balancer: u16,
    /// The port that the balancer passes on to.
    pub web: u16,
    pub ssh: u16,
    /// The OpenID provider.
    pub issuer: &'a str,
    /// Further lines of `[ssh]`, each with its end.
    pub ssh_lines: &'a str,
}

impl PortalSettings<'_> {
    /// The text that follows [`process_settings`]. It ends in the section `[roles]`; whole sections may follow.
    pub fn toml(&self) -> String {
        let Self { name, balancer, web, ssh, issuer, ssh_lines } = self;
        format!(
            r#"portal = "127.0.0.1:{web}"
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
{ssh_lines}[elevation]
self_service = ["team-sre"]
[roles]
sre = ["team-sre"]
elevated = ["team-sre"]
admin = ["team-admin"]
auditor = ["team-auditor"]
"#
        )
    }
}
