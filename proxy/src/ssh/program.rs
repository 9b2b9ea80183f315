//! What a shell, a command or a subsystem is begun with, and how its end is written down.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_documents::{RecordingKind, Side};
use rp_recording::Start;

use super::audit::{Trail, What};
use super::connection::Connection;
use super::relay::{Ask, Begun, End, Gatekeeper, short};

/// The gate of a session channel.
pub(super) struct SessionGate {
    connection: Arc<Connection>,
    trail: Trail,
    /// `TERM`, columns and rows, when a terminal was asked for.
    terminal: Mutex<Option<(String, u16, u16)>>,
}

impl SessionGate {
    pub(super) fn new(connection: Arc<Connection>, trail: Trail) -> Self {
        Self { connection, trail, terminal: Mutex::default() }
    }

    /// Recording first, then the durable entry, which names it; then the machine may hear of it.
    async fn begin(&self, mut what: What, command: Vec<String>) -> Result<Option<Begun>, String> {
        let terminal = self.terminal.lock().clone();
        let grant = &self.trail.live.grant;
        let start = Start {
            kind: RecordingKind::Ssh,
            grant,
            person: &grant.owner,
            place: self.trail.machine.clone(),
            command,
            interactive: terminal.is_some(),
            size: terminal.as_ref().map(|(_, cols, rows)| (*cols, *rows)),
            term: terminal.map(|(term, ..)| term),
        };
        let recorder = match self.connection.recordings().begin(start).await {
            Ok(recorder) => recorder,
            Err(error) => {
                self.trail.refused(&what).await;
                return Err(error.to_string());
            }
        };
        if let Some(recorder) = &recorder {
            what.query =
                [what.query.as_str(), &format!("recording {}", recorder.id())].join(" ").trim().to_owned();
        }
        match self.trail.start(what).await {
            Ok(settle) => {
                Ok(Some(Begun { counted: Arc::clone(&settle.bytes), settle: Some(settle), recorder }))
            }
            Err(error) => {
                tracing::error!(error = %rp_base::chain(&error), "the start of a session could not be audited");
                if let Some(recorder) = recorder {
                    recorder.finish("not begun").await;
                }
                Err("the audit entry could not be written, so nothing was started".to_owned())
            }
        }
    }
}

impl Gatekeeper for SessionGate {
    fn idle(&self) -> Duration {
        self.connection.limits().idle
    }

    async fn admit(&self, ask: &Ask) -> Result<Option<Begun>, String> {
        match ask {
            Ask::Terminal(t) => {
                *self.terminal.lock() = Some((t.term.clone(), short(t.cols), short(t.rows)));
                Ok(None)
            }
            Ask::Variable { .. } | Ask::Agent => Ok(None),
            Ask::Shell => self.begin(What::of("ssh.shell"), Vec::new()).await,
            Ask::Exec(command) => {
                let what = What::command("ssh.exec", command);
                let command = what.command.shown.clone();
                self.begin(what, command).await
            }
            Ask::Subsystem(name) => {
                let what = What::named("ssh.subsystem", name);
                let command = vec![what.query.clone()];
                self.begin(what, command).await
            }
        }
    }
}

/// The gate of a forwarded connection: bytes only.
pub(super) struct ForwardGate;

impl Gatekeeper for ForwardGate {
    async fn admit(&self, _ask: &Ask) -> Result<Option<Begun>, String> {
        Err("a forwarded connection runs nothing".to_owned())
    }
}

/// Writes down how a channel ended.
pub(super) async fn settle(connection: &Connection, end: End, begun: Option<Begun>) {
    let Some(Begun { settle, recorder, .. }) = begun else { return };
    let (outcome, word, status, side) = match end {
        End::Exit(status) => {
            (format!("exit {status}"), "ok", u16::try_from(status).unwrap_or(u16::MAX), None)
        }
        End::Signal(name) => (format!("signal {name}"), "ok", 0, None),
        End::Closed => ("closed".to_owned(), "ok", 0, None),
        End::Broken => ("the machine went away".to_owned(), "failed", 0, Some(Side::Cluster)),
        End::Idle => ("nothing was typed".to_owned(), "cut", 0, Some(Side::You)),
        End::Unrecorded(_) => ("cut: not recorded".to_owned(), "cut", 0, Some(Side::Us)),
        End::Left => match connection.access_over() {
            Some(sentence) => (sentence.to_owned(), "cut", 0, Some(Side::You)),
            None => ("left".to_owned(), "ok", 0, None),
        },
    };
    if let Some(mut settle) = settle {
        settle.outcome(word, status, side);
        settle.write().await;
    }
    if let Some(recorder) = recorder {
        recorder.finish(&outcome).await;
    }
}
