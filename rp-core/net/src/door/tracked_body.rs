//! An answer's body, watched from outside: whether it waits for its source or for the peer that does not take it.
//!
//! A server polls a body for its next chunk only while the peer reads, so a body cannot notice by itself that the peer
//! does not read. Chunks that were handed over are tracked too, until the server has dropped them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use super::connection::ConnectionHandle;

/// One answer that the peer has not taken in whole.
#[derive(Debug)]
pub(super) struct ResponseProgress {
    begun: Instant,
    /// Milliseconds from the begin until something last happened.
    moved: AtomicU64,
    /// The body has nothing to give yet.
    source: AtomicBool,
    /// Pieces that the server has not let go of.
    pieces: AtomicUsize,
    /// The body, and those pieces.
    holds: AtomicUsize,
}

impl ResponseProgress {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            moved: AtomicU64::new(0),
            source: AtomicBool::new(false),
            pieces: AtomicUsize::new(0),
            holds: AtomicUsize::new(0),
        }
    }

    pub(super) const fn begun(&self) -> Instant {
        self.begun
    }

    /// Since when it waits for the peer; `None`: it waits for its source.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        let waits = self.pieces.load(Ordering::Acquire) > 0 || !self.source.load(Ordering::Acquire);
        waits.then(|| self.begun + Duration::from_millis(self.moved.load(Ordering::Acquire)))
    }

    fn moves(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(now, Ordering::Release);
    }
}

/// Keeps a response in the list of unread responses until the last clone is dropped.
#[derive(Debug)]
pub(super) struct ResponseHold {
    connection: ConnectionHandle,
    waiting: Arc<ResponseProgress>,
}

impl ResponseHold {
    pub(super) fn new(connection: ConnectionHandle, waiting: Arc<ResponseProgress>) -> Self {
        waiting.holds.fetch_add(1, Ordering::AcqRel);
        Self { connection, waiting }
    }
}

impl Clone for ResponseHold {
    fn clone(&self) -> Self {
        Self::new(self.connection.clone(), Arc::clone(&self.waiting))
    }
}

impl Drop for ResponseHold {
    fn drop(&mut self) {
        if self.waiting.holds.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.connection.taken(&self.waiting);
        }
    }
}

/// A chunk that the server has not dropped yet.
struct TrackedChunk {
    bytes: Bytes,
    hold: ResponseHold,
}

impl TrackedChunk {
    fn new(bytes: Bytes, hold: ResponseHold) -> Self {
        hold.waiting.pieces.fetch_add(1, Ordering::AcqRel);
        Self { bytes, hold }
    }
}

impl AsRef<[u8]> for TrackedChunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for TrackedChunk {
    fn drop(&mut self) {
        self.hold.waiting.moves();
        self.hold.waiting.pieces.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer whose way to the peer is watched.
#[derive(Debug)]
pub(crate) struct TrackedBody<B> {
    body: Option<B>,
    /// `None`: there is nothing to take.
    hold: Option<ResponseHold>,
}

impl<B: Body> TrackedBody<B> {
    /// Watches this body.
    pub(crate) fn new(body: B, connection: &ConnectionHandle) -> Self {
        let hold = (!body.is_end_stream()).then(|| connection.answers());
        Self { body: Some(body), hold }
    }

    /// Nothing.
    pub(crate) const fn empty() -> Self {
        Self { body: None, hold: None }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for TrackedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        let Some(hold) = &this.hold else { return polled };
        hold.waiting.moves();
        hold.waiting.source.store(polled.is_pending(), Ordering::Release);
        polled.map_ok(|frame| {
            frame.map_data(|bytes| match bytes.is_empty() {
                true => bytes,
                false => Bytes::from_owner(TrackedChunk::new(bytes, hold.clone())),
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
