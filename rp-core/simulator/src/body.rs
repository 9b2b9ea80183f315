//! Bodies of answers, and reading bodies of requests within a bound.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};

/// The body of every answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// All at once.
pub fn full(content: impl Into<Bytes>) -> Body {
    Full::new(content.into()).boxed_unsync()
}

/// Piece by piece, each sent as soon as it is there.
pub fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Body {
    StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece)))).boxed_unsync()
}

/// Reads a request's body of at most `most` bytes; `None` when it is larger or the client went away.
pub async fn read(body: Incoming, most: usize) -> Option<Bytes> {
    Limited::new(body, most).collect().await.ok().map(http_body_util::Collected::to_bytes)
}
