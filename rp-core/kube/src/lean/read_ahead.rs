//! Reduces system calls: the TLS library reads only 4 KiB at a time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use rp_net::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::io::poll_read_buf;

/// Size of one read, bytes.
const WIDTH: usize = 64 * 1024;

/// A stream that reads ahead while data arrives and frees its buffer while it is idle.
pub(super) struct ReadAhead {
    inner: Stream,
    ahead: Option<BytesMut>,
}

impl ReadAhead {
    pub(super) const fn new(inner: Stream) -> Self {
        Self { inner, ahead: None }
    }
}

impl AsyncRead for ReadAhead {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut ahead = match self.ahead.take() {
            Some(ahead) => ahead,
            None => {
                let mut ahead = BytesMut::with_capacity(WIDTH);
                ready!(poll_read_buf(Pin::new(&mut self.inner), cx, &mut ahead))?;
                ahead
            }
        };
        let taken = ahead.len().min(buf.remaining());
        buf.put_slice(&ahead[..taken]);
        ahead.advance(taken);
        self.ahead = (!ahead.is_empty()).then_some(ahead);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ReadAhead {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
