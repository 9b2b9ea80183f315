//! How a Prometheus of an imported cluster is reached, as the configuration writes it.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// `pod:NAMESPACE/POD:PORT`, `service:NAMESPACE/SERVICE:PORT` (with `https:` before the service for TLS
/// behind the API server's proxy), or `http(s)://host:port/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UpstreamAddress {
    /// Port-forward.
    Pod { namespace: String, pod: String, port: u16 },
    /// The API server's service proxy.
    Service { namespace: String, service: String, port: String, tls: bool },
    /// An address inside the allowed networks; checked when it is dialled.
    Address(Url),
}

/// The text is not a valid address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a way is pod:NAMESPACE/POD:PORT, service:NAMESPACE/SERVICE:PORT or an http(s) URL")]
pub struct InvalidUpstreamAddress;

impl FromStr for UpstreamAddress {
    type Err = InvalidUpstreamAddress;

    fn from_str(text: &str) -> Result<Self, InvalidUpstreamAddress> {
        if let Some(rest) = text.strip_prefix("pod:") {
            let (namespace, pod, port) = place(rest)?;
            return Ok(Self::Pod { namespace, pod, port: port.parse().map_err(|_| InvalidUpstreamAddress)? });
        }
        if let Some(rest) = text.strip_prefix("service:") {
            let (rest, tls) = rest.strip_prefix("https:").map_or((rest, false), |rest| (rest, true));
            let (namespace, service, port) = place(rest)?;
            return Ok(Self::Service { namespace, service, port, tls });
        }
        let url = Url::parse(text).map_err(|_| InvalidUpstreamAddress)?;
        let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        if matches!(url.scheme(), "http" | "https")
            && url.host().is_some()
            && plain
            && url.password().is_none()
        {
            Ok(Self::Address(url))
        } else {
            Err(InvalidUpstreamAddress)
        }
    }
}

fn place(text: &str) -> Result<(String, String, String), InvalidUpstreamAddress> {
    let (namespace, rest) = text.split_once('/').ok_or(InvalidUpstreamAddress)?;
    let (name, port) = rest.rsplit_once(':').ok_or(InvalidUpstreamAddress)?;
    let good = |name: &str| {
        (1..=253).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
    };
    if good(namespace) && good(name) && good(port) {
        Ok((namespace.to_owned(), name.to_owned(), port.to_owned()))
    } else {
        Err(InvalidUpstreamAddress)
    }
}

impl UpstreamAddress {
    /// The kind of connection, as shown to users.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Pod { .. } => "port-forward",
            Self::Service { .. } => "service proxy",
            Self::Address(_) => "address",
        }
    }
}

impl fmt::Display for UpstreamAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod { namespace, pod, port } => write!(f, "{namespace}/{pod}:{port}"),
            Self::Service { namespace, service, port, .. } => write!(f, "{namespace}/{service}:{port}"),
            Self::Address(url) => write!(f, "{url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_three_ways_and_nothing_else() {
        for (text, kind, shown) in [
            ("pod:monitoring/prometheus-0:9090", "port-forward", "monitoring/prometheus-0:9090"),
            ("service:https:monitoring/prometheus:web", "service proxy", "monitoring/prometheus:web"),
            ("http://10.0.0.1:9090/prom", "address", "http://10.0.0.1:9090/prom"),
        ] {
            let way: UpstreamAddress = text.parse().unwrap();
            assert_eq!((way.kind(), way.to_string().as_str()), (kind, shown));
        }
        for text in [
            "",
            "pod:a/b",
            "pod:a/b:x",
            "pod:a/../b:1",
            "service:a:1",
            "ftp://x/",
            "http://u:p@h/",
            "http://h/?q=1",
            "service:a/b:80/../../x",
        ] {
            assert_eq!(text.parse::<UpstreamAddress>(), Err(InvalidUpstreamAddress), "{text}");
        }
    }
}
