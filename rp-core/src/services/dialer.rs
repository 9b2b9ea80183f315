//! `[private_link]` and `[imports]` into the one dialer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rp_config::{PrivateLinkMode, Settings};
use rp_net::tls::client_config;
use rp_net::{ConnectProxy, Credential, Dialer, DialerOptions, Networks, PrivateWay};
use rustls_pki_types::ServerName;

use crate::files::read;

/// Silence before the first probe (`contract/portal.md` §1.3).
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Reads the files of the CONNECT proxy; connects nowhere.
pub(super) fn open(settings: &Settings) -> anyhow::Result<Dialer> {
    let private = match &settings.private_link.way {
        PrivateLinkMode::Direct => PrivateWay::Direct,
        PrivateLinkMode::Connect { address, server_name, ca_file, client_cert_file, client_key_file } => {
            let ca = read(ca_file)?;
            let credential = Credential::Certificate {
                chain_pem: read(client_cert_file)?,
                key_pem: client_key_file.read()?,
            };
            let tls = client_config(&ca, Some(&credential), &[]).context("[private_link]")?;
            let server_name = ServerName::try_from(server_name.clone())
                .map_err(|_| anyhow!("[private_link] server_name is no server name"))?;
            PrivateWay::Connect(ConnectProxy { address: address.clone(), server_name, tls: Arc::new(tls) })
        }
    };
    Ok(Dialer::new(DialerOptions { private, networks: networks(settings), keepalive: KEEPALIVE }))
}

/// Where imported clusters may be: never our own networks and listeners.
pub fn networks(settings: &Settings) -> Networks {
    Networks::new(settings.imports.allow.clone(), own_listeners(settings))
        .without(settings.access.own_networks.clone())
}

/// What this process listens on: it is dialled by nothing that people enter.
pub fn own_listeners(settings: &Settings) -> Vec<SocketAddr> {
    let web = [settings.listen.portal, settings.listen.admin];
    let rp = settings.rp.api.enabled.then_some(settings.rp.api.listen);
    web.into_iter().chain(settings.ssh.listen).chain(rp).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rp_config::{Input, Override};

    use super::*;

    #[test]
    fn own_networks_and_listeners_are_never_dialled() {
        let set = |key, value| Override { key, value, flag: "--set" };
        let overrides = [
            set("imports.allow", "10.0.0.0/8"),
            set("access.own_networks", "10.255.0.0/24"),
            set("listen.portal", "10.1.0.1:8444"),
        ];
        let environment = BTreeMap::new();
        let input = Input { file: None, environment: &environment, overrides: &overrides, needs: &[] };
        let networks = networks(&rp_config::parse(&input).unwrap());
        let allows = |address: &str| networks.check(address.parse().unwrap()).is_ok();
        assert!(allows("10.1.0.1:6443") && allows("10.255.1.1:6443"));
        assert!(!allows("10.1.0.1:8444") && !allows("10.255.0.1:6443"));
    }
}
