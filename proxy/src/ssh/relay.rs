//! One channel between a person's client and a machine: both ways at once, in order, with back-pressure.
//!
//! What waits of the person's: [`inlet`]. Both ways: [`flow`].

mod flow;
mod inlet;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use rp_recording::{RecordError, Recorder, What as Recorded};
use russh::{Channel, ChannelWriteHalf, client, server};
use tokio::sync::{Notify, OnceCell, oneshot};
use tokio_util::sync::CancellationToken;

use super::audit::{Bytes as Counted, Settle};
use super::banner;
use super::idle::Watch;
use flow::{down, up};
pub(super) use inlet::{Answer, Ask, Inlet, Outlet, Terminal, Up, channel};

/// How long the last words may take.
const NEWS_WITHIN: Duration = Duration::from_secs(2);

/// What was begun when a program was: its place in the audit trail and its recording.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) settle: Option<Settle>,
    pub(super) counted: Arc<Counted>,
    pub(super) recorder: Option<Recorder>,
}

/// Decides about requests and begins what must be begun before the machine hears of one.
pub(super) trait Gatekeeper: Send + Sync {
    /// `Err`: refused, with words for the person. `Some`: a program begins.
    fn admit(&self, ask: &Ask) -> impl Future<Output = Result<Option<Begun>, String>> + Send;

    /// A channel with a terminal ends when nothing was typed for so long; zero: never.
    fn idle(&self) -> Duration {
        Duration::ZERO
    }
}

/// How a channel ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The program's exit status.
    Exit(u32),
    /// The signal that ended it.
    Signal(String),
    /// The machine closed it without a word about the program.
    Closed,
    /// The connection to the machine broke off.
    Broken,
    /// The client closed it, or went.
    Left,
    /// It may not go on unrecorded.
    Unrecorded(String),
    /// Nothing was typed for long.
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
    pub(super) total: Arc<Counted>,
    /// A forwarded connection is begun from the start.
    pub(super) begun: Option<Begun>,
    /// Why the machine is gone, once it is; `None` where there is no stream for words of ours.
    pub(super) news: Option<N>,
}

/// What both directions look at.
struct Shared {
    begun: OnceCell<Begun>,
    /// Told when `begun` is there.
    begins: Notify,
    asked: Mutex<VecDeque<oneshot::Sender<bool>>>,
    total: Arc<Counted>,
    end: Mutex<End>,
    /// The person has nothing more to send.
    said_all: AtomicBool,
    idle: Watch,
}

impl<G: Gatekeeper, N: Future<Output = String>> Relay<G, N> {
    /// Carries the channel to its end. The person's side is closed, the machine's too.
    pub(super) async fn run(self) -> (End, Option<Begun>) {
        let Self { outlet, person, handle, far, gate, cut, total, begun, news } = self;
        let (mut from_far, to_far) = far.split();
        let shared = Shared {
            begun: OnceCell::new_with(begun),
            begins: Notify::new(),
            asked: Mutex::default(),
            total,
            end: Mutex::new(End::Closed),
            said_all: AtomicBool::new(false),
            idle: Watch::new(gate.idle()),
        };
        let end = {
            let mut up = std::pin::pin!(up(outlet, &to_far, &gate, &shared));
            tokio::select! {
                biased;
                () = cut.cancelled() => End::Left,
                end = down(&mut from_far, &person, &handle, &shared) => {
                    // A machine may answer, say everything and close in one breath: its answer stands in the other direction.
                    let _ = tokio::task::unconstrained(up.as_mut()).now_or_never();
                    end
                }
                end = up.as_mut() => end,
                () = shared.idle.over(&person) => End::Idle,
                error = shared.broke() => unrecorded(&error),
            }
        };
        let words = async {
            match (&end, news) {
                (End::Broken, Some(news)) => break_news(news, &person).await,
                (End::Unrecorded(why), _) => break_news(std::future::ready(why.clone()), &person).await,
                _ => {}
            }
        };
        tokio::select! {
            () = words => {}
            () = cut.cancelled() => {}
        }
        // Whoever waits for room has waited enough.
        cut.cancel();
        let bye = async {
            let _ = to_far.close().await;
            if end != End::Left {
                let _ = person.close().await;
            }
        };
        // Neither end can keep us by not reading.
        let _ = tokio::time::timeout(NEWS_WITHIN, bye).await;
        (end, shared.begun.into_inner())
    }
}

/// Tells the person why the program is gone.
async fn break_news(news: impl Future<Output = String>, person: &ChannelWriteHalf<server::Msg>) {
    let why = news.await;
    let words = person.extended_data_bytes(1, Bytes::from(banner::line(&why)));
    let _ = tokio::time::timeout(NEWS_WITHIN, words).await;
}

impl Shared {
    fn recorder(&self) -> Option<&Recorder> {
        self.begun.get().and_then(|begun| begun.recorder.as_ref())
    }

    /// At the end of the output: whether nothing but the exit status can still come or go.
    fn only_status_is_left(&self) -> bool {
        self.said_all.load(Ordering::Relaxed) && *self.end.lock() == End::Closed
    }

    /// The recording broke off where there must be one: who says nothing more is cut all the same.
    async fn broke(&self) -> RecordError {
        if self.begun.get().is_none() {
            self.begins.notified().await;
        }
        match self.recorder() {
            Some(recorder) => recorder.failed().await,
            None => std::future::pending().await,
        }
    }

    async fn took_down(&self, what: Recorded, bytes: &[u8]) -> Result<(), RecordError> {
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

fn unrecorded(error: &RecordError) -> End {
    End::Unrecorded(error.to_string())
}

/// A recording knows sizes of 16 bits.
pub(super) fn short(size: u32) -> u16 {
    u16::try_from(size).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
