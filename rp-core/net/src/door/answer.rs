//! An answer's body, watched from outside: whether it waits for its source or for the peer that does not take it.
//!
//! A server asks a body for its next piece only while the peer takes bytes, so a body cannot see by itself that nobody
//! takes it. Pieces that were handed over are watched too, until the server has let go of them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use super::visitor::Visitor;

/// One answer that the peer has not taken in whole.
#[derive(Debug)]
pub(super) struct Waiting {
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

impl Waiting {
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

/// The answer lasts as long as somebody holds it.
#[derive(Debug)]
pub(super) struct Hold {
    visitor: Visitor,
    waiting: Arc<Waiting>,
}

impl Hold {
    pub(super) fn new(visitor: Visitor, waiting: Arc<Waiting>) -> Self {
        waiting.holds.fetch_add(1, Ordering::AcqRel);
        Self { visitor, waiting }
    }
}

impl Clone for Hold {
    fn clone(&self) -> Self {
        Self::new(self.visitor.clone(), Arc::clone(&self.waiting))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.waiting.holds.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.visitor.taken(&self.waiting);
        }
    }
}

/// A piece on its way.
struct Piece {
    bytes: Bytes,
    hold: Hold,
}

impl Piece {
    fn new(bytes: Bytes, hold: Hold) -> Self {
        hold.waiting.pieces.fetch_add(1, Ordering::AcqRel);
        Self { bytes, hold }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.hold.waiting.moves();
        self.hold.waiting.pieces.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer whose way to the peer is watched.
#[derive(Debug)]
pub(crate) struct Answer<B> {
    body: Option<B>,
    /// `None`: there is nothing to take.
    hold: Option<Hold>,
}

impl<B: Body> Answer<B> {
    /// Watches this body.
    pub(crate) fn new(body: B, visitor: &Visitor) -> Self {
        let hold = (!body.is_end_stream()).then(|| visitor.answers());
        Self { body: Some(body), hold }
    }

    /// Nothing.
    pub(crate) const fn empty() -> Self {
        Self { body: None, hold: None }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Answer<B> {
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
                false => Bytes::from_owner(Piece::new(bytes, hold.clone())),
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
