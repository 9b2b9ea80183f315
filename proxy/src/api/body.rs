//! The body of an answer: a cluster's bytes, looked after by the overseer.
//!
//! It is cut when the grant ends, when the cluster falls silent and when the client takes nothing, counts what passes,
//! and settles the audit entry when it is dropped, however it ended.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use http_body::{Frame, SizeHint};
use rp_access::{ActiveGrant, RequestGuard, StreamGuard};
use rp_metrics::GaugeGuard;

use super::audit::AuditEntryGuard;
use super::body_error::BodyError;
use super::pool::UpstreamBody;
use super::redaction::AnswerRedactor;
use super::watch_end::WatchEndEvent;
use crate::overseer::{CutReason, OverseenBody, Overseer, WatchLimits, Watched};
use crate::prom::PromBody;

/// Bytes for the client.
#[derive(Debug)]
pub struct Body {
    inner: Inner,
    /// The request counts as its owner's until the server lets go of the body, whatever was cut before.
    _place: Option<RequestGuard>,
}

#[derive(Debug)]
enum Inner {
    /// There already.
    Full(Option<Bytes>),
    Cluster(Watched<ClusterBody>),
    Prom(PromBody),
}

/// An answer of a cluster with what it holds.
#[derive(Debug)]
pub(super) struct ClusterBody {
    pub(super) answer: UpstreamBody,
    /// Withholds credentials.
    pub(super) redactor: Option<Box<AnswerRedactor>>,
    /// Trailers that pass; no others do.
    pub(super) trailers: Vec<HeaderName>,
    pub(super) settle: AuditEntryGuard,
    /// Bytes that went to the client.
    pub(super) sent: Arc<AtomicU64>,
    /// What a watch is told before its end.
    pub(super) farewell: Option<Box<WatchEndEvent>>,
    /// Held while the answer goes on, so that its end is still told after a long while.
    pub(super) _live: Arc<ActiveGrant>,
    /// An open stream, counted until its end.
    pub(super) _open: Option<(StreamGuard, GaugeGuard)>,
}

impl Body {
    /// A body that is there already.
    pub fn full(bytes: Bytes) -> Self {
        Self { inner: Inner::Full(Some(bytes)), _place: None }
    }

    /// No body.
    pub fn empty() -> Self {
        Self { inner: Inner::Full(None), _place: None }
    }

    /// An answer of a cluster's Prometheus.
    pub(crate) const fn prom(body: PromBody, place: Option<RequestGuard>) -> Self {
        Self { inner: Inner::Prom(body), _place: place }
    }

    /// A cluster's answer, tied to the grant and the audit entry.
    pub(super) fn watched(
        overseer: &Arc<Overseer>,
        answer: ClusterBody,
        until: WatchLimits,
        place: Option<RequestGuard>,
    ) -> Self {
        Self { inner: Inner::Cluster(overseer.watch(answer, until)), _place: place }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.get_mut().inner {
            Inner::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Cluster(body) => Pin::new(body).poll_frame(cx),
            Inner::Prom(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(|cut| BodyError::Broken(cut.into())))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Full(bytes) => bytes.is_none(),
            Inner::Cluster(body) => body.is_end_stream(),
            Inner::Prom(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Inner::Cluster(body) => body.size_hint(),
            Inner::Prom(body) => body.size_hint(),
        }
    }
}

impl http_body::Body for ClusterBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let next = loop {
            if let Some(redactor) = &mut self.redactor
                && let Some(passed) = ready!(redactor.poll_running(cx))
            {
                break Some(passed.map(Frame::data));
            }
            match ready!(Pin::new(&mut self.answer).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Some(frame) = self.searched(frame) {
                        break Some(Ok(frame));
                    }
                }
                other => break other,
            }
        };
        match &next {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    self.sent.fetch_add(data.len() as u64, Ordering::Relaxed);
                    if let Some(farewell) = &mut self.farewell {
                        farewell.passed(data);
                    }
                }
            }
            Some(Err(cut)) => self.settle.cut(cut),
            None => {}
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        !self.redactor.as_ref().is_some_and(|redactor| redactor.is_running()) && self.answer.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.redactor.is_some() { SizeHint::default() } else { self.answer.size_hint() }
    }
}

impl ClusterBody {
    /// What may pass of a piece; `None`: nothing yet.
    fn searched(&mut self, frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(last) => return last.into_trailers().ok().and_then(|given| self.listed(&given)),
        };
        let Some(redactor) = &mut self.redactor else { return Some(Frame::data(data)) };
        redactor.take(data).map(Frame::data)
    }

    /// The trailers that pass; `None`: none does.
    fn listed(&self, given: &HeaderMap) -> Option<Frame<Bytes>> {
        let mut passed = HeaderMap::new();
        for name in &self.trailers {
            for value in given.get_all(name) {
                passed.append(name.clone(), value.clone());
            }
        }
        (!passed.is_empty()).then(|| Frame::trailers(passed))
    }
}

impl OverseenBody for ClusterBody {
    fn cut(&mut self, over: CutReason) {
        self.settle.cut(&Self::error(over));
        if over != CutReason::Ended {
            self.farewell = None;
        }
    }

    fn last_words(&mut self) -> Option<Bytes> {
        self.farewell.take().and_then(|farewell| farewell.words(&self._live))
    }

    fn error(over: CutReason) -> BodyError {
        match over {
            CutReason::Ended => BodyError::Ended,
            CutReason::Silent => BodyError::Silent,
            CutReason::Untaken => BodyError::Untaken,
        }
    }
}
