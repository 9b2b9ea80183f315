//! From the person: what waits for a machine is counted and bounded.
//!
//! The library hands over each message in the task of the whole connection and widens the client's window by itself. So
//! what waits for a slow machine is counted here: above [`SOFT`] the window is widened by next to nothing and the
//! connection's task lingers a moment with each message, above [`HARD`] it waits. It must not simply wait from the first
//! byte on: behind the data may stand the client's word that it can take more, and a program that only reads when it can
//! write would then never end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use russh::{Pty, Sig};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Bytes waiting for the machine above which the client is slowed down.
pub(in crate::ssh) const SOFT: usize = 512 * 1024;
/// Bytes waiting above which nothing more is read from the client.
const HARD: usize = 4 * 1024 * 1024;
/// How long the connection's task lingers with a message of a slow channel.
const LINGER: Duration = Duration::from_millis(20);
/// What a message without data counts as.
const SMALL: usize = 512;

/// What the person's client says on a channel.
#[derive(Debug)]
pub(in crate::ssh) enum ClientMessage {
    Data(Bytes),
    Extended(u32, Bytes),
    Eof,
    Size { cols: u32, rows: u32, width: u32, height: u32 },
    Signal(Sig),
    Request(ChannelRequest, oneshot::Sender<RequestResult>),
}

/// Requests that the client wants answered. The text of a refusal is shown to the person.
#[derive(Debug)]
pub(in crate::ssh) enum ChannelRequest {
    Terminal(Box<Terminal>),
    Variable { name: String, value: String },
    Agent,
    Shell,
    Exec(Vec<u8>),
    Subsystem(String),
}

/// A terminal as the client has it.
#[derive(Debug)]
pub(in crate::ssh) struct Terminal {
    pub(in crate::ssh) term: String,
    pub(in crate::ssh) cols: u32,
    pub(in crate::ssh) rows: u32,
    pub(in crate::ssh) width: u32,
    pub(in crate::ssh) height: u32,
    pub(in crate::ssh) modes: Vec<(Pty, u32)>,
}

/// `Err`: refused; with words when we refused it, without when the machine did.
pub(in crate::ssh) type RequestResult = Result<(), Option<String>>;

/// Amount of input that waits for the machine.
#[derive(Debug, Default)]
struct PendingInput {
    waiting: AtomicUsize,
    room: Notify,
}

impl PendingInput {
    fn release(&self, size: usize) {
        self.waiting.fetch_sub(size, Ordering::Relaxed);
        self.room.notify_waiters();
    }

    async fn wait_below(&self, limit: usize) {
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
pub(in crate::ssh) struct Inlet {
    up: mpsc::UnboundedSender<ClientMessage>,
    flow: Arc<PendingInput>,
    /// Ends the channel.
    pub(in crate::ssh) cut: CancellationToken,
}

impl Inlet {
    /// Hands a message on. Returns when there is room for more, or soon.
    pub(in crate::ssh) async fn push(&self, message: ClientMessage) {
        let size = size_of(&message);
        self.flow.waiting.fetch_add(size, Ordering::Relaxed);
        if self.up.send(message).is_err() {
            return self.flow.release(size);
        }
        if !self.is_slow() {
            return;
        }
        let room = async {
            let _ = tokio::time::timeout(LINGER, self.flow.wait_below(SOFT)).await;
            self.flow.wait_below(HARD).await;
        };
        tokio::select! {
            () = room => {}
            () = self.cut.cancelled() => {}
        }
    }

    /// Asks the machine and waits for its answer.
    pub(in crate::ssh) async fn ask(&self, ask: ChannelRequest) -> RequestResult {
        let (answer, mut wait) = oneshot::channel();
        self.push(ClientMessage::Request(ask, answer)).await;
        tokio::select! {
            biased;
            answered = &mut wait => answered.unwrap_or(Err(None)),
            // A program that ends at once cuts the channel directly after its answer.
            () = self.cut.cancelled() => wait.try_recv().unwrap_or(Err(None)),
        }
    }

    /// Whether more waits for the machine than should.
    pub(in crate::ssh) fn is_slow(&self) -> bool {
        self.flow.waiting.load(Ordering::Relaxed) > SOFT && !self.cut.is_cancelled()
    }
}

fn size_of(message: &ClientMessage) -> usize {
    match message {
        ClientMessage::Data(bytes) | ClientMessage::Extended(_, bytes) => bytes.len() + SMALL,
        ClientMessage::Eof
        | ClientMessage::Size { .. }
        | ClientMessage::Signal(_)
        | ClientMessage::Request(..) => SMALL,
    }
}

/// The other end, for the channel's own task.
#[derive(Debug)]
pub(in crate::ssh) struct Outlet {
    up: mpsc::UnboundedReceiver<ClientMessage>,
    flow: Arc<PendingInput>,
}

impl Outlet {
    /// The next message and what it counts as until [`Outlet::release`]; `None`: the client is gone.
    pub(super) async fn next(&mut self) -> Option<(ClientMessage, usize)> {
        let message = self.up.recv().await?;
        let size = size_of(&message);
        Some((message, size))
    }

    /// The machine has it.
    pub(super) fn release(&self, size: usize) {
        self.flow.release(size);
    }
}

/// A channel's two ends. It ends with `parent`.
pub(in crate::ssh) fn channel(parent: &CancellationToken) -> (Inlet, Outlet) {
    let (up, taken) = mpsc::unbounded_channel();
    let flow = Arc::new(PendingInput::default());
    let inlet = Inlet { up, flow: Arc::clone(&flow), cut: parent.child_token() };
    (inlet, Outlet { up: taken, flow })
}

#[cfg(test)]
mod tests;
