//! One connection: whether its peer is known, what it is doing, and when that must end.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::tracked_body::{ResponseHold, ResponseProgress};
use super::{AdmissionRefusal, Door, DoorLimits, LEAVE_WITHIN, StrangerLimits};

/// Why the door ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// It was closed to make room for another connection.
    Evicted,
    /// It had no request for too long: it is shut down gracefully.
    Idle,
    /// It did not end after the graceful shutdown.
    Lingered,
    /// Its peer does not read what waits for it.
    Stalled,
    /// Its peer sends without asking for anything.
    Flooded,
}

impl CloseReason {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Evicted => "evicted",
            Self::Idle => "idle",
            Self::Lingered => "lingered",
            Self::Stalled => "stalled",
            Self::Flooded => "flooded",
        }
    }
}

/// What follows from bytes that the peer has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The next ones are read at once.
    Within,
    /// The next ones are read after this time: a stranger sends much without a request.
    Paced(Duration),
    /// A stranger has sent too many, and the connection ends.
    TooMuch,
}

/// The permit of an admitted connection, released when it is dropped.
#[derive(Debug)]
pub struct ConnectionPermit(ConnectionHandle);

impl ConnectionPermit {
    pub(super) const fn new(connection: ConnectionHandle) -> Self {
        Self(connection)
    }

    /// A handle of the connection.
    pub const fn handle(&self) -> &ConnectionHandle {
        &self.0
    }

    /// The balancer in front said whose connection it is: it counts among those of that address from now on.
    ///
    /// # Errors
    /// [`AdmissionRefusal`]: that address has no place left.
    pub fn comes_from(&self, origin: SocketAddr) -> Result<(), AdmissionRefusal> {
        self.0.door.settle(&self.0, origin)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.door.leave(&self.0);
    }
}

/// A handle of a connection for other parts of the process. A cheap clone; it does not keep the permit.
#[derive(Clone)]
pub struct ConnectionHandle {
    door: Arc<Door>,
    life: Arc<ConnectionState>,
}

impl fmt::Debug for ConnectionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visitor").field("number", &self.life.number).field("known", &self.is_known()).finish()
    }
}

/// The state of one connection.
#[derive(Debug)]
pub(super) struct ConnectionState {
    number: u64,
    known: AtomicBool,
    /// Bytes that a stranger has sent since the last request began.
    input: AtomicU64,
    cut: CancellationToken,
    leave: CancellationToken,
    doing: Mutex<ConnectionActivity>,
}

#[derive(Debug)]
struct ConnectionActivity {
    address: Option<IpAddr>,
    /// Requests that a handler works on.
    requests: usize,
    /// Answers that the peer has not taken in whole.
    answers: Vec<Arc<ResponseProgress>>,
    /// The last request's end, or the begin.
    quiet_since: Instant,
    /// A write has been waiting for the peer since then.
    writing_since: Option<Instant>,
    left_at: Option<Instant>,
    /// It does not speak HTTP any more.
    upgraded: bool,
}

impl ConnectionState {
    pub(super) fn new(number: u64, address: Option<IpAddr>, known: bool) -> Self {
        Self {
            number,
            known: AtomicBool::new(known),
            input: AtomicU64::new(0),
            cut: CancellationToken::new(),
            leave: CancellationToken::new(),
            doing: Mutex::new(ConnectionActivity {
                address,
                requests: 0,
                answers: Vec::new(),
                quiet_since: Instant::now(),
                writing_since: None,
                left_at: None,
                upgraded: false,
            }),
        }
    }
}

impl ConnectionHandle {
    pub(super) fn new(door: Arc<Door>, life: ConnectionState) -> Self {
        Self { door, life: Arc::new(life) }
    }

    /// The peer has shown who it is: the bounds of strangers do not concern this connection any more.
    pub fn known(&self) {
        if !self.is_known() {
            self.door.known(self);
        }
    }

    /// Whether the peer has shown who it is.
    pub fn is_known(&self) -> bool {
        self.life.known.load(Ordering::Acquire)
    }

    /// Waits until the connection must end at once.
    pub async fn cut(&self) {
        self.life.cut.cancelled().await;
    }

    pub(super) fn cut_owned(&self) -> WaitForCancellationFutureOwned {
        self.life.cut.clone().cancelled_owned()
    }

    /// Waits until the connection is asked to end when its requests have ended.
    pub(crate) async fn leave(&self) {
        self.life.leave.cancelled().await;
    }

    pub(super) fn number(&self) -> u64 {
        self.life.number
    }

    pub(super) fn address(&self) -> Option<IpAddr> {
        self.life.doing.lock().address
    }

    pub(super) fn settle(&self, address: IpAddr) {
        self.life.doing.lock().address = Some(address);
    }

    pub(super) fn becomes_known(&self) -> bool {
        !self.life.known.swap(true, Ordering::AcqRel)
    }

    /// `None`: a handler works for it.
    pub(super) fn quiet_since(&self) -> Option<Instant> {
        let doing = self.life.doing.lock();
        (doing.requests == 0).then_some(doing.quiet_since)
    }

    /// A request begins; `None`: a stranger has left too many answers untaken.
    pub(crate) fn begin(&self) -> Option<RequestGuard> {
        let mut doing = self.life.doing.lock();
        let strangers = self.door.limits().strangers.as_ref().filter(|_| !self.is_known());
        if strangers.is_some_and(|limits| doing.answers.len() >= limits.answers) {
            return None;
        }
        doing.requests += 1;
        self.life.input.store(0, Ordering::Relaxed);
        Some(RequestGuard(self.clone()))
    }

    /// The peer has an answer to take from now on.
    pub(super) fn answers(&self) -> ResponseHold {
        let waiting = Arc::new(ResponseProgress::new());
        self.life.doing.lock().answers.push(Arc::clone(&waiting));
        ResponseHold::new(self.clone(), waiting)
    }

    /// The response was read completely, or was dropped.
    pub(super) fn taken(&self, waiting: &Arc<ResponseProgress>) {
        let mut doing = self.life.doing.lock();
        doing.answers.retain(|each| !Arc::ptr_eq(each, waiting));
        doing.quiet_since = Instant::now();
    }

    /// The connection goes on as something else than HTTP: no request of it is counted any more.
    pub(crate) fn upgraded(&self) {
        self.life.doing.lock().upgraded = true;
    }

    /// Counts bytes that the peer has sent.
    pub(super) fn received(&self, bytes: usize) -> Input {
        let Some(limits) = self.door.limits().strangers.as_ref().filter(|_| !self.is_known()) else {
            return Input::Within;
        };
        let bytes = bytes as u64;
        let sent = self.life.input.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if sent > limits.input {
            self.door.end(self, CloseReason::Flooded);
            return Input::TooMuch;
        }
        match sent.saturating_sub(StrangerLimits::READ_AT_ONCE).min(bytes) {
            0 => Input::Within,
            beyond => {
                let nanoseconds = beyond.saturating_mul(1_000_000_000) / StrangerLimits::PER_SECOND;
                Input::Paced(Duration::from_nanos(nanoseconds))
            }
        }
    }

    /// Whether a write waits for the peer.
    pub(super) fn writes(&self, waits: bool) {
        let mut doing = self.life.doing.lock();
        doing.writing_since = waits.then(|| doing.writing_since.unwrap_or_else(Instant::now));
    }

    /// Whether and how it must end now.
    pub(super) fn due(&self, limits: &DoorLimits, now: Instant) -> Option<CloseReason> {
        let doing = self.life.doing.lock();
        let strangers = limits.strangers.as_ref().filter(|_| !self.is_known());
        let stalled = strangers.map_or(limits.stalled, |limits| Some(limits.time));
        let is_late = |since: Option<Instant>| {
            since.zip(stalled).is_some_and(|(since, most)| now.saturating_duration_since(since) >= most)
        };
        // A stranger takes an answer in whole within the time; of others it is enough that they take something.
        let oldest = |each: &Arc<ResponseProgress>| match strangers {
            Some(_) => Some(each.begun()),
            None => each.waits_since(),
        };
        if is_late(doing.writing_since) || is_late(doing.answers.iter().filter_map(oldest).min()) {
            return Some(CloseReason::Stalled);
        }
        let quiet = doing.requests == 0 && doing.answers.is_empty() && !doing.upgraded;
        let idle = strangers.map_or(limits.idle, |limits| Some(limits.time)).filter(|_| quiet)?;
        match doing.left_at {
            Some(left) => {
                (now.saturating_duration_since(left) >= LEAVE_WITHIN).then_some(CloseReason::Lingered)
            }
            None => (now.saturating_duration_since(doing.quiet_since) >= idle).then_some(CloseReason::Idle),
        }
    }

    /// Ends it, gracefully or at once; false: that was done before.
    pub(super) fn end(&self, end: CloseReason) -> bool {
        if self.life.cut.is_cancelled() {
            return false;
        }
        match end {
            CloseReason::Idle => {
                self.life.doing.lock().left_at = Some(Instant::now());
                self.life.leave.cancel();
            }
            CloseReason::Evicted | CloseReason::Lingered | CloseReason::Stalled | CloseReason::Flooded => {
                self.life.cut.cancel();
            }
        }
        true
    }
}

/// A request that a handler works on.
pub(crate) struct RequestGuard(ConnectionHandle);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut doing = self.0.life.doing.lock();
        (doing.requests, doing.quiet_since) = (doing.requests - 1, Instant::now());
    }
}
