//! What the tasks of one connection share: who signed in, the machine, the legs, and the way to end it all with words.

mod carry;
mod reach;

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use rp_access::{Refusal, StreamGuard};
use rp_base::{Id, Timestamp, chain};
use rp_documents::{Actor, Entry, Outcome, Phase, Rights, Side};
use rp_net::Target;
use rp_net::door::Visitor;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::audit::{Bytes, Trail, What};
use super::auth::{Authority, Known};
use super::banner;
use super::leg::Leg;
use super::limits::SshLimits;
use super::machines::Machine;
use super::metrics::{ChannelLabels, LoginLabels};
use super::server::Bastion;
pub(super) use carry::{Opening, Way};

/// One connection of one client.
#[derive(Debug)]
pub(super) struct Connection {
    bastion: Arc<Bastion>,
    pub(super) from: IpAddr,
    visitor: Visitor,
    began: Timestamp,
    /// The client is gone: every channel ends.
    pub(super) over: CancellationToken,
    known: OnceLock<Known>,
    signed_in: CancellationToken,
    reached: OnceLock<Reached>,
    is_reached: CancellationToken,
    /// Why it shall end.
    words: watch::Sender<Option<String>>,
    spares: Mutex<Vec<Leg>>,
    /// What runs for it.
    pub(super) tasks: TaskTracker,
    pub(super) bytes: Arc<Bytes>,
    misses: AtomicUsize,
    /// The user that a stranger claimed to be.
    claimed: Mutex<String>,
}

/// The machine, and what is held while it is used.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) target: Arc<Target>,
    pub(super) machine: Machine,
    pub(super) trail: Trail,
    _guard: StreamGuard,
}

impl Connection {
    pub(super) fn new(bastion: Arc<Bastion>, from: IpAddr, visitor: Visitor) -> Arc<Self> {
        Arc::new(Self {
            began: bastion.clock().now(),
            bastion,
            from,
            visitor,
            over: CancellationToken::new(),
            known: OnceLock::new(),
            signed_in: CancellationToken::new(),
            reached: OnceLock::new(),
            is_reached: CancellationToken::new(),
            words: watch::Sender::new(None),
            spares: Mutex::default(),
            tasks: TaskTracker::new(),
            bytes: Arc::default(),
            misses: AtomicUsize::new(0),
            claimed: Mutex::default(),
        })
    }

    pub(super) fn limits(&self) -> &SshLimits {
        self.bastion.limits()
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
    pub(super) async fn must_end(&self) -> String {
        let mut words = self.words.subscribe();
        let told = async move {
            let told = words.wait_for(Option::is_some).await;
            told.ok().and_then(|words| words.clone()).unwrap_or_default()
        };
        let timely = async {
            if tokio::time::timeout(self.limits().login, self.signed_in.cancelled()).await.is_err() {
                return "nobody signed in in time".to_owned();
            }
            let Some(known) = self.known.get() else { return String::new() };
            known.live.token_for(rights_of(known)).cancelled().await;
            known.live.cut(self.bastion.clock().now()).sentence().to_owned()
        };
        tokio::select! {
            words = told => words,
            words = timely => words,
        }
    }

    /// Somebody signed in.
    pub(super) fn succeeded(&self, known: Known) {
        self.visitor.known();
        let labels = LoginLabels { way: known.way, result: "ok" };
        self.bastion.metrics().logins.with(&labels).inc();
        let _ = self.known.set(known);
        self.signed_in.cancel();
    }

    /// Somebody showed what opens nothing. What it was is told nobody.
    pub(super) fn failed(&self, user: &str, way: &'static str, refusal: Refusal) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        user.clone_into(&mut self.claimed.lock());
        self.bastion.metrics().logins.with(&LoginLabels { way, result: "refused" }).inc();
        tracing::warn!(
            target: "proxy.ssh",
            remote_addr = %self.from,
            username = user,
            why = %refusal,
            "authentication failed"
        );
        if matches!(refusal, Refusal::TooOften(_) | Refusal::Unsure | Refusal::Unavailable) {
            self.end(&refusal.to_string());
        }
    }

    /// Too many channels at once.
    pub(super) fn crowded(&self) {
        self.count("channel", "refused");
    }

    fn count(&self, kind: &'static str, result: &'static str) {
        self.bastion.metrics().opened.with(&ChannelLabels { kind, result }).inc();
    }

    /// What the client asked for and may not have.
    pub(super) async fn refused(&self, verb: &'static str, what: &str) {
        self.count(verb.strip_prefix("ssh.").unwrap_or(verb), "refused");
        if let Some(trail) = self.trail() {
            trail.refused(&What::named(verb, what)).await;
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

    fn trail(&self) -> Option<Trail> {
        if let Some(reached) = self.reached.get() {
            return Some(reached.trail.clone());
        }
        let known = self.known.get()?;
        Some(Trail {
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
        over.then(|| known.live.cut(self.bastion.clock().now()).sentence())
    }

    /// The connection is gone: what there is to write down.
    pub(super) async fn gone(&self, words: Option<&str>) {
        self.over.cancel();
        self.tasks.close();
        if tokio::time::timeout(Self::SETTLED_WITHIN, self.tasks.wait()).await.is_err() {
            tracing::warn!(from = %self.from, "the ends of some channels are still being written");
        }
        self.spares.lock().clear();
        let metrics = self.bastion.metrics();
        metrics.received.add(self.bytes.received.load(Ordering::Relaxed));
        metrics.sent.add(self.bytes.sent.load(Ordering::Relaxed));
        let Some(trail) = self.trail() else { return self.stranger_gone().await };
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

    /// One entry for all that a stranger tried; of many strangers of a network, a sum.
    async fn stranger_gone(&self) {
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
fn rights_of(known: &Known) -> Rights {
    known.live.grant.rights
}
