//! `[private_link]`.

use std::path::PathBuf;

use rp_settings::check::missing_once;
use rp_settings::{Reader, SecretFile, dial, optional_file, secret, section, text, word, words};

section! {
    /// How private addresses of clusters are reached.
    "private_link" pub(crate) struct LinkKeys {
        /// Dial addresses directly, or through a CONNECT proxy.
        way: DialMethod = word("direct").also_as("PROXY_HOSTNAME", connect),
        /// The CONNECT proxy.
        address: Option<String> = dial().also_as("PROXY_HOSTNAME", port_443),
        /// The name in the CONNECT proxy's certificate.
        server_name: String = text("proxy"),
        /// PEM: the only CA, or the certificate itself, to trust for the CONNECT proxy.
        ca_file: Option<PathBuf> = optional_file(),
        /// PEM: our certificate towards the CONNECT proxy.
        client_cert_file: Option<PathBuf> = optional_file(),
        /// PEM: the key of that certificate.
        client_key_file: Option<SecretFile> = secret(),
    }
}

words! {
    /// The word for a way.
    pub(crate) enum DialMethod {
        Direct = "direct",
        Connect = "connect",
    }
}

#[derive(Debug, Clone)]
pub struct PrivateLink {
    pub way: PrivateLinkMode,
}

/// How private addresses are reached (`contract/portal.md` §12.2, §12.3).
#[derive(Debug, Clone)]
pub enum PrivateLinkMode {
    Direct,
    Connect {
        /// `host:port`.
        address: String,
        server_name: String,
        ca_file: PathBuf,
        client_cert_file: PathBuf,
        client_key_file: SecretFile,
    },
}

fn connect(_: &str) -> String {
    "connect".to_owned()
}

fn port_443(host: &str) -> String {
    format!("{host}:443")
}

/// A CONNECT proxy needs all of its parts.
pub(crate) fn read(r: &mut Reader) -> PrivateLink {
    let keys = LinkKeys::read(r);
    let connect = keys.way == DialMethod::Connect;
    if connect {
        for key in [
            "private_link.address",
            "private_link.ca_file",
            "private_link.client_cert_file",
            "private_link.client_key_file",
        ] {
            if !r.is_set(key) {
                missing_once(r, key, "is needed with private_link.way = \"connect\"");
            }
        }
    } else if r.is_set("private_link.address") {
        r.mistake("private_link.address", "has no effect unless private_link.way is \"connect\"");
    }
    let way = if connect { proxy(keys) } else { None };
    PrivateLink { way: way.unwrap_or(PrivateLinkMode::Direct) }
}

fn proxy(keys: LinkKeys) -> Option<PrivateLinkMode> {
    Some(PrivateLinkMode::Connect {
        address: keys.address?,
        server_name: keys.server_name,
        ca_file: keys.ca_file?,
        client_cert_file: keys.client_cert_file?,
        client_key_file: keys.client_key_file?,
    })
}
