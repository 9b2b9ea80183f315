//! A fake API server for watches and streams, in a process of its own.
//!
//! - `…?watch=true`: one event, then silence.
//! - an upgrade with `bytes=N`: after the 101 takes N bytes and answers with one; with `source=true` sends N, with `framed=true`
//!   as the standard output of an exec by WebSocket.
//! - anything else: an object that also says yes to every review.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::report;
use crate::tls;

/// Requests at once on an HTTP/2 connection.
const STREAMS: u32 = 100;
/// Bytes read or written at a time.
pub(crate) const CHUNK: usize = 128 * 1024;
const EVENT: &[u8] = b"{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\",\"namespace\":\"default\",\"resourceVersion\":\"1\"}}}\n";
const OBJECT: &[u8] = b"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"status\":{\"allowed\":true}}";

/// Serves until it is killed; says where on its first line.
pub(crate) async fn run(cert: &Path, key: &Path) -> Result<()> {
    let acceptor = TlsAcceptor::from(tls::server(&std::fs::read(cert)?, &std::fs::read(key)?)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    report::line(serde_json::json!({ "listen": listener.local_addr()?.to_string() }));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(STREAMS);
    let builder = Arc::new(builder);
    loop {
        let (tcp, _) = listener.accept().await?;
        tcp.set_nodelay(true)?;
        let (acceptor, builder) = (acceptor.clone(), Arc::clone(&builder));
        tokio::spawn(async move {
            if let Err(error) = connection(tcp, acceptor, &builder).await {
                report::progress(format_args!("far side: {error:#}"));
            }
        });
    }
}

async fn connection(
    tcp: TcpStream,
    acceptor: TlsAcceptor,
    builder: &auto::Builder<TokioExecutor>,
) -> Result<()> {
    let stream = acceptor.accept(tcp).await.context("TLS")?;
    let served = builder.serve_connection_with_upgrades(TokioIo::new(stream), service_fn(answer)).await;
    served.map_err(|error| anyhow::anyhow!("{error}"))
}

async fn answer(mut request: Request<Incoming>) -> Result<Response<ResponseBody>, Infallible> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let has = |wanted: &str| query.split('&').any(|pair| pair == wanted);
    let mut response = Response::new(ResponseBody::Once(Some(Bytes::from_static(OBJECT))));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    if has("watch=true") {
        *response.body_mut() = ResponseBody::Watch(Some(Bytes::from_static(EVENT)));
    } else if let Some(protocol) = request.headers().get(header::UPGRADE).cloned() {
        let bytes =
            query.split('&').find_map(|pair| pair.strip_prefix("bytes=")).and_then(|n| n.parse().ok());
        let (bytes, source, framed) = (bytes.unwrap_or(0), has("source=true"), has("framed=true"));
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            if let Err(error) = stream(upgrade, bytes, source, framed).await {
                report::progress(format_args!("far side: stream: {error:#}"));
            }
        });
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *response.body_mut() = ResponseBody::Once(None);
        response.headers_mut().clear();
        response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("Upgrade"));
        response.headers_mut().insert(header::UPGRADE, protocol);
    }
    Ok(response)
}

/// So many bytes of lines as a program's log has them: no two alike, the same in every run.
pub(crate) fn text(size: usize) -> Vec<u8> {
    const WORDS: [&str; 5] = ["Reconciled", "Updated", "Failed to sync", "Observed", "Skipped"];
    const POOLS: [&str; 3] = ["worker", "master", "infra"];
    let (mut text, mut seed) = (Vec::with_capacity(size + 256), 1_u64);
    while text.len() < size {
        // Knuth's generator: what differs between lines of a log differs here.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (micros, line, took) = (seed >> 40 & 0xf_ffff, seed >> 33 & 0x3ff, seed >> 22 & 0x3ff);
        let (word, pool) =
            (WORDS[(seed >> 35) as usize % WORDS.len()], POOLS[(seed >> 50) as usize % POOLS.len()]);
        text.extend_from_slice(
            format!("I1122 18:31:02.{micros:06}   12345 controller.go:{line}] \"{word}\" pool=\"{pool}\" took=\"{took}ms\" uid={seed:016x}\n")
                .as_bytes(),
        );
    }
    text.truncate(size);
    text
}

/// Whole messages of a WebSocket with standard output of `v5.channel.k8s.io` in them, eight times [`CHUNK`] bytes.
fn messages() -> Vec<u8> {
    const HEAD: usize = 5;
    let size = CHUNK / 4;
    let length = u16::try_from(size - HEAD + 1).unwrap_or(u16::MAX).to_be_bytes();
    let mut messages = Vec::with_capacity(8 * CHUNK);
    for piece in text(32 * (size - HEAD)).chunks(size - HEAD) {
        // Final and binary; not masked, the length in 16 bits; channel 1.
        messages.extend_from_slice(&[0x82, 126, length[0], length[1], 1]);
        messages.extend_from_slice(piece);
    }
    messages
}

async fn stream(upgrade: hyper::upgrade::OnUpgrade, bytes: u64, source: bool, framed: bool) -> Result<()> {
    let mut io = TokioIo::new(upgrade.await?);
    let mut buffer = if framed { messages() } else { vec![0; CHUNK] };
    let (mut left, mut at) = (bytes, 0);
    while left > 0 {
        if source {
            let size = CHUNK.min(usize::try_from(left).unwrap_or(usize::MAX));
            io.write_all(&buffer[at..at + size]).await?;
            at = (at + size) % buffer.len();
            left -= size as u64;
        } else {
            let read = io.read(&mut buffer).await?;
            anyhow::ensure!(read > 0, "ended {left} bytes early");
            left = left.saturating_sub(read as u64);
        }
    }
    if !source {
        io.write_all(b"k").await?;
    }
    io.flush().await?;
    // Until the client goes: an end from here could overtake the last bytes.
    while io.read(&mut buffer).await? > 0 {}
    Ok(())
}

/// A body.
enum ResponseBody {
    Once(Option<Bytes>),
    /// One event, and no end.
    Watch(Option<Bytes>),
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Once(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Watch(bytes) => match bytes.take() {
                Some(event) => Poll::Ready(Some(Ok(Frame::data(event)))),
                None => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Once(None))
    }
}
