//! Deadlines for what a client has to say first: on a connection, and in each request.
//!
//! The server tells HTTP/1.1 from HTTP/2 by the first bytes and waits as long as they take; its own limits begin after.
//! On HTTP/1.1 its one limit is for silence and head together, on HTTP/2 it has none; here a head that has begun can
//! have a shorter one.

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

/// Counts the turns of a connection: even numbers wait for a request of the client, odd numbers for our response.
#[derive(Debug, Default)]
pub(crate) struct RequestTurn(AtomicU64);

impl RequestTurn {
    /// Passes the turn to the other side.
    pub(crate) fn pass(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// How long a head may take once it has begun.
pub(crate) struct HeadDeadline {
    pub(crate) within: Duration,
    pub(crate) turn: Arc<RequestTurn>,
}

/// The protocol of the connection.
enum Protocol {
    /// So many bytes of the preface came.
    Opening(usize),
    Http1,
    Http2(FrameTracker),
}

/// Where in its frames a client of HTTP/2 is (RFC 9113 §4.1, §4.3, §6).
#[derive(Debug, Default)]
struct FrameTracker {
    /// The first nine bytes of a frame, as far as they came.
    head: [u8; 9],
    seen: usize,
    /// Bytes of it that are still to come.
    left: usize,
    /// Fields of a request are on their way, and no frame has ended them.
    fields: bool,
    /// How often there was nothing to wait for.
    done: u64,
}

const DATA: u8 = 0;
/// HEADERS, PUSH_PROMISE, CONTINUATION.
const FIELDS: [u8; 3] = [1, 5, 9];
const END_HEADERS: u8 = 4;

impl FrameTracker {
    fn note(&mut self, mut came: &[u8]) {
        while let Some((first, rest)) = came.split_first() {
            if self.left > 0 {
                let now = self.left.min(came.len());
                (self.left, came) = (self.left - now, &came[now..]);
            } else {
                self.head[self.seen] = *first;
                (self.seen, came) = (self.seen + 1, rest);
                if self.seen < self.head.len() {
                    continue;
                }
                self.seen = 0;
                let [a, b, c, kind, ..] = self.head;
                self.left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
                self.fields |= FIELDS.contains(&kind);
            }
            if self.left == 0 {
                let [_, _, _, kind, flags, ..] = self.head;
                if FIELDS.contains(&kind) && flags & END_HEADERS != 0 {
                    self.fields = false;
                }
                if !self.fields {
                    self.done += 1;
                }
            }
        }
    }

    /// Whether a head or a frame has begun and not ended. Bodies have limits of their own.
    fn waits(&self) -> bool {
        self.fields || self.seen > 0 || (self.left > 0 && self.head[3] != DATA)
    }
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

/// A stream whose reads fail when it has not opened within a time: whole preface, or anything else; when it opens with
/// another protocol than TLS agreed on; and when a head that has begun takes too long.
pub(crate) struct Opening<S> {
    inner: S,
    deadline: Option<Deadline>,
    spoken: Protocol,
    /// Whether TLS agreed on HTTP/2; `None`: on nothing, and the client chooses.
    agreed_http2: Option<bool>,
    heads: Option<HeadDeadline>,
}

impl<S> Opening<S> {
    pub(crate) fn new(inner: S, within: Duration, heads: Option<HeadDeadline>) -> Self {
        let deadline = Some(Deadline::new(within, None));
        Self { inner, deadline, spoken: Protocol::Opening(0), agreed_http2: None, heads }
    }

    /// The same where TLS agreed on this protocol (RFC 7301). The server reads the version from the first bytes alone,
    /// whatever was agreed.
    pub(crate) fn speaking(mut self, alpn: Option<&[u8]>) -> Self {
        self.agreed_http2 = alpn.map(|name| name == b"h2");
        self
    }

    fn breaks_its_word(&self) -> bool {
        match self.spoken {
            Protocol::Opening(_) => false,
            Protocol::Http1 => self.agreed_http2 == Some(true),
            Protocol::Http2(_) => self.agreed_http2 == Some(false),
        }
    }

    fn note(&mut self, came: &[u8]) {
        if let Protocol::Opening(seen) = self.spoken {
            let rest = &PREFACE[seen..];
            let both = rest.len().min(came.len());
            self.spoken = match rest[..both] == came[..both] && both > 0 {
                true if both == rest.len() => {
                    let mut frames = FrameTracker::default();
                    frames.note(&came[both..]);
                    Protocol::Http2(frames)
                }
                true => Protocol::Opening(seen + both),
                false => Protocol::Http1,
            };
            if !matches!(self.spoken, Protocol::Opening(_)) {
                self.deadline = None;
            }
        } else if let Protocol::Http2(frames) = &mut self.spoken {
            frames.note(came);
        }
        let Some(HeadDeadline { within, turn }) = self.heads.as_ref().filter(|_| !came.is_empty()) else {
            return;
        };
        let (now, waits) = match &self.spoken {
            Protocol::Opening(_) => return,
            Protocol::Http1 => (turn.now(), turn.now().is_multiple_of(2)),
            Protocol::Http2(frames) => (frames.done, frames.waits()),
        };
        let known = self.deadline.as_ref().is_some_and(|deadline| deadline.turn == Some(now));
        if waits && !known {
            self.deadline = Some(Deadline::new(*within, Some(now)));
        } else if !waits && matches!(self.spoken, Protocol::Http2(_)) {
            self.deadline = None;
        }
    }

    /// Nothing came: whether it was to come by now.
    fn late(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = match &self.spoken {
            Protocol::Http2(frames) => Some(frames.done),
            Protocol::Opening(_) | Protocol::Http1 => self.heads.as_ref().map(|heads| heads.turn.now()),
        };
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
                if self.breaks_its_word() {
                    buf.set_filled(before);
                    return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
                }
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

    #[tokio::test(start_paused = true)]
    async fn what_tls_agreed_on_is_spoken() {
        let http1: &[u8] = b"GET / HTTP/1.1\r\n";
        for (alpn, sent, good) in [
            (Some("h2"), PREFACE, true),
            (Some("h2"), http1, false),
            (Some("http/1.1"), PREFACE, false),
            (Some("http/1.1"), http1, true),
            (None, PREFACE, true),
            (None, http1, true),
        ] {
            let (mut client, server) = duplex(64);
            let mut server = Opening::new(server, WITHIN, None).speaking(alpn.map(str::as_bytes));
            client.write_all(sent).await.unwrap();
            let read = server.read(&mut [0; 64]).await;
            assert_eq!(read.is_ok(), good, "{alpn:?} {:?}", String::from_utf8_lossy(sent));
        }
    }

    /// Whether a read that waits ends at the deadline of a head.
    async fn is_cut(server: &mut Opening<tokio::io::DuplexStream>) -> bool {
        let read = tokio::time::timeout(2 * WITHIN, server.read(&mut [0; 64])).await;
        matches!(read, Ok(Err(error)) if error.kind() == io::ErrorKind::TimedOut)
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_ends_in_time_and_silence_and_work_may_last() {
        let turn = Arc::new(RequestTurn::default());
        let heads = || Some(HeadDeadline { within: WITHIN, turn: Arc::clone(&turn) });
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
    }

    /// A frame of one stream.
    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, 1], payload].concat()
    }

    /// Whether a connection of HTTP/2 that says this and no more is cut.
    async fn is_cut_after(said: &[&[u8]]) -> bool {
        let heads = HeadDeadline { within: WITHIN, turn: Arc::default() };
        let (mut client, server) = duplex(256);
        let mut server = Opening::new(server, 100 * WITHIN, Some(heads));
        let mut buffer = [0; 256];
        for part in said {
            client.write_all(part).await.unwrap();
            assert_eq!(server.read(&mut buffer).await.unwrap(), part.len());
        }
        is_cut(&mut server).await
    }

    #[tokio::test(start_paused = true)]
    async fn on_http2_a_head_or_a_frame_that_has_begun_ends_in_time() {
        let (settings, whole) = (frame(4, 0, b""), frame(1, 4, b"fields"));
        let (begun, more, end) = (frame(1, 0, b"fie"), frame(9, 0, b"l"), frame(9, 4, b"ds"));
        let data = frame(0, 0, b"body");
        let open = [PREFACE, &settings].concat();
        let at_once = [PREFACE, &settings, &begun].concat();
        let [open, whole, begun, more, end, data, settings, at_once] =
            [&open, &whole, &begun, &more, &end, &data, &settings, &at_once].map(Vec::as_slice);
        for (said, cut) in [
            (vec![open], false),
            (vec![open, whole], false),
            (vec![open, whole, &data[..11]], false),
            (vec![open, whole, &whole[..4]], true),
            (vec![open, &whole[..12]], true),
            (vec![open, begun], true),
            (vec![open, begun, more, more], true),
            (vec![open, begun, more, end], false),
            (vec![open, &settings[..5]], true),
            // A head that begins with the preface.
            (vec![at_once], true),
        ] {
            assert_eq!(is_cut_after(&said).await, cut, "{said:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_connection_of_http2_is_never_between_two_heads_and_goes_on() {
        let heads = HeadDeadline { within: WITHIN, turn: Arc::default() };
        let (mut client, server) = duplex(256);
        let mut server = Opening::new(server, 100 * WITHIN, Some(heads));
        let (whole, mut buffer) = (frame(1, 4, b"fields"), [0; 256]);
        client.write_all(&[PREFACE, &whole[..4]].concat()).await.unwrap();
        assert!(server.read(&mut buffer).await.unwrap() > 0);
        let shifted = [&whole[4..], &whole[..4]].concat();
        for _ in 0..10 {
            tokio::time::advance(WITHIN / 2).await;
            // A read that waits looks at the deadline.
            let read = tokio::time::timeout(Duration::from_millis(1), server.read(&mut buffer)).await;
            assert!(read.is_err(), "nothing was said, and it is not late");
            client.write_all(&shifted).await.unwrap();
            assert_eq!(server.read(&mut buffer).await.unwrap(), shifted.len());
        }
    }
}
