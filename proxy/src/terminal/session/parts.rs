//! What a session is built from, and the browser's connections to it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rp_access::ActiveGrant;
use rp_base::{Id, SharedClock};
use rp_metrics::GaugeGuard;
use rp_recording::Recorder;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use crate::terminal::frames::{FromPage, Size};
use crate::terminal::metrics::TerminalMetrics;
use crate::terminal::portal_session::PortalSession;
use crate::terminal::remote_end::RemoteEnd;
use crate::terminal::shared_screen::SharedScreen;

/// A connection of the browser: frames for it, and what it says.
#[derive(Debug)]
pub(in crate::terminal) struct Connection {
    pub(in crate::terminal) to: mpsc::Sender<Message>,
    pub(in crate::terminal) from: mpsc::Receiver<FromSocket>,
    /// For a resumed session: the first byte that the browser lacks.
    pub(in crate::terminal) seen: u64,
    pub(in crate::terminal) size: Size,
    /// The session of the portal by which it came.
    pub(in crate::terminal) signed: Arc<PortalSession>,
}

/// What comes over a connection.
#[derive(Debug)]
pub(in crate::terminal) enum FromSocket {
    Input(Bytes),
    Said(FromPage),
}

/// What a session is built from.
pub(in crate::terminal) struct SessionParts {
    pub(in crate::terminal) id: Id,
    pub(in crate::terminal) live: Arc<ActiveGrant>,
    pub(in crate::terminal) far: RemoteEnd,
    pub(in crate::terminal) recorder: Option<Recorder>,
    pub(in crate::terminal) attach: mpsc::Receiver<Connection>,
    /// Ends with the access.
    pub(in crate::terminal) ended: CancellationToken,
    /// Ends with the process.
    pub(in crate::terminal) cut: CancellationToken,
    pub(in crate::terminal) clock: SharedClock,
    pub(in crate::terminal) grace: Duration,
    /// It ends when nothing was typed for so long; zero: never.
    pub(in crate::terminal) idle: Duration,
    /// The screen for watchers; `None` where watching is not allowed.
    pub(in crate::terminal) stage: Option<Arc<SharedScreen>>,
    pub(in crate::terminal) window: usize,
    pub(in crate::terminal) metrics: Arc<TerminalMetrics>,
    pub(in crate::terminal) open: GaugeGuard,
}
