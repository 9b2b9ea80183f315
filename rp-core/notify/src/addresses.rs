//! Which addresses a receiver may have: public ones, and those that the settings allow. What was checked is what is
//! dialled, so that a name that answers something else a moment later reaches nothing.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rp_net::tls::TlsError;
use rp_net::{Forbidden, Networks};

use crate::Endpoint;

/// Addresses of one name that are looked at.
const MOST_ADDRESSES: usize = 16;

/// Why an address of a receiver is not dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Barred {
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error("the address is not public; [notify] allow names networks that are")]
    Private,
    #[error("the name has no address")]
    Nothing,
}

/// Checks what is dialled for one receiver.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    /// Everything but metadata services, our own listeners and what is no single host.
    possible: Networks,
    allow: Vec<IpNet>,
    port: u16,
    local: bool,
}

impl Addresses {
    /// `own`: listeners of this process; `allow`: networks that are not public.
    pub(crate) fn new(endpoint: &Endpoint, allow: &[IpNet], own: Vec<SocketAddr>) -> Self {
        let all = vec![IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())];
        Self {
            possible: Networks::new(all, own),
            allow: allow.to_vec(),
            port: endpoint.port(),
            local: endpoint.is_local(),
        }
    }

    pub(crate) fn check(&self, ip: IpAddr) -> Result<(), Barred> {
        self.possible.check(SocketAddr::new(ip, self.port))?;
        let ip = ip.to_canonical();
        let allowed = is_public(ip)
            || ip.is_loopback() && self.local
            || self.allow.iter().any(|network| network.contains(&ip));
        if allowed { Ok(()) } else { Err(Barred::Private) }
    }
}

/// Whether the address is one of the internet: none of those for special purposes (RFC 6890 and its registries).
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            let special = a == 0
                || v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || a == 100 && (64..128).contains(&b)
                || a == 192 && b == 0 && c == 0
                || a == 198 && (b == 18 || b == 19)
                || v4.is_documentation()
                || a >= 224;
            !special
        }
        IpAddr::V6(v6) => {
            let [first, second, ..] = v6.segments();
            // Global unicast is 2000::/3 alone; 2001:db8::/32 is documentation.
            first & 0xe000 == 0x2000 && !(first == 0x2001 && second == 0x0db8)
        }
    }
}

/// The resolver of one receiver's client: as this host does it, less what is barred.
#[derive(Debug)]
struct Checked(Arc<Addresses>);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = Arc::clone(&self.0);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (mut good, mut barred) = (Vec::new(), Barred::Nothing);
            for address in found.take(MOST_ADDRESSES) {
                match addresses.check(address.ip()) {
                    Ok(()) => good.push(address),
                    Err(why) => barred = why,
                }
            }
            if good.is_empty() {
                return Err(barred.into());
            }
            let good: Addrs = Box::new(good.into_iter());
            Ok(good)
        })
    }
}

/// A client for one receiver.
pub(crate) fn client(
    addresses: &Arc<Addresses>,
    ca_pem: Option<&str>,
    timeout: Duration,
) -> Result<reqwest::Client, TlsError> {
    rp_net::http::client_with_resolver(ca_pem, timeout, Arc::new(Checked(Arc::clone(addresses))))
}

#[cfg(test)]
mod tests {
    use rp_base::Secret;

    use super::*;

    fn addresses(url: &str, allow: &[&str]) -> Addresses {
        let allow: Vec<IpNet> = allow.iter().map(|net| net.parse().unwrap()).collect();
        let endpoint = Endpoint::parse(&Secret::new(url.to_owned())).unwrap();
        Addresses::new(&endpoint, &allow, vec!["127.0.0.1:8443".parse().unwrap()])
    }

    #[test]
    fn only_public_addresses_and_those_that_are_allowed() {
        let far = addresses("https://hub.example/", &[]);
        for public in ["8.8.8.8", "52.1.2.3", "2606:4700::1111"] {
            assert_eq!(far.check(public.parse().unwrap()), Ok(()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "168.63.129.16",
            "0.0.0.0",
            "198.18.0.1",
            "240.0.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.1.2.3",
            "64:ff9b::a01:203",
        ] {
            assert!(far.check(private.parse().unwrap()).is_err(), "{private}");
        }
        let near = addresses("https://hub.example/", &["10.1.0.0/16", "fd00::/8"]);
        for allowed in ["10.1.2.3", "::ffff:10.1.2.3", "fd00::1"] {
            assert_eq!(near.check(allowed.parse().unwrap()), Ok(()), "{allowed}");
        }
        assert_eq!(near.check("10.2.2.3".parse().unwrap()), Err(Barred::Private));
        // Nothing that is allowed makes a metadata service a receiver.
        let wide = addresses("https://hub.example/", &["0.0.0.0/0"]);
        assert_eq!(wide.check("169.254.169.254".parse().unwrap()), Err(Forbidden::Metadata.into()));
    }

    #[test]
    fn this_machine_only_where_the_address_names_it_and_never_ourselves() {
        let local = addresses("http://127.0.0.1:9000/", &[]);
        assert_eq!(local.check("127.0.0.1".parse().unwrap()), Ok(()));
        assert_eq!(local.check("10.1.2.3".parse().unwrap()), Err(Barred::Private));
        let ours = addresses("http://127.0.0.1:8443/", &[]);
        assert_eq!(ours.check("127.0.0.1".parse().unwrap()), Err(Forbidden::Ourselves.into()));
    }
}
