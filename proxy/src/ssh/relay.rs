//! One channel between a person's client and a machine: both ways at once, in order, with back-pressure.
//!
//! **From the person**: the library hands over each message in the task of the whole connection and widens the client's
//! window by itself. So what waits for a slow machine is counted here: above [`SOFT`] the window is widened by next to
//! nothing and the connection's task lingers a moment with each message, above [`HARD`] it waits. It must not simply wait
//! from the first byte on: behind the data may stand the client's word that it can take more, and a program that only reads when
//! it can write would then never end.
//!
//! **To the person**: data is taken from the leg only when the client has room for it, so the leg's own window fills.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use rp_recording::{RecordError, Recorder, What as Recorded};
use russh::{Channel, ChannelId, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Pty, Sig, client, server};
use tokio::sync::{Notify, OnceCell, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::audit::{Bytes as Counted, Settle};
use super::banner;
use super::leg::Leg;

/// Bytes waiting for the machine above which the client is slowed down.
pub(super) const SOFT: usize = 512 * 1024;
/// Bytes waiting above which nothing more is read from the client.
const HARD: usize = 4 * 1024 * 1024;
/// How long the connection's task lingers with a message of a slow channel.
const LINGER: Duration = Duration::from_millis(20);
/// What a message without data counts as.
const SMALL: usize = 512;
/// How long the last words may take.
const NEWS_WITHIN: Duration = Duration::from_secs(2);
/// How long a machine has to answer a request.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// What the person's client says on a channel.
#[derive(Debug)]
pub(super) enum Up {
    Data(Bytes),
    Extended(u32, Bytes),
    Eof,
    Size { cols: u32, rows: u32, width: u32, height: u32 },
    Signal(Sig),
    Ask(Ask, oneshot::Sender<Answer>),
}

/// What wants an answer. The words of a refusal are for the person.
#[derive(Debug)]
pub(super) enum Ask {
    Terminal(Box<Terminal>),
    Variable { name: String, value: String },
    Agent,
    Shell,
    Exec(Vec<u8>),
    Subsystem(String),
}

/// A terminal as the client has it.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) term: String,
    pub(super) cols: u32,
    pub(super) rows: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) modes: Vec<(Pty, u32)>,
}

/// `Err`: refused; with words when we refused it, without when the machine did.
pub(super) type Answer = Result<(), Option<String>>;

/// How much waits for the machine.
#[derive(Debug, Default)]
struct Flow {
    waiting: AtomicUsize,
    room: Notify,
}

impl Flow {
    fn took(&self, size: usize) {
        self.waiting.fetch_sub(size, Ordering::Relaxed);
        self.room.notify_waiters();
    }

    async fn below(&self, limit: usize) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.waiting.load(Ordering::Relaxed) <= limit {
                return;
            }
            room.await;
        }
    }
}

/// The end of a channel that the connection's task holds.
#[derive(Debug)]
pub(super) struct Inlet {
    up: mpsc::UnboundedSender<Up>,
    flow: Arc<Flow>,
    /// Ends the channel.
    pub(super) cut: CancellationToken,
}

impl Inlet {
    /// Hands a message on. Returns when there is room for more, or soon.
    pub(super) async fn push(&self, message: Up) {
        let size = size_of(&message);
        self.flow.waiting.fetch_add(size, Ordering::Relaxed);
        if self.up.send(message).is_err() {
            return self.flow.took(size);
        }
        if !self.is_slow() {
            return;
        }
        let room = async {
            let _ = tokio::time::timeout(LINGER, self.flow.below(SOFT)).await;
            self.flow.below(HARD).await;
        };
        tokio::select! {
            () = room => {}
            () = self.cut.cancelled() => {}
        }
    }

    /// Asks the machine and waits for its answer.
    pub(super) async fn ask(&self, ask: Ask) -> Answer {
        let (answer, mut wait) = oneshot::channel();
        self.push(Up::Ask(ask, answer)).await;
        tokio::select! {
            biased;
            answered = &mut wait => answered.unwrap_or(Err(None)),
            // A program that ends at once cuts the channel right behind its answer.
            () = self.cut.cancelled() => wait.try_recv().unwrap_or(Err(None)),
        }
    }

    /// Whether more waits for the machine than should.
    pub(super) fn is_slow(&self) -> bool {
        self.flow.waiting.load(Ordering::Relaxed) > SOFT && !self.cut.is_cancelled()
    }
}

fn size_of(message: &Up) -> usize {
    match message {
        Up::Data(bytes) | Up::Extended(_, bytes) => bytes.len() + SMALL,
        Up::Eof | Up::Size { .. } | Up::Signal(_) | Up::Ask(..) => SMALL,
    }
}

/// The other end, for the channel's own task.
#[derive(Debug)]
pub(super) struct Outlet {
    up: mpsc::UnboundedReceiver<Up>,
    flow: Arc<Flow>,
}

/// A channel's two ends. It ends with `parent`.
pub(super) fn channel(parent: &CancellationToken) -> (Inlet, Outlet) {
    let (up, taken) = mpsc::unbounded_channel();
    let flow = Arc::new(Flow::default());
    let inlet = Inlet { up, flow: Arc::clone(&flow), cut: parent.child_token() };
    (inlet, Outlet { up: taken, flow })
}

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
}

/// One channel, both ends open.
pub(super) struct Relay<'a, G> {
    pub(super) outlet: Outlet,
    pub(super) person: ChannelWriteHalf<server::Msg>,
    pub(super) handle: server::Handle,
    pub(super) far: Channel<client::Msg>,
    pub(super) leg: &'a Leg,
    pub(super) gate: G,
    pub(super) cut: CancellationToken,
    /// Of the whole connection.
    pub(super) total: Arc<Counted>,
    /// A forwarded connection is begun from the start.
    pub(super) begun: Option<Begun>,
    /// It has a stream for words of ours.
    pub(super) tells: bool,
}

/// What both directions look at.
struct Shared {
    begun: OnceCell<Begun>,
    asked: Mutex<VecDeque<oneshot::Sender<bool>>>,
    total: Arc<Counted>,
    end: Mutex<End>,
}

/// The person's client, or the machine, is gone.
struct Gone;

impl<G: Gatekeeper> Relay<'_, G> {
    /// Carries the channel to its end. The person's side is closed, the machine's too.
    pub(super) async fn run(self) -> (End, Option<Begun>) {
        let Self { outlet, person, handle, far, leg, gate, cut, total, begun, tells } = self;
        let (mut from_far, to_far) = far.split();
        let shared = Shared {
            begun: OnceCell::new_with(begun),
            asked: Mutex::default(),
            total,
            end: Mutex::new(End::Closed),
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
            }
        };
        if end == End::Broken && tells {
            tokio::select! {
                () = break_news(leg, &person) => {}
                () = cut.cancelled() => {}
            }
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
async fn break_news(leg: &Leg, person: &ChannelWriteHalf<server::Msg>) {
    let _ = tokio::time::timeout(NEWS_WITHIN, leg.closed().cancelled_owned()).await;
    let why = leg.ended_because().unwrap_or_else(|| "the connection to the machine broke off".to_owned());
    let words = person.extended_data_bytes(1, Bytes::from(banner::line(&why)));
    let _ = tokio::time::timeout(NEWS_WITHIN, words).await;
}

impl Shared {
    fn recorder(&self) -> Option<&Recorder> {
        self.begun.get().and_then(|begun| begun.recorder.as_ref())
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
            other => tell(other, id, handle, shared).await,
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
    while let Some(message) = outlet.up.recv().await {
        let size = size_of(&message);
        let passed = pass(message, far, gate, shared).await;
        outlet.flow.took(size);
        match passed {
            Ok(()) => {}
            Err(Stop::Unrecorded(error)) => return unrecorded(&error),
            // What it has said before it went is still on its way down.
            Err(Stop::Gone) => {
                while let Some(message) = outlet.up.recv().await {
                    outlet.flow.took(size_of(&message));
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
