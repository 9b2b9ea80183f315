//! Requests over connections of their own, the same way to every server: HTTP/1.1, TLS, one request at a time on each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// What is asked in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Makes something new.
    Put,
    /// Reads something that was made.
    Get,
}

/// A server and what to ask of it.
pub(crate) trait Target: Send + Sync {
    fn name(&self) -> &str;

    fn address(&self) -> SocketAddr;

    fn tls(&self) -> Arc<rustls::ClientConfig>;

    /// The next request; its path is absolute.
    fn request(&self, ask: RequestKind) -> Result<Request<Full<Bytes>>>;
}

pub(crate) type Connection = SendRequest<Full<Bytes>>;

/// One round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) connections: usize,
    pub(crate) length: Duration,
}

impl Load {
    /// Requests a second, and the time of each, sorted.
    pub(crate) async fn run(self, target: &dyn Target, ask: RequestKind) -> Result<(f64, Vec<Duration>)> {
        let mut open = Vec::with_capacity(self.connections);
        for _ in 0..self.connections {
            open.push(connect(target).await?);
        }
        let began = Instant::now();
        let rounds = open.into_iter().map(|connection| self.run_connection(target, ask, connection, began));
        let times = futures_util::future::try_join_all(rounds).await?;
        let took = began.elapsed().as_secs_f64();
        let mut times: Vec<Duration> = times.into_iter().flatten().collect();
        ensure!(!times.is_empty(), "{}: no request was answered", target.name());
        times.sort_unstable();
        #[expect(clippy::cast_precision_loss, reason = "requests of one round")]
        Ok((times.len() as f64 / took, times))
    }

    async fn run_connection(
        self,
        target: &dyn Target,
        ask: RequestKind,
        mut connection: Connection,
        began: Instant,
    ) -> Result<Vec<Duration>> {
        let mut times = Vec::new();
        while began.elapsed() < self.length {
            let request = target.request(ask)?;
            let asked = Instant::now();
            send(&mut connection, request).await.with_context(|| target.name().to_owned())?;
            times.push(asked.elapsed());
        }
        Ok(times)
    }
}

/// Sends a request and reads its answer, which must be a success.
pub(crate) async fn send(connection: &mut Connection, request: Request<Full<Bytes>>) -> Result<Bytes> {
    let path = request.uri().path().to_owned();
    connection.ready().await?;
    let answer = connection.send_request(request).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    ensure!(status.is_success(), "{path}: {status}: {}", String::from_utf8_lossy(&body));
    Ok(body)
}

pub(crate) async fn connect(target: &dyn Target) -> Result<Connection> {
    let address = target.address();
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::from(address.ip());
    let stream = TlsConnector::from(target.tls()).connect(name, stream).await?;
    let (connection, driver) = handshake(TokioIo::new(stream)).await?;
    // It ends when the connection is dropped.
    tokio::spawn(async move { driver.await.ok() });
    Ok(connection)
}

/// So many connections, each used once.
pub(crate) async fn opened(target: &dyn Target, count: usize) -> Result<Vec<Connection>> {
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        let mut connection = connect(target).await?;
        send(&mut connection, target.request(RequestKind::Get)?).await?;
        open.push(connection);
    }
    Ok(open)
}
