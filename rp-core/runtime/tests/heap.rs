//! Heap profiles, in a process with the binaries' allocator.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::Duration;

use pprof::protos::{Message as _, Profile};
use rp_metrics::Registry;
use rp_runtime::{Admin, Readiness};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

#[global_allocator]
static ALLOCATOR: rp_runtime::Allocator = rp_runtime::Allocator;

const LONG: Duration = Duration::from_secs(120);
const MIB: usize = 1024 * 1024;

/// The status and the body.
async fn ask(server: SocketAddr, request: &str, body: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(LONG, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8_lossy(&answer[9..12]).parse().unwrap(), answer.split_off(end))
}

/// The bytes in use according to a profile.
fn in_use(gzipped: &[u8]) -> usize {
    let mut gunzip =
        Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    gunzip.stdin.take().unwrap().write_all(gzipped).unwrap();
    let plain = gunzip.wait_with_output().unwrap();
    assert!(plain.status.success(), "not gzip");
    let profile = Profile::decode(plain.stdout.as_slice()).unwrap();
    let kind = &profile.sample_type[0];
    let word = |index: i64| profile.string_table[usize::try_from(index).unwrap()].as_str();
    assert_eq!((word(kind.ty), word(kind.unit)), ("inuse_space", "bytes"));
    assert!(profile.sample.iter().all(|sample| !sample.location_id.is_empty()), "stacks");
    profile.sample.iter().map(|sample| usize::try_from(sample.value[0]).unwrap()).sum()
}

fn hoard(size: usize) -> Vec<Vec<u8>> {
    (0..size / 16_384).map(|n| vec![n.to_le_bytes()[0]; 16_384]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shows_what_is_in_use_and_only_while_asked() {
    let readiness = Readiness::new(CancellationToken::new());
    let admin = Admin { registry: Registry::new(), readiness, log: None };
    let cut = CancellationToken::new();
    let server = admin.serve((Ipv4Addr::LOCALHOST, 0).into(), cut.clone()).await.unwrap();
    let before = hoard(32 * MIB);
    assert_eq!(ask(server, "PUT /debug/pprof/heap", "maybe").await.0, 400);
    assert_eq!(ask(server, "PUT /debug/pprof/heap", "on\n").await.0, 204);
    assert_eq!(ask(server, "PUT /debug/pprof/heap", "on").await.0, 204);
    let (kept, freed) = (hoard(64 * MIB), hoard(64 * MIB));
    drop(freed);
    let (status, profile) = ask(server, "GET /debug/pprof/heap", "").await;
    assert_eq!(status, 200);
    let seen = in_use(&profile);
    // Samples of 512 KiB: a tenth more or less.
    assert!(seen > 50 * MIB && seen < 80 * MIB, "{seen}");
    assert_eq!(ask(server, "PUT /debug/pprof/heap", "off").await.0, 204);
    drop((before, kept));

    let (status, profile) = ask(server, "GET /debug/pprof/heap?seconds=1", "").await;
    assert_eq!(status, 200);
    assert!(in_use(&profile) < 8 * MIB, "what was allocated before is not in it");

    // A caller that leaves ends it.
    let mut leaving = TcpStream::connect(server).await.unwrap();
    leaving.write_all(b"GET /debug/pprof/heap?seconds=60 HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let taken = async { while ask(server, "PUT /debug/pprof/heap", "off").await.0 != 409 {} };
    timeout(LONG, taken).await.expect("the profile has begun");
    drop(leaving);
    let free = async { while ask(server, "PUT /debug/pprof/heap", "off").await.0 != 204 {} };
    timeout(LONG, free).await.expect("the profile ended with its caller");
    cut.cancel();
}
