//! One channel between a person's client and a machine: both ways at once, in order, with back-pressure.
//!
//! [`inlet`] queues what the client sends; [`flow`] copies both directions.

mod flow;
mod inlet;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use rp_recording::{RecordError, Recorder, StreamKind};
use russh::{Channel, ChannelWriteHalf, client, server};
use tokio::sync::{Notify, OnceCell, oneshot};
use tokio_util::sync::CancellationToken;

use super::audit::{AuditEntryGuard, ByteCounters};
use super::banner;
use super::idle::IdleWatch;
use flow::{down, up};
pub(super) use inlet::{ChannelRequest, ClientMessage, Inlet, Outlet, RequestResult, Terminal, channel};

/// How long the last words may take.
const NEWS_WITHIN: Duration = Duration::from_secs(2);

/// The audit entry and the recording of a program that was started.
#[derive(Debug)]
pub(super) struct StartedProgram {
    pub(super) settle: Option<AuditEntryGuard>,
    pub(super) counted: Arc<ByteCounters>,
    pub(super) recorder: Option<Recorder>,
}

/// Why a request was refused. The text is for the person.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdmitError {
    #[error("{0}")]
    Recording(#[source] RecordError),
    #[error("the audit entry could not be written, so nothing was started")]
    Audit,
    #[error("a forwarded connection runs nothing")]
    Forwarded,
}

/// Authorizes requests, and starts audit entry and recording before the machine receives one.
pub(super) trait Gatekeeper: Send + Sync {
    /// `Some`: a program begins.
    ///
    /// # Errors
    /// The request is refused.
    fn admit(
        &self,
        ask: &ChannelRequest,
    ) -> impl Future<Output = Result<Option<StartedProgram>, AdmitError>> + Send;

    /// A channel with a terminal ends when nothing was typed for so long; zero: never.
    fn idle(&self) -> Duration {
        Duration::ZERO
    }
}

/// How a channel ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChannelOutcome {
    /// The program's exit status.
    Exit(u32),
    /// The signal that ended it.
    Signal(String),
    /// The machine closed it without an exit status or signal.
    Closed,
    /// The connection to the machine broke off.
    Broken,
    /// The client closed it, or went.
    Left,
    /// It may not go on unrecorded.
    Unrecorded(String),
    /// The idle limit was reached.
    Idle,
}

/// One channel, both ends open.
pub(super) struct Relay<G, N> {
    pub(super) outlet: Outlet,
    pub(super) person: ChannelWriteHalf<server::Msg>,
    pub(super) handle: server::Handle,
    pub(super) far: Channel<client::Msg>,
    pub(super) gate: G,
    pub(super) cut: CancellationToken,
    /// Of the whole connection.
    pub(super) total: Arc<ByteCounters>,
    /// A forwarded connection is begun from the start.
    pub(super) begun: Option<StartedProgram>,
    /// Why the machine is gone, once it is; `None` where there is no stream for words of ours.
    pub(super) news: Option<N>,
    /// Set while the person's client takes nothing.
    pub(super) stalled: Arc<AtomicBool>,
}

/// State shared by both directions.
struct RelayState {
    begun: OnceCell<StartedProgram>,
    /// Told when `begun` is there.
    begins: Notify,
    asked: Mutex<VecDeque<oneshot::Sender<bool>>>,
    total: Arc<ByteCounters>,
    end: Mutex<ChannelOutcome>,
    /// The person has nothing more to send.
    said_all: AtomicBool,
    idle: IdleWatch,
    /// The person's client takes nothing.
    stalled: Arc<AtomicBool>,
}

impl<G: Gatekeeper, N: Future<Output = String>> Relay<G, N> {
    /// Carries the channel to its end. The person's side is closed, the machine's too.
    pub(super) async fn run(self) -> (ChannelOutcome, Option<StartedProgram>) {
        let Self { outlet, person, handle, far, gate, cut, total, begun, news, stalled } = self;
        let (mut from_far, to_far) = far.split();
        let shared = RelayState {
            begun: OnceCell::new_with(begun),
            begins: Notify::new(),
            asked: Mutex::default(),
            total,
            end: Mutex::new(ChannelOutcome::Closed),
            said_all: AtomicBool::new(false),
            idle: IdleWatch::new(gate.idle()),
            stalled,
        };
        let end = {
            let mut up = std::pin::pin!(up(outlet, &to_far, &gate, &shared));
            tokio::select! {
                biased;
                () = cut.cancelled() => ChannelOutcome::Left,
                end = down(&mut from_far, &person, &handle, &shared) => {
                    // A machine may answer, send all output and close at once; the other direction handles its answer.
                    let _ = tokio::task::unconstrained(up.as_mut()).now_or_never();
                    end
                }
                end = up.as_mut() => end,
                () = shared.idle.over(&person) => ChannelOutcome::Idle,
                error = shared.recording_failed() => unrecorded(&error),
            }
        };
        let words = async {
            match (&end, news) {
                (ChannelOutcome::Broken, Some(news)) => report_failure(news, &person).await,
                (ChannelOutcome::Unrecorded(why), _) => {
                    report_failure(std::future::ready(why.clone()), &person).await;
                }
                _ => {}
            }
        };
        tokio::select! {
            () = words => {}
            () = cut.cancelled() => {}
        }
        // Wake a client that waits for room, and the connection to the machine where it waits for this channel.
        cut.cancel();
        drop(from_far);
        // In a task of its own, without a limit: others share the connection, and this channel must not stay open on it because
        // the connection was busy. It ends at the latest with the connection.
        let closing = tokio::spawn(async move { to_far.close().await });
        let bye = async {
            let _ = closing.await;
            if end != ChannelOutcome::Left {
                let _ = person.close().await;
            }
        };
        // Neither end can block the close by not reading.
        let _ = tokio::time::timeout(NEWS_WITHIN, bye).await;
        (end, shared.begun.into_inner())
    }
}

/// Tells the person why the program is gone.
async fn report_failure(news: impl Future<Output = String>, person: &ChannelWriteHalf<server::Msg>) {
    let why = news.await;
    let words = person.extended_data_bytes(1, Bytes::from(banner::line(&why)));
    let _ = tokio::time::timeout(NEWS_WITHIN, words).await;
}

impl RelayState {
    fn recorder(&self) -> Option<&Recorder> {
        self.begun.get().and_then(|begun| begun.recorder.as_ref())
    }

    /// At the end of the output: whether nothing but the exit status can still come or go.
    fn only_status_is_left(&self) -> bool {
        self.said_all.load(Ordering::Relaxed) && *self.end.lock() == ChannelOutcome::Closed
    }

    /// Resolves when a required recording fails: the channel is cut even if no data follows.
    async fn recording_failed(&self) -> RecordError {
        if self.begun.get().is_none() {
            self.begins.notified().await;
        }
        match self.recorder() {
            Some(recorder) => recorder.failed().await,
            None => std::future::pending().await,
        }
    }

    async fn record(&self, what: StreamKind, bytes: &[u8]) -> Result<(), RecordError> {
        match self.recorder() {
            Some(recorder) => recorder.wrote(what, bytes).await,
            None => Ok(()),
        }
    }

    fn count_up(&self, size: usize) {
        self.total.received.fetch_add(size as u64, Ordering::Relaxed);
        if let Some(begun) = self.begun.get() {
            begun.counted.received.fetch_add(size as u64, Ordering::Relaxed);
        }
    }

    fn count_down(&self, size: usize) {
        self.total.sent.fetch_add(size as u64, Ordering::Relaxed);
        if let Some(begun) = self.begun.get() {
            begun.counted.sent.fetch_add(size as u64, Ordering::Relaxed);
        }
    }
}

fn unrecorded(error: &RecordError) -> ChannelOutcome {
    ChannelOutcome::Unrecorded(error.to_string())
}

/// A recording knows sizes of 16 bits.
pub(super) fn short(size: u32) -> u16 {
    u16::try_from(size).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
