//! Many streams over one connection.
//!
//! A driver reads and writes messages; streams put frames into two queues: what steers (windows, answers, ends of
//! haste) goes first, data waits its turn, one piece a stream. The driver's reading never waits for its writing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::lane::{Lane, TunnelStream, WindowExceeded};
use crate::{BadFrame, Destination, Frame, MOST_STREAMS};

/// The keepalive of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Keepalive {
    /// The period of pings.
    pub every: Duration,
    /// The connection is over after this time without a received frame.
    pub patience: Duration,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { every: Duration::from_secs(20), patience: Duration::from_secs(60) }
    }
}

/// Why a connection is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DisconnectReason {
    #[error("the other side closed the connection")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the other side has been silent for too long")]
    Silent,
    #[error("the other side broke the rules: {0}")]
    Rules(&'static str),
    #[error("the other side sent no frame")]
    Frame(#[from] BadFrame),
}

impl From<WindowExceeded> for DisconnectReason {
    fn from(_: WindowExceeded) -> Self {
        Self::Rules("more than the window of a stream")
    }
}

/// Why a stream was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("{reason}")]
    Refused { code: String, reason: String },
    #[error("the tunnel is closed")]
    Closed,
    #[error("{MOST_STREAMS} streams are open already")]
    TooMany,
}

/// What streams and driver share.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) lanes: Mutex<Lanes>,
    pub(crate) control: mpsc::UnboundedSender<Frame>,
    pub(crate) waiting: AtomicUsize,
    pub(crate) data: mpsc::Sender<Frame>,
    pub(crate) closed: CancellationToken,
    pub(crate) leaving: CancellationToken,
    /// The reason of the server's `Bye`.
    pub(crate) bye: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    pub(crate) open: HashMap<u32, Arc<Lane>>,
    /// Numbers only grow, so a late frame of an ended stream can be told from a frame of a stream that was never
    /// opened.
    pub(crate) highest: u32,
}

impl Hub {
    pub(crate) fn data(&self) -> mpsc::Sender<Frame> {
        self.data.clone()
    }

    pub(crate) fn control(&self, frame: Frame) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Without a driver there is no connection to send it to.
        let _ = self.control.send(frame);
    }

    pub(crate) fn sent(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn forget(&self, id: u32) {
        self.lanes.lock().open.remove(&id);
    }

    pub(crate) fn lane(&self, id: u32) -> Result<Option<Arc<Lane>>, DisconnectReason> {
        let lanes = self.lanes.lock();
        if id > lanes.highest {
            return Err(DisconnectReason::Rules("a stream that was never opened"));
        }
        Ok(lanes.open.get(&id).cloned())
    }

    pub(crate) fn close(&self, why: &str) {
        self.closed.cancel();
        let lanes = std::mem::take(&mut self.lanes.lock().open);
        for lane in lanes.into_values() {
            lane.reset(why);
        }
    }
}

/// Opens streams: the client's end.
#[derive(Debug, Clone)]
pub struct Opener(pub(crate) Arc<Hub>);

impl Opener {
    /// Opens a stream to a destination through the tunnel.
    ///
    /// # Errors
    /// [`OpenError`]; dropped while it waits, the attempt is taken back.
    pub async fn open(&self, place: &Destination) -> Result<TunnelStream, OpenError> {
        let hub = &self.0;
        if self.is_closing() {
            return Err(OpenError::Closed);
        }
        let (answer, answered) = oneshot::channel();
        let lane = {
            let mut lanes = hub.lanes.lock();
            if lanes.open.len() >= MOST_STREAMS {
                return Err(OpenError::TooMany);
            }
            let id = lanes.highest.checked_add(1).ok_or(OpenError::Closed)?;
            lanes.highest = id;
            let lane = Lane::new(id, Some(answer));
            lanes.open.insert(id, Arc::clone(&lane));
            // Under the lock: numbers go out in their order.
            hub.control(Frame::Open { stream: id, host: place.host().to_owned(), port: place.port() });
            lane
        };
        let stream = TunnelStream::new(lane, Arc::clone(hub));
        let answer = tokio::select! {
            answer = answered => answer,
            () = hub.closed.cancelled() => return Err(OpenError::Closed),
        };
        match answer {
            Ok(Ok(())) => Ok(stream),
            Ok(Err((code, reason))) => Err(OpenError::Refused { code, reason }),
            Err(_) => Err(OpenError::Closed),
        }
    }

    /// Whether new streams need a new connection.
    pub fn is_closing(&self) -> bool {
        self.0.closed.is_cancelled() || self.0.leaving.is_cancelled()
    }

    /// The reason of the server's `Bye`, if it sent one.
    pub fn bye_reason(&self) -> Option<String> {
        self.0.bye.lock().clone()
    }

    /// Streams that are open now.
    pub fn open_now(&self) -> usize {
        self.0.lanes.lock().open.len()
    }

    /// Resolves when new streams need a new connection.
    pub async fn wait_closing(&self) {
        tokio::select! {
            () = self.0.closed.cancelled() => {}
            () = self.0.leaving.cancelled() => {}
        }
    }
}

/// The stream requests of the client: the server's end.
#[derive(Debug)]
pub struct StreamRequests {
    pub(crate) hub: Arc<Hub>,
    pub(crate) asked: mpsc::Receiver<StreamRequest>,
}

impl StreamRequests {
    /// The next; `None` when the connection is over.
    pub async fn next(&mut self) -> Option<StreamRequest> {
        tokio::select! {
            asked = self.asked.recv() => asked,
            () = self.hub.closed.cancelled() => None,
        }
    }

    /// A handle that can send a `Bye` from another task.
    pub fn bye_sender(&self) -> ByeSender {
        ByeSender(Arc::clone(&self.hub))
    }
}

/// Sends `Bye` to the client.
#[derive(Debug, Clone)]
pub struct ByeSender(Arc<Hub>);

impl ByeSender {
    /// Tells the client to open new streams on another connection, and why.
    pub fn send_bye(&self, reason: &str) {
        self.0.control(Frame::Bye { reason: reason.to_owned() });
    }
}

/// One stream that the client wants to open. Dropped, it is reset.
#[derive(Debug)]
pub struct StreamRequest {
    /// As the client wrote it.
    pub host: String,
    pub port: u16,
    pub(crate) stream: TunnelStream,
    pub(crate) hub: Arc<Hub>,
}

impl StreamRequest {
    /// The destination was reached.
    pub fn accept(self) -> TunnelStream {
        self.hub.control(Frame::Opened { stream: self.stream.id() });
        self.stream
    }

    /// The destination was not reached: a stable code and a sentence.
    pub fn refuse(self, code: &str, reason: &str) {
        let stream = self.stream.id();
        self.hub.control(Frame::Refused { stream, code: code.to_owned(), reason: reason.to_owned() });
        self.stream.forget();
    }
}
