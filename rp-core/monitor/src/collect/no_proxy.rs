//! Matching of `noProxy` entries.

use std::net::IpAddr;
use std::str::FromStr as _;

use ipnet::IpNet;

/// The entries of a `noProxy`.
pub(super) struct NoProxyList<'a> {
    entries: Vec<&'a str>,
    networks: Vec<IpNet>,
}

impl<'a> NoProxyList<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let entries: Vec<&str> = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
        let networks = entries.iter().filter_map(|entry| IpNet::from_str(entry).ok()).collect();
        Self { entries, networks }
    }

    pub(super) fn has(&self, entry: &str) -> bool {
        self.entries.contains(&entry)
    }

    pub(super) fn contains(&self, entry: &str) -> bool {
        let whole = IpNet::from_str(entry).or_else(|_| IpAddr::from_str(entry).map(IpNet::from));
        whole.is_ok_and(|entry| self.networks.iter().any(|network| network.contains(&entry)))
    }

    /// Whether a parent domain of the host is listed, with or without a leading dot. A single label does not count.
    pub(super) fn is_below(&self, host: &str) -> bool {
        let mut rest = host;
        while let Some((_, above)) = rest.split_once('.') {
            if !above.contains('.') {
                return false;
            }
            if self.entries.iter().any(|entry| entry.strip_prefix('.').unwrap_or(entry) == above) {
                return true;
            }
            rest = above;
        }
        false
    }
}

/// The host of a URL, without its port; empty when there is none.
pub(super) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_urls() {
        for (url, host) in [
            ("https://api.x.io:6443/", "api.x.io"),
            ("https://api.x.io", "api.x.io"),
            ("api.x.io:6443", "api.x.io"),
            ("https://user@api.x.io:1/p?q", "api.x.io"),
            ("", ""),
            ("https://", ""),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }
}
