//! The header that a balancer sends: not one byte more is read than it has, and the address is the one that it says.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libfuzzer_sys::fuzz_target;
use rp_net::{Origins, read_header};
use tokio::runtime::{Builder, Runtime};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 1234);

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().build().expect("a runtime");
}

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    if let Ok(origin) = RUNTIME.with(|runtime| runtime.block_on(read_header(&mut rest, PEER))) {
        let header = &data[..data.len() - rest.len()];
        assert_eq!(origin, if header.starts_with(SIGNATURE) { binary(header) } else { text(header) });
    }
    let mut headers = http::HeaderMap::new();
    if let Ok(value) = http::HeaderValue::from_bytes(data) {
        headers.insert("x-forwarded-for", value);
    }
    let nobody = Origins::default();
    assert_eq!(nobody.sender(PEER.ip(), &headers), PEER.ip(), "a stranger speaks for nobody");
    let trusted =
        Origins { forwarded_from: "192.0.2.0/24".parse().into_iter().collect(), ..Origins::default() };
    let sender = trusted.sender(PEER.ip(), &headers);
    let named = std::str::from_utf8(data)
        .unwrap_or_default()
        .split(',')
        .any(|hop| hop.trim().parse::<IpAddr>().is_ok_and(|address| address.to_canonical() == sender));
    assert!(sender == PEER.ip() || named, "{sender}");
});

/// Version 2 of haproxy's `proxy-protocol.txt`, section 2.2.
fn binary(header: &[u8]) -> SocketAddr {
    let length = usize::from(u16::from_be_bytes([header[14], header[15]]));
    assert_eq!(header.len(), 16 + length, "the whole header and nothing else");
    let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    match (header[12], header[13] >> 4) {
        (0x21, 1) => {
            let address: [u8; 4] = header[16..20].try_into().expect("an address");
            SocketAddr::new(Ipv4Addr::from(address).into(), number(24))
        }
        (0x21, 2) => {
            let address: [u8; 16] = header[16..32].try_into().expect("an address");
            SocketAddr::new(Ipv6Addr::from(address).into(), number(48))
        }
        _ => PEER,
    }
}

/// Version 1, section 2.1.
fn text(header: &[u8]) -> SocketAddr {
    assert!(header.len() <= 107 && header.ends_with(b"\r\n"), "{header:?}");
    let line = std::str::from_utf8(header).expect("text").trim_end();
    let parts: Vec<&str> = line.split(' ').collect();
    match parts.as_slice() {
        ["PROXY", "TCP4" | "TCP6", source, _, port, _] => {
            SocketAddr::new(source.parse().expect("an address"), port.parse().expect("a port"))
        }
        ["PROXY", "UNKNOWN", ..] => PEER,
        _ => panic!("{line:?} was taken"),
    }
}
