//! Opens and resumes terminals.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_access::{ActiveGrant, Refusal};
use rp_base::{Id, chain, sha256};
use rp_documents::{RecordingKind, Rights};
use rp_recording::{Recorder, SessionStart};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use super::frames::{Hello, Size, TerminalDestination, ToPage};
use super::machine::ShellContext;
use super::pod;
use super::remote_end::RemoteEnd;
use super::session::{Connection, Session, SessionParts};
use super::shared_screen::SharedScreen;
use super::socket::SocketChannels;
use super::{AHEAD, Entry, Owner, ResumeError, Terminals, Visitor, WINDOW};
use crate::api::{ErrorText, ExecRequest};

/// Why no terminal was opened, with the text for the page.
#[derive(Debug)]
pub(super) struct OpenRefusal {
    code: String,
    words: String,
    action: String,
    again: Option<u64>,
}

impl OpenRefusal {
    pub(super) fn new(code: &str, words: impl Into<String>, action: &str) -> Self {
        Self { code: code.to_owned(), words: words.into(), action: action.to_owned(), again: None }
    }

    pub(super) fn too_often(seconds: u64) -> Self {
        let no = Self::new("too_often", "Terminals are opened too often.", "Wait a moment.");
        Self { again: Some(seconds), ..no }
    }

    pub(super) fn code(&self) -> &str {
        &self.code
    }

    pub(super) fn text(&self) -> String {
        ToPage::Refused { code: &self.code, words: &self.words, action: &self.action, again: self.again }
            .text()
    }
}

impl From<ErrorText> for OpenRefusal {
    fn from(told: ErrorText) -> Self {
        Self {
            code: told.code.to_owned(),
            words: told.message,
            action: told.action.to_owned(),
            again: told.again,
        }
    }
}

fn refusal(refusal: Refusal) -> OpenRefusal {
    match refusal {
        Refusal::Unsure | Refusal::Unavailable => OpenRefusal::new(
            "store_away",
            "The store does not answer, so no access can be checked.",
            "Try again in a moment.",
        ),
        Refusal::TooOften(wait) => OpenRefusal::too_often(wait.seconds()),
        Refusal::Malformed | Refusal::Unknown | Refusal::Spent | Refusal::Ended(_) => grant_needed(),
    }
}

fn grant_needed() -> OpenRefusal {
    OpenRefusal::new(
        "grant_needed",
        "You have no access for this terminal, or it has ended.",
        "Say why you need it, under an elevation.",
    )
}

impl Terminals {
    /// Opens a session and tells the page.
    pub(super) async fn open(
        &self,
        visitor: &Visitor,
        place: &TerminalDestination,
        size: Size,
        wires: SocketChannels,
    ) -> Result<(), OpenRefusal> {
        let begun = Box::pin(self.begin(visitor, place, size.bounded(), wires)).await;
        begun.inspect_err(|no| {
            self.0.metrics.over(place.kind(), "refused");
            tracing::info!(person = %visitor.caller.person.name, resource_id = visitor.target.key(), place = %place.words(), code = no.code, "a terminal was refused");
        })
    }

    async fn begin(
        &self,
        visitor: &Visitor,
        place: &TerminalDestination,
        size: Size,
        wires: SocketChannels,
    ) -> Result<(), OpenRefusal> {
        if !place.is_sound() {
            return Err(OpenRefusal::new("malformed", "That is no place in a cluster.", ""));
        }
        let parts = &self.0.parts;
        let machine = match place {
            TerminalDestination::Machine { name } => Some(name.as_str()),
            TerminalDestination::Pod { .. } => None,
        };
        let live = parts.access.own_terminal(&visitor.caller, &visitor.target, machine).await;
        let live = live.map_err(refusal)?.ok_or_else(grant_needed)?;
        let recorder = self.recorder(visitor, place, size, &live).await?;
        let far = match place {
            TerminalDestination::Pod { namespace, name, container } => {
                self.pod(visitor, &live, [namespace, name, container]).await
            }
            TerminalDestination::Machine { name } => self.machine(visitor, &live, name, size).await,
        };
        let far = match far {
            Ok(far) => far,
            Err(no) => {
                if let Some(recorder) = recorder {
                    recorder.finish("refused").await;
                }
                return Err(no);
            }
        };
        let kept = self.start(visitor, place, size, live, far, recorder.as_ref(), wires);
        if let (Err(_), Some(recorder)) = (&kept, recorder) {
            recorder.finish("refused").await;
        }
        kept
    }

    async fn pod(
        &self,
        visitor: &Visitor,
        live: &Arc<ActiveGrant>,
        names: [&str; 3],
    ) -> Result<RemoteEnd, OpenRefusal> {
        let [namespace, pod, container] = names;
        let exec = ExecRequest {
            live: Arc::clone(live),
            request_id: visitor.caller.request_id.clone(),
            from: visitor.from,
            namespace,
            pod,
            container,
            command: &pod::SHELL,
        };
        let running = self.0.parts.api.exec(exec).await.map_err(|told| OpenRefusal::from(*told))?;
        Ok(RemoteEnd::spawn(|carried| pod::carry(running, carried)))
    }

    async fn machine(
        &self,
        visitor: &Visitor,
        live: &Arc<ActiveGrant>,
        name: &str,
        size: Size,
    ) -> Result<RemoteEnd, OpenRefusal> {
        let parts = &self.0.parts;
        let Some(shells) = &parts.shells else {
            return Err(OpenRefusal::new(
                "no_machines",
                "Machines cannot be reached from here.",
                "Use a pod on the machine.",
            ));
        };
        let around = ShellContext { access: &parts.access, clock: &parts.clock, cut: &parts.cut };
        Box::pin(shells.open(around, visitor, live, name, size)).await
    }

    async fn recorder(
        &self,
        visitor: &Visitor,
        place: &TerminalDestination,
        size: Size,
        live: &ActiveGrant,
    ) -> Result<Option<Recorder>, OpenRefusal> {
        let command = match place {
            TerminalDestination::Pod { .. } => pod::SHELL.map(str::to_owned).to_vec(),
            TerminalDestination::Machine { .. } => Vec::new(),
        };
        let start = SessionStart {
            kind: RecordingKind::Terminal,
            grant: &live.grant,
            person: &visitor.caller.person,
            place: place.words(),
            command,
            interactive: true,
            size: Some((size.cols, size.rows)),
            term: Some("xterm-256color".to_owned()),
        };
        self.0.parts.recordings.begin(start).await.map_err(|error| {
            tracing::error!(error = %chain(&error), "a terminal is refused because it cannot be recorded");
            OpenRefusal::new(
                "recording",
                "Terminals must be recorded here, and the recording cannot be written.",
                "Try again in a moment.",
            )
        })
    }

    #[expect(clippy::too_many_arguments, reason = "what a session is made of")]
    fn start(
        &self,
        visitor: &Visitor,
        place: &TerminalDestination,
        size: Size,
        live: Arc<ActiveGrant>,
        far: RemoteEnd,
        recorder: Option<&Recorder>,
        wires: SocketChannels,
    ) -> Result<(), OpenRefusal> {
        let inner = &self.0;
        let (id, token) = (Id::random(&*inner.parts.random), self.token());
        let (attach, attached) = mpsc::channel(1);
        let stage = inner.parts.settings.watch.then(|| {
            let ids = (id.clone(), visitor.target.clone(), live.grant.id.clone());
            let person = visitor.caller.person.clone();
            SharedScreen::new(ids, person, place.words(), inner.parts.clock.now(), size)
        });
        let entry = Entry { owner: owner(visitor, &token), attach, stage: stage.clone() };
        if !inner.keep(&id, entry) {
            return Err(OpenRefusal::new(
                "crowded",
                "Too many terminals are open here.",
                "Try again in a moment.",
            ));
        }
        let hello = Hello {
            id: id.as_str(),
            token: &token,
            grant: live.grant.id.as_str(),
            until: live.grant.not_after.seconds(),
            grace: inner.parts.settings.grace.as_secs(),
            window: WINDOW,
            ahead: AHEAD,
            recording: recorder.map(|recorder| recorder.id().as_str()),
            watch: inner.parts.settings.watch,
        };
        // The queue is empty, so this cannot fail for lack of room.
        let _ = wires.to.try_send(Message::text(ToPage::Hello(hello).text()));
        let parts = SessionParts {
            id: id.clone(),
            ended: live.token_for(Rights::Write),
            live,
            far,
            recorder: recorder.cloned(),
            attach: attached,
            cut: inner.parts.cut.clone(),
            clock: Arc::clone(&inner.parts.clock),
            grace: inner.parts.settings.grace,
            idle: inner.parts.settings.idle,
            stage,
            window: WINDOW,
            metrics: Arc::clone(&inner.metrics),
            open: inner.metrics.open.track(),
        };
        let session = Session::new(parts, connection(visitor, wires, 0, size));
        let (inner, kind) = (Arc::clone(inner), place.kind());
        tokio::spawn(async move {
            let closed = session.run().await;
            inner.metrics.over(kind, closed.word);
            inner.forget(&id, closed.words);
        });
        Ok(())
    }

    fn token(&self) -> String {
        let mut bytes = [0u8; 24];
        self.0.parts.random.fill(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Puts a new connection onto a session.
    pub(super) async fn resume(
        &self,
        visitor: &Visitor,
        id: &str,
        token: &str,
        seen: u64,
        size: Size,
        wires: SocketChannels,
    ) -> Result<(), ResumeError> {
        let found = self.0.find(id, &owner(visitor, token));
        let resumed = match found {
            Ok(attach) => {
                let sent = attach.send(connection(visitor, wires, seen, size)).await;
                sent.map_err(|_| ResumeError::JustEnded)
            }
            Err(error) => Err(error),
        };
        resumed.inspect_err(|_| self.0.metrics.resumed("lost"))
    }
}

fn connection(visitor: &Visitor, wires: SocketChannels, seen: u64, size: Size) -> Connection {
    Connection { to: wires.to, from: wires.from, seen, size, signed: Arc::clone(&visitor.signed) }
}

fn owner(visitor: &Visitor, token: &str) -> Owner {
    Owner {
        sub: visitor.caller.person.sub.clone(),
        target: visitor.target.clone(),
        token: sha256(token.as_bytes()),
    }
}
