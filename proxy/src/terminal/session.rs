//! One terminal: a task between the remote end and the browser's current connection. The connection
//! may break; the session waits for the next one for a while, and goes on at the byte where the last one ended.

mod close;
mod notices;
mod parts;
mod recorded;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;

use super::AHEAD;
use super::flow::{FlowError, Inbox, Outbox};
use super::frames::{FromPage, Size, ToPage};
use super::metrics::ByteDirection;
use super::portal_session::PortalSession;
use super::remote_end::{Input, Output, ProgramExit};
use crate::idle::IdleTimer;

use close::SessionEnd;
use recorded::{RecordedEvent, unrecorded};

pub(super) use close::CloseReason;
pub(super) use parts::{Connection, FromSocket, SessionParts};

/// Bytes of one frame for the browser, and of one piece for the far side.
const PIECE: usize = 16 * 1024;
/// After this many bytes at the latest the browser is told what was taken.
const TELL_TAKEN: u64 = 4 * 1024;

pub(super) struct Session {
    parts: SessionParts,
    out: Outbox,
    inn: Inbox,
    /// What the browser was told of the input that the far side took.
    told: u64,
    size: Option<Size>,
    connection: Option<Connection>,
    /// Without a connection: until then one may come.
    until: Instant,
    end: Option<ProgramExit>,
    /// The end was put on the present connection.
    end_told: bool,
    /// The far side takes nothing any more; its end is about to come.
    deaf: bool,
    /// The page has sent a frame, so it has the resume token.
    heard: bool,
    /// Of the last connection: the session ends with it, also while there is none.
    signed: Arc<PortalSession>,
    idle: IdleTimer,
    /// An idle warning to send, with the time left.
    owes_idle: Option<Duration>,
    watched: Option<watch::Receiver<Vec<(u64, String)>>>,
    /// The list of watchers must be sent.
    owes_watched: bool,
}

impl Session {
    pub(super) fn new(parts: SessionParts, connection: Connection) -> Self {
        let until = Instant::now() + parts.grace;
        Self {
            out: Outbox::new(parts.window),
            inn: Inbox::new(AHEAD),
            told: 0,
            size: None,
            signed: Arc::clone(&connection.signed),
            idle: IdleTimer::new(parts.idle, Instant::now()),
            owes_idle: None,
            watched: parts.stage.as_ref().map(|stage| stage.watched()),
            owes_watched: false,
            connection: Some(connection),
            until,
            end: None,
            end_told: false,
            deaf: false,
            heard: false,
            parts,
        }
    }

    /// Runs until the session is over, then reports it to the page, the recording and the metrics.
    pub(super) async fn run(mut self) -> CloseReason {
        let over = loop {
            if let Some(over) = self.step().await {
                break over;
            }
        };
        self.close(over).await
    }

    async fn step(&mut self) -> Option<SessionEnd> {
        let (ended, cut) = (self.parts.ended.clone(), self.parts.cut.clone());
        let (signed, alarm) = (self.signed.over(), self.alarm());
        let to = self.connection.as_ref().map(|connection| connection.to.clone());
        let speaks = self.has_frame_to_send();
        let hears = self.end.is_none() && !self.deaf && (!self.inn.is_empty() || self.size.is_some());
        let input = self.parts.far.input.clone();
        let room = self.end.is_none() && self.out.has_room();
        let recorder = self.parts.recorder.clone();
        tokio::select! {
            biased;
            () = ended.cancelled() => Some(self.access_ended()),
            () = cut.cancelled() => Some(SessionEnd::Cut {
                code: "stopping",
                words: "Cut: this part of the service is being restarted. Open the terminal again.".to_owned(),
            }),
            () = signed => Some(SessionEnd::Cut { code: "signed_out", words: self.signed.words() }),
            words = unrecorded(recorder) => Some(SessionEnd::Cut { code: "recording", words }),
            next = self.parts.attach.recv() => self.attach(next?),
            said = from(&mut self.connection) => self.handle_frame(said),
            place = place(to), if speaks => {
                match place {
                    Some(place) => {
                        self.send_frame(place);
                        None
                    }
                    None => self.detach(),
                }
            }
            taken = input.reserve_owned(), if hears => {
                match taken {
                    Ok(taken) => self.forward_input(taken).await,
                    Err(_) => {
                        self.deaf = true;
                        None
                    }
                }
            }
            output = self.parts.far.output.recv(), if room => self.output(output).await,
            () = notices::watchers(&mut self.watched) => self.watchers_changed().await,
            () = sleep_until(alarm.unwrap_or(self.until)), if alarm.is_some() => self.on_alarm(),
        }
    }

    fn access_ended(&self) -> SessionEnd {
        let why = self.parts.live.end_reason(self.parts.clock.now());
        SessionEnd::Cut { code: "access_ended", words: format!("Cut: {}.", why.sentence()) }
    }

    fn has_frame_to_send(&self) -> bool {
        let over = self.end.is_some() && !self.end_told;
        let owes = self.owes_took_frame() || self.has_notice();
        self.connection.is_some() && (self.out.has_unsent() || owes || over)
    }

    fn owes_took_frame(&self) -> bool {
        let taken = self.inn.taken();
        taken > self.told && (taken - self.told >= TELL_TAKEN || self.inn.is_empty())
    }

    /// Puts the next frame on the connection: what was taken, what is said beside, then bytes, the end last.
    fn send_frame(&mut self, place: mpsc::OwnedPermit<Message>) {
        if self.owes_took_frame() {
            self.told = self.inn.taken();
            let said = ToPage::Took { n: self.told }.text();
            drop(place.send(Message::text(said)));
        } else if let Some(said) = self.notice() {
            drop(place.send(Message::text(said)));
        } else if let Some(bytes) = self.out.next(PIECE) {
            drop(place.send(Message::Binary(bytes)));
        } else if let Some(end) = &self.end {
            self.end_told = true;
            let said = ToPage::Exit { code: end.code, signal: end.signal.as_deref(), words: &end.words };
            drop(place.send(Message::text(said.text())));
        }
    }

    /// Gives the far side the next of what came for it.
    async fn forward_input(&mut self, place: mpsc::OwnedPermit<Input>) -> Option<SessionEnd> {
        if let Some(size) = self.size.take() {
            drop(place.send(Input::Size(size)));
            if let Some(stage) = &self.parts.stage {
                stage.resized(size);
            }
            return self.record(RecordedEvent::Size(size)).await;
        }
        let bytes = self.inn.next(PIECE);
        self.parts.metrics.count(ByteDirection::In, bytes.len());
        drop(place.send(Input::Bytes(bytes.clone())));
        self.record(RecordedEvent::Input(bytes)).await
    }

    async fn output(&mut self, output: Option<Output>) -> Option<SessionEnd> {
        match output {
            Some(Output::Bytes(bytes)) => {
                self.out.push(&bytes);
                if let Some(stage) = &self.parts.stage {
                    stage.wrote(&bytes);
                }
                self.parts.metrics.count(ByteDirection::Out, bytes.len());
                self.record(RecordedEvent::Output(bytes)).await
            }
            Some(Output::Ended(end)) => {
                self.finish(end);
                None
            }
            None => {
                self.finish(ProgramExit::broken("The far side went without saying how the shell ended."));
                None
            }
        }
    }

    fn finish(&mut self, end: ProgramExit) {
        self.end = Some(end);
        self.until = Instant::now() + self.parts.grace;
    }

    /// The browser is there again: it goes on where it ended.
    fn attach(&mut self, connection: Connection) -> Option<SessionEnd> {
        if let Err(broken) = self.out.resume(connection.seen) {
            // The session stays for a connection that resumes at a valid byte.
            tracing::warn!(session = %self.parts.id, reason = %broken, "a terminal was not resumed");
            self.parts.metrics.resumed("lost");
            let words = "What came meanwhile is not kept any more, so this session cannot go on here.";
            let _ = connection.to.try_send(Message::text(ToPage::Lost { words }.text()));
            return None;
        }
        // What the former connection still holds was not counted as come: the browser sends it again.
        let said = ToPage::Resumed { came: self.inn.came() }.text();
        if connection.to.try_send(Message::text(said)).is_ok() {
            self.parts.metrics.resumed("same");
            self.size = Some(connection.size.bounded());
            self.told = self.inn.taken();
            self.end_told = false;
            self.owes_watched |= self.parts.stage.is_some();
            self.owes_idle = self.idle.left(Instant::now());
            self.signed = Arc::clone(&connection.signed);
            self.connection = Some(connection);
        }
        None
    }

    /// The connection is gone. A page that has not learnt which session it has cannot come back to it.
    fn detach(&mut self) -> Option<SessionEnd> {
        self.connection = None;
        self.until = Instant::now() + self.parts.grace;
        (!self.heard).then_some(SessionEnd::Left)
    }

    fn handle_frame(&mut self, said: Option<FromSocket>) -> Option<SessionEnd> {
        self.heard |= said.is_some();
        let heard = match said {
            None => return self.detach(),
            Some(FromSocket::Input(bytes)) => {
                self.typed();
                self.inn.receive(&bytes)
            }
            Some(FromSocket::Said(FromPage::Here)) => {
                self.typed();
                Ok(())
            }
            Some(FromSocket::Said(FromPage::Ack { n })) => self.out.acknowledge(n),
            Some(FromSocket::Said(FromPage::Size { size })) => {
                self.size = Some(size.bounded());
                Ok(())
            }
            Some(FromSocket::Said(FromPage::Bye)) => {
                return Some(if self.end_told { SessionEnd::Ended } else { SessionEnd::Left });
            }
            // Said once, at the beginning.
            Some(FromSocket::Said(
                FromPage::Open { .. } | FromPage::Resume { .. } | FromPage::Watch { .. },
            )) => {
                return Some(malformed("it opened a second session"));
            }
        };
        heard.err().map(|broken: FlowError| malformed(&broken.to_string()))
    }
}

fn malformed(why: &str) -> SessionEnd {
    tracing::warn!(why, "a browser broke the rules of a terminal");
    let words = "Cut: the page and the service do not understand each other. Load the page anew.".to_owned();
    SessionEnd::Cut { code: "malformed", words }
}

/// A place for a frame; `None`: the connection is gone.
async fn place(to: Option<mpsc::Sender<Message>>) -> Option<mpsc::OwnedPermit<Message>> {
    match to {
        Some(to) => to.reserve_owned().await.ok(),
        None => std::future::pending().await,
    }
}

/// What the browser says; for ever nothing when there is none.
async fn from(connection: &mut Option<Connection>) -> Option<FromSocket> {
    match connection {
        Some(connection) => connection.from.recv().await,
        None => std::future::pending().await,
    }
}
