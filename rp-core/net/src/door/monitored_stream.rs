//! A connection whose bytes are watched: the door can end a write that waits for a peer that reads nothing, no matter which
//! task holds the connection; one whose peer is not known and only sends is read slowly, and then ended.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::connection::{ConnectionHandle, ConnectionPermit, Input};

/// The byte stream of a connection. It holds the connection's permit, which is released when the stream is dropped.
#[derive(Debug)]
pub struct MonitoredStream<S> {
    inner: S,
    place: ConnectionPermit,
    /// Set while a write waits.
    cut: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// Nothing is read before it ends.
    pause: Option<Pin<Box<Sleep>>>,
}

impl<S> MonitoredStream<S> {
    /// Watches the writes of the connection that has this place.
    pub const fn new(inner: S, place: ConnectionPermit) -> Self {
        Self { inner, place, cut: None, pause: None }
    }

    /// The connection that is watched.
    pub const fn handle(&self) -> &ConnectionHandle {
        self.place.handle()
    }

    /// Notes whether the peer takes what is written, and ends a wait that lasts too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            if self.cut.take().is_some() {
                self.handle().writes(false);
            }
            return polled;
        }
        let connection = self.place.handle();
        let cut = self.cut.get_or_insert_with(|| {
            connection.writes(true);
            Box::pin(connection.cut_owned())
        });
        cut.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MonitoredStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        if polled.is_ready() {
            match self.handle().received(buf.filled().len() - before) {
                Input::Within => {}
                Input::Paced(pause) => self.pause = Some(Box::pin(sleep(pause))),
                Input::TooMuch => {
                    buf.set_filled(before);
                    return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
                }
            }
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MonitoredStream<S> {
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
