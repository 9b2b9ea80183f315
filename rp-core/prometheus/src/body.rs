//! The body of a response while it is streamed: bounded, counted, cancelled when it is dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use rp_kube::KubeBody;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

use crate::connection_pool::{Connection, ConnectionPool};
use crate::error::PromError;
use crate::scan::{ScanError, ScanOutput, Scanner};

/// Longest time without data inside a response.
const SILENCE: Duration = Duration::from_secs(30);

/// Where the bytes come from.
#[derive(Debug)]
pub(crate) enum Upstream {
    Wire { body: Incoming, connection: Option<Connection>, pool: Arc<ConnectionPool> },
    Kube(Box<KubeBody>),
}

/// What was transferred, for the audit trail; readable during and after the transfer.
#[derive(Debug, Default)]
pub struct TransferStats {
    bytes: AtomicU64,
    series: AtomicU64,
    cut: AtomicBool,
    whole: AtomicBool,
}

impl TransferStats {
    /// Bytes that were passed on.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Series, or other elements of the answer's list.
    pub fn series(&self) -> u64 {
        self.series.load(Ordering::Relaxed)
    }

    /// A limit of this service cut the response.
    pub fn cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    /// The response was read completely.
    pub fn whole(&self) -> bool {
        self.whole.load(Ordering::Relaxed)
    }
}

/// An answer's bytes. Dropped before its end, it cancels the request all the way to Prometheus.
#[derive(Debug)]
pub struct ResponseBody {
    upstream: Option<Upstream>,
    scanner: Option<Scanner>,
    most: u64,
    silence: Pin<Box<Sleep>>,
    passed: Arc<TransferStats>,
    /// A permit of the cluster's budget, held until the end.
    _permit: OwnedSemaphorePermit,
}

impl ResponseBody {
    /// `scanner`: for JSON; else only the size is bounded.
    pub(crate) fn new(
        upstream: Upstream,
        scanner: Option<Scanner>,
        most: u64,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            upstream: Some(upstream),
            scanner,
            most,
            silence: Box::pin(tokio::time::sleep(SILENCE)),
            passed: Arc::default(),
            _permit: permit,
        }
    }

    /// The counters of this body.
    pub fn passed(&self) -> Arc<TransferStats> {
        Arc::clone(&self.passed)
    }

    fn pass(&mut self, piece: Bytes) -> Result<Bytes, PromError> {
        let fed = match &mut self.scanner {
            None => ScanOutput::Pass(piece),
            Some(scanner) => {
                let fed = scanner.feed(&piece).map_err(|error| failed(error, self.most))?;
                self.passed.series.store(scanner.elements as u64, Ordering::Relaxed);
                fed
            }
        };
        let piece = match fed {
            ScanOutput::Pass(piece) => piece,
            ScanOutput::Last(piece) => {
                // Closes the connection: Prometheus need not send the rest.
                self.upstream = None;
                self.passed.cut.store(true, Ordering::Relaxed);
                self.passed.whole.store(true, Ordering::Relaxed);
                piece
            }
        };
        let sent = self.passed.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed) + piece.len() as u64;
        if self.scanner.is_none() && sent > self.most {
            self.upstream = None;
            return Err(PromError::TooLarge(self.most));
        }
        Ok(piece)
    }

    fn end(&mut self) -> Result<(), PromError> {
        if let Some(Upstream::Wire { connection: Some(connection), pool, .. }) = self.upstream.take() {
            pool.put_back(connection);
        }
        if let Some(scanner) = &self.scanner {
            scanner.end().map_err(|error| failed(error, self.most))?;
        }
        self.passed.whole.store(true, Ordering::Relaxed);
        Ok(())
    }
}

fn failed(error: ScanError, most: u64) -> PromError {
    match error {
        ScanError::TooLarge => PromError::TooLarge(most),
        error => PromError::Broken(error.into()),
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = PromError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PromError>>> {
        loop {
            let this = &mut *self;
            let polled: Poll<Option<Result<Frame<Bytes>, BoxError>>> = match &mut this.upstream {
                None => return Poll::Ready(None),
                Some(Upstream::Wire { body, .. }) => {
                    Pin::new(body).poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
                }
                Some(Upstream::Kube(body)) => {
                    Pin::new(body).poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
                }
            };
            if polled.is_pending() {
                ready!(this.silence.as_mut().poll(cx));
                this.upstream = None;
                let silent = std::io::Error::from(std::io::ErrorKind::TimedOut);
                return Poll::Ready(Some(Err(PromError::Broken(silent.into()))));
            }
            let Poll::Ready(frame) = polled else { return Poll::Pending };
            this.silence.as_mut().reset(Instant::now() + SILENCE);
            match frame {
                None => return Poll::Ready(this.end().err().map(Err)),
                Some(Err(error)) => {
                    this.upstream = None;
                    return Poll::Ready(Some(Err(PromError::Broken(error))));
                }
                Some(Ok(frame)) => {
                    let Ok(piece) = frame.into_data() else { continue };
                    match this.pass(piece) {
                        // The reducer dropped all of it: there is nothing to send yet.
                        Ok(piece) if piece.is_empty() => {}
                        Ok(piece) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                        Err(error) => {
                            this.upstream = None;
                            return Poll::Ready(Some(Err(error)));
                        }
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.upstream.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
