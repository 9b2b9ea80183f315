//! The body of a cluster's answer, with what must live as long as it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;

use super::super::body_error::BodyError;
use super::h1::H1Return;
use super::h2_connection::H2Slot;
use super::send::Upload;

/// Bytes from a cluster. Its drop gives back, or ends, what carried it.
#[derive(Debug)]
pub(in crate::api) struct UpstreamBody(UpstreamStream);

enum UpstreamStream {
    H2 {
        recv: RecvStream,
        /// A place on the connection, held for its drop.
        _slot: H2Slot,
        /// The request's body on its way, ended with the answer's.
        _upload: Option<Upload>,
    },
    H1 {
        incoming: Incoming,
        /// `None` on a connection that is not used again.
        give_back: Option<H1Return>,
    },
    /// There already: an answer that was read, or given in the cluster's place.
    Read(Bytes),
}

impl std::fmt::Debug for UpstreamStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::H2 { .. } => "H2",
            Self::H1 { .. } => "H1",
            Self::Read(_) => "Read",
        })
    }
}

impl UpstreamBody {
    pub(super) fn h2(recv: RecvStream, slot: H2Slot, upload: Option<Upload>) -> Self {
        Self(UpstreamStream::H2 { recv, _slot: slot, _upload: upload })
    }

    pub(super) fn h1(incoming: Incoming, give_back: H1Return) -> Self {
        Self(UpstreamStream::H1 { incoming, give_back: Some(give_back) })
    }

    /// A body that is there already.
    pub(in crate::api) const fn read(bytes: Bytes) -> Self {
        Self(UpstreamStream::Read(bytes))
    }

    /// The last answer of a connection.
    pub(in crate::api) fn last(incoming: Incoming) -> Self {
        Self(UpstreamStream::H1 { incoming, give_back: None })
    }
}

impl http_body::Body for UpstreamBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.get_mut().0 {
            UpstreamStream::H2 { recv, .. } => poll_h2(recv, cx),
            UpstreamStream::H1 { incoming, give_back } => {
                let frame = ready!(poll_h1(incoming, cx));
                // Nothing follows trailers.
                let over = frame.as_ref().is_none_or(|frame| frame.as_ref().is_ok_and(Frame::is_trailers));
                if over && let Some(give_back) = give_back.take() {
                    give_back.now();
                }
                Poll::Ready(frame)
            }
            UpstreamStream::Read(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            UpstreamStream::H2 { recv, .. } => recv.is_end_stream(),
            UpstreamStream::H1 { incoming, .. } => incoming.is_end_stream(),
            UpstreamStream::Read(bytes) => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            UpstreamStream::H2 { .. } => SizeHint::default(),
            UpstreamStream::H1 { incoming, .. } => incoming.size_hint(),
            UpstreamStream::Read(bytes) => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

impl Drop for UpstreamBody {
    /// A reader stops at the last byte when the length is known: the connection is good for more all the same.
    fn drop(&mut self) {
        if let UpstreamStream::H1 { incoming, give_back } = &mut self.0
            && incoming.is_end_stream()
            && let Some(give_back) = give_back.take()
        {
            give_back.now();
        }
    }
}

fn poll_h2(recv: &mut RecvStream, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
    match ready!(recv.poll_data(cx)) {
        Some(Ok(data)) => {
            // Release flow-control capacity so that the cluster can send more. Fails only on a closed stream.
            let _ = recv.flow_control().release_capacity(data.len());
            Poll::Ready(Some(Ok(Frame::data(data))))
        }
        Some(Err(error)) => Poll::Ready(Some(Err(BodyError::Broken(Box::new(error))))),
        None => {
            let trailers = ready!(recv.poll_trailers(cx)).map_err(|error| BodyError::Broken(Box::new(error)));
            Poll::Ready(trailers.transpose().map(|trailers| trailers.map(Frame::trailers)))
        }
    }
}

fn poll_h1(incoming: &mut Incoming, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
    let frame = ready!(Pin::new(incoming).poll_frame(cx));
    Poll::Ready(frame.map(|frame| frame.map_err(|error| BodyError::Broken(Box::new(error)))))
}
