//! `aro proxy connect` and `aro proxy tunnel` as their clients see them (`contract/portal.md` §12.3, §12.4).
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use proxy::connect::{self, ConnectOptions};
use proxy::tls_forwarder::{self, TunnelOptions};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rp_base::Secret;
use rp_documents::{ResourceId, Side};
use rp_net::listen::Stop;
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls, certificates, client_config};
use rp_net::{
    ConnectProxy, Credential, Dialer, DialerOptions, Endpoint, Networks, Port, PrivateWay, Source, Stage,
    Target,
};
use rustls::ClientConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

const PATIENCE: Duration = Duration::from_secs(30);

struct Leaf {
    pem: String,
    key: String,
}

struct World {
    ca: String,
    client: Leaf,
    stranger: Leaf,
    proxy: SocketAddr,
    stop: Stop,
    _folder: tempfile::TempDir,
}

fn leaf(ca: &CertifiedIssuer<'_, KeyPair>, name: &str) -> Leaf {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    Leaf { pem: params.signed_by(&key, ca).unwrap().pem(), key: key.serialize_pem() }
}

impl World {
    async fn start() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "test CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let (server, client, stranger) = (leaf(&ca, "proxy"), leaf(&ca, "client"), leaf(&ca, "stranger"));
        let folder = tempfile::tempdir().unwrap();
        let files =
            ServerFiles { certificate: folder.path().join("c.pem"), key: folder.path().join("k.pem") };
        std::fs::write(&files.certificate, &server.pem).unwrap();
        std::fs::write(&files.key, &server.key).unwrap();
        let only = certificates(&client.pem, "client").unwrap().swap_remove(0);
        let tls = ServerTls::load(files, &[b"http/1.1"], ClientAuth::Exactly(only)).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (proxy, stop) = (tcp.local_addr().unwrap(), Stop::default());
        let options = ConnectOptions { subnet: "127.0.0.0/24".parse().unwrap(), more_ports: vec![] };
        tokio::spawn(connect::serve(tcp, tls, options, stop.clone()));
        Self { ca: ca.pem(), client, stranger, proxy, stop, _folder: folder }
    }

    fn tls(&self, leaf: &Leaf) -> Arc<ClientConfig> {
        let credential =
            Credential::Certificate { chain_pem: leaf.pem.clone(), key_pem: Secret::new(leaf.key.clone()) };
        Arc::new(client_config(&self.ca, Some(&credential), &[]).unwrap())
    }

    fn dialer(&self, leaf: &Leaf) -> Dialer {
        let proxy = ConnectProxy {
            address: self.proxy.to_string(),
            server_name: "proxy".try_into().unwrap(),
            tls: self.tls(leaf),
        };
        Dialer::new(DialerOptions {
            private: PrivateWay::Connect(proxy),
            networks: Networks::default(),
            keepalive: PATIENCE,
        })
    }

    fn tunnel(&self) -> TunnelOptions {
        TunnelOptions {
            to: self.proxy.to_string(),
            server_name: "proxy".try_into().unwrap(),
            tls: self.tls(&self.client),
        }
    }

    /// The status of one raw request head.
    async fn status(&self, head: &str) -> u16 {
        let tcp = TcpStream::connect(self.proxy).await.unwrap();
        let connector = TlsConnector::from(self.tls(&self.client));
        let mut tls = connector.connect("proxy".try_into().unwrap(), tcp).await.unwrap();
        tls.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0u8; 12];
        tls.read_exact(&mut answer).await.unwrap();
        std::str::from_utf8(&answer[9..]).unwrap().parse().unwrap()
    }
}

fn target(ip: &str) -> Target {
    Target {
        id: ResourceId::imported("x").unwrap(),
        source: Source::Aro,
        endpoint: Endpoint::Private { ip: ip.parse::<IpAddr>().unwrap() },
        server_name: "kubernetes".to_owned(),
        ca_pem: String::new(),
        read: Credential::Token(Secret::new(String::new())),
        admin: Credential::Token(Secret::new(String::new())),
        as_groups: vec![],
        ssh: None,
        fingerprint: 0,
    }
}

/// Says back what it hears until the other side is done, then says goodbye.
async fn echo(address: &str) {
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = tcp.split();
                tokio::io::copy(&mut read, &mut write).await.unwrap();
                write.write_all(b"bye").await.unwrap();
            });
        }
    });
}

#[tokio::test]
async fn carries_bytes_both_ways_and_passes_the_half_close_on() {
    let world = World::start().await;
    echo("127.0.0.77:6443").await;
    let dialer = world.dialer(&world.client);
    let stream = dialer.dial(&target("127.0.0.77"), Port::Api, PATIENCE).await.unwrap();
    let (mut read, mut write) = tokio::io::split(stream);
    let sent = vec![7u8; 300_000];
    let (mut heard, length) = (Vec::new(), sent.len());
    let speak = async {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    };
    tokio::join!(speak, async { read.read_to_end(&mut heard).await.unwrap() });
    assert_eq!(heard.len(), length + 3);
    assert!(heard.ends_with(b"bye"));
}

#[tokio::test]
async fn refuses_what_the_contract_refuses_in_its_order() {
    let world = World::start().await;
    for (head, status) in [
        ("CONNECT nonsense HTTP/1.1\r\nHost: nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.5:6443\r\n\r\n", 405),
        ("CONNECT 10.0.0.1:6443 HTTP/1.1\r\nHost: 10.0.0.1:6443\r\n\r\n", 403),
        ("CONNECT localhost:6443 HTTP/1.1\r\nHost: localhost:6443\r\n\r\n", 403),
        ("CONNECT 127.0.0.5:22 HTTP/1.1\r\nHost: 127.0.0.5:22\r\n\r\n", 403),
        ("CONNECT 127.0.0.5:2202 HTTP/1.1\r\nHost: 127.0.0.5:2202\r\n\r\n", 502),
    ] {
        assert_eq!(world.status(head).await, status, "{head}");
    }
}

#[tokio::test]
async fn only_the_one_client_certificate_is_let_in() {
    let world = World::start().await;
    let dialer = world.dialer(&world.stranger);
    let error = dialer.dial(&target("127.0.0.5"), Port::Api, PATIENCE).await.unwrap_err();
    assert_eq!((error.side, error.stage), (Side::Us, Stage::Proxy));
}

#[tokio::test]
async fn silent_strangers_leave_room_for_the_client() {
    let world = World::start().await;
    let mut strangers = Vec::new();
    for _ in 0..300 {
        strangers.push(TcpStream::connect(world.proxy).await.unwrap());
    }
    let head = "GET / HTTP/1.1\r\nHost: 127.0.0.5:6443\r\n\r\n";
    assert_eq!(world.status(head).await, 405);
    // Those that were silent for the longest had to go, long before a handshake takes too long (10 s).
    let mut first = strangers.swap_remove(0);
    let ended = tokio::time::timeout(Duration::from_secs(5), first.read(&mut [0])).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}

#[tokio::test]
async fn a_refusal_says_whose_fault_it_is() {
    let world = World::start().await;
    let dialer = world.dialer(&world.client);
    let outside = dialer.dial(&target("10.1.2.3"), Port::Api, PATIENCE).await.unwrap_err();
    assert_eq!((outside.side, outside.stage), (Side::Us, Stage::Proxy));
    let nobody = dialer.dial(&target("127.0.0.78"), Port::Ssh(1), PATIENCE).await.unwrap_err();
    assert_eq!((nobody.side, nobody.stage), (Side::Cluster, Stage::Proxy));
}

#[tokio::test]
async fn the_tunnel_shows_the_certificate_for_whoever_connects_here() {
    let world = World::start().await;
    let local = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = local.local_addr().unwrap();
    let running = tokio::spawn(tls_forwarder::serve(local, world.tunnel(), world.stop.clone()));
    let mut plain = TcpStream::connect(at).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.5:6443\r\n\r\n").await.unwrap();
    let mut answer = [0u8; 12];
    plain.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 405");
    drop(plain);
    world.stop.stop.cancel();
    world.stop.cut.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_tunnel_refuses_to_listen_for_the_network() {
    let world = World::start().await;
    let everywhere = TcpListener::bind("0.0.0.0:0").await.unwrap();
    assert!(tls_forwarder::serve(everywhere, world.tunnel(), Stop::default()).await.is_err());
}
