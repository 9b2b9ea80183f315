//! Which addresses may be dialled when a person entered them (`contract/rules.md` §3.6, last rule).

use std::net::{IpAddr, SocketAddr, UdpSocket};

use ipnet::{IpNet, Ipv4Net};

/// Bits of an IPv6 address before the IPv4 address that it is (RFC 4291 §2.5.5.2).
const MAPPED_BITS: u8 = 96;

/// An allow-list of networks with what is never allowed.
#[derive(Debug, Clone, Default)]
pub struct Networks {
    allow: Vec<IpNet>,
    deny: Vec<IpNet>,
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
    #[error(
        "the address is an IPv4 address inside an IPv6 address (NAT64, 6to4, Teredo); write the IPv4 address"
    )]
    Embedded,
    #[error("the address is in one of the networks of [access] own_networks")]
    OwnNetwork,
    #[error("the address is in none of the networks of [imports] allow")]
    NotAllowed,
}

impl Networks {
    /// Allows `allow`; never the listeners `own`, link-local or metadata addresses.
    pub fn new(allow: Vec<IpNet>, own: Vec<SocketAddr>) -> Self {
        Self { allow: canonical_networks(allow), deny: Vec::new(), own }
    }

    /// The same without these networks, also where they lie in those that are allowed.
    #[must_use]
    pub fn without(mut self, networks: Vec<IpNet>) -> Self {
        self.deny = canonical_networks(networks);
        self
    }

    /// Whether that is an address of ours under that port: where a listener has all of this host's, any of them.
    fn is_own(&self, ip: IpAddr, port: u16) -> bool {
        self.own.iter().filter(|own| own.port() == port).any(|own| {
            let listens = canonical(own.ip());
            listens == ip
                || listens.is_loopback() && ip.is_loopback()
                || listens.is_unspecified() && (ip.is_loopback() || is_of_this_host(ip))
        })
    }

    /// Checks an address just before it is dialled (after name resolution, so a second resolution cannot give another
    /// address).
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
        if embeds_ipv4(ip) {
            return Err(Forbidden::Embedded);
        }
        if self.is_own(ip, address.port()) {
            return Err(Forbidden::Ourselves);
        }
        if self.deny.iter().any(|net| net.contains(&ip)) {
            return Err(Forbidden::OwnNetwork);
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

/// A network of IPv4 addresses written as IPv6 ones is that IPv4 network: `::ffff:10.0.0.0/104` is 10.0.0.0/8. A wider one
/// of IPv6 stays as it is.
fn canonical_networks(networks: Vec<IpNet>) -> Vec<IpNet> {
    let canonical = |network: IpNet| {
        let IpNet::V6(v6) = network else { return network };
        let v4 = v6.network().to_ipv4_mapped();
        let length = v6.prefix_len().checked_sub(MAPPED_BITS);
        let mapped = v4.zip(length).and_then(|(v4, length)| Ipv4Net::new(v4, length).ok());
        mapped.map_or(network, IpNet::V4)
    };
    networks.into_iter().map(canonical).collect()
}

fn is_metadata(ip: IpAddr) -> bool {
    match ip {
        // 168.63.129.16 is Azure's virtual public address: DNS, health probes, wire server.
        IpAddr::V4(v4) => v4.is_link_local() || v4.octets() == [168, 63, 129, 16],
        // fe80::/10, and fd00:ec2::254 of another cloud's metadata service.
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80 || v6.segments()[..2] == [0xfd00, 0x0ec2],
    }
}

/// An address of IPv6 by which a translator reaches one of IPv4, which no rule here would see: `::a.b.c.d` (RFC 4291
/// §2.5.5.1), 64:ff9b::/96 and 64:ff9b:1::/48 (RFC 6052, RFC 8215), 2002::/16 (RFC 3056), 2001::/32 (RFC 4380).
fn embeds_ipv4(ip: IpAddr) -> bool {
    let IpAddr::V6(v6) = ip else { return false };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, ..] => !v6.is_loopback() && !v6.is_unspecified(),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] | [0x2002, ..] | [0x2001, 0, ..] => true,
        _ => false,
    }
}

/// Whether an interface of this host has the address: nobody else can bind it.
fn is_of_this_host(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(networks: &Networks, address: &str) -> Result<(), Forbidden> {
        networks.check(address.parse().unwrap())
    }

    #[test]
    fn an_address_of_an_interface_is_ours_where_we_listen_on_all() {
        let Ok(socket) = UdpSocket::bind("0.0.0.0:0") else { panic!("no sockets") };
        // Nothing is sent: this asks which address of ours leads there.
        let known = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
        let interface = known.map_or(IpAddr::from([127, 0, 0, 2]), |address| address.ip());
        let everything: Vec<IpNet> = vec!["0.0.0.0/0".parse().unwrap()];
        let networks = Networks::new(everything.clone(), vec!["0.0.0.0:2222".parse().unwrap()]);
        assert_eq!(networks.check(SocketAddr::new(interface, 2222)), Err(Forbidden::Ourselves));
        assert_eq!(networks.check(SocketAddr::new(interface, 6443)), Ok(()));
        let one = Networks::new(everything, vec!["192.0.2.8:2222".parse().unwrap()]);
        assert_eq!(one.check(SocketAddr::new(interface, 2222)), Ok(()));
    }

    #[test]
    fn our_own_networks_are_no_part_of_what_is_allowed() {
        let allow: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
        let own = vec!["10.255.0.0/24".parse().unwrap(), "2001:db8:1::/48".parse().unwrap()];
        let networks = Networks::new(allow, Vec::new()).without(own);
        for address in ["10.255.0.7:6443", "[::ffff:10.255.0.7]:6443", "[2001:db8:1::7]:6443"] {
            assert_eq!(check(&networks, address), Err(Forbidden::OwnNetwork), "{address}");
        }
        for address in ["10.255.1.7:6443", "[2001:db8:2::7]:6443"] {
            assert_eq!(check(&networks, address), Ok(()), "{address}");
        }
    }

    #[test]
    fn a_network_of_ipv4_addresses_written_as_ipv6_is_that_network() {
        let net = |text: &str| -> Vec<IpNet> { vec![text.parse().unwrap()] };
        let networks =
            Networks::new(net("::ffff:10.0.0.0/104"), Vec::new()).without(net("::ffff:10.255.0.0/120"));
        for address in ["10.255.0.7:6443", "[::ffff:10.255.0.7]:6443"] {
            assert_eq!(check(&networks, address), Err(Forbidden::OwnNetwork), "{address}");
        }
        for address in ["10.1.0.7:6443", "[::ffff:10.1.0.7]:6443"] {
            assert_eq!(check(&networks, address), Ok(()), "{address}");
        }
        assert_eq!(check(&networks, "192.0.2.1:6443"), Err(Forbidden::NotAllowed));
        let all = Networks::new(net("::ffff:0:0/96"), Vec::new());
        assert_eq!(check(&all, "192.0.2.1:6443"), Ok(()));
        assert_eq!(check(&all, "[2001:db8::1]:6443"), Err(Forbidden::NotAllowed));
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
        for embedded in
            ["::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:7f00:1::1", "2001:0:1::1"]
        {
            let address = format!("[{embedded}]:6443");
            assert_eq!(check(&networks, &address), Err(Forbidden::Embedded), "{embedded}");
        }
        assert_eq!(check(&networks, "[2001:db8::1]:6443"), Ok(()));
        assert_eq!(check(&networks, "[::1]:8443"), Err(Forbidden::Ourselves));
        let none = Networks::default();
        assert_eq!(check(&none, "10.1.2.3:6443"), Err(Forbidden::NotAllowed));
    }
}
