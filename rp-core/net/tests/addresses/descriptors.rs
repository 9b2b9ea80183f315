//! A process that has used up its descriptors: its listener lives on.
//!
//! The listener is in a process of its own, this program again, so that the limit is not the test's.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rp_net::Origins;
use rp_net::door::{Door, DoorLimits, StrangerLimits};
use tokio::net::{TcpListener, TcpStream};

use crate::{good, serve, within};

/// Which listener this process is to be, if it is one.
const ROLE: &str = "ARO_TEST_LISTENER";
/// Descriptors of its process.
const DESCRIPTORS: usize = 48;
/// Connections that say nothing: more than it has descriptors, fewer than wait in the kernel's queue besides.
const SILENT: usize = 100;
/// Much longer than any test waits.
const NEVER: Duration = Duration::from_secs(3600);

/// Whether this process is the listener; then it serves until it is killed.
async fn is_listener() -> bool {
    let Ok(role) = std::env::var(ROLE) else { return false };
    let strangers = StrangerLimits { connections: 1000, per_address: 1000, answers: 4, time: NEVER };
    let limits =
        DoorLimits { strangers: (role == "strangers").then_some(strangers), ..DoorLimits::default() };
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = tcp.local_addr().unwrap();
    serve(tcp, Door::uncounted(limits), Origins::default());
    println!("\nlistens {address}");
    std::future::pending().await
}

/// The other process.
struct ListenerProcess {
    child: Child,
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
        let mut child = command.env(ROLE, role).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut said = lines.filter_map(|line| line.strip_prefix("listens ")?.parse().ok());
        let Some(address) = said.next() else { panic!("the listener does not start") };
        Self { child, address }
    }

    /// Opens connections that say nothing until it has no descriptor left.
    async fn used_up(&self) -> Vec<TcpStream> {
        let mut silent = Vec::new();
        for _ in 0..SILENT {
            silent.push(TcpStream::connect(self.address).await.unwrap());
        }
        silent
    }

    fn open_descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }
}

#[tokio::test]
async fn a_listener_serves_again_when_descriptors_come_back() {
    if is_listener().await {
        return;
    }
    let test = "descriptors::a_listener_serves_again_when_descriptors_come_back";
    let listener = ListenerProcess::start("known", test);
    let silent = listener.used_up().await;
    within("the last descriptor", async {
        while listener.open_descriptors() < DESCRIPTORS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let asked = tokio::spawn(good(listener.address, b""));
    drop(silent);
    assert!(asked.await.unwrap().starts_with("127.0.0.1:"));
}

#[tokio::test]
async fn strangers_give_their_descriptors_back_when_there_are_none_left() {
    if is_listener().await {
        return;
    }
    let test = "descriptors::strangers_give_their_descriptors_back_when_there_are_none_left";
    let listener = ListenerProcess::start("strangers", test);
    let silent = listener.used_up().await;
    // There is a place for each of them, and they have an hour.
    assert!(good(listener.address, b"").await.starts_with("127.0.0.1:"));
    assert_eq!(silent.len(), SILENT);
}
