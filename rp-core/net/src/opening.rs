//! Deadlines for what a client has to say first: on a connection, and on HTTP/1.1 in each request.
//!
//! The server tells HTTP/1.1 from HTTP/2 by the first bytes and waits as long as they take; its own limits begin after. On
//! HTTP/1.1 its one limit is for silence and head together; here a head that has begun can have a shorter one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// RFC 9113 §3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Whose turn it is on a connection: even the client's, which asks next, odd ours, who answer. Each turn is a number.
#[derive(Debug, Default)]
pub(crate) struct Turn(AtomicU64);

impl Turn {
    /// The other's from now on.
    pub(crate) fn pass(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// How long a head of HTTP/1.1 may take once it has begun.
pub(crate) struct Heads {
    pub(crate) within: Duration,
    pub(crate) turn: Arc<Turn>,
}

/// What the connection speaks.
enum Spoken {
    /// So many bytes of the preface came.
    Opening(usize),
    Http1,
    Http2,
}

struct Deadline {
    sleep: Pin<Box<Sleep>>,
    /// It is over when this turn is; `None`: when the connection has opened.
    turn: Option<u64>,
}

impl Deadline {
    fn new(within: Duration, turn: Option<u64>) -> Self {
        Self { sleep: Box::pin(tokio::time::sleep(within)), turn }
    }
}

/// A stream whose reads fail when it has not opened within a time: whole preface, or anything else; and when a head that
/// has begun takes too long.
pub(crate) struct Opening<S> {
    inner: S,
    deadline: Option<Deadline>,
    spoken: Spoken,
    heads: Option<Heads>,
}

impl<S> Opening<S> {
    pub(crate) fn new(inner: S, within: Duration, heads: Option<Heads>) -> Self {
        Self { inner, deadline: Some(Deadline::new(within, None)), spoken: Spoken::Opening(0), heads }
    }

    fn note(&mut self, came: &[u8]) {
        if let Spoken::Opening(seen) = self.spoken {
            let rest = &PREFACE[seen..];
            let both = rest.len().min(came.len());
            self.spoken = match rest[..both] == came[..both] && both > 0 {
                true if both == rest.len() => Spoken::Http2,
                true => Spoken::Opening(seen + both),
                false => Spoken::Http1,
            };
            if !matches!(self.spoken, Spoken::Opening(_)) {
                self.deadline = None;
            }
        }
        let Some(Heads { within, turn }) = self.heads.as_ref().filter(|_| !came.is_empty()) else { return };
        let now = turn.now();
        let known = self.deadline.as_ref().is_some_and(|deadline| deadline.turn == Some(now));
        if matches!(self.spoken, Spoken::Http1) && now.is_multiple_of(2) && !known {
            self.deadline = Some(Deadline::new(*within, Some(now)));
        }
    }

    /// Nothing came: whether it was to come by now.
    fn late(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = self.heads.as_ref().map(|heads| heads.turn.now());
        let Some(deadline) = &mut self.deadline else { return Poll::Pending };
        if deadline.turn.is_some() && deadline.turn != now {
            self.deadline = None;
            return Poll::Pending;
        }
        deadline.sleep.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
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
        match polled {
            Poll::Ready(Ok(())) => {
                self.note(&buf.filled()[before..]);
                polled
            }
            Poll::Ready(Err(_)) => polled,
            Poll::Pending => self.late(cx),
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
            let mut server = Opening::new(server, WITHIN, None);
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
        let mut server = Opening::new(server, WITHIN, None);
        let mut buffer = [0; 64];
        for part in [&PREFACE[..10], &PREFACE[10..]] {
            client.write_all(part).await.unwrap();
            assert_eq!(server.read(&mut buffer).await.unwrap(), part.len());
        }
        assert!(tokio::time::timeout(2 * WITHIN, server.read(&mut buffer)).await.is_err(), "opened");
    }

    /// Whether a read that waits ends at the deadline of a head.
    async fn is_cut(server: &mut Opening<tokio::io::DuplexStream>) -> bool {
        let read = tokio::time::timeout(2 * WITHIN, server.read(&mut [0; 64])).await;
        matches!(read, Ok(Err(error)) if error.kind() == io::ErrorKind::TimedOut)
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_ends_in_time_and_silence_and_work_may_last() {
        let turn = Arc::new(Turn::default());
        let heads = || Some(Heads { within: WITHIN, turn: Arc::clone(&turn) });
        let (mut client, server) = duplex(64);
        let mut server = Opening::new(server, 100 * WITHIN, heads());
        let mut buffer = [0; 64];
        assert!(!is_cut(&mut server).await, "silence at the beginning");
        for round in 0..3 {
            for part in ["GET / HT", "TP/1.1\r\n\r\n"] {
                client.write_all(part.as_bytes()).await.unwrap();
                assert_eq!(server.read(&mut buffer).await.unwrap(), part.len());
            }
            turn.pass();
            client.write_all(b"body").await.unwrap();
            assert_eq!(server.read(&mut buffer).await.unwrap(), 4);
            assert!(!is_cut(&mut server).await, "we answer, round {round}");
            turn.pass();
            assert!(!is_cut(&mut server).await, "between two requests, round {round}");
        }
        client.write_all(b"G").await.unwrap();
        assert_eq!(server.read(&mut buffer).await.unwrap(), 1);
        // Drops of it do not put the end off.
        tokio::time::advance(WITHIN - Duration::from_secs(1)).await;
        client.write_all(b"E").await.unwrap();
        assert_eq!(server.read(&mut buffer).await.unwrap(), 1);
        let began = tokio::time::Instant::now();
        assert!(is_cut(&mut server).await);
        assert!(began.elapsed() <= Duration::from_secs(2), "{:?}", began.elapsed());

        let (mut client, server) = duplex(64);
        let mut server = Opening::new(server, WITHIN, heads());
        client.write_all(PREFACE).await.unwrap();
        assert_eq!(server.read(&mut buffer).await.unwrap(), PREFACE.len());
        client.write_all(b"frame").await.unwrap();
        assert_eq!(server.read(&mut buffer).await.unwrap(), 5);
        assert!(!is_cut(&mut server).await, "HTTP/2 has frames at all times");
    }
}
