//! A connection that can be ended whatever its two ends do: a client that reads nothing must not outlive its access.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Bytes until the token is cancelled, then errors.
pub(super) struct Gate<S> {
    stream: S,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    is_cut: bool,
}

impl<S> Gate<S> {
    pub(super) fn new(stream: S, cut: CancellationToken) -> Self {
        Self { stream, cut: Box::pin(cut.cancelled_owned()), is_cut: false }
    }

    /// Wakes the reading task when the token is cancelled.
    fn open(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.is_cut || self.cut.as_mut().poll(cx).is_ready() {
            self.is_cut = true;
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the connection was cut"));
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gate<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.open(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gate<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.open(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.open(cx)?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.open(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn whoever_waits_for_bytes_is_woken_by_the_cut() {
        let (near, _far) = tokio::io::duplex(16);
        let cut = CancellationToken::new();
        let mut gate = Gate::new(near, cut.clone());
        let reading = tokio::spawn(async move { gate.read_u8().await });
        tokio::task::yield_now().await;
        cut.cancel();
        assert_eq!(reading.await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    }
}
