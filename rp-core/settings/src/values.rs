//! Texts into values. Pure; `None` means that the text has not the shape.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use url::{Host, Url};

/// Units of a duration, in milliseconds, largest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads `8h`, `1h30m`, `250ms`: whole numbers, each unit at most once, larger ones first.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut millis: u64 = 0;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let letters = after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, after) = after.split_at(letters);
        let (_, factor) = units.by_ref().find(|(name, _)| *name == unit)?;
        millis = millis.checked_add(number.parse::<u64>().ok()?.checked_mul(*factor)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(Duration::from_millis(millis))
}

/// Writes a duration so that [`duration`] reads it back.
pub fn show_duration(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut out = String::new();
    for (unit, factor) in UNITS {
        if rest >= factor {
            out.push_str(&format!("{}{unit}", rest / factor));
            rest %= factor;
        }
    }
    if out.is_empty() { "0s".to_owned() } else { out }
}

/// Reads an `http(s)` URL without user and fragment; `https` unless the host is this machine.
pub fn address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let host = url.host()?;
    let scheme = url.scheme() == "https" || (url.scheme() == "http" && is_local(&host));
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (scheme && bare).then_some(url)
}

/// As [`address`], without a query.
pub fn url(text: &str) -> Option<Url> {
    address(text).filter(|url| url.query().is_none())
}

/// As [`url`], without a path.
pub(crate) fn origin(text: &str) -> Option<Url> {
    url(text).filter(|url| url.path() == "/")
}

/// Whether the host names this machine itself.
pub fn is_local(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}

/// Reads the URL of a PostgreSQL database that holds no password, as it is.
pub(crate) fn database(text: &str) -> Option<String> {
    let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"))?;
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (user, place) = before.rsplit_once('@').unwrap_or(("", before));
    let (hosts, database) = place.split_once('/')?;
    let bare = !user.contains(':') && !query.split('&').any(|pair| pair.starts_with("password="));
    let odd = |c: char| c.is_whitespace() || c.is_control();
    (bare && !hosts.is_empty() && !database.is_empty() && !text.contains(odd)).then(|| text.to_owned())
}

/// Reads `host:port` without resolving it.
pub fn dial(text: &str) -> Option<String> {
    let (host, port) = text.rsplit_once(':')?;
    let good = !host.is_empty()
        && !host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/' || c == '@')
        && port.parse::<u16>().is_ok_and(|port| port > 0);
    good.then(|| text.to_owned())
}

/// Reads a network or a single address.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// Whether the text is a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, b)| if matches!(at, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() })
}

/// The parts of a comma list; blanks around them and empty ones do not count.
pub(crate) fn comma_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations() {
        for (text, seconds) in [("8h", 28_800), ("30m", 1800), ("1h30m", 5400), ("2d", 172_800), ("0s", 0)] {
            assert_eq!(duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(duration("1m250ms"), Some(Duration::from_millis(60_250)));
        for bad in [
            "",
            "8",
            "h",
            "8 h",
            "-1h",
            "1.5h",
            "1m1h",
            "1h1h",
            "99999999999999999999h",
            "9999999999999999d",
            "8H",
        ] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn urls_are_https_unless_local() {
        for good in [
            "https://portal.example",
            "http://localhost:8444",
            "http://127.0.0.1:1/a",
            "http://[::1]:1",
            "https://h/a/b",
        ] {
            assert!(url(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "portal",
            "http://portal.example",
            "https://u@h",
            "https://u:p@h",
            "https://h?q",
            "https://h#f",
            "ftp://h",
        ] {
            assert!(url(bad).is_none(), "{bad}");
        }
        assert!(origin("https://h/").is_some() && origin("https://h/a").is_none());
    }

    #[test]
    fn databases_hold_no_password() {
        for good in [
            "postgres://aro@db:5432/aro",
            "postgresql://aro@a,b:1/aro?sslmode=verify-full",
            "postgres://db/x",
        ] {
            assert!(database(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "mysql://u@h/d",
            "postgres://u:p@h/d",
            "postgres://h/d?password=p",
            "postgres://u@h",
            "postgres:///d",
        ] {
            assert!(database(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn networks_and_addresses() {
        assert_eq!(network("10.0.0.0/8").unwrap().to_string(), "10.0.0.0/8");
        assert_eq!(network("::1").unwrap().to_string(), "::1/128");
        assert!(network("10.0.0.0/33").is_none());
        assert!(
            dial("h:443").is_some() && dial("h").is_none() && dial(":1").is_none() && dial("a b:1").is_none()
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,60}") {
            let _ = (duration(&text), url(&text), dial(&text), network(&text), is_uuid(&text), comma_list(&text));
        }

        #[test]
        fn durations_round_trip(millis in 0u64..10_000_000_000_000) {
            let given = Duration::from_millis(millis);
            prop_assert_eq!(duration(&show_duration(given)), Some(given));
        }
    }
}
