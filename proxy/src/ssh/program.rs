//! What a shell, a command or a subsystem is begun with, and how its end is written down.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_documents::{RecordingKind, Side};
use rp_recording::SessionStart;

use super::audit::{AuditedAction, SessionAudit};
use super::connection::Connection;
use super::relay::{AdmitError, ChannelOutcome, ChannelRequest, Gatekeeper, StartedProgram, short};

/// The gate of a session channel.
pub(super) struct SessionGate {
    connection: Arc<Connection>,
    trail: SessionAudit,
    /// `TERM`, columns and rows, when a terminal was asked for.
    terminal: Mutex<Option<(String, u16, u16)>>,
}

impl SessionGate {
    pub(super) fn new(connection: Arc<Connection>, trail: SessionAudit) -> Self {
        Self { connection, trail, terminal: Mutex::default() }
    }

    /// Recording first, then the durable entry, which names it; then the machine may hear of it.
    async fn begin(
        &self,
        mut what: AuditedAction,
        command: Vec<String>,
    ) -> Result<Option<StartedProgram>, AdmitError> {
        let terminal = self.terminal.lock().clone();
        let grant = &self.trail.live.grant;
        let start = SessionStart {
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
                return Err(AdmitError::Recording(error));
            }
        };
        if let Some(recorder) = &recorder {
            what.query =
                [what.query.as_str(), &format!("recording {}", recorder.id())].join(" ").trim().to_owned();
        }
        match self.trail.start(what).await {
            Ok(settle) => Ok(Some(StartedProgram {
                counted: Arc::clone(&settle.bytes),
                settle: Some(settle),
                recorder,
            })),
            Err(error) => {
                tracing::error!(error = %rp_base::chain(&error), "the start of a session could not be audited");
                if let Some(recorder) = recorder {
                    recorder.finish("not begun").await;
                }
                Err(AdmitError::Audit)
            }
        }
    }
}

impl Gatekeeper for SessionGate {
    fn idle(&self) -> Duration {
        self.connection.idle()
    }

    async fn admit(&self, ask: &ChannelRequest) -> Result<Option<StartedProgram>, AdmitError> {
        match ask {
            ChannelRequest::Terminal(t) => {
                *self.terminal.lock() = Some((t.term.clone(), short(t.cols), short(t.rows)));
                Ok(None)
            }
            ChannelRequest::Variable { .. } | ChannelRequest::Agent => Ok(None),
            ChannelRequest::Shell => self.begin(AuditedAction::new("ssh.shell"), Vec::new()).await,
            ChannelRequest::Exec(command) => {
                let what = AuditedAction::command("ssh.exec", command);
                let command = what.command.shown.clone();
                self.begin(what, command).await
            }
            ChannelRequest::Subsystem(name) => {
                let what = AuditedAction::named("ssh.subsystem", name);
                let command = vec![what.query.clone()];
                self.begin(what, command).await
            }
        }
    }
}

/// The gate of a forwarded connection: bytes only.
pub(super) struct ForwardGate;

impl Gatekeeper for ForwardGate {
    async fn admit(&self, _ask: &ChannelRequest) -> Result<Option<StartedProgram>, AdmitError> {
        Err(AdmitError::Forwarded)
    }
}

/// Writes down how a channel ended.
pub(super) async fn settle(connection: &Connection, end: ChannelOutcome, begun: Option<StartedProgram>) {
    let Some(StartedProgram { settle, recorder, .. }) = begun else { return };
    let (outcome, word, status, side) = match end {
        ChannelOutcome::Exit(status) => {
            (format!("exit {status}"), "ok", u16::try_from(status).unwrap_or(u16::MAX), None)
        }
        ChannelOutcome::Signal(name) => (format!("signal {name}"), "ok", 0, None),
        ChannelOutcome::Closed => ("closed".to_owned(), "ok", 0, None),
        ChannelOutcome::Idle => ("nothing was typed".to_owned(), "cut", 0, Some(Side::You)),
        ChannelOutcome::Unrecorded(_) => ("cut: not recorded".to_owned(), "cut", 0, Some(Side::Us)),
        // At the end of an access the connection to the machine is cut too.
        end @ (ChannelOutcome::Left | ChannelOutcome::Broken) => match connection.access_over() {
            Some(sentence) => (sentence.to_owned(), "cut", 0, Some(Side::You)),
            None if end == ChannelOutcome::Left => ("left".to_owned(), "ok", 0, None),
            None => ("the machine went away".to_owned(), "failed", 0, Some(Side::Cluster)),
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
