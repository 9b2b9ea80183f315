//! Tests against an in-process TLS server with scripted responses.

use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertificateParams, KeyPair};
use rp_base::Secret;
use rp_documents::ResourceId;
use rp_net::{DialerOptions, Endpoint, Networks, PrivateWay, Source};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const LONG: Duration = Duration::from_secs(60);

struct Server {
    target: Arc<Target>,
    accepted: Arc<AtomicUsize>,
    resumed: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Responds to `/N` with N bytes; `/chunked`, `/close`, `/hang`, `/stall` and `/drop` act as named.
    async fn start() -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let config = ServerConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/base/", listener.local_addr().unwrap()).parse().unwrap();
        let (accepted, resumed) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let counts = (Arc::clone(&accepted), Arc::clone(&resumed));
        let task = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let (acceptor, counts) = (acceptor.clone(), counts.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(tcp).await else { return };
                    counts.0.fetch_add(1, Ordering::SeqCst);
                    if stream.get_ref().1.handshake_kind() == Some(rustls::HandshakeKind::Resumed) {
                        counts.1.fetch_add(1, Ordering::SeqCst);
                    }
                    let _ = serve(&mut stream).await;
                });
            }
        });
        let token = Credential::Token(Secret::new("a-token".to_owned()));
        let target = Target {
            id: ResourceId::parse("/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters/x").unwrap(),
            source: Source::Imported,
            endpoint: Endpoint::Direct { url },
            server_name: "localhost".to_owned(),
            ca_pem: certificate.pem(),
            read: token.clone(),
            admin: token,
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        };
        Self { target: Arc::new(target), accepted, resumed, task }
    }

    fn lean(&self, options: LeanOptions) -> Arc<LeanClient> {
        let dialer = Dialer::new(DialerOptions {
            private: PrivateWay::Direct,
            networks: Networks::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new()),
            keepalive: Duration::from_secs(30),
        });
        Arc::new(LeanClient::new(dialer, Arc::clone(&self.target), Identity::Admin, options).unwrap())
    }
}

async fn serve(stream: &mut tokio_rustls::server::TlsStream<tokio::net::TcpStream>) -> io::Result<()> {
    let mut head = Vec::new();
    loop {
        head.clear();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let text = String::from_utf8_lossy(&head).to_lowercase();
        assert!(text.contains("authorization: bearer a-token"), "{text}");
        let path = text.split_whitespace().nth(1).unwrap().trim_start_matches("/base/");
        match path {
            "chunked" => {
                let chunk = [b'c'; 1000];
                stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
                for _ in 0..50 {
                    stream.write_all(b"3e8\r\n").await?;
                    stream.write_all(&chunk).await?;
                    stream.write_all(b"\r\n").await?;
                }
                stream.write_all(b"0\r\n\r\n").await?;
            }
            "close" => {
                stream
                    .write_all(
                        b"HTTP/1.1 429 x\r\nconnection: close\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n",
                    )
                    .await?;
                return stream.shutdown().await;
            }
            "drop" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await?;
                return stream.shutdown().await;
            }
            "hang" => std::future::pending::<()>().await,
            "stall" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await?;
                std::future::pending::<()>().await;
            }
            length => {
                let length: usize = length.parse().unwrap();
                stream
                    .write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").as_bytes())
                    .await?;
                stream.write_all(&vec![b'x'; length]).await?;
            }
        }
        stream.flush().await?;
    }
}

#[tokio::test]
async fn one_connection_serves_many_requests_and_further_ones_resume() {
    let server = Server::start().await;
    let lean = server.lean(LeanOptions { crowd: LONG, ..LeanOptions::default() });
    let mut body = Vec::new();
    for length in [0, 1, 16_384, 300_000] {
        let got = lean.get(&format!("/{length}"), 1 << 20, &mut body).await.unwrap();
        assert_eq!((got.status.as_u16(), body.len()), (200, length));
    }
    lean.get("/chunked", 1 << 20, &mut body).await.unwrap();
    assert_eq!(body.len(), 50_000);
    assert_eq!((server.accepted.load(Ordering::SeqCst), lean.open()), (1, 1));
    lean.settle(1);
    assert_eq!(lean.open(), 1);
    lean.settle(0);
    assert_eq!(lean.open(), 0);
    lean.get("/1", 10, &mut body).await.unwrap();
    assert_eq!(server.accepted.load(Ordering::SeqCst), 2);
    assert_eq!(server.resumed.load(Ordering::SeqCst), 1, "the session resumed");
}

#[tokio::test]
async fn a_crowd_opens_more_up_to_the_bound() {
    let server = Server::start().await;
    let options =
        LeanOptions { connections: 3, crowd: Duration::from_millis(1), head: LONG, ..LeanOptions::default() };
    let lean = server.lean(options);
    let hanging: Vec<_> = (0..5)
        .map(|_| {
            let lean = Arc::clone(&lean);
            tokio::spawn(async move { lean.get("/hang", 10, &mut Vec::new()).await })
        })
        .collect();
    let opened = async {
        while server.accepted.load(Ordering::SeqCst) < 3 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, opened).await.expect("three connections");
    assert_eq!(lean.open(), 3);
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
    let left = async {
        while lean.open() > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, left).await.expect("places come back from requests that were given up");
    assert_eq!(server.accepted.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn what_the_far_side_closed_is_dialled_again() {
    let server = Server::start().await;
    let lean = server.lean(LeanOptions::default());
    let mut body = Vec::new();
    let got = lean.get("/close", 10, &mut body).await.unwrap();
    assert_eq!((got.status.as_u16(), got.retry_after), (429, Some(Duration::from_secs(7))));
    assert_eq!(lean.open(), 0, "it said that it closes");
    // This path closes the connection without notice, after a complete response.
    lean.get("/drop", 10, &mut body).await.unwrap();
    lean.get("/2", 10, &mut body).await.unwrap();
    assert_eq!((body.as_slice(), server.accepted.load(Ordering::SeqCst)), (b"xx".as_slice(), 3));
}

#[tokio::test]
async fn time_and_size_are_bounded() {
    let server = Server::start().await;
    let short = Duration::from_millis(50);
    let lean = server.lean(LeanOptions { head: LONG, silence: short, ..LeanOptions::default() });
    let mut body = Vec::new();
    assert!(matches!(lean.get("/stall", 100, &mut body).await, Err(LeanError::Stalled(_))));
    let lean = server.lean(LeanOptions { head: short, ..LeanOptions::default() });
    assert!(matches!(lean.get("/hang", 100, &mut body).await, Err(LeanError::NoHead(_))));
    let lean = server.lean(LeanOptions::default());
    assert!(matches!(lean.get("/101", 100, &mut body).await, Err(LeanError::TooLong(100))));
    assert!(matches!(lean.get("/chunked", 100, &mut body).await, Err(LeanError::TooLong(100))));
    assert_eq!(lean.open(), 0, "none of these can be used again");
}

#[tokio::test]
async fn strangers_are_not_spoken_to() {
    let (server, other) = (Server::start().await, Server::start().await);
    let mut target = Target::clone(&server.target);
    target.ca_pem.clone_from(&other.target.ca_pem);
    let wrong = Server {
        target: Arc::new(target),
        accepted: Arc::default(),
        resumed: Arc::default(),
        task: tokio::spawn(async {}),
    };
    let error = wrong.lean(LeanOptions::default()).get("/1", 10, &mut Vec::new()).await.unwrap_err();
    assert!(matches!(&error, LeanError::Dial(error) if error.stage == Stage::Tls), "{error:?}");
}
