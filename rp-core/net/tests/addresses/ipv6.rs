//! Listeners, clients, balancers and targets of IPv6.

use std::net::{Ipv6Addr, SocketAddr};

use ipnet::IpNet;
use rp_base::Secret;
use rp_documents::ResourceId;
use rp_net::door::{Door, DoorLimits, StrangerLimits};
use rp_net::{Credential, Dialer, Endpoint, Origins, Port, Source, Stage, Target};
use tokio::net::TcpListener;

use crate::{GENEROUS, dialled, good, options, serve};

/// Ends a test where this host has no IPv6, before it does anything.
fn check_loopback() {
    if let Err(error) = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
        panic!(
            "this test needs the address ::1, and this host cannot listen on it ({error}): switch IPv6 on for the \
             loopback interface with `sysctl --write net.ipv6.conf.lo.disable_ipv6=0`, or start the container with \
             `--sysctl net.ipv6.conf.lo.disable_ipv6=0`"
        );
    }
}

fn limits() -> DoorLimits {
    let strangers =
        StrangerLimits { connections: 64, per_address: 8, answers: 4, time: GENEROUS, input: 1 << 20 };
    DoorLimits { strangers: Some(strangers), ..DoorLimits::default() }
}

async fn served(ip: Ipv6Addr, origins: Origins) -> SocketAddr {
    let tcp = TcpListener::bind((ip, 0)).await.unwrap();
    let address = tcp.local_addr().unwrap();
    serve(tcp, Door::uncounted(limits()), origins);
    address
}

#[tokio::test]
async fn a_listener_of_ipv6_serves_and_knows_its_clients() {
    check_loopback();
    let address = served(Ipv6Addr::LOCALHOST, Origins::default()).await;
    let client: SocketAddr = good(address, b"").await.parse().unwrap();
    assert_eq!(client.ip(), Ipv6Addr::LOCALHOST);
    // A listener of all addresses has clients of both kinds, unless the host keeps them apart.
    let address = served(Ipv6Addr::UNSPECIFIED, Origins::default()).await;
    for (to, from) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1")] {
        let to = SocketAddr::new(to.parse().unwrap(), address.port());
        let client: SocketAddr = good(to, b"").await.parse().unwrap();
        assert_eq!(client.ip().to_canonical().to_string(), from);
    }
}

/// Version 2 of the PROXY protocol for TCP over IPv6 (its specification, section 2.2).
fn binary(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let octets = |address: SocketAddr| match address.ip().to_canonical() {
        std::net::IpAddr::V6(ip) => ip.octets(),
        std::net::IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
    };
    let ports = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
    let body = [octets(from).as_slice(), octets(to).as_slice(), &ports].concat();
    [b"\r\n\r\n\0\r\nQUIT\n\x21\x21\x00\x24".as_slice(), &body].concat()
}

#[tokio::test]
async fn a_balancer_of_ipv6_says_for_whom_it_speaks() {
    check_loopback();
    let balancers: Vec<IpNet> = vec!["::1/128".parse().unwrap()];
    let origins = Origins { proxy_protocol_from: balancers, ..Origins::default() };
    let address = served(Ipv6Addr::LOCALHOST, origins).await;
    let client = "[2001:db8::7]:40001".parse().unwrap();
    assert_eq!(good(address, &binary(client, address)).await, "[2001:db8::7]:40001");
    let text = format!("PROXY TCP6 2001:db8::8 ::1 40002 {}\r\n", address.port());
    assert_eq!(good(address, text.as_bytes()).await, "[2001:db8::8]:40002");
    // Its own health check, and clients of IPv4 that come to it.
    let local = b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00";
    let itself: SocketAddr = good(address, local).await.parse().unwrap();
    assert_eq!(itself.ip(), Ipv6Addr::LOCALHOST);
    let text = format!("PROXY TCP4 192.0.2.7 192.0.2.1 40003 {}\r\n", address.port());
    assert_eq!(good(address, text.as_bytes()).await, "192.0.2.7:40003");
}

fn target(url: &str) -> Target {
    let credential = Credential::Token(Secret::new("none".to_owned()));
    Target {
        id: ResourceId::imported("harbor").unwrap(),
        source: Source::Imported,
        endpoint: Endpoint::Direct { url: url.parse().unwrap() },
        server_name: "::1".to_owned(),
        ca_pem: String::new(),
        read: credential.clone(),
        admin: credential,
        as_groups: Vec::new(),
        ssh: None,
        fingerprint: 0,
    }
}

#[tokio::test]
async fn targets_of_ipv6_are_dialled_where_they_are_allowed() {
    check_loopback();
    let tcp = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.unwrap();
    let address = tcp.local_addr().unwrap();
    let here = target(&format!("https://{address}"));
    let open = Dialer::new(options(&["::1/128"], &[]));
    assert!(open.dial(&here, Port::Api, GENEROUS).await.is_ok());
    for host in ["::1", "[::1]", "0:0:0:0:0:0:0:1"] {
        assert_eq!(dialled(&open, host, address.port()).await, Ok(()), "{host}");
    }
    let private = Target { endpoint: Endpoint::Private { ip: address.ip() }, ..target("https://[::1]") };
    let refused = open.dial(&private, Port::Ssh(0), GENEROUS).await.unwrap_err();
    assert_eq!(refused.stage, Stage::Connect, "private endpoints have ports of their own");
    for dialer in [Dialer::new(options(&["127.0.0.0/8"], &[])), Dialer::new(options(&["::/0"], &[address]))] {
        let refused = dialer.dial(&here, Port::Api, GENEROUS).await.unwrap_err();
        assert_eq!((refused.stage, refused.retry), (Stage::Allow, false));
    }
    assert!(rp_net::tls::server_name("[::1]").is_ok() && rp_net::tls::server_name("::1").is_ok());
}
