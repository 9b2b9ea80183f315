//! Which addresses may be dialled when a person entered them (`contract/rules.md` §3.6, last rule).

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// An allow-list of networks with what is never allowed.
#[derive(Debug, Clone, Default)]
pub struct Networks {
    allow: Vec<IpNet>,
    own: Vec<SocketAddr>,
}

/// Why an address may not be dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    #[error("the address is link-local or belongs to a metadata service")]
    Metadata,
    #[error("the address is one of our own listeners")]
    Ourselves,
    #[error("the address is unspecified or multicast")]
    NotUnicast,
    #[error("the address is in none of the networks of [imports] allow")]
    NotAllowed,
}

impl Networks {
    /// Allows `allow`; never the listeners `own`, link-local or metadata addresses.
    pub fn new(allow: Vec<IpNet>, own: Vec<SocketAddr>) -> Self {
        Self { allow, own }
    }

    /// Checks an address just before it is dialled (after name resolution, so a name cannot change its mind).
    ///
    /// # Errors
    /// Says which rule forbids it.
    pub fn check(&self, address: SocketAddr) -> Result<(), Forbidden> {
        let ip = canonical(address.ip());
        if is_metadata(ip) {
            return Err(Forbidden::Metadata);
        }
        if ip.is_unspecified() || ip.is_multicast() {
            return Err(Forbidden::NotUnicast);
        }
        if self.own.iter().any(|own| own.port() == address.port() && same_host(own.ip(), ip)) {
            return Err(Forbidden::Ourselves);
        }
        if self.allow.iter().any(|net| net.contains(&ip)) { Ok(()) } else { Err(Forbidden::NotAllowed) }
    }
}

/// An IPv4 address written as IPv6 is that IPv4 address.
fn canonical(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    }
}

fn is_metadata(ip: IpAddr) -> bool {
    match ip {
        // 168.63.129.16 is Azure's virtual public address: DNS, health probes, wire server.
        IpAddr::V4(v4) => v4.is_link_local() || v4.octets() == [168, 63, 129, 16],
        // fe80::/10, and fd00:ec2::254 of another cloud's metadata service.
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80 || v6.segments()[..2] == [0xfd00, 0x0ec2],
    }
}

fn same_host(own: IpAddr, ip: IpAddr) -> bool {
    let own = canonical(own);
    own == ip || own.is_unspecified() && ip.is_loopback() || own.is_loopback() && ip.is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(networks: &Networks, address: &str) -> Result<(), Forbidden> {
        networks.check(address.parse().unwrap())
    }

    #[test]
    fn allows_only_what_is_listed_and_never_ourselves_or_metadata() {
        let everything = vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
        let networks = Networks::new(everything, vec!["0.0.0.0:8443".parse().unwrap()]);
        assert_eq!(check(&networks, "10.1.2.3:6443"), Ok(()));
        assert_eq!(check(&networks, "127.0.0.1:6443"), Ok(()));
        assert_eq!(check(&networks, "127.0.0.1:8443"), Err(Forbidden::Ourselves));
        assert_eq!(check(&networks, "[::ffff:127.0.0.1]:8443"), Err(Forbidden::Ourselves));
        assert_eq!(check(&networks, "169.254.169.254:443"), Err(Forbidden::Metadata));
        assert_eq!(check(&networks, "[::ffff:169.254.169.254]:443"), Err(Forbidden::Metadata));
        assert_eq!(check(&networks, "168.63.129.16:443"), Err(Forbidden::Metadata));
        assert_eq!(check(&networks, "[fe80::1]:443"), Err(Forbidden::Metadata));
        assert_eq!(check(&networks, "0.0.0.0:6443"), Err(Forbidden::NotUnicast));
        assert_eq!(check(&networks, "224.0.0.1:6443"), Err(Forbidden::NotUnicast));
        let none = Networks::default();
        assert_eq!(check(&none, "10.1.2.3:6443"), Err(Forbidden::NotAllowed));
    }
}
