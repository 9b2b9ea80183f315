//! Where a connection really comes from, when a balancer stands before us.
//!
//! Only peers of configured networks are believed: what anybody else says about an origin is ignored.

use std::io;
use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;
use ppp::{HeaderResult, v1, v2};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Longest version 1 header (PROXY protocol specification §2.1).
const MOST_V1: usize = 107;
/// Longest version 2 header that is read: addresses and some hundred bytes of extensions.
const MOST_V2: usize = 2048;
/// Hops of `X-Forwarded-For` that are looked at.
const MOST_HOPS: usize = 16;

/// Which peers are trusted to state the origin of a connection.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// Balancers that begin every connection with a PROXY protocol header.
    pub proxy_protocol_from: Vec<IpNet>,
    /// Proxies that end HTTP and add `X-Forwarded-For`.
    pub forwarded_from: Vec<IpNet>,
}

impl Origins {
    /// Whether a connection of this peer begins with a PROXY protocol header.
    pub fn heads(&self, peer: IpAddr) -> bool {
        within(&self.proxy_protocol_from, peer)
    }

    /// Whether a peer speaks for others, in what way ever: its address says nothing about who they are.
    pub fn speaks(&self, peer: IpAddr) -> bool {
        self.heads(peer) || within(&self.forwarded_from, peer)
    }

    /// Who sent a request: the last address of `X-Forwarded-For` that is no forwarder of ours, when the peer is
    /// one; else the peer. A damaged list ends the search at the last address that was believed.
    pub fn sender(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut believed = peer.to_canonical();
        if self.forwarded_from.is_empty() {
            return believed;
        }
        let values = headers.get_all("x-forwarded-for").iter().rev();
        let hops = values.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
        for hop in hops.take(MOST_HOPS) {
            if !within(&self.forwarded_from, believed) {
                break;
            }
            let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
            believed = address.to_canonical();
        }
        believed
    }
}

fn within(networks: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

/// Reads the PROXY protocol header, versions 1 and 2, and not one byte more. Gives the origin; the peer itself
/// for a connection of the balancer's own (`LOCAL`, `UNKNOWN`).
///
/// # Errors
/// There is no such header, it is too long, or the connection broke.
pub async fn read_header<S: AsyncRead + Unpin>(stream: &mut S, peer: SocketAddr) -> io::Result<SocketAddr> {
    let mut head = vec![0; v2::PROTOCOL_PREFIX.len()];
    stream.read_exact(&mut head).await?;
    if head == v2::PROTOCOL_PREFIX {
        read_binary(stream, &mut head).await?;
    } else if head.starts_with(v1::PROTOCOL_PREFIX.as_bytes()) {
        read_text(stream, &mut head).await?;
    } else {
        return Err(refused("the connection does not begin with a PROXY protocol header"));
    }
    match HeaderResult::parse(&head) {
        HeaderResult::V1(Ok(header)) => Ok(text_origin(&header).unwrap_or(peer)),
        HeaderResult::V2(Ok(header)) => Ok(binary_origin(&header).unwrap_or(peer)),
        HeaderResult::V1(Err(error)) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        HeaderResult::V2(Err(error)) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    }
}

async fn read_binary<S: AsyncRead + Unpin>(stream: &mut S, head: &mut Vec<u8>) -> io::Result<()> {
    let mut rest = [0; 4];
    stream.read_exact(&mut rest).await?;
    let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
    if length > MOST_V2 {
        return Err(refused("the PROXY protocol header is too long"));
    }
    head.extend_from_slice(&rest);
    let start = head.len();
    head.resize(start + length, 0);
    stream.read_exact(&mut head[start..]).await.map(drop)
}

async fn read_text<S: AsyncRead + Unpin>(stream: &mut S, head: &mut Vec<u8>) -> io::Result<()> {
    while !head.ends_with(b"\n") {
        if head.len() >= MOST_V1 {
            return Err(refused("the PROXY protocol header is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    if head.ends_with(b"\r\n") {
        Ok(())
    } else {
        Err(refused("the PROXY protocol header does not end with CRLF"))
    }
}

fn text_origin(header: &v1::Header<'_>) -> Option<SocketAddr> {
    match &header.addresses {
        v1::Addresses::Tcp4(ip) => Some(SocketAddr::new(ip.source_address.into(), ip.source_port)),
        v1::Addresses::Tcp6(ip) => Some(SocketAddr::new(ip.source_address.into(), ip.source_port)),
        v1::Addresses::Unknown => None,
    }
}

fn binary_origin(header: &v2::Header<'_>) -> Option<SocketAddr> {
    match (header.command, &header.addresses) {
        (v2::Command::Proxy, v2::Addresses::IPv4(ip)) => {
            Some(SocketAddr::new(ip.source_address.into(), ip.source_port))
        }
        (v2::Command::Proxy, v2::Addresses::IPv6(ip)) => {
            Some(SocketAddr::new(ip.source_address.into(), ip.source_port))
        }
        (v2::Command::Proxy | v2::Command::Local, _) => None,
    }
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PEER: &str = "10.0.0.9:4000";

    async fn read(bytes: &[u8]) -> (io::Result<String>, Vec<u8>) {
        let mut stream = bytes;
        let origin = read_header(&mut stream, PEER.parse().unwrap()).await;
        (origin.map(|address| address.to_string()), stream.to_vec())
    }

    fn binary(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let mut head = v2::PROTOCOL_PREFIX.to_vec();
        head.extend([0x20 | command, family]);
        head.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        head.extend(body);
        head
    }

    #[tokio::test]
    async fn both_versions_give_the_origin_and_leave_what_follows() {
        let v4 = binary(1, 0x11, &[192, 0, 2, 7, 10, 0, 0, 1, 0x30, 0x39, 0x01, 0xbb]);
        let mut six = [0; 36];
        six[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        (six[15], six[31]) = (7, 1);
        six[32..].copy_from_slice(&[0x30, 0x39, 0x01, 0xbb]);
        let v6 = binary(1, 0x21, &six);
        let local = binary(0, 0, &[]);
        for (head, origin) in [
            (&b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 443\r\n"[..], "192.0.2.7:12345"),
            (b"PROXY TCP6 2001:db8::7 ::1 12345 443\r\n", "[2001:db8::7]:12345"),
            (b"PROXY UNKNOWN\r\n", PEER),
            (&v4, "192.0.2.7:12345"),
            (&v6, "[2001:db8::7]:12345"),
            (&local, PEER),
        ] {
            let (found, rest) = read(&[head, &b"\x16\x03\x01"[..]].concat()).await;
            assert_eq!((found.unwrap().as_str(), rest.as_slice()), (origin, &b"\x16\x03\x01"[..]));
        }
    }

    #[tokio::test]
    async fn what_is_no_header_is_refused() {
        let long = binary(1, 0x11, &[0; 4000]);
        let endless = [&b"PROXY TCP4 "[..], &[b'1'; 300]].concat();
        for bytes in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            b"PROXY TCP4 x y z\r\n",
            b"PROXY UNKNOWN \n",
            b"PROXY",
            &long,
            &endless,
        ] {
            assert!(read(bytes).await.0.is_err(), "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn only_forwarders_are_believed() {
        let origins = Origins { forwarded_from: vec!["10.0.0.0/8".parse().unwrap()], ..Origins::default() };
        let sender = |peer: &str, lists: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for list in lists {
                headers.append("x-forwarded-for", http::HeaderValue::from_static(list));
            }
            origins.sender(peer.parse().unwrap(), &headers).to_string()
        };
        assert_eq!(sender("192.0.2.1", &["198.51.100.1"]), "192.0.2.1");
        assert_eq!(sender("10.0.0.1", &["198.51.100.1, 203.0.113.5, 10.2.2.2"]), "203.0.113.5");
        assert_eq!(sender("10.0.0.1", &["198.51.100.1", "203.0.113.5"]), "203.0.113.5");
        assert_eq!(sender("::ffff:10.0.0.1", &["garbage"]), "10.0.0.1");
        assert_eq!(sender("10.0.0.1", &[]), "10.0.0.1");
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), lead in 0..3_usize) {
            let heads: [&[u8]; 3] = [b"", v2::PROTOCOL_PREFIX, b"PROXY TCP4 "];
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let _ = runtime.block_on(read(&[heads[lead], &bytes].concat()));
        }
    }
}
