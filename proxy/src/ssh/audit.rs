//! Audit entries of a connection, and the access log of `contract/portal.md` §17.2.
//!
//! The sign-in, and the start of each shell, command, subsystem and forwarded connection are durable before the machine gets
//! a byte of it; each use of the agent too. Ends are queued with their bytes.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use rp_access::ActiveGrant;
use rp_audit::{Audit, AuditError, Command};
use rp_base::text::visible;
use rp_base::{Id, SharedClock, SharedRandom, Timestamp, chain};
use rp_documents::{Actor, Entry, Outcome, Phase, Side};

use super::agent::Witness;

/// Bytes of a name, a destination.
const MOST_TEXT: usize = 4096;

/// Bytes towards the client and from it.
#[derive(Debug, Default)]
pub(super) struct ByteCounters {
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
}

/// What one connection's entries have in common.
#[derive(Debug, Clone)]
pub(super) struct SessionAudit {
    pub(super) audit: Audit,
    pub(super) clock: SharedClock,
    pub(super) random: SharedRandom,
    pub(super) live: Arc<ActiveGrant>,
    pub(super) from: IpAddr,
    /// The machine as the person named it, then as the cluster does.
    pub(super) machine: String,
    /// Who the machine sees.
    pub(super) identity: String,
}

/// The action that an audit entry describes.
#[derive(Debug, Clone, Default)]
pub(super) struct AuditedAction {
    /// `ssh.shell`, `ssh.exec` and so on.
    pub(super) verb: &'static str,
    pub(super) command: Command,
    /// A destination, a recording, a way to sign in.
    pub(super) query: String,
}

impl AuditedAction {
    pub(super) fn new(verb: &'static str) -> Self {
        Self { verb, ..Self::default() }
    }

    pub(super) fn named(verb: &'static str, query: impl AsRef<str>) -> Self {
        Self { verb, query: visible(query.as_ref().as_bytes(), MOST_TEXT), ..Self::default() }
    }

    /// A command as the client sent it.
    pub(super) fn command(verb: &'static str, command: &[u8]) -> Self {
        Self { verb, command: Command::new(&[command]), ..Self::default() }
    }
}

impl SessionAudit {
    fn entry(&self, at: Timestamp, phase: Phase, request_id: &Id, what: &AuditedAction) -> Entry {
        let owner = &self.live.grant.owner;
        let actor = Actor { sub: owner.sub.clone(), name: owner.name.clone(), from: self.from.to_string() };
        let mut entry = Entry::new(at, phase, request_id.clone(), actor, what.verb);
        entry.grant = Some(self.live.grant.primary_id().clone());
        entry.target.clone_from(&self.live.grant.target);
        entry.identity_used.clone_from(&self.identity);
        entry.resource = "machines".to_owned();
        entry.name.clone_from(&self.machine);
        what.command.write_to(&mut entry);
        entry.query.clone_from(&what.query);
        entry.reason.clone_from(&self.live.grant.reason);
        entry
    }

    /// One entry that is durable when this returns.
    ///
    /// # Errors
    /// It cannot be written: what it is about must not happen.
    pub(super) async fn promise(&self, what: &AuditedAction) -> Result<(), AuditError> {
        let id = Id::random(&*self.random);
        self.audit.promise(self.entry(self.clock.now(), Phase::Single, &id, what)).await.map(drop)
    }

    /// The start of something, durable when this returns. Its end is written when the guard is dropped.
    ///
    /// # Errors
    /// As [`SessionAudit::promise`].
    pub(super) async fn start(&self, what: AuditedAction) -> Result<AuditEntryGuard, AuditError> {
        let (id, began) = (Id::random(&*self.random), self.clock.now());
        self.audit.promise(self.entry(began, Phase::Start, &id, &what)).await?;
        let entry = self.entry(began, Phase::End, &id, &what);
        Ok(AuditEntryGuard {
            entry: Some(Box::new(entry)),
            trail: self.clone(),
            began,
            bytes: Arc::default(),
        })
    }

    /// Something that was refused.
    pub(super) async fn refused(&self, what: &AuditedAction) {
        let mut entry = self.entry(self.clock.now(), Phase::Single, &Id::random(&*self.random), what);
        entry.result = Outcome { status: 0, word: "refused".to_owned(), side: Some(Side::You) };
        if let Err(error) = self.audit.queue(entry).await {
            tracing::error!(error = %chain(&error), "a refusal could not be audited");
        }
    }

    /// The whole connection, at its end.
    pub(super) async fn over(&self, began: Timestamp, bytes: &ByteCounters, outcome: Outcome) {
        let now = self.clock.now();
        let mut entry =
            self.entry(now, Phase::Single, &Id::random(&*self.random), &AuditedAction::new("ssh.end"));
        entry.took_ms = u64::try_from(now.since(began).as_millis()).unwrap_or(u64::MAX);
        entry.bytes_out = bytes.sent.load(Ordering::Relaxed);
        entry.bytes_in = bytes.received.load(Ordering::Relaxed);
        entry.result = outcome;
        if let Err(error) = self.audit.queue(entry).await {
            tracing::error!(error = %chain(&error), "the end of a connection could not be audited");
        }
    }

    /// One line of the access log.
    pub(super) fn log(&self, message: &'static str, channel: &'static str, duration_ms: Option<u64>) {
        let target = self.live.grant.target.as_ref();
        tracing::info!(
            target: "proxy.ssh",
            username = %self.live.grant.owner.name,
            remote_addr = %self.from,
            hostname = %self.machine,
            grant = %self.live.grant.primary_id(),
            resource_id = target.map(rp_documents::ResourceId::key).unwrap_or_default(),
            channel,
            duration_ms,
            "{message}"
        );
    }
}

/// Writes the end entry when it is dropped.
#[derive(Debug)]
pub(super) struct AuditEntryGuard {
    entry: Option<Box<Entry>>,
    trail: SessionAudit,
    began: Timestamp,
    pub(super) bytes: Arc<ByteCounters>,
}

impl AuditEntryGuard {
    /// `ok`, `refused`, `failed`, `cut`; `status` is the program's exit status.
    pub(super) fn outcome(&mut self, word: &str, status: u16, side: Option<Side>) {
        if let Some(entry) = &mut self.entry {
            entry.result = Outcome { status, word: word.to_owned(), side };
        }
    }

    /// Writes the end, so that it is in the queue when this returns.
    pub(super) async fn write(mut self) {
        if let Some(entry) = self.take() {
            write(self.trail.audit.clone(), entry).await;
        }
    }

    fn take(&mut self) -> Option<Entry> {
        let mut entry = self.entry.take()?;
        let now = self.trail.clock.now();
        entry.at = now;
        entry.took_ms = u64::try_from(now.since(self.began).as_millis()).unwrap_or(u64::MAX);
        entry.bytes_out = self.bytes.sent.load(Ordering::Relaxed);
        entry.bytes_in = self.bytes.received.load(Ordering::Relaxed);
        Some(*entry)
    }
}

impl Drop for AuditEntryGuard {
    fn drop(&mut self) {
        if let Some(entry) = self.take() {
            tokio::spawn(write(self.trail.audit.clone(), entry));
        }
    }
}

async fn write(audit: Audit, entry: Entry) {
    if let Err(error) = audit.queue(entry).await {
        tracing::error!(error = %chain(&error), "the end of a channel could not be audited");
    }
}

/// The agent's uses, each durable before the signature is made.
#[derive(Debug)]
pub(super) struct AgentWitness(pub(super) SessionAudit);

#[async_trait]
impl Witness for AgentWitness {
    async fn may_sign(&self) -> bool {
        self.0.log("agent used", "auth-agent@openssh.com", None);
        let written = self.0.promise(&AuditedAction::new("ssh.agent")).await;
        if let Err(error) = &written {
            tracing::error!(error = %chain(error), "a use of the agent could not be audited, so nothing was signed");
        }
        written.is_ok()
    }
}
