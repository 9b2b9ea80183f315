//! A machine as the remote end: a shell by SSH, on a connection of its own (`ssh::leg`).

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use rp_access::{Access, ActiveGrant, StreamGuard};
use rp_audit::{Audit, AuditError};
use rp_base::{SharedClock, Timestamp};
use rp_documents::{Entry, Outcome, Phase, Rights, Side};
use rp_net::{Directory, DirectoryError};
use russh::ChannelMsg;
use tokio_util::sync::CancellationToken;

use super::Visitor;
use super::frames::Size;
use super::open::OpenRefusal;
use super::remote_end::{Input, Output, ProgramExit, RemoteChannels, RemoteEnd};
use crate::ssh::{Leg, LegError, Legs};

/// The `TERM` of shells on machines.
const TERM: &str = "xterm-256color";

/// Opens shells on machines.
#[derive(Debug, Clone)]
pub struct Shells {
    pub legs: Arc<Legs>,
    pub directory: Arc<dyn Directory>,
}

/// What opening a shell needs of the process.
pub(super) struct ShellContext<'a> {
    pub(super) access: &'a Access,
    pub(super) clock: &'a SharedClock,
    pub(super) cut: &'a CancellationToken,
}

impl Shells {
    /// Opens a shell on a terminal. The start is in the audit trail before the machine hears of it.
    pub(super) async fn open(
        &self,
        around: ShellContext<'_>,
        visitor: &Visitor,
        live: &Arc<ActiveGrant>,
        name: &str,
        size: Size,
    ) -> Result<RemoteEnd, OpenRefusal> {
        let rates = around.access.rates();
        rates
            .stream(live.grant.primary_id().as_str())
            .map_err(|wait| OpenRefusal::too_often(wait.seconds()))?;
        let open = around.access.stream(live, || format!("terminal on {name}"));
        let open = open.map_err(|many| {
            OpenRefusal::new(
                "too_many_streams",
                format!("{} streams of yours are open here already.", many.most),
                "Close some.",
            )
        })?;
        let target = self.directory.find(&visitor.target).await.map_err(|error| no_target(&error))?;
        let machine = self.legs.machines().find(&target, name).await.map_err(|error| {
            OpenRefusal::new("no_machine", capital(&error), "Look at the cluster's machines.")
        })?;
        let audit = around.access.audit().clone();
        let mut settle = AuditEntryGuard::start(audit, around.clock, live, visitor, &machine.name).await.map_err(|error| {
            tracing::error!(error = %rp_base::chain(&error), "the start of a terminal could not be audited");
            OpenRefusal::new("audit_unavailable", "The audit trail cannot be written, so nothing was opened.", "Try again in a moment.")
        })?;
        let connecting = async {
            let leg = self.legs.connect(live, &target, &machine).await?;
            let channel = leg.session().await?;
            Ok::<_, LegError>((leg, channel))
        };
        let connected = Box::pin(connecting).await;
        let (leg, channel) = connected.map_err(|error| settle.failed(&error))?;
        let (cols, rows) = (u32::from(size.cols), u32::from(size.rows));
        let asked = async {
            channel.request_pty(false, TERM, cols, rows, 0, 0, &[]).await?;
            channel.request_shell(true).await
        };
        if asked.await.is_err() {
            settle.outcome("failed", Side::Cluster);
            return Err(OpenRefusal::new(
                "machine_refused",
                "The machine broke the connection off.",
                "Try again.",
            ));
        }
        let held = ShellGuards {
            settle,
            _open: open,
            ended: live.token_for(Rights::Write),
            cut: around.cut.clone(),
        };
        Ok(RemoteEnd::spawn(|carried| carry(leg, channel, held, carried)))
    }
}

fn capital(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}.", first.to_uppercase(), letters.as_str().trim_end_matches('.'))
    })
}

fn no_target(error: &DirectoryError) -> OpenRefusal {
    tracing::warn!(error = %rp_base::chain(error), "no way to a machine");
    OpenRefusal::new(
        "not_reachable",
        "The cluster cannot be reached from here.",
        "Look at the cluster's page.",
    )
}

struct ShellGuards {
    settle: AuditEntryGuard,
    _open: StreamGuard,
    ended: CancellationToken,
    cut: CancellationToken,
}

/// Copies both directions until the shell ends or the session is gone.
async fn carry(
    leg: Leg,
    channel: russh::Channel<russh::client::Msg>,
    mut held: ShellGuards,
    carried: RemoteChannels,
) {
    let RemoteChannels { mut input, output } = carried;
    let (mut from, to) = channel.split();
    let (sent, received) = (Arc::clone(&held.settle.sent), Arc::clone(&held.settle.received));
    let writing = async {
        while let Some(said) = input.recv().await {
            let written = match said {
                Input::Bytes(bytes) => {
                    received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    to.data_bytes(bytes).await
                }
                Input::Size(size) => to.window_change(u32::from(size.cols), u32::from(size.rows), 0, 0).await,
            };
            if written.is_err() {
                // The reading half reports the reason.
                std::future::pending::<()>().await;
            }
        }
    };
    let reading = async {
        let mut end = None;
        loop {
            let said = from.wait().await;
            let bytes: Bytes = match said {
                Some(ChannelMsg::Data { data } | ChannelMsg::ExtendedData { data, .. }) => data,
                Some(ChannelMsg::ExitStatus { exit_status }) => {
                    end = Some(ProgramExit::code(i32::try_from(exit_status).unwrap_or(i32::MAX)));
                    continue;
                }
                Some(ChannelMsg::ExitSignal { signal_name, .. }) => {
                    end = Some(ProgramExit::signal(&signal_word(&signal_name)));
                    continue;
                }
                Some(ChannelMsg::Failure) => return ProgramExit::broken("The machine gives no shell."),
                Some(ChannelMsg::Close) | None => break,
                Some(_) => continue,
            };
            sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            if !bytes.is_empty() && output.send(Output::Bytes(bytes)).await.is_err() {
                return ProgramExit::broken("Nobody listens any more.");
            }
        }
        end.unwrap_or_else(|| {
            let why =
                leg.disconnect_reason().map(|why| format!(" It said: {}", rp_base::text::clean(&why, 200)));
            ProgramExit::broken(format!("The machine closed the connection.{}", why.unwrap_or_default()))
        })
    };
    let (ended, cut) = (held.ended.clone(), held.cut.clone());
    let end = tokio::select! {
        biased;
        () = ended.cancelled() => return held.settle.outcome("cut", Side::You),
        () = cut.cancelled() => return held.settle.outcome("cut", Side::Us),
        () = output.closed() => return,
        end = reading => end,
        () = writing => return,
    };
    if let Some(side) = end.side {
        held.settle.outcome("failed", side);
    }
    let _ = output.send(Output::Ended(end)).await;
}

fn signal_word(signal: &russh::Sig) -> String {
    format!("{signal:?}")
}

/// Writes the end entry of a shell when it is dropped.
#[derive(Debug)]
struct AuditEntryGuard {
    entry: Option<Box<Entry>>,
    audit: Audit,
    clock: SharedClock,
    began: Timestamp,
    sent: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

impl AuditEntryGuard {
    async fn start(
        audit: Audit,
        clock: &SharedClock,
        live: &ActiveGrant,
        visitor: &Visitor,
        machine: &str,
    ) -> Result<Self, AuditError> {
        let began = clock.now();
        let from: IpAddr = visitor.from;
        let mut entry = visitor.caller.entry(began, Phase::Start, "terminal");
        entry.actor.from = from.to_string();
        entry.grant = Some(live.grant.primary_id().clone());
        entry.target.clone_from(&live.grant.target);
        entry.reason.clone_from(&live.grant.reason);
        "machines".clone_into(&mut entry.resource);
        machine.clone_into(&mut entry.name);
        "the cluster's SSH key".clone_into(&mut entry.identity_used);
        audit.promise(entry.clone()).await?;
        entry.phase = Phase::End;
        entry.result = Outcome { status: 0, word: "ok".to_owned(), side: None };
        let clock = Arc::clone(clock);
        Ok(Self {
            entry: Some(Box::new(entry)),
            audit,
            clock,
            began,
            sent: Arc::default(),
            received: Arc::default(),
        })
    }

    fn outcome(&mut self, word: &str, side: Side) {
        if let Some(entry) = &mut self.entry {
            word.clone_into(&mut entry.result.word);
            entry.result.side = Some(side);
        }
    }

    fn failed(&mut self, error: &LegError) -> OpenRefusal {
        let side = error.side();
        self.outcome(if side == Side::You { "refused" } else { "failed" }, side);
        if side != Side::You {
            tracing::warn!(error = %rp_base::chain(error), "a terminal did not reach its machine");
        }
        OpenRefusal::new("machine_away", capital(error), "")
    }
}

impl Drop for AuditEntryGuard {
    fn drop(&mut self) {
        let Some(mut entry) = self.entry.take() else { return };
        let now = self.clock.now();
        entry.took_ms = u64::try_from(now.since(self.began).as_millis()).unwrap_or(u64::MAX);
        entry.at = now;
        entry.bytes_out = self.sent.load(Ordering::Relaxed);
        entry.bytes_in = self.received.load(Ordering::Relaxed);
        let audit = self.audit.clone();
        tokio::spawn(async move {
            if let Err(error) = audit.queue(*entry).await {
                tracing::error!(error = %rp_base::chain(&error), "the end of a terminal could not be audited");
            }
        });
    }
}
