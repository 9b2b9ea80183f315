//! A deadline for the first bytes of a connection.
//!
//! The server tells HTTP/1.1 from HTTP/2 by them and waits as long as they take; its own limits begin after.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// RFC 9113 §3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A stream whose reads fail when it has not opened within a time: whole preface, or anything else.
pub(crate) struct Opening<S> {
    inner: S,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Bytes of the preface that came.
    seen: usize,
}

impl<S> Opening<S> {
    pub(crate) fn new(inner: S, within: Duration) -> Self {
        Self { inner, deadline: Some(Box::pin(tokio::time::sleep(within))), seen: 0 }
    }

    fn note(&mut self, came: &[u8]) {
        let rest = &PREFACE[self.seen..];
        let opened = came.is_empty() || !rest.starts_with(came) || rest.len() == came.len();
        self.seen += came.len().min(rest.len());
        if opened {
            self.deadline = None;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Opening<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        let Some(deadline) = &mut self.deadline else { return polled };
        match polled {
            Poll::Ready(Ok(())) => {
                self.note(&buf.filled()[before..]);
                polled
            }
            Poll::Ready(Err(_)) => polled,
            Poll::Pending => deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Opening<S> {
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const WITHIN: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn silence_and_half_a_preface_end_and_others_may_pause() {
        for (sent, ends) in [("", true), ("PRI * HTTP/2.0\r\n", true), ("G", false)] {
            let (mut client, server) = duplex(64);
            let mut server = Opening::new(server, WITHIN);
            client.write_all(sent.as_bytes()).await.unwrap();
            let mut buffer = [0; 64];
            if !sent.is_empty() {
                assert_eq!(server.read(&mut buffer).await.unwrap(), sent.len());
            }
            let read = tokio::time::timeout(2 * WITHIN, server.read(&mut buffer)).await;
            assert_eq!(
                matches!(read, Ok(Err(error)) if error.kind() == io::ErrorKind::TimedOut),
                ends,
                "{sent:?}"
            );
        }
        let (mut client, server) = duplex(64);
        let mut server = Opening::new(server, WITHIN);
        let mut buffer = [0; 64];
        for part in [&PREFACE[..10], &PREFACE[10..]] {
            client.write_all(part).await.unwrap();
            assert_eq!(server.read(&mut buffer).await.unwrap(), part.len());
        }
        assert!(tokio::time::timeout(2 * WITHIN, server.read(&mut buffer)).await.is_err(), "opened");
    }
}
