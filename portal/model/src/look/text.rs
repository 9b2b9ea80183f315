//! Logs on their way to a page or a terminal, cleaned as the bytes pass.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame};
use proxy::Body;
pub use rp_base::terminal::Cleaner;

/// The body of a log, cleaned. It ends with an error when `over` resolves.
pub struct LogBody<F> {
    inner: Body,
    cleaner: Cleaner,
    over: Pin<Box<F>>,
}

impl<F> std::fmt::Debug for LogBody<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogBody").finish_non_exhaustive()
    }
}

impl<F> LogBody<F> {
    pub fn new(inner: Body, colours: bool, over: F) -> Self {
        Self { inner, cleaner: Cleaner::new(colours), over: Box::pin(over) }
    }
}

impl<F: Future<Output = ()>> HttpBody for LogBody<F> {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.over.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err("the session has ended".into())));
        }
        loop {
            let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(cut))) => return Poll::Ready(Some(Err(Box::new(cut)))),
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            // Trailers of a cluster are no part of a log.
            let Ok(data) = frame.into_data() else { continue };
            let clean = this.cleaner.clean(&data);
            if !clean.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(clean.into()))));
            }
        }
    }
}
