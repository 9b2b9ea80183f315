//! Where a tunnel leads: one host and one port, written in one way only.

use std::fmt;
use std::net::IpAddr;

use url::Host;

/// A host in its one form (lower case, IDNA as `xn--`, no dot at its end, addresses canonical) and a port. Two
/// destinations are the same when they are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    host: String,
    port: u16,
}

/// A text that is no destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDestination {
    #[error("it is not a host and a port, such as console.example:443")]
    Shape,
    #[error("it is not a host's name or address")]
    Host,
    #[error("its port is not a number from 1 to 65535")]
    Port,
}

impl Destination {
    /// Parses a host as a person wrote it, with a port.
    ///
    /// # Errors
    /// The host is no name (RFC 5891, RFC 1123) and no address, or the port is 0.
    pub fn new(host: &str, port: u16) -> Result<Self, InvalidDestination> {
        if port == 0 {
            return Err(InvalidDestination::Port);
        }
        // An address may stand without its brackets.
        let bracketed;
        let host = if host.contains(':') && !host.starts_with('[') {
            bracketed = format!("[{host}]");
            bracketed.as_str()
        } else {
            host
        };
        let sound = host.len() <= 255 && !host.contains(['%', '\0']) && !host.chars().any(char::is_control);
        let parsed = sound.then(|| Host::parse(host).ok()).flatten().ok_or(InvalidDestination::Host)?;
        let host = match parsed {
            Host::Ipv4(ip) => ip.to_string(),
            Host::Ipv6(ip) => match IpAddr::V6(ip).to_canonical() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            },
            Host::Domain(name) => domain(&name)?,
        };
        Ok(Self { host, port })
    }

    /// `host:port`.
    ///
    /// # Errors
    /// As [`Self::new`]; or there is no port.
    pub fn parse(text: &str) -> Result<Self, InvalidDestination> {
        let (host, port) = text.rsplit_once(':').ok_or(InvalidDestination::Shape)?;
        if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidDestination::Port);
        }
        if host.contains(':') && !host.starts_with('[') {
            return Err(InvalidDestination::Shape);
        }
        Self::new(host, port.parse().map_err(|_| InvalidDestination::Port)?)
    }

    /// As a name is asked for: an address of IPv6 in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is a name below `domain`, at any depth; never the domain itself, never an address.
    pub fn is_below(&self, domain: &str) -> bool {
        let Ok(domain) = self::domain(&domain.to_ascii_lowercase()) else { return false };
        self.host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

/// A name without its last dot, of labels that the DNS takes.
fn domain(name: &str) -> Result<String, InvalidDestination> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !name.is_empty() && name.len() <= 253 && name.split('.').all(label) {
        Ok(name.to_owned())
    } else {
        Err(InvalidDestination::Host)
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(text: &str) -> String {
        Destination::parse(text).map_or_else(|error| format!("{error:?}"), |place| place.to_string())
    }

    #[test]
    fn a_place_has_one_form() {
        for (written, form) in [
            ("Console.Apps.Example:443", "console.apps.example:443"),
            ("console.apps.example.:443", "console.apps.example:443"),
            ("bücher.example:0443", "xn--bcher-kva.example:443"),
            ("XN--BCHER-KVA.example:443", "xn--bcher-kva.example:443"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("0x7f.1:80", "127.0.0.1:80"),
            ("2130706433:80", "127.0.0.1:80"),
            ("[::1]:80", "[::1]:80"),
            ("[0:0:0:0:0:0:0:1]:80", "[::1]:80"),
            ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
            ("a_b.example:80", "a_b.example:80"),
        ] {
            assert_eq!(one(written), form, "{written}");
        }
        assert_eq!(Destination::new("fe80::1", 1).unwrap().to_string(), "[fe80::1]:1");
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for bad in [
            "",
            ":",
            ":443",
            "host",
            "host:",
            "host:0",
            "host:65536",
            "host:+1",
            "host:-1",
            "::1:80",
            "a..b:80",
            ".a:80",
            "a/b:80",
            "a@b:80",
            "a b:80",
            "%61:80",
            "a%2eb:80",
            "host:80:80",
            "..:1",
            "-a.example:1",
            "a\u{0}b:80",
            "[::1:80",
            "[fe80::1%25eth0]:80",
            "ex\u{ad}:x",
        ] {
            assert!(Destination::parse(bad).is_err(), "{bad:?} is {}", one(bad));
        }
        assert!(Destination::parse(&format!("{}:1", "a".repeat(64))).is_err());
        assert!(Destination::parse(&format!("{}a:1", "a.".repeat(127))).is_err());
    }

    #[test]
    fn a_name_stands_below_its_domain_only() {
        let below = |name: &str| Destination::new(name, 443).unwrap().is_below("Apps.Harbor.example.");
        assert!(below("console.apps.harbor.example") && below("a.b.apps.harbor.example."));
        for other in
            ["apps.harbor.example", "xapps.harbor.example", "console.apps.harbor.example.evil", "10.0.0.1"]
        {
            assert!(!below(other), "{other}");
        }
        assert!(!Destination::new("a.b", 443).unwrap().is_below(""));
    }

    proptest! {
        #[test]
        fn never_panics_and_the_form_is_its_own(text in "\\PC{0,60}", port in any::<u16>()) {
            let _ = Destination::parse(&text);
            if let Ok(place) = Destination::new(&text, port) {
                prop_assert_eq!(Destination::parse(&place.to_string()), Ok(place));
            }
        }
    }
}
