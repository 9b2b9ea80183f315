//! The body of an answer: bytes from a cluster with a watchful tail.
//!
//! The tail cuts the body when the grant ends or the cluster falls silent, counts what passes, and settles
//! the audit entry when the body is dropped, however it ended.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use rp_access::{Live, StreamGuard};
use rp_metrics::GaugeGuard;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::audit::Settle;
use super::pool::{H1Return, H2Slot, Upload};

/// Bytes for the client.
#[derive(Debug)]
pub struct Body {
    source: Source,
    tail: Option<Box<Tail>>,
}

enum Source {
    Full(Option<Bytes>),
    H2(RecvStream),
    H1(Incoming),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full",
            Self::H2(_) => "H2",
            Self::H1(_) => "H1",
        })
    }
}

/// What goes with a body from a cluster.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// The grant's end.
    pub(super) ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// Longest silence; `None` for streams.
    pub(super) idle: Option<Idle>,
    pub(super) settle: Option<Settle>,
    pub(super) sent: Arc<AtomicU64>,
    /// The request's body on its way, ended with the answer's.
    pub(super) _upload: Option<Upload>,
    /// A place on an HTTP/2 connection, held for its drop.
    pub(super) _slot: Option<H2Slot>,
    pub(super) h1: Option<H1Return>,
    /// Held while the answer goes on, so that its end is still told after a long while.
    pub(super) _live: Option<Arc<Live>>,
    /// An open stream, counted until its drop.
    pub(super) _open: Option<(StreamGuard, GaugeGuard)>,
}

/// A deadline that moves with every frame.
#[derive(Debug)]
pub(super) struct Idle {
    most: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Idle {
    pub(super) fn new(most: Duration) -> Self {
        Self { most, sleep: Box::pin(tokio::time::sleep(most)) }
    }
}

/// Why a body was cut short.
#[derive(Debug, thiserror::Error)]
pub enum Cut {
    #[error("the access ended")]
    Ended,
    #[error("the cluster sent nothing for too long")]
    Silent,
    #[error("the cluster broke off")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Body {
    /// A body that is there already.
    pub fn full(bytes: Bytes) -> Self {
        Self { source: Source::Full(Some(bytes)), tail: None }
    }

    /// No body.
    pub fn empty() -> Self {
        Self { source: Source::Full(None), tail: None }
    }

    pub(super) fn h2(recv: RecvStream, slot: H2Slot, upload: Option<Upload>) -> Self {
        let tail = Tail { _slot: Some(slot), _upload: upload, ..Tail::default() };
        Self { source: Source::H2(recv), tail: Some(Box::new(tail)) }
    }

    pub(super) fn h1(incoming: Incoming, give_back: H1Return) -> Self {
        let tail = Tail { h1: Some(give_back), ..Tail::default() };
        Self { source: Source::H1(incoming), tail: Some(Box::new(tail)) }
    }

    /// A body on a connection that is not used again.
    pub(super) fn from_h1(incoming: Incoming) -> Self {
        Self { source: Source::H1(incoming), tail: None }
    }

    /// Ties the body to the grant and the audit entry.
    pub(super) fn watched(mut self, fill: impl FnOnce(&mut Tail)) -> Self {
        fill(self.tail.get_or_insert_with(Box::default));
        self
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let Self { source, tail } = self.get_mut();
        let polled = match source {
            Source::Full(bytes) => return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Source::H2(recv) => poll_h2(recv, cx),
            Source::H1(incoming) => poll_h1(incoming, cx),
        };
        let Some(tail) = tail.as_deref_mut() else { return polled };
        match polled {
            Poll::Pending => tail.poll_cut(cx),
            Poll::Ready(frame) => Poll::Ready(tail.note(frame)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Full(bytes) => bytes.is_none(),
            Source::H2(recv) => recv.is_end_stream(),
            Source::H1(incoming) => http_body::Body::is_end_stream(incoming),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Source::H2(_) => SizeHint::default(),
            Source::H1(incoming) => http_body::Body::size_hint(incoming),
        }
    }
}

fn poll_h2(recv: &mut RecvStream, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
    match ready!(recv.poll_data(cx)) {
        Some(Ok(data)) => {
            // Taken off our hands: the cluster may send as much again. Fails only on a stream that is closed.
            let _ = recv.flow_control().release_capacity(data.len());
            Poll::Ready(Some(Ok(Frame::data(data))))
        }
        Some(Err(error)) => Poll::Ready(Some(Err(Cut::Broken(Box::new(error))))),
        None => Poll::Ready(None),
    }
}

fn poll_h1(incoming: &mut Incoming, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
    loop {
        let frame = ready!(http_body::Body::poll_frame(Pin::new(incoming), cx));
        // Trailers are headers that no list has let pass.
        if matches!(&frame, Some(Ok(frame)) if frame.is_trailers()) {
            continue;
        }
        return Poll::Ready(frame.map(|frame| frame.map_err(|error| Cut::Broken(Box::new(error)))));
    }
}

impl Drop for Body {
    /// A reader stops at the last byte when the length is known: the connection is good for more all the same.
    fn drop(&mut self) {
        let whole = matches!(&self.source, Source::H1(incoming) if http_body::Body::is_end_stream(incoming));
        if whole
            && let Some(tail) = self.tail.as_deref_mut()
            && let Some(give_back) = tail.h1.take()
        {
            give_back.now();
        }
    }
}

impl Tail {
    fn note(&mut self, frame: Option<Result<Frame<Bytes>, Cut>>) -> Option<Result<Frame<Bytes>, Cut>> {
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    self.sent.fetch_add(data.len() as u64, Ordering::Relaxed);
                }
                if let Some(idle) = &mut self.idle {
                    idle.sleep.as_mut().reset(Instant::now() + idle.most);
                }
            }
            Some(Err(cut)) => self.settle_as(cut),
            None => {
                if let Some(give_back) = self.h1.take() {
                    give_back.now();
                }
            }
        }
        frame
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let cut = if let Some(ended) = &mut self.ended
            && ended.as_mut().poll(cx).is_ready()
        {
            Cut::Ended
        } else if let Some(idle) = &mut self.idle
            && idle.sleep.as_mut().poll(cx).is_ready()
        {
            Cut::Silent
        } else {
            return Poll::Pending;
        };
        self.settle_as(&cut);
        Poll::Ready(Some(Err(cut)))
    }

    fn settle_as(&mut self, cut: &Cut) {
        if let Some(settle) = &mut self.settle {
            settle.cut(cut);
        }
    }
}
