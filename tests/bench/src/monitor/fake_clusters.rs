//! Ten thousand fake clusters on one port, in a process of its own: `/c/N` is the API server of cluster N, which
//! answers from the fixture. `/counts` returns the number of requests so far.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::fixture::Fixture;
use crate::measure::micros;
use crate::{report, tls};

/// Upper limit of the number of clusters.
const MOST: usize = 20_000;
const TOKEN: &str = "Bearer bench";

struct FakeClusters {
    fixture: Fixture,
    /// Looks at each cluster, and the instant of the last, microseconds.
    looks: Vec<(AtomicU64, AtomicU64)>,
    /// Longest pause between two looks at one cluster, microseconds.
    longest: AtomicU64,
    requests: AtomicU64,
    connections: AtomicU64,
    /// Paths in the order of their first look, while they are recorded.
    paths: Mutex<Vec<String>>,
    recording: AtomicBool,
}

/// Serves until it is killed; says where on its first line.
pub(crate) async fn run(cert: &Path, key: &Path) -> Result<()> {
    let config = tls::server(&std::fs::read(cert)?, &std::fs::read(key)?)?;
    let mut config = rustls::ServerConfig::clone(&config);
    // As Go's server does: tickets, no memory of sessions.
    config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new()?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let far = Arc::new(FakeClusters {
        fixture: Fixture::read()?,
        looks: (0..MOST).map(|_| Default::default()).collect(),
        longest: AtomicU64::new(0),
        requests: AtomicU64::new(0),
        connections: AtomicU64::new(0),
        paths: Mutex::default(),
        recording: AtomicBool::new(true),
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    report::line(json!({ "listen": listener.local_addr()?.to_string() }));
    loop {
        let (tcp, _) = listener.accept().await?;
        let (acceptor, far) = (acceptor.clone(), Arc::clone(&far));
        tokio::spawn(async move {
            // A client that goes away is no news.
            drop(connection(tcp, acceptor, far).await);
        });
    }
}

async fn connection(tcp: TcpStream, acceptor: TlsAcceptor, far: Arc<FakeClusters>) -> Result<()> {
    tcp.set_nodelay(true)?;
    let stream = acceptor.accept(tcp).await.context("TLS")?;
    far.connections.fetch_add(1, Ordering::Relaxed);
    let service = service_fn(|request| answer(request, Arc::clone(&far)));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(250).max_send_buf_size(1024 * 1024);
    let served = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
    served.map_err(|error| anyhow::anyhow!("{error}"))
}

type Reply = Response<Full<Bytes>>;

fn reply(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

async fn answer(request: Request<Incoming>, far: Arc<FakeClusters>) -> Result<Reply, Infallible> {
    let path = request.uri().path();
    if path == "/counts" {
        return Ok(reply(StatusCode::OK, Bytes::from(far.counts())));
    }
    far.requests.fetch_add(1, Ordering::Relaxed);
    let Some((cluster, path)) = path.strip_prefix("/c/").and_then(|rest| {
        let (cluster, _) = rest.split_once('/')?;
        Some((cluster.parse::<usize>().ok()?, rest.get(cluster.len()..)?.to_owned()))
    }) else {
        return Ok(reply(StatusCode::NOT_FOUND, Bytes::new()));
    };
    if request.headers().get(header::AUTHORIZATION).is_none_or(|told| told != TOKEN) {
        return Ok(reply(StatusCode::UNAUTHORIZED, Bytes::new()));
    }
    far.note(cluster, &path, request.uri().query());
    Ok(match path.as_str() {
        "/healthz" => {
            let mut reply = reply(StatusCode::OK, Bytes::from_static(b"ok"));
            reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
            reply
        }
        path if path.ends_with("/alertmanager-main-0/portforward") => forward(request, &far),
        path => far.object(path, &request),
    })
}

impl FakeClusters {
    fn note(&self, cluster: usize, path: &str, query: Option<&str>) {
        if path == "/healthz"
            && let Some((count, last)) = self.looks.get(cluster)
        {
            count.fetch_add(1, Ordering::Relaxed);
            let now = micros();
            let before = last.swap(now, Ordering::Relaxed);
            if before != 0 {
                self.longest.fetch_max(now.saturating_sub(before), Ordering::Relaxed);
            }
        }
        if self.recording.load(Ordering::Relaxed) && !path.ends_with("/portforward") {
            let mut paths = self.paths.lock();
            let line = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
            if cluster == 0 && !paths.contains(&line) {
                paths.push(line);
            }
        }
    }

    fn counts(&self) -> String {
        let looks = || self.looks.iter().map(|(count, _)| count.load(Ordering::Relaxed));
        self.recording.store(false, Ordering::Relaxed);
        let looked = || looks().filter(|count| *count > 0);
        json!({
            "looks": looks().sum::<u64>(), "clusters": looked().count(),
            "least": looked().min().unwrap_or(0), "most": looked().max().unwrap_or(0),
            "longest_seconds": std::time::Duration::from_micros(self.longest.load(Ordering::Relaxed)).as_secs_f64(),
            "requests": self.requests.load(Ordering::Relaxed),
            "connections": self.connections.load(Ordering::Relaxed),
            "paths": *self.paths.lock(),
        })
        .to_string()
    }

    fn object(&self, path: &str, request: &Request<Incoming>) -> Reply {
        let Some(answer) = self.fixture.answers.get(path) else {
            let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","code":404}"#;
            return reply(StatusCode::NOT_FOUND, Bytes::from_static(status.as_bytes()));
        };
        let query = |name: &str| {
            let pairs = request.uri().query().unwrap_or_default().split('&');
            pairs.filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?.1.parse().ok()
        };
        if let Some(limit) = query("limit")
            && let Some(page) = answer.page(query("continue").unwrap_or(0), limit)
        {
            return reply(StatusCode::OK, page);
        }
        let accepts = request.headers().get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
        match &answer.gzip {
            Some(gzip) if accepts.is_some_and(|accepts| accepts.contains("gzip")) => {
                let mut reply = reply(StatusCode::OK, gzip.clone());
                reply.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                reply
            }
            _ => reply(StatusCode::OK, answer.plain.clone()),
        }
    }
}

/// Port-forward by `v4.channel.k8s.io` to an Alertmanager that answers one request.
fn forward(mut request: Request<Incoming>, far: &Arc<FakeClusters>) -> Reply {
    let Some(key) = request.headers().get("sec-websocket-key").map(|key| derive_accept_key(key.as_bytes()))
    else {
        return reply(StatusCode::BAD_REQUEST, Bytes::new());
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let far = Arc::clone(far);
    tokio::spawn(async move {
        // A client that goes away is no news.
        drop(speak(upgrade, &far.fixture.alerts).await);
    });
    let mut reply = reply(StatusCode::SWITCHING_PROTOCOLS, Bytes::new());
    let headers = reply.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert("sec-websocket-protocol", HeaderValue::from_static("v4.channel.k8s.io"));
    if let Ok(key) = HeaderValue::from_str(&key) {
        headers.insert("sec-websocket-accept", key);
    }
    reply
}

async fn speak(upgrade: hyper::upgrade::OnUpgrade, alerts: &Bytes) -> Result<()> {
    let io = TokioIo::new(upgrade.await?);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    let [low, high] = 9093u16.to_le_bytes();
    for channel in [0u8, 1] {
        socket.send(Message::binary(vec![channel, low, high])).await?;
    }
    let mut head = Vec::new();
    while let Some(message) = socket.next().await {
        let Message::Binary(data) = message? else { continue };
        head.extend(data.iter().skip(1));
        if head.ends_with(b"\r\n\r\n") {
            let mut answer = vec![0u8];
            let length = alerts.len();
            answer.extend(
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
                )
                .bytes(),
            );
            answer.extend(alerts);
            socket.send(Message::binary(answer)).await?;
            head.clear();
        }
    }
    Ok(())
}
