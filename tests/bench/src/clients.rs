//! Watching clients, in a process of their own so that only the proxy's memory counts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use clap::Args;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::measure::micros;
use crate::report;
use crate::tls;

/// Connections that are being made at once.
const AT_ONCE: usize = 64;
/// For one client to get its first event while all others come too.
const PATIENCE: Duration = Duration::from_secs(120);

/// What to watch, and how often.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClientArgs {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    ca: PathBuf,
    #[arg(long)]
    path: String,
    #[arg(long)]
    token: String,
    #[arg(long)]
    count: usize,
    /// HTTP/2 as kubectl speaks it, one stream on each connection
    #[arg(long)]
    http2: bool,
}

/// A watch that is held open.
struct Watch {
    _sender: Box<dyn Send>,
    body: Incoming,
}

/// Opens all watches, says `{"got": N}` when each has its first event, and holds them until it is killed or
/// they have ended: then it says `{"ended": [MICROS, …]}`, since the epoch, in order.
pub(crate) async fn run(args: ClientArgs) -> Result<()> {
    let alpn: &[&[u8]] = if args.http2 { &[b"h2"] } else { &[b"http/1.1"] };
    let config = tls::client(&std::fs::read_to_string(&args.ca)?, alpn)?;
    let (args, turns) = (Arc::new(args), Arc::new(Semaphore::new(AT_ONCE)));
    let mut opening = JoinSet::new();
    for _ in 0..args.count {
        let (args, config, turns) = (Arc::clone(&args), Arc::clone(&config), Arc::clone(&turns));
        opening.spawn(async move {
            let _turn = turns.acquire_owned().await?;
            tokio::time::timeout(PATIENCE, watch(&args, config)).await.context("no first event")?
        });
    }
    let mut held = Vec::with_capacity(args.count);
    while let Some(opened) = opening.join_next().await {
        held.push(opened?.with_context(|| format!("watch {}", held.len() + 1))?);
    }
    report::line(serde_json::json!({ "got": held.len() }));
    let mut ending: JoinSet<u64> = held.into_iter().map(wait_for_end).collect();
    let mut times = Vec::with_capacity(ending.len());
    while let Some(at) = ending.join_next().await {
        times.push(at?);
    }
    times.sort_unstable();
    report::line(serde_json::json!({ "ended": times }));
    std::future::pending().await
}

/// When the watch ended, microseconds since the epoch.
async fn wait_for_end(mut watch: Watch) -> u64 {
    while let Some(Ok(_)) = watch.body.frame().await {}
    micros()
}

async fn watch(args: &ClientArgs, config: Arc<ClientConfig>) -> Result<Watch> {
    let tcp = TcpStream::connect(args.address).await?;
    tcp.set_nodelay(true)?;
    let name = ServerName::from(args.address.ip());
    let io = TokioIo::new(TlsConnector::from(config).connect(name, tcp).await?);
    let authority = args.address.to_string();
    let uri = if args.http2 { format!("https://{authority}{}", args.path) } else { args.path.clone() };
    let request = Request::get(uri)
        .header(header::HOST, &authority)
        .header(header::AUTHORIZATION, format!("Bearer {}", args.token))
        .header(header::ACCEPT, "application/json")
        .body(Empty::<Bytes>::new())?;
    if args.http2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
        tokio::spawn(connection);
        let response = sender.send_request(request).await?;
        return first_event(response, Box::new(sender)).await;
    }
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
    tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    first_event(response, Box::new(sender)).await
}

async fn first_event(response: Response<Incoming>, sender: Box<dyn Send>) -> Result<Watch> {
    let status = response.status();
    let mut body = response.into_body();
    if status != StatusCode::OK {
        let text = body.collect().await?.to_bytes();
        bail!("{status}: {}", String::from_utf8_lossy(&text));
    }
    let mut seen = Vec::new();
    while !seen.ends_with(b"\n") {
        let frame = body.frame().await.context("the watch ended")??;
        if let Some(data) = frame.data_ref() {
            seen.extend_from_slice(data);
        }
        ensure!(seen.len() < 4096, "too much for one event");
    }
    ensure!(seen.starts_with(b"{\"type\":\"ADDED\""), "{}", String::from_utf8_lossy(&seen));
    Ok(Watch { _sender: sender, body })
}
