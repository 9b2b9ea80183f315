//! An answer on its way to a client: ended with the access, written to the audit trail.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use rp_documents::Side;
use rp_prometheus::{PromError, ResponseBody};
use tokio_util::sync::CancellationToken;

use super::query_audit::QueryAudit;
use crate::overseer::{CutReason, OverseenBody, Overseer, WatchLimits, Watched};

/// Longest time in which nothing of an answer goes on; a silent Prometheus is noticed before.
const IDLE: Duration = Duration::from_secs(120);

/// Bytes for the client.
#[derive(Debug)]
pub struct PromBody(Inner);

#[derive(Debug)]
enum Inner {
    Full(Option<Bytes>),
    Answer(Watched<AuditedBody>),
}

/// An answer with its entry.
#[derive(Debug)]
struct AuditedBody {
    answer: ResponseBody,
    audit: QueryAudit,
}

/// The answer did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum PromCut {
    #[error("the access ended")]
    Ended,
    #[error("nothing of the answer went on for too long")]
    Idle,
    #[error("the answer ended early")]
    Broken(#[source] PromError),
}

impl PromBody {
    /// A body that is there already.
    pub const fn full(bytes: Bytes) -> Self {
        Self(Inner::Full(Some(bytes)))
    }

    /// No body.
    pub const fn empty() -> Self {
        Self(Inner::Full(None))
    }

    pub(super) fn watched(
        overseer: &Arc<Overseer>,
        answer: ResponseBody,
        audit: QueryAudit,
        ended: Option<CancellationToken>,
    ) -> Self {
        Self(Inner::Answer(
            overseer.watch(AuditedBody { answer, audit }, WatchLimits { ended, idle: Some(IDLE) }),
        ))
    }
}

impl Body for PromBody {
    type Data = Bytes;
    type Error = PromCut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, PromCut>>> {
        match &mut self.get_mut().0 {
            Inner::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Answer(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Full(bytes) => bytes.is_none(),
            Inner::Answer(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Inner::Answer(_) => SizeHint::default(),
        }
    }
}

impl Body for AuditedBody {
    type Data = Bytes;
    type Error = PromCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PromCut>>> {
        let polled = Pin::new(&mut self.answer).poll_frame(cx);
        if let Poll::Ready(Some(Err(error))) = &polled {
            let side = error.side();
            self.audit.aborted(side);
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(PromCut::Broken)))
    }

    fn is_end_stream(&self) -> bool {
        self.answer.is_end_stream()
    }
}

impl OverseenBody for AuditedBody {
    fn cut(&mut self, over: CutReason) {
        self.audit.aborted(if over == CutReason::Silent { Side::Cluster } else { Side::You });
    }

    fn last_words(&mut self) -> Option<Bytes> {
        None
    }

    fn error(over: CutReason) -> PromCut {
        if over == CutReason::Ended { PromCut::Ended } else { PromCut::Idle }
    }
}
