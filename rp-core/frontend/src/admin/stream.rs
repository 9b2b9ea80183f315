//! Answers that are written while the work lasts (`contract/frontend.md` §11.1 exec, §11.4, §11.7).
//!
//! Each piece reaches the client at once (`contract/frontend.md` "Do better" 23). How the work ended stands in the
//! trailer `Aro-Result` of HTTP (`contract/frontend.md` "Do better" 24): the text is the contract's, and clients that
//! do not read trailers notice nothing. A client that goes away, or stops reading, ends the work.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::header::{CONTENT_TYPE, HeaderName, TRAILER};
use http::{HeaderMap, HeaderValue, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use rp_api::CloudError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::edge::Edge;
use crate::response::HttpResponse;

/// The trailer that says how the work ended: `ok`, `failed`, `timeout`.
const RESULT: HeaderName = HeaderName::from_static("aro-result");
/// Pieces that wait for the client.
const QUEUE: usize = 8;
/// A client that takes no piece for this long is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// The client is gone, so nothing more is done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone;

/// How the work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    Failed,
}

/// How a streamed answer ended, for the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamEnd {
    /// `ok`, `failed`, `timeout`, or `gone`: the client left.
    pub(crate) word: &'static str,
    /// Bytes that were given to the connection.
    pub(crate) written: u64,
}

/// Stands in the extensions of a streamed answer; the request is logged and audited when it resolves.
#[derive(Debug, Clone)]
pub(crate) struct StreamWatch(watch::Receiver<Option<StreamEnd>>);

impl StreamWatch {
    /// Waits for the end.
    pub(crate) async fn end(mut self) -> StreamEnd {
        let ended = self.0.wait_for(Option::is_some).await;
        ended.ok().and_then(|end| *end).unwrap_or(StreamEnd { word: "failed", written: 0 })
    }
}

/// Where the work writes.
pub(super) struct Output {
    pieces: mpsc::Sender<Frame<Bytes>>,
    written: Arc<AtomicU64>,
}

impl Output {
    /// Sends a piece.
    ///
    /// # Errors
    /// [`Gone`].
    pub(super) async fn write(&self, piece: impl Into<Bytes>) -> Result<(), Gone> {
        let piece = piece.into();
        if piece.is_empty() {
            return Ok(());
        }
        self.written.fetch_add(piece.len() as u64, Ordering::Relaxed);
        let sent = self.pieces.send_timeout(Frame::data(piece), PATIENCE).await;
        sent.map_err(|_| Gone)
    }

    /// Sends a line.
    ///
    /// # Errors
    /// [`Gone`].
    pub(super) async fn line(&self, text: &str) -> Result<(), Gone> {
        self.write(format!("{text}\n")).await
    }
}

/// Permission for one streamed answer.
///
/// # Errors
/// 429: the process has as many as it may have.
pub(super) fn permit(edge: &Edge) -> Result<OwnedSemaphorePermit, CloudError> {
    Semaphore::try_acquire_owned(Arc::clone(&edge.streams)).map_err(|_| {
        let message = "Too many streamed requests run. Please try again later.";
        CloudError::new(429, "ThrottlingLimitExceeded", "", message)
    })
}

/// An answer of that content type, written by `work` within that time. `work` is dropped when the client goes away; what
/// it must do in any case it does in a task of its own.
pub(super) fn streamed<F>(
    kind: &'static str,
    within: Duration,
    permit: OwnedSemaphorePermit,
    work: impl FnOnce(Output) -> F,
) -> HttpResponse
where
    F: Future<Output = Result<Verdict, Gone>> + Send + 'static,
{
    let (pieces, queue) = mpsc::channel(QUEUE);
    let (ended, watch) = watch::channel(None);
    let written = Arc::new(AtomicU64::new(0));
    let running = work(Output { pieces: pieces.clone(), written: Arc::clone(&written) });
    tokio::spawn(async move {
        let word = tokio::select! {
            () = pieces.closed() => "gone",
            done = tokio::time::timeout(within, running) => match done {
                Ok(Ok(Verdict::Good)) => "ok",
                Ok(Ok(Verdict::Failed)) => "failed",
                Ok(Err(Gone)) => "gone",
                Err(_) => "timeout",
            },
        };
        let mut last = HeaderMap::new();
        last.insert(RESULT, HeaderValue::from_static(word));
        // Fails only when nobody reads it any more.
        let _ = pieces.send_timeout(Frame::trailers(last), PATIENCE).await;
        ended.send_replace(Some(StreamEnd { word, written: written.load(Ordering::Relaxed) }));
        drop(permit);
    });
    let frames =
        stream::unfold(queue, |mut queue| async move { queue.recv().await.map(|frame| (frame, queue)) });
    let body = StreamBody::new(frames.map(Ok::<_, Infallible>));
    let mut answer = Response::new(Body::new(body));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(TRAILER, HeaderValue::from_static("aro-result"));
    answer.extensions_mut().insert(StreamWatch(watch));
    answer
}
