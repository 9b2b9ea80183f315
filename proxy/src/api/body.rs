//! The body of an answer: a cluster's bytes with a watchful tail.
//!
//! The tail cuts the body when the grant ends or the cluster falls silent, counts what passes, and settles
//! the audit entry when the body is dropped, however it ended.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use rp_access::{Live, StreamGuard};
use rp_metrics::GaugeGuard;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::audit::Settle;
use super::cut::Cut;
use super::pool::Answer;
use crate::prom::PromBody;

/// Bytes for the client.
#[derive(Debug)]
pub struct Body(Inner);

#[derive(Debug)]
enum Inner {
    /// There already.
    Full(Option<Bytes>),
    Cluster(Answer, Box<Tail>),
    Prom(PromBody),
}

/// What goes with a body from a cluster.
#[derive(Debug)]
pub(super) struct Tail {
    /// The grant's end.
    pub(super) ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// Longest silence; `None` for streams.
    pub(super) idle: Option<Idle>,
    pub(super) settle: Settle,
    pub(super) sent: Arc<AtomicU64>,
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

impl Body {
    /// A body that is there already.
    pub fn full(bytes: Bytes) -> Self {
        Self(Inner::Full(Some(bytes)))
    }

    /// No body.
    pub fn empty() -> Self {
        Self(Inner::Full(None))
    }

    /// An answer of a cluster's Prometheus.
    pub(crate) const fn prom(body: PromBody) -> Self {
        Self(Inner::Prom(body))
    }

    /// A cluster's answer, tied to the grant and the audit entry.
    pub(super) fn watched(answer: Answer, tail: Tail) -> Self {
        Self(Inner::Cluster(answer, Box::new(tail)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match &mut self.get_mut().0 {
            Inner::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Cluster(answer, tail) => {
                // A stream that never rests must be cut too.
                if tail.idle.is_none() && tail.is_over(cx) {
                    tail.settle.cut(&Cut::Ended);
                    return Poll::Ready(Some(Err(Cut::Ended)));
                }
                match Pin::new(answer).poll_frame(cx) {
                    Poll::Pending => tail.poll_cut(cx),
                    Poll::Ready(frame) => Poll::Ready(tail.note(frame)),
                }
            }
            Inner::Prom(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(|cut| Cut::Broken(cut.into())))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Full(bytes) => bytes.is_none(),
            Inner::Cluster(answer, _) => answer.is_end_stream(),
            Inner::Prom(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Inner::Cluster(answer, _) => answer.size_hint(),
            Inner::Prom(body) => body.size_hint(),
        }
    }
}

impl Tail {
    /// Counts with the entry's own counter; nothing ends the answer but its own end.
    pub(super) fn new(settle: Settle) -> Self {
        let sent = settle.counters().0;
        Self { ended: None, idle: None, settle, sent, _live: None, _open: None }
    }

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
            Some(Err(cut)) => self.settle.cut(cut),
            None => {}
        }
        frame
    }

    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        self.ended.as_mut().is_some_and(|ended| ended.as_mut().poll(cx).is_ready())
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let cut = if self.is_over(cx) {
            Cut::Ended
        } else if let Some(idle) = &mut self.idle
            && idle.sleep.as_mut().poll(cx).is_ready()
        {
            Cut::Silent
        } else {
            return Poll::Pending;
        };
        self.settle.cut(&cut);
        Poll::Ready(Some(Err(cut)))
    }
}
