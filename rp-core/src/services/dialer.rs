//! `[private_link]` and `[imports]` into the one dialer.

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

/// Where imported clusters may be: never our own listeners.
pub fn networks(settings: &Settings) -> Networks {
    let web = [settings.listen.portal, settings.listen.admin];
    let rp = settings.rp.api.enabled.then_some(settings.rp.api.listen);
    let own = web.into_iter().chain(settings.ssh.listen).chain(rp);
    Networks::new(settings.imports.allow.clone(), own.collect())
}
