//! Where a receiver is.

use std::fmt;
use std::net::IpAddr;

use rp_base::Secret;
use rp_config::{address, is_local};
use url::Host;

/// The address of a receiver. Its path and query may be a key: it prints as its host alone.
#[derive(Clone)]
pub struct Endpoint {
    url: Secret<String>,
    /// `https://host:port`.
    origin: String,
    /// The host where it is an address: nothing resolves it.
    literal: Option<IpAddr>,
    port: u16,
    /// It names this machine itself.
    local: bool,
}

/// The text is no address of a receiver. The text itself is not told, for it may hold a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its address is not https://host/path (http only for this machine), without a user or a fragment")]
pub struct InvalidEndpoint;

impl Endpoint {
    /// Reads `https://…`; `http://` only where the host is this machine.
    ///
    /// # Errors
    /// [`InvalidEndpoint`].
    pub fn parse(text: &Secret<String>) -> Result<Self, InvalidEndpoint> {
        let url = address(text.expose().trim()).ok_or(InvalidEndpoint)?;
        let host = url.host().ok_or(InvalidEndpoint)?;
        let local = is_local(&host);
        let literal = match host {
            Host::Domain(_) => None,
            Host::Ipv4(ip) => Some(IpAddr::V4(ip)),
            Host::Ipv6(ip) => Some(IpAddr::V6(ip)),
        };
        let port = url.port_or_known_default().ok_or(InvalidEndpoint)?;
        let origin = url.origin().ascii_serialization();
        Ok(Self { origin, literal, port, local, url: Secret::new(url.into()) })
    }

    pub(crate) const fn url(&self) -> &Secret<String> {
        &self.url
    }

    /// Scheme, host and port: what pages show.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) const fn literal(&self) -> Option<IpAddr> {
        self.literal
    }

    /// The port that is dialled.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it names this machine itself.
    pub(crate) const fn is_local(&self) -> bool {
        self.local
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Endpoint, InvalidEndpoint> {
        Endpoint::parse(&Secret::new(text.to_owned()))
    }

    #[test]
    fn only_https_leaves_this_machine() {
        for text in [
            "http://hub.example/x",
            "http://10.0.0.1/",
            "ftp://hub.example/",
            "https://user@hub.example/",
            "https://hub.example/#x",
            "hub",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let local = parse("http://127.0.0.1:8080/hook").unwrap();
        assert!(local.is_local() && local.literal().is_some() && local.port() == 8080);
        assert!(parse("http://localhost/hook").unwrap().is_local());
        assert!(!parse("https://hub.example/").unwrap().is_local());
    }

    #[test]
    fn a_key_in_the_path_is_not_printed() {
        let endpoint = parse("https://hooks.slack.com/services/T0/B0/hunter2?sig=hunter2\n").unwrap();
        let shown = format!("{endpoint:?} {}", endpoint.origin());
        assert!(!shown.contains("hunter2") && shown.contains("https://hooks.slack.com"), "{shown}");
    }
}
