//! An answer on its way to a client: ended with the access, told to the audit trail.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use rp_documents::Side;
use rp_prometheus::{AnswerBody, PromError};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::told::Told;

/// Bytes for the client.
#[derive(Debug)]
pub struct PromBody(Inner);

#[derive(Debug)]
enum Inner {
    Full(Option<Bytes>),
    Answer(Box<Watched>),
}

#[derive(Debug)]
struct Watched {
    answer: AnswerBody,
    told: Told,
    ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

/// The answer did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum PromCut {
    #[error("the access ended")]
    Ended,
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

    pub(super) fn watched(answer: AnswerBody, told: Told, ended: Option<CancellationToken>) -> Self {
        let ended = ended.map(|token| Box::pin(token.cancelled_owned()));
        Self(Inner::Answer(Box::new(Watched { answer, told, ended })))
    }
}

impl Body for PromBody {
    type Data = Bytes;
    type Error = PromCut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, PromCut>>> {
        let watched = match &mut self.get_mut().0 {
            Inner::Full(bytes) => return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Answer(watched) => watched,
        };
        if let Some(ended) = &mut watched.ended
            && ended.as_mut().poll(cx).is_ready()
        {
            watched.ended = None;
            watched.told.broke(Side::You);
            return Poll::Ready(Some(Err(PromCut::Ended)));
        }
        match Pin::new(&mut watched.answer).poll_frame(cx) {
            Poll::Ready(Some(Err(error))) => {
                watched.told.broke(error.side());
                Poll::Ready(Some(Err(PromCut::Broken(error))))
            }
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Full(bytes) => bytes.is_none(),
            Inner::Answer(watched) => watched.answer.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Inner::Answer(_) => SizeHint::default(),
        }
    }
}
