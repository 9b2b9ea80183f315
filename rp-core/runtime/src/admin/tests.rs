use std::net::Ipv4Addr;

use rp_metrics::{Counter, Register as _, Spec};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::*;

const LONG: Duration = Duration::from_secs(60);

struct Server {
    address: SocketAddr,
    admin: Admin,
    stopping: CancellationToken,
    cut: CancellationToken,
    /// The filter lives as long as its layer.
    _layer: Box<dyn std::any::Any + Send + Sync>,
}

async fn server() -> Server {
    let (stopping, cut) = (CancellationToken::new(), CancellationToken::new());
    let (layer, log) = crate::logging::filter("info").unwrap();
    let readiness = Readiness::new(stopping.clone());
    let admin = Admin { registry: Registry::new(), readiness, log: Some(log) };
    let address = admin.clone().serve((Ipv4Addr::LOCALHOST, 0).into(), cut.clone()).await.unwrap();
    Server { address, admin, stopping, cut, _layer: Box::new(layer) }
}

impl Server {
    /// The status line's number and the whole answer.
    async fn ask(&self, request: &str, host: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let length = body.len();
        let head = format!(
            "{request} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(LONG, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        (answer[9..12].parse().unwrap(), answer)
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.ask(&format!("GET {path}"), "localhost:6060", "").await
    }
}

#[tokio::test]
async fn shows_metrics_and_health() {
    let server = server().await;
    let spec = Spec { name: "aro_x_total", help: "X.", buckets: &[] };
    Counter::register(&server.admin.registry, spec).inc();
    crate::register_runtime_metrics(&server.admin.registry);
    let (status, text) = server.get("/metrics").await;
    assert!(status == 200 && text.contains("aro_x_total 1\n") && text.contains("version=0.0.4"), "{text}");
    assert!(text.contains("aro_runtime_tasks ") && server.admin.registry.mistakes().is_empty());
    assert_eq!(server.get("/healthz/live").await.0, 200);
    assert_eq!(server.get("/healthz/ready").await.0, 200);
    server.admin.readiness.add("store", || async { Err("it is held by another process".to_owned()) });
    let (status, text) = server.get("/healthz/ready").await;
    assert!(status == 503 && text.contains("[-] store: it is held by another process"), "{text}");
    server.stopping.cancel();
    assert!(server.get("/healthz/ready").await.1.contains("the process is stopping"));
    assert!(server.get("/debug/tasks").await.1.contains("\"workers\""));
}

#[tokio::test]
async fn the_log_filter_can_be_changed() {
    let server = server().await;
    assert_eq!(server.ask("PUT /log", "127.0.0.1", "debug,hyper=warn\n").await.0, 204);
    assert!(server.get("/log").await.1.contains("hyper=warn"));
    assert_eq!(server.ask("PUT /log", "127.0.0.1", "a=loud").await.0, 400);
    assert_eq!(server.ask("PUT /log", "127.0.0.1", &"x".repeat(10_000)).await.0, 413);
}

#[tokio::test]
async fn answers_to_this_machines_names_only() {
    let server = server().await;
    for good in ["localhost", "LOCALHOST:6060", "127.0.0.1:1", "[::1]:6060"] {
        assert_eq!(server.ask("GET /metrics", good, "").await.0, 200, "{good}");
    }
    for bad in
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[::2]", "["]
    {
        assert_eq!(server.ask("GET /metrics", bad, "").await.0, 403, "{bad}");
    }
}

#[cfg(feature = "profiling")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profiles_of_cpu_and_sizes_of_memory() {
    let server = Arc::new(server().await);
    let done = CancellationToken::new();
    let busy = std::thread::spawn({
        let done = done.clone();
        move || {
            let mut sum = 0u64;
            while !done.is_cancelled() {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
            }
            sum
        }
    });
    let (status, picture) = server.get("/debug/pprof/cpu?seconds=1&format=flamegraph").await;
    assert!(status == 200 && picture.contains("<svg"), "{picture}");
    let (status, profile) = server.get("/debug/pprof/profile?seconds=1").await;
    assert!(status == 200 && profile.len() > 200);
    done.cancel();
    busy.join().unwrap();
    assert_eq!(server.get("/debug/pprof/cpu?seconds=x").await.0, 400);
    assert!(server.get("/debug/memory").await.1.contains("Rss:"));
    #[cfg(not(feature = "jemalloc"))]
    assert!(server.get("/debug/pprof/heap").await.1.contains("jemalloc"));
    assert!(server.get("/debug/pprof/").await.1.contains("/debug/pprof/cpu"));
}

#[cfg(not(feature = "profiling"))]
#[tokio::test]
async fn a_build_without_profiles_says_so() {
    let server = server().await;
    for path in ["/debug/pprof/cpu?seconds=1", "/debug/pprof/profile"] {
        let (status, text) = server.get(path).await;
        assert!(status == 501 && text.contains("without the feature profiling"), "{text}");
    }
}

#[tokio::test]
async fn ends_when_it_is_cut_and_an_address_in_use_is_an_error() {
    let server = server().await;
    let again = server.admin.clone().serve(server.address, CancellationToken::new()).await;
    assert!(again.unwrap_err().to_string().contains("cannot listen on 127.0.0.1:"));
    server.cut.cancel();
    timeout(LONG, async { while TcpStream::connect(server.address).await.is_ok() {} }).await.unwrap();
}
