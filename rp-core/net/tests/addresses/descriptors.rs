//! A process that runs out of descriptors: connections leave half of them to what they lead to, and its listener lives on
//! when something else has used up all.
//!
//! The listener is in a process of its own, this program again, so that the limit is not the test's.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use rp_net::Origins;
use rp_net::door::{Door, DoorLimits, StrangerLimits};
use rp_net::listen::Handler;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::{good, serve_by, within};

/// Which listener this process is to be, if it is one.
const ROLE: &str = "ARO_TEST_LISTENER";
/// Descriptors of its process.
const DESCRIPTORS: usize = 64;
/// Files that a request opens at once: fewer than half of the descriptors, beside what the process has for itself.
const FILES: usize = 16;
/// Connections that say nothing: more than it has descriptors, fewer than wait in the kernel's queue besides.
const SILENT: usize = 100;
/// Fewer than connections may use.
const FEW: usize = 20;
/// Much longer than any test waits.
const NEVER: Duration = Duration::from_secs(3600);
/// What the listener's process is told to do with its descriptors.
const USE_UP: &str = "use up";
const GIVE_BACK: &str = "give back";

/// Answers with the address of its client; at `/files` with the number of files that it could open at once.
#[derive(Debug)]
struct Opener;

impl Handler for Opener {
    type Body = Full<Bytes>;

    async fn handle(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Full<Bytes>> {
        let text =
            if request.uri().path() == "/files" { files(FILES).len().to_string() } else { peer.to_string() };
        Response::new(Full::new(Bytes::from(text)))
    }
}

/// As many open files, or fewer when there is no descriptor left.
fn files(most: usize) -> Vec<File> {
    (0..most).map_while(|_| File::open("/dev/null").ok()).collect()
}

/// Whether this process is the listener; then it serves until it is killed.
async fn is_listener() -> bool {
    let Ok(role) = std::env::var(ROLE) else { return false };
    let strangers =
        StrangerLimits { connections: 1000, per_address: 1000, answers: 4, time: NEVER, input: 1 << 20 };
    let limits =
        DoorLimits { strangers: (role == "strangers").then_some(strangers), ..DoorLimits::default() };
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = tcp.local_addr().unwrap();
    serve_by(Opener, tcp, Door::uncounted(limits), Origins::default());
    std::thread::spawn(follow_orders);
    println!("\nlistens {address}");
    std::future::pending().await
}

/// Takes all descriptors that are left, or gives them back, as each line of the input says.
fn follow_orders() {
    let mut held = Vec::new();
    for order in std::io::stdin().lines().map_while(Result::ok) {
        held.clear();
        if order == USE_UP {
            held = files(usize::MAX);
        }
        println!("\nholds {}", held.len());
    }
}

/// The other process.
struct ListenerProcess {
    child: Child,
    orders: ChildStdin,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Drop for ListenerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ListenerProcess {
    fn start(role: &str, test: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"")]);
        command.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
        command.env(ROLE, role).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let orders = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let address = said(&mut output, "listens ").parse().unwrap();
        Self { child, orders, output, address }
    }

    /// Gives an order; returns when it was followed.
    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        said(&mut self.output, "holds ");
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Connections that say nothing.
    async fn silent(&self, count: usize) -> Vec<TcpStream> {
        let mut silent = Vec::new();
        for _ in 0..count {
            silent.push(self.connect().await);
        }
        silent
    }

    fn open_descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Waits until its process has that many descriptors.
    async fn holds(&self, count: usize) {
        within("descriptors of the listener", async {
            while self.open_descriptors() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

/// What stands behind this word at the beginning of a line.
fn said(output: &mut BufReader<ChildStdout>, word: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        let length = output.read_line(&mut line).unwrap();
        assert!(length > 0, "the listener ended before it said {word:?}");
        if let Some(rest) = line.strip_prefix(word) {
            return rest.trim().to_owned();
        }
    }
}

/// How many files a request over this connection could open; the connection is kept.
async fn openable(stream: &mut TcpStream) -> usize {
    stream.write_all(b"GET /files HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    let mut piece = [0; 1024];
    loop {
        let length = within("an answer", stream.read(&mut piece)).await.unwrap();
        assert!(length > 0, "the connection was closed: {answer:?}");
        answer.push_str(std::str::from_utf8(piece.get(..length).unwrap()).unwrap());
        // The number is a piece of its own at most: it has one or two digits, and its length is named.
        if let Some((head, body)) = answer.split_once("\r\n\r\n") {
            let named = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if named.is_some_and(|length| length.parse::<usize>() == Ok(body.len())) {
                return body.parse().unwrap();
            }
        }
    }
}

#[tokio::test]
async fn connections_leave_half_of_the_descriptors_to_what_they_lead_to() {
    if is_listener().await {
        return;
    }
    let test = "descriptors::connections_leave_half_of_the_descriptors_to_what_they_lead_to";
    // All are known, so nobody is closed for others.
    let listener = ListenerProcess::start("known", test);
    let mut first = listener.connect().await;
    assert_eq!(openable(&mut first).await, FILES);
    let mut silent = listener.silent(SILENT).await;
    let last = silent.last_mut().unwrap();
    let closed = within("the last connection is turned away", last.read(&mut [0])).await;
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    assert_eq!(openable(&mut first).await, FILES);
}

#[tokio::test]
async fn idle_strangers_go_before_connections_use_more_than_half_of_the_descriptors() {
    if is_listener().await {
        return;
    }
    let test = "descriptors::idle_strangers_go_before_connections_use_more_than_half_of_the_descriptors";
    let listener = ListenerProcess::start("strangers", test);
    // There is a place for each of them, and they have an hour.
    let silent = listener.silent(SILENT).await;
    assert_eq!(openable(&mut listener.connect().await).await, FILES);
    assert_eq!(silent.len(), SILENT);
}

#[tokio::test]
async fn a_listener_serves_again_when_descriptors_come_back() {
    if is_listener().await {
        return;
    }
    let test = "descriptors::a_listener_serves_again_when_descriptors_come_back";
    let mut listener = ListenerProcess::start("known", test);
    listener.order(USE_UP);
    // One that was inherited may have a number beyond the limit.
    let open = listener.open_descriptors();
    assert!(open >= DESCRIPTORS, "{open} descriptors");
    let waiting = listener.connect().await;
    let asked = tokio::spawn(good(listener.address, b""));
    listener.order(GIVE_BACK);
    assert!(asked.await.unwrap().starts_with("127.0.0.1:"));
    drop(waiting);
}

#[tokio::test]
async fn strangers_give_their_descriptors_back_when_there_are_none_left() {
    if is_listener().await {
        return;
    }
    let test = "descriptors::strangers_give_their_descriptors_back_when_there_are_none_left";
    let mut listener = ListenerProcess::start("strangers", test);
    let before = listener.open_descriptors();
    let silent = listener.silent(FEW).await;
    listener.holds(before + FEW).await;
    // Not by connections: they have less than their half.
    listener.order(USE_UP);
    assert!(good(listener.address, b"").await.starts_with("127.0.0.1:"));
    assert_eq!(silent.len(), FEW);
}
