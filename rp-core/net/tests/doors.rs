//! The listener under clients that mean no good: others are served meanwhile, and what is held stays small.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{self, SendRequest};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use rp_net::Origins;
use rp_net::door::{ConnectionHandle, Door, DoorLimits, StrangerLimits};
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const GENEROUS: Duration = Duration::from_secs(60);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Answers `page`, and takes anyone who asks for `/known` as known.
#[derive(Debug, Default)]
struct Site {
    asked: AtomicUsize,
}

impl Handler for Site {
    type Body = Full<Bytes>;

    async fn handle(&self, request: Request<Incoming>, _peer: SocketAddr) -> Response<Full<Bytes>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if request.uri().path() == "/known" {
            request.extensions().get::<ConnectionHandle>().unwrap().known();
        }
        Response::new(Full::new(Bytes::from_static(b"page")))
    }
}

struct Served {
    address: SocketAddr,
    site: Arc<Site>,
    gauge: Arc<Gauge>,
    stop: Stop,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.stop.cancel();
        self.stop.cut.cancel();
    }
}

fn strangers() -> StrangerLimits {
    StrangerLimits {
        connections: 64,
        per_address: 8,
        answers: 4,
        time: Duration::from_secs(1),
        input: 512 << 10,
    }
}

async fn serve(door: DoorLimits, origins: Origins) -> Served {
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let (site, gauge, stop) = (Arc::<Site>::default(), Arc::<Gauge>::default(), Stop::default());
    let limits = Limits { door: Door::uncounted(door), origins: Arc::new(origins), ..Limits::default() };
    let listener = Listener { tcp, tls: None, handler: Arc::clone(&site), limits, gauge: Arc::clone(&gauge) };
    tokio::spawn(listener.serve(stop.clone()));
    Served { address, site, gauge, stop }
}

/// TLS whose handshakes have 300 ms.
async fn serve_tls() -> Served {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let place = std::env::temp_dir().join(format!("rp-net-doors-{}", std::process::id()));
    let files = ServerFiles { certificate: place.with_extension("pem"), key: place.with_extension("key") };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let tls = ServerTls::load(files.clone(), &[b"h2", b"http/1.1"], ClientAuth::None).unwrap();
    for file in [&files.certificate, &files.key] {
        std::fs::remove_file(file).unwrap();
    }
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let (site, gauge, stop) = (Arc::<Site>::default(), Arc::<Gauge>::default(), Stop::default());
    let limits = Limits { handshake: Duration::from_millis(300), ..Limits::default() };
    let (handler, counted) = (Arc::clone(&site), Arc::clone(&gauge));
    tokio::spawn(Listener { tcp, tls: Some(tls), handler, limits, gauge: counted }.serve(stop.clone()));
    Served { address, site, gauge, stop }
}

async fn serve_strangers() -> Served {
    serve(DoorLimits { strangers: Some(strangers()), ..DoorLimits::default() }, Origins::default()).await
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(GENEROUS, future).await.unwrap_or_else(|_| panic!("{what} took too long"))
}

/// Waits until something is so.
async fn until(what: &str, is: impl Fn() -> bool) {
    within(what, async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// One good request, over a connection of its own.
async fn good(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    within("a good request", stream.read_to_string(&mut answer)).await.unwrap();
    answer
}

/// A connection of HTTP/2 whose client opens no window.
async fn closed(address: SocketAddr) -> (SendRequest<Bytes>, tokio::task::JoinHandle<Result<(), h2::Error>>) {
    let tcp = TcpStream::connect(address).await.unwrap();
    let mut builder = client::Builder::new();
    let (sender, connection) = builder.initial_window_size(0).handshake(tcp).await.unwrap();
    (sender, tokio::spawn(connection))
}

fn get(path: &str) -> Request<()> {
    Request::get(format!("http://x{path}")).body(()).unwrap()
}

async fn status(sender: &mut SendRequest<Bytes>, path: &str) -> (u16, h2::RecvStream) {
    let mut ready = sender.clone().ready().await.unwrap();
    let (answer, _) = ready.send_request(get(path), true).unwrap();
    let answer = within("a head", answer).await.unwrap();
    (answer.status().as_u16(), answer.into_body())
}

#[tokio::test]
async fn a_stranger_that_takes_nothing_is_refused_more_and_then_cut() {
    let served = serve_strangers().await;
    let (mut sender, connection) = closed(served.address).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(status(&mut sender, "/").await);
    }
    let (refused, _) = status(&mut sender, "/").await;
    assert_eq!(refused, 503);
    assert!(held.iter().all(|(status, _)| *status == 200));
    assert_eq!(served.site.asked.load(Ordering::Relaxed), 4, "the fifth was not looked at");
    assert!(good(served.address).await.ends_with("page"));
    let _ = within("the cut", connection).await.unwrap();
    until("the end of the connection", || served.gauge.open() == 0).await;
}

#[tokio::test]
async fn who_is_known_may_take_their_time() {
    let served = serve_strangers().await;
    let (mut sender, connection) = closed(served.address).await;
    let mut held = vec![status(&mut sender, "/known").await];
    for _ in 0..20 {
        held.push(status(&mut sender, "/").await);
    }
    assert!(held.iter().all(|(status, _)| *status == 200));
    let (_stranger, younger) = closed(served.address).await;
    let _ = within("the end of a stranger's connection", younger).await.unwrap();
    assert!(!connection.is_finished(), "it is older than what has ended");
}

#[tokio::test]
async fn silent_strangers_of_one_address_keep_nobody_out() {
    let served = serve_strangers().await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(served.address).await.unwrap());
    }
    assert!(good(served.address).await.ends_with("page"));
    until("the eviction", || served.gauge.open() <= 9).await;
}

#[tokio::test]
async fn a_connection_of_http2_without_requests_is_asked_to_leave() {
    let served = serve_strangers().await;
    let tcp = TcpStream::connect(served.address).await.unwrap();
    let (sender, connection) = client::handshake(tcp).await.unwrap();
    let connection = tokio::spawn(connection);
    // It answers pings, which used to be enough to stay.
    let ended = within("the goodbye", connection).await.unwrap();
    assert!(ended.is_ok(), "{ended:?}");
    drop(sender);
    until("the end of the connection", || served.gauge.open() == 0).await;
}

#[tokio::test]
async fn half_of_a_balancers_header_takes_no_place_for_ever() {
    let origins = Origins { proxy_protocol_from: vec!["127.0.0.0/8".parse().unwrap()], ..Origins::default() };
    let limits = StrangerLimits { connections: 8, ..strangers() };
    let served = serve(DoorLimits { strangers: Some(limits), ..DoorLimits::default() }, origins).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(b"PROXY TCP4 ").await.unwrap();
        silent.push(stream);
    }
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let said =
        b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 443\r\nGET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(said).await.unwrap();
    let mut answer = String::new();
    within("a good request", stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.ends_with("page"), "{answer}");
}

/// Nothing, a record that never ends, and a ClientHello byte by byte.
#[tokio::test]
async fn half_of_a_handshake_takes_no_place_for_ever() {
    let served = serve_tls().await;
    let mut half = Vec::new();
    for said in [&b""[..], b"\x16\x03\x01\x02\x00", b"\x16\x03\x01\x40\x00\x01\x00\x01\xfc\x03\x03"] {
        for _ in 0..30 {
            let mut stream = TcpStream::connect(served.address).await.unwrap();
            stream.write_all(said).await.unwrap();
            half.push(stream);
        }
    }
    let mut slow = TcpStream::connect(served.address).await.unwrap();
    slow.write_all(b"\x16\x03\x01\x02\x00").await.unwrap();
    // Each byte is progress, and still the whole has its time.
    within("the end of a slow handshake", async {
        while slow.write_all(b"\x01").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    until("the end of every handshake", || served.gauge.open() == 0).await;
    assert_eq!((half.len(), served.site.asked.load(Ordering::Relaxed)), (90, 0));
}

/// A frame of HTTP/2 (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `GET /` without indexing, by the static table.
const FIELDS: &[u8] = &[0x82, 0x86, 0x84, 0x41, 0x01, b'x'];

/// Writes until the far end has had enough, which it must; reads what comes beside it.
async fn flood(name: &str, address: SocketAddr, chunk: &[u8], times: usize) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&[PREFACE, &frame(4, 0, 0, &[])].concat()).await.unwrap();
    let (mut read, mut write) = stream.split();
    let writing = async {
        for _ in 0..times {
            write.write_all(chunk).await?;
        }
        std::future::pending::<std::io::Result<()>>().await
    };
    let reading = async {
        let mut buffer = vec![0; 16384];
        while matches!(read.read(&mut buffer).await, Ok(read) if read > 0) {}
        Ok::<_, Infallible>(())
    };
    within(&format!("{name}: the connection's end"), async {
        tokio::select! {
            _ = writing => {}
            _ = reading => {}
        }
    })
    .await;
}

/// Resident memory of this process, bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Rapid reset (CVE-2023-44487), CONTINUATION (CVE-2024-27316), PING, SETTINGS and empty DATA (CVE-2019-9512, -9515,
/// -9518).
#[tokio::test]
async fn floods_of_frames_cost_little_and_others_are_served() {
    let served = serve_strangers().await;
    assert!(good(served.address).await.ends_with("page"));
    let before = resident();
    let resets: Vec<u8> = (0..10_000_u32)
        .flat_map(|n| [frame(1, 5, 2 * n + 1, FIELDS), frame(3, 0, 2 * n + 1, &[0, 0, 0, 8])].concat())
        .collect();
    let open_headers = frame(1, 0, 1, FIELDS);
    let continuation = frame(9, 0, 1, &[0x00, 0x01, b'a', 0x01, b'b'].repeat(3000));
    let floods = [
        ("rapid reset", resets, 1),
        ("continuation", [open_headers, continuation.repeat(20)].concat(), 20),
        ("ping", frame(6, 0, 0, &[7; 8]).repeat(1000), 100),
        ("settings", frame(4, 0, 0, &[0, 4, 0, 1, 0, 0]).repeat(1000), 100),
        ("empty data", [frame(1, 4, 1, FIELDS), frame(0, 0, 1, &[]).repeat(1000)].concat(), 1),
        ("window updates", frame(8, 0, 0, &[0, 0, 0, 1]).repeat(1000), 100),
        ("priorities", frame(2, 0, 3, &[0, 0, 0, 0, 1]).repeat(1000), 100),
    ];
    for (name, chunk, times) in floods {
        let address = served.address;
        let flooding = tokio::spawn(async move { flood(name, address, &chunk, times).await });
        assert!(good(served.address).await.ends_with("page"), "during {name}");
        flooding.await.unwrap();
        assert!(good(served.address).await.ends_with("page"), "after {name}");
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{} KiB", grown / 1024);
    let asked = served.site.asked.load(Ordering::Relaxed);
    assert!(asked < 2000, "{asked} of the requests that were reset at once reached the handler");
}
