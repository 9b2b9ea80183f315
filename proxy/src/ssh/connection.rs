//! State shared by the tasks of one connection: the user, the machine, and ending it with a reason.

mod channel;
mod connect;

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use rp_access::{Refusal, StreamGuard};
use rp_base::{Id, Timestamp, chain};
use rp_documents::{Actor, Entry, Outcome, Phase, Rights, Side};
use rp_net::door::ConnectionHandle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::audit::{AuditedAction, ByteCounters, SessionAudit};
use super::auth::{AuthenticatedUser, Authority};
use super::banner;
use super::leg::LegUse;
use super::metrics::{ChannelLabels, LoginLabels};
use super::server::Bastion;
pub(super) use channel::{ChannelOpening, ChannelTarget};

/// One connection of one client.
#[derive(Debug)]
pub(super) struct Connection {
    bastion: Arc<Bastion>,
    pub(super) from: IpAddr,
    visitor: ConnectionHandle,
    began: Timestamp,
    /// The client is gone: every channel ends.
    pub(super) over: CancellationToken,
    known: OnceLock<AuthenticatedUser>,
    signed_in: CancellationToken,
    reached: OnceLock<ConnectedMachine>,
    is_reached: CancellationToken,
    /// Why it shall end.
    words: watch::Sender<Option<String>>,
    /// Its number among those that share connections to machines.
    client: u64,
    /// Tasks that run for it.
    pub(super) tasks: TaskTracker,
    pub(super) bytes: Arc<ByteCounters>,
    misses: AtomicUsize,
    /// The user name of an unauthenticated client.
    claimed: Mutex<String>,
}

/// The machine, and the permit held while it is used.
#[derive(Debug)]
pub(super) struct ConnectedMachine {
    pub(super) legs: LegUse,
    pub(super) trail: SessionAudit,
    _guard: StreamGuard,
}

impl Connection {
    pub(super) fn new(bastion: Arc<Bastion>, from: IpAddr, visitor: ConnectionHandle) -> Arc<Self> {
        Arc::new(Self {
            began: bastion.clock().now(),
            client: bastion.legs().next_client(),
            bastion,
            from,
            visitor,
            over: CancellationToken::new(),
            known: OnceLock::new(),
            signed_in: CancellationToken::new(),
            reached: OnceLock::new(),
            is_reached: CancellationToken::new(),
            words: watch::Sender::new(None),
            tasks: TaskTracker::new(),
            bytes: Arc::default(),
            misses: AtomicUsize::new(0),
            claimed: Mutex::default(),
        })
    }

    pub(super) fn settings(&self) -> &rp_config::Ssh {
        self.bastion.settings()
    }

    pub(super) fn idle(&self) -> Duration {
        self.bastion.idle()
    }

    pub(super) fn host(&self) -> &str {
        self.bastion.host()
    }

    pub(super) fn fips(&self) -> bool {
        self.bastion.fips()
    }

    pub(super) fn authority(&self) -> &Authority {
        self.bastion.authority()
    }

    pub(super) fn recordings(&self) -> &rp_recording::Recordings {
        self.bastion.recordings()
    }

    /// Ends the connection; the first words stay.
    pub(super) fn end(&self, words: &str) {
        self.words.send_if_modified(|before| match before {
            Some(_) => false,
            None => {
                *before = Some(banner::reason(words));
                true
            }
        });
    }

    /// Waits until it must end, and says why.
    pub(super) async fn wait_end_reason(&self) -> String {
        let mut words = self.words.subscribe();
        let told = async move {
            let told = words.wait_for(Option::is_some).await;
            told.ok().and_then(|words| words.clone()).unwrap_or_default()
        };
        let timely = async {
            if tokio::time::timeout(self.settings().login_time, self.signed_in.cancelled()).await.is_err() {
                return "nobody signed in in time".to_owned();
            }
            let Some(known) = self.known.get() else { return String::new() };
            known.live.token_for(rights_of(known)).cancelled().await;
            known.live.end_reason(self.bastion.clock().now()).sentence().to_owned()
        };
        tokio::select! {
            words = told => words,
            words = timely => words,
        }
    }

    /// Records a successful sign-in.
    pub(super) fn succeeded(&self, known: AuthenticatedUser) {
        self.visitor.known();
        let labels = LoginLabels { way: known.way, result: "ok" };
        self.bastion.metrics().logins.with(&labels).inc();
        let _ = self.known.set(known);
        self.signed_in.cancel();
    }

    /// A failed authentication. The client is not told the reason.
    pub(super) fn failed(&self, user: &str, way: &'static str, refusal: Refusal) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        user.clone_into(&mut self.claimed.lock());
        self.bastion.metrics().logins.with(&LoginLabels { way, result: "refused" }).inc();
        tracing::warn!(
            target: "proxy.ssh",
            remote_addr = %self.from,
            username = user,
            reason = %refusal,
            "authentication failed"
        );
        if matches!(refusal, Refusal::TooOften(_) | Refusal::Unsure | Refusal::Unavailable) {
            self.end(&refusal.to_string());
        }
    }

    /// Too many channels at once.
    pub(super) fn count_refused_channel(&self) {
        self.count("channel", "refused");
    }

    fn count(&self, kind: &'static str, result: &'static str) {
        self.bastion.metrics().opened.with(&ChannelLabels { kind, result }).inc();
    }

    /// What the client asked for and may not have.
    pub(super) async fn refused(&self, verb: &'static str, what: &str) {
        self.count(verb.strip_prefix("ssh.").unwrap_or(verb), "refused");
        if let Some(trail) = self.trail() {
            trail.refused(&AuditedAction::named(verb, what)).await;
        }
    }

    pub(super) fn may_forward_agent(&self) -> bool {
        self.known.get().is_some_and(|known| known.live.grant.options.agent_forwarding)
    }

    /// The destination as the grant names it; `None`: it does not.
    pub(super) fn destination(&self, host: &str, port: u32) -> Option<(String, u16)> {
        let port = u16::try_from(port).ok()?;
        let asked = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let named = &self.known.get()?.live.grant.destinations;
        named.iter().any(|each| each.eq_ignore_ascii_case(&asked)).then(|| (host.to_owned(), port))
    }

    fn trail(&self) -> Option<SessionAudit> {
        if let Some(reached) = self.reached.get() {
            return Some(reached.trail.clone());
        }
        let known = self.known.get()?;
        Some(SessionAudit {
            audit: self.bastion.audit().clone(),
            clock: Arc::clone(self.bastion.clock()),
            random: Arc::clone(self.bastion.random()),
            live: Arc::clone(&known.live),
            from: self.from,
            machine: known.machine.clone().unwrap_or_default(),
            identity: String::new(),
        })
    }

    /// How the access ended, when that is why.
    pub(super) fn access_over(&self) -> Option<&'static str> {
        let known = self.known.get()?;
        let over = known.live.token_for(rights_of(known)).is_cancelled();
        over.then(|| known.live.end_reason(self.bastion.clock().now()).sentence())
    }

    /// Writes the access log and audit entries of a connection that ended.
    pub(super) async fn finish(&self, words: Option<&str>) {
        self.over.cancel();
        self.tasks.close();
        if tokio::time::timeout(Self::SETTLED_WITHIN, self.tasks.wait()).await.is_err() {
            tracing::warn!(peer = %self.from, "the ends of some channels are still being written");
        }
        let metrics = self.bastion.metrics();
        metrics.received.add(self.bytes.received.load(Ordering::Relaxed));
        metrics.sent.add(self.bytes.sent.load(Ordering::Relaxed));
        let Some(trail) = self.trail() else { return self.finish_unauthenticated().await };
        let took = self.bastion.clock().now().since(self.began);
        trail.log("disconnected", "", Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
        let cut = self.access_over().is_some();
        let (word, side) = match (cut, words) {
            (true, _) => ("cut", Some(Side::You)),
            (false, Some(_)) => ("failed", None),
            (false, None) => ("ok", None),
        };
        let outcome = Outcome { status: 0, word: word.to_owned(), side };
        trail.over(self.began, &self.bytes, outcome).await;
    }

    /// One audit entry for all attempts of an unauthenticated client; attempts of many clients of a network are summed.
    async fn finish_unauthenticated(&self) {
        let misses = self.misses.load(Ordering::Relaxed);
        if misses == 0 {
            return;
        }
        let name = self.claimed.lock().clone();
        let actor = Actor { sub: String::new(), name, from: self.from.to_string() };
        let id = Id::random(&**self.bastion.random());
        let mut entry = Entry::new(self.bastion.clock().now(), Phase::Single, id, actor, "ssh.login");
        entry.query = format!("{misses} refused");
        entry.result = Outcome { status: 0, word: "refused".to_owned(), side: Some(Side::You) };
        if let Err(error) = self.bastion.audit().refused(rp_net::network(self.from), entry).await {
            tracing::error!(error = %chain(&error), "a refused sign-in could not be audited");
        }
    }

    /// How long the ends of channels may take to be written down.
    const SETTLED_WITHIN: Duration = Duration::from_secs(30);

    /// How long the client has to take its last message.
    pub(super) const GRACE: Duration = Duration::from_millis(400);
}

/// The rights that a shell of this grant was given with: with less it ends.
fn rights_of(known: &AuthenticatedUser) -> Rights {
    known.live.grant.rights
}
