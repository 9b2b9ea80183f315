//! Connections to one instance, kept for a while and shared.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Most idle connections per instance.
const MOST_IDLE: usize = 4;
/// An idle connection is closed after so long.
const IDLE: Duration = Duration::from_secs(60);

/// A byte stream to a Prometheus, whatever its transport.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// A byte stream of any kind.
pub(crate) struct BoxedStream(pub(crate) Box<dyn ByteStream>);

impl AsyncRead for BoxedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for BoxedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}

/// One connection. Its drop closes it at once, which is how a query is cancelled: Prometheus stops the work
/// for a client that is gone.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    task: AbortHandle,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    pub(crate) async fn open(wire: BoxedStream) -> Result<Self, hyper::Error> {
        let (sender, connection) =
            http1::Builder::new().max_buf_size(256 * 1024).handshake(TokioIo::new(wire)).await?;
        // Errors of the connection surface in the pending request.
        let task = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Self { sender, task })
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        self.sender.send_request(request).await
    }
}

/// The idle connections to one instance.
#[derive(Debug, Default)]
pub(crate) struct ConnectionPool {
    idle: Mutex<Vec<(Connection, Instant)>>,
}

impl ConnectionPool {
    /// A connection that was used before, newest first.
    pub(crate) fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.lock();
        while let Some((connection, since)) = idle.pop() {
            if since.elapsed() < IDLE && connection.sender.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection whose answer was read to its end.
    pub(crate) fn put_back(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < MOST_IDLE && !connection.sender.is_closed() {
            idle.push((connection, Instant::now()));
        }
    }

    /// Closes all of them: the instance does not answer.
    pub(crate) fn clear(&self) {
        self.idle.lock().clear();
    }

    /// Closes connections that were idle for long; returns how many remain.
    pub(crate) fn sweep(&self) -> usize {
        let mut idle = self.idle.lock();
        idle.retain(|(connection, since)| since.elapsed() < IDLE && !connection.sender.is_closed());
        idle.len()
    }
}
