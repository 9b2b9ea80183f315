//! A connection whose writes are watched: one that waits for a peer that takes nothing ends at the door's word, whoever
//! holds the connection then.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::visitor::{Place, Visitor};

/// Bytes to and from a visitor. It has the connection's place: when it is dropped, the place is free.
#[derive(Debug)]
pub struct Paced<S> {
    inner: S,
    place: Place,
    /// There while a write waits.
    cut: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl<S> Paced<S> {
    /// Watches the writes of the connection that has this place.
    pub const fn new(inner: S, place: Place) -> Self {
        Self { inner, place, cut: None }
    }

    /// The connection that is watched.
    pub const fn visitor(&self) -> &Visitor {
        self.place.visitor()
    }

    /// Notes whether the peer takes what is written, and ends a wait that lasts too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            if self.cut.take().is_some() {
                self.visitor().writes(false);
            }
            return polled;
        }
        let visitor = self.place.visitor();
        let cut = self.cut.get_or_insert_with(|| {
            visitor.writes(true);
            Box::pin(visitor.cut_owned())
        });
        cut.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, data);
        self.watch(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, data);
        self.watch(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.watch(cx, polled)
    }
}
