//! A connection to a cluster, whichever way it was made.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Bytes to and from a cluster.
#[derive(Debug)]
pub enum Stream {
    /// Straight to the address.
    Tcp(TcpStream),
    /// Through a CONNECT proxy.
    Tunnel(Box<Tunnelled>),
}

/// A tunnel, and what the far side said along with the proxy's answer: servers of SSH speak first.
#[derive(Debug)]
pub struct Tunnelled {
    early: Bytes,
    tls: TlsStream<TcpStream>,
}

impl Tunnelled {
    pub(crate) const fn new(early: Bytes, tls: TlsStream<TcpStream>) -> Self {
        Self { early, tls }
    }
}

impl AsyncRead for Tunnelled {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.early.is_empty() {
            return Pin::new(&mut this.tls).poll_read(cx, buf);
        }
        let now = this.early.split_to(this.early.len().min(buf.remaining()));
        buf.put_slice(&now);
        Poll::Ready(Ok(()))
    }
}

macro_rules! each {
    ($self:ident, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            Stream::Tcp($stream) => $call,
            Stream::Tunnel($stream) => {
                let $stream = &mut $stream.tls;
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tunnel(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(cx, data))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write_vectored(cx, data))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
