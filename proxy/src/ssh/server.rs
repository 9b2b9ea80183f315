//! The bastion: the listener that people's SSH clients reach.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_access::Access;
use rp_audit::Audit;
use rp_base::{SharedClock, SharedRandom, Timestamp, chain};
use rp_metrics::Registry;
use rp_net::door::{AdmissionRefusal, ConnectionHandle, ConnectionPermit, Door, MonitoredStream};
use rp_net::listen::Stop;
use rp_net::{Directory, Origins, read_header};
use rp_recording::Recordings;
use russh::server::{Config, run_stream};
use russh::{Disconnect, MethodKind, MethodSet, SshId};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::algorithms::towards_people;
use super::auth::Authority;
use super::connection::Connection;
use super::gate::Gate;
use super::keys::{KeysError, ServiceKeys};
use super::leg::Legs;
use super::limits::{door_limits, sentence};
use super::metrics::SshMetrics;
use super::session::{ClientHandler, WINDOW};

/// Identification string; it reveals no version.
const NAME: &str = "SSH-2.0-aro";
/// Rejections of one connection, of keys that an agent offers mostly; passwords have a bound of their own.
const MOST_REJECTIONS: usize = 24;
/// Unanswered keep-alives after which a client counts as gone.
const MOST_SILENT: usize = 3;
/// Host certificates are made anew so often.
const RENEW_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Silence after which the kernel asks whether a client is still there (`contract/portal.md` §1.3).
const KERNEL_KEEPALIVE: Duration = Duration::from_secs(30);
/// For a balancer's header.
const HEADER_WITHIN: Duration = Duration::from_secs(10);

/// What the bastion is built from.
#[derive(Debug)]
pub struct BastionParts {
    pub access: Arc<Access>,
    pub directory: Arc<dyn Directory>,
    pub legs: Arc<Legs>,
    pub keys: Arc<ServiceKeys>,
    pub recordings: Recordings,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    pub settings: rp_config::Ssh,
    /// What every listener may cost.
    pub limits: rp_config::Limits,
    /// A shell with a terminal ends when nothing was typed for so long; zero: never.
    pub idle: Duration,
    /// The name that clients know it by, in its greeting.
    pub host: String,
    /// Names in its host certificates.
    pub names: Vec<String>,
    /// Balancers whose PROXY protocol header is believed.
    pub origins: Arc<Origins>,
}

/// The bastion.
#[derive(Debug)]
pub struct Bastion {
    parts: BastionParts,
    authority: Authority,
    metrics: SshMetrics,
    door: Arc<Door>,
    config: Mutex<(Timestamp, Arc<Config>)>,
}

impl Bastion {
    /// Ready to serve.
    ///
    /// # Errors
    /// No host certificate can be made with these names.
    pub fn new(parts: BastionParts) -> Result<Arc<Self>, KeysError> {
        let now = parts.clock.now();
        let authority = Authority {
            access: Arc::clone(&parts.access),
            keys: Arc::clone(&parts.keys),
            clock: Arc::clone(&parts.clock),
        };
        let config = Mutex::new((now, config(&parts, now)?));
        let metrics = SshMetrics::register(&parts.registry);
        let door = Door::new(door_limits(&parts.settings, &parts.limits), "ssh", &parts.registry);
        Ok(Arc::new(Self { parts, authority, metrics, door, config }))
    }

    pub(super) fn settings(&self) -> &rp_config::Ssh {
        &self.parts.settings
    }

    pub(super) fn idle(&self) -> Duration {
        self.parts.idle
    }

    pub(super) fn host(&self) -> &str {
        &self.parts.host
    }

    pub(super) fn fips(&self) -> bool {
        self.parts.keys.fips()
    }

    pub(super) const fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(super) fn audit(&self) -> &Audit {
        self.parts.access.audit()
    }

    pub(super) const fn clock(&self) -> &SharedClock {
        &self.parts.clock
    }

    pub(super) const fn random(&self) -> &SharedRandom {
        &self.parts.random
    }

    pub(super) const fn recordings(&self) -> &Recordings {
        &self.parts.recordings
    }

    pub(super) fn directory(&self) -> &dyn Directory {
        &*self.parts.directory
    }

    pub(super) const fn legs(&self) -> &Arc<Legs> {
        &self.parts.legs
    }

    pub(super) const fn metrics(&self) -> &SshMetrics {
        &self.metrics
    }

    /// Serves until stopped: sessions that are open go on until `cut`. An error while accepting ends nothing.
    pub async fn serve(self: Arc<Self>, tcp: TcpListener, stop: Stop) {
        let tasks = TaskTracker::new();
        let mut sweeps = tokio::time::interval(self.door.sweep_every());
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                () = stop.stop.cancelled() => break,
                accepted = tcp.accept() => accepted,
                _ = sweeps.tick() => {
                    self.door.sweep();
                    continue;
                }
            };
            match accepted {
                Ok((stream, peer)) => {
                    let (bastion, cut) = (Arc::clone(&self), stop.cut.clone());
                    tasks.spawn(async move { bastion.welcome(stream, peer, cut).await });
                }
                Err(error) => {
                    // Out of descriptors, mostly: take some back and wait, rather than spin.
                    tracing::warn!(error = %chain(&error), "cannot accept at the SSH listener");
                    self.door.relieve(&error);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(tcp);
        tasks.close();
        tasks.wait().await;
    }

    async fn welcome(self: Arc<Self>, mut tcp: TcpStream, peer: SocketAddr, cut: CancellationToken) {
        let keepalive =
            socket2::TcpKeepalive::new().with_time(KERNEL_KEEPALIVE).with_interval(KERNEL_KEEPALIVE);
        let set =
            tcp.set_nodelay(true).and_then(|()| socket2::SockRef::from(&tcp).set_tcp_keepalive(&keepalive));
        if set.is_err() {
            return;
        }
        let place = match self.door.enter(peer.ip(), self.parts.origins.heads(peer.ip())) {
            Ok(place) => place,
            Err(full) => return turn_away(tcp, full).await,
        };
        let visitor = place.handle().clone();
        let origin = tokio::select! {
            origin = self.origin(&mut tcp, peer, &place) => origin,
            () = visitor.cut() => return,
        };
        match origin {
            Ok(origin) => {
                let connection = Connection::new(Arc::clone(&self), origin.ip().to_canonical(), visitor);
                Box::pin(self.run(MonitoredStream::new(tcp, place), connection, cut)).await;
            }
            Err(Some(full)) => turn_away(tcp, full).await,
            Err(None) => {}
        }
    }

    /// The client's address, from the balancer's header where there is one; the error says why it is refused.
    async fn origin(
        &self,
        tcp: &mut TcpStream,
        peer: SocketAddr,
        place: &ConnectionPermit,
    ) -> Result<SocketAddr, Option<AdmissionRefusal>> {
        if !self.parts.origins.heads(peer.ip()) {
            return Ok(peer);
        }
        let read = tokio::time::timeout(HEADER_WITHIN, read_header(tcp, peer)).await;
        let origin = read.ok().and_then(Result::ok).ok_or(None)?;
        place.comes_from(origin).map(|()| origin).map_err(Some)
    }

    async fn run(
        &self,
        tcp: MonitoredStream<TcpStream>,
        connection: Arc<Connection>,
        cut: CancellationToken,
    ) {
        let _open = self.metrics.connections.track();
        let (kill, visitor) = (CancellationToken::new(), tcp.handle().clone());
        let (gate, person) = (Gate::new(tcp, kill.clone()), ClientHandler::new(Arc::clone(&connection)));
        let begun = run_stream(self.fresh_config(), gate, person);
        let begun = tokio::select! {
            begun = tokio::time::timeout(self.settings().login_time, begun) => begun,
            () = visitor.cut() => return,
        };
        let Ok(Ok(session)) = begun else { return };
        let (handle, mut session) = (session.handle(), session);
        let words = tokio::select! {
            ended = &mut session => {
                if let Err(error) = ended {
                    tracing::debug!(peer = %connection.from, error = %chain(&error), "connection ended");
                }
                None
            }
            words = connection.wait_end_reason() => Some(words),
            () = visitor.cut() => Some(cut_words(&visitor).to_owned()),
            () = cut.cancelled() => Some("the service is restarting; sign in again".to_owned()),
        };
        if let Some(words) = &words {
            let bye = handle.disconnect(Disconnect::ByApplication, words.clone(), "en".to_owned());
            let told = async {
                let _ = bye.await;
                let _ = (&mut session).await;
            };
            // A client that does not read is cut all the same.
            if tokio::time::timeout(Connection::GRACE, told).await.is_err() {
                kill.cancel();
                // Also where its task waits for a machine.
                connection.over.cancel();
                let _ = tokio::time::timeout(Duration::from_secs(30), &mut session).await;
            }
        }
        connection.finish(words.as_deref()).await;
    }

    /// With host certificates that are good for weeks.
    fn fresh_config(&self) -> Arc<Config> {
        let now = self.parts.clock.now();
        let mut config_ = self.config.lock();
        if now.since(config_.0) > RENEW_AFTER {
            match config(&self.parts, now) {
                Ok(fresh) => *config_ = (now, fresh),
                Err(error) => {
                    tracing::error!(error = %chain(&error), "no new host certificates could be made");
                }
            }
        }
        Arc::clone(&config_.1)
    }
}

async fn turn_away(mut tcp: TcpStream, full: AdmissionRefusal) {
    let words = format!("aro: {}\r\n", sentence(full));
    let _ = tokio::time::timeout(Duration::from_secs(1), tcp.write_all(words.as_bytes())).await;
}

/// Why the door ended a connection.
fn cut_words(visitor: &ConnectionHandle) -> &'static str {
    if visitor.is_known() {
        "your client takes nothing of what is sent"
    } else {
        sentence(AdmissionRefusal::Strangers)
    }
}

fn config(parts: &BastionParts, now: Timestamp) -> Result<Arc<Config>, KeysError> {
    let certificates =
        if parts.names.is_empty() { Vec::new() } else { parts.keys.host_certificates(&parts.names, now)? };
    Ok(Arc::new(Config {
        server_id: SshId::Standard(NAME.into()),
        methods: MethodSet::from(&[MethodKind::PublicKey, MethodKind::Password][..]),
        // Wrong passwords take their time by themselves; keys that an agent offers need not.
        auth_rejection_time: Duration::ZERO,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: parts.keys.host_keys(),
        certificates,
        window_size: WINDOW,
        // Its own queues are not used: see `relay`.
        channel_buffer_size: 1,
        preferred: towards_people(parts.keys.fips()),
        max_auth_attempts: MOST_REJECTIONS,
        inactivity_timeout: None,
        keepalive_interval: Some(parts.settings.keepalive),
        keepalive_max: MOST_SILENT,
        ..Config::default()
    }))
}
