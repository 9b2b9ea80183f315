//! One channel between a person's client and a machine: both ways at once, in order, with back-pressure.
//!
//! **From the person**: see [`inlet`].
//!
//! **To the person**: data is taken from the leg only when the client has room for it, so the leg's own window fills.

mod inlet;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use rp_recording::{RecordError, Recorder, What as Recorded};
use russh::{Channel, ChannelId, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, client, server};
use tokio::sync::{Notify, OnceCell, oneshot};
use tokio_util::sync::CancellationToken;

use super::audit::{Bytes as Counted, Settle};
use super::banner;
use super::idle::Watch;
pub(super) use inlet::{Answer, Ask, Inlet, Outlet, Terminal, Up, channel};

/// How long the last words may take.
const NEWS_WITHIN: Duration = Duration::from_secs(2);
/// How long a machine has to answer a request.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

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
    idle: Watch,
}

/// The person's client, or the machine, is gone.
struct Gone;

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

    async fn took_down(&self, what: Recorded, bytes: &Bytes) -> Result<(), RecordError> {
        match self.recorder() {
            Some(recorder) => recorder.wrote(what, bytes.clone()).await,
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

/// Machine to person.
async fn down(
    from: &mut ChannelReadHalf,
    person: &ChannelWriteHalf<server::Msg>,
    handle: &server::Handle,
    shared: &Shared,
) -> End {
    let id = person.id();
    while let Some(message) = from.wait().await {
        let passed = match message {
            ChannelMsg::Data { data } => {
                if let Err(error) = shared.took_down(Recorded::Output, &data).await {
                    return unrecorded(&error);
                }
                shared.count_down(data.len());
                person.data_bytes(data).await.map_err(|_| Gone)
            }
            ChannelMsg::ExtendedData { data, ext } => {
                if let Err(error) = shared.took_down(Recorded::Error, &data).await {
                    return unrecorded(&error);
                }
                shared.count_down(data.len());
                person.extended_data_bytes(ext, data).await.map_err(|_| Gone)
            }
            ChannelMsg::Close => return shared.end.lock().clone(),
            other => {
                if matches!(
                    other,
                    ChannelMsg::Eof | ChannelMsg::ExitStatus { .. } | ChannelMsg::ExitSignal { .. }
                ) {
                    farewell(person, shared).await;
                }
                tell(other, id, handle, shared).await
            }
        };
        if passed.is_err() {
            return End::Left;
        }
    }
    // No more messages, and none that it is closed.
    match &*shared.end.lock() {
        End::Closed => End::Broken,
        known => known.clone(),
    }
}

/// Tells a person at a terminal where the recording is, before the end of the program.
async fn farewell(person: &ChannelWriteHalf<server::Msg>, shared: &Shared) {
    if let Some(page) = shared.recorder().and_then(Recorder::farewell) {
        let words = Bytes::from(banner::line(&format!("recorded: {page}")));
        let _ = tokio::time::timeout(NEWS_WITHIN, person.extended_data_bytes(1, words)).await;
    }
}

/// What is no data. One queue carries all of it, so nothing overtakes the last byte.
async fn tell(
    message: ChannelMsg,
    id: ChannelId,
    handle: &server::Handle,
    shared: &Shared,
) -> Result<(), Gone> {
    let told = match message {
        ChannelMsg::Eof => handle.eof(id).await,
        ChannelMsg::ExitStatus { exit_status } => {
            *shared.end.lock() = End::Exit(exit_status);
            handle.exit_status_request(id, exit_status).await
        }
        ChannelMsg::ExitSignal { signal_name, core_dumped, error_message, lang_tag } => {
            *shared.end.lock() = End::Signal(format!("{signal_name:?}"));
            handle.exit_signal_request(id, signal_name, core_dumped, error_message, lang_tag).await
        }
        ChannelMsg::XonXoff { client_can_do } => handle.xon_xoff_request(id, client_can_do).await,
        ChannelMsg::Success | ChannelMsg::Failure => {
            if let Some(asked) = shared.asked.lock().pop_front() {
                let _ = asked.send(matches!(message, ChannelMsg::Success));
            }
            Ok(())
        }
        _ => Ok(()),
    };
    told.map_err(|()| Gone)
}

/// Person to machine.
async fn up<G: Gatekeeper>(
    mut outlet: Outlet,
    far: &ChannelWriteHalf<client::Msg>,
    gate: &G,
    shared: &Shared,
) -> End {
    while let Some((message, size)) = outlet.next().await {
        let passed = pass(message, far, gate, shared).await;
        outlet.took(size);
        match passed {
            Ok(()) => {}
            Err(Stop::Unrecorded(error)) => return unrecorded(&error),
            // What it has said before it went is still on its way down.
            Err(Stop::Gone) => {
                while let Some((_, size)) = outlet.next().await {
                    outlet.took(size);
                }
            }
        }
    }
    End::Left
}

enum Stop {
    Gone,
    Unrecorded(RecordError),
}

impl From<russh::Error> for Stop {
    fn from(_: russh::Error) -> Self {
        Self::Gone
    }
}

impl From<RecordError> for Stop {
    fn from(error: RecordError) -> Self {
        Self::Unrecorded(error)
    }
}

async fn pass<G: Gatekeeper>(
    message: Up,
    far: &ChannelWriteHalf<client::Msg>,
    gate: &G,
    shared: &Shared,
) -> Result<(), Stop> {
    match message {
        Up::Data(bytes) => {
            shared.idle.typed();
            shared.took_down(Recorded::Input, &bytes).await?;
            shared.count_up(bytes.len());
            far.data_bytes(bytes).await?;
        }
        Up::Extended(kind, bytes) => {
            shared.count_up(bytes.len());
            far.extended_data_bytes(kind, bytes).await?;
        }
        Up::Eof => far.eof().await?,
        Up::Size { cols, rows, width, height } => {
            if let Some(recorder) = shared.recorder() {
                recorder.resized(short(cols), short(rows)).await?;
            }
            far.window_change(cols, rows, width, height).await?;
        }
        Up::Signal(signal) => far.signal(signal).await?,
        Up::Ask(ask, answer) => {
            let answered = put(ask, far, gate, shared).await;
            let _ = answer.send(answered);
        }
    }
    Ok(())
}

async fn put<G: Gatekeeper>(
    ask: Ask,
    far: &ChannelWriteHalf<client::Msg>,
    gate: &G,
    shared: &Shared,
) -> Answer {
    if let Some(begun) = Box::pin(gate.admit(&ask)).await.map_err(Some)? {
        let _ = shared.begun.set(begun);
        shared.begins.notify_one();
    }
    if matches!(ask, Ask::Terminal(_)) {
        shared.idle.begin();
    }
    let (answer, wait) = oneshot::channel();
    shared.asked.lock().push_back(answer);
    let sent = match ask {
        Ask::Terminal(t) => far.request_pty(true, &t.term, t.cols, t.rows, t.width, t.height, &t.modes).await,
        Ask::Variable { name, value } => far.set_env(true, name, value).await,
        Ask::Agent => far.agent_forward(true).await,
        Ask::Shell => far.request_shell(true).await,
        Ask::Exec(command) => far.exec(true, command).await,
        Ask::Subsystem(name) => far.request_subsystem(true, name).await,
    };
    sent.map_err(|_| None)?;
    match tokio::time::timeout(ANSWER_WITHIN, wait).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false) | Err(_)) => Err(None),
        Err(_) => Err(Some("the machine did not answer in time".to_owned())),
    }
}

/// A recording knows sizes of 16 bits.
pub(super) fn short(size: u32) -> u16 {
    u16::try_from(size).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
