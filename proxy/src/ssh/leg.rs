//! The connection towards a machine: dialled, its host key checked, signed in with the cluster's key
//! (`contract/portal.md` §16.3, "Do better" 21).
//!
//! `sign_in` makes them, one at a time for each machine (`queue`) and on threads of their own (`threads`). The bastion's
//! channels share those of their access and machine (`shared`, `pool`); a terminal in the browser has one of its own.

mod error;
mod handler;
mod pool;
mod queue;
mod shared;
mod sign_in;
mod threads;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::Mutex;
use rp_access::ActiveGrant;
use rp_base::{SharedClock, chain};
use rp_net::{Dialer, Port, Target};
use russh::client::{Handle, Msg};
use russh::keys::PrivateKey;
use russh::{Channel, Disconnect};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::agent::Witness;
use super::host_keys::{HostKeyError, HostKeys};
use super::machines::{Machine, MachineRoute, Machines};
pub use error::LegError;
use handler::MachineHandler;
use queue::SignInQueue;
use shared::SharedLegs;
pub(super) use shared::{ChannelTarget, LegUse, MachineChannel};
use threads::MachineThreads;

/// Masters that are tried as the way to a worker.
const MOST_MASTERS: usize = 3;
/// How long a machine's last word may take after its channels are gone.
const WORD_WITHIN: Duration = Duration::from_secs(2);
/// How long a machine may take to answer a question on a connection that is open.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long a machine may take to read that the connection ends.
const GOODBYE_WITHIN: Duration = Duration::from_secs(5);

/// What a [`Legs`] is built from.
#[derive(Debug)]
pub struct LegParts {
    pub machines: Arc<dyn Machines>,
    pub host_keys: Arc<HostKeys>,
    pub dialer: Dialer,
    pub clock: SharedClock,
    pub settings: rp_config::Ssh,
}

/// What else a leg is for.
#[derive(Debug, Default)]
pub struct LegOptions {
    /// Told of every use of the cluster's key by the machine; `None`: no agent is offered.
    pub agent: Option<Arc<dyn Witness>>,
}

/// Makes legs.
#[derive(Debug)]
pub struct Legs {
    parts: LegParts,
    /// By the target's fingerprint: parsing an RSA key is work.
    keys: Mutex<HashMap<u64, Arc<PrivateKey>>>,
    queue: SignInQueue,
    threads: MachineThreads,
    shared: Arc<SharedLegs>,
    clients: AtomicU64,
}

/// A connection to a machine, signed in. Dropped: closed.
#[derive(Debug)]
pub struct Leg {
    handle: Arc<Connection>,
    state: Arc<LegState>,
    /// Cancelled: the connection is over, whatever the machine does.
    cut: CancellationToken,
    /// The control plane machine that passes it on.
    _through: Option<Box<Self>>,
}

struct Connection(Handle<MachineHandler>);

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

/// State shared with the connection's task.
#[derive(Debug, Default)]
struct LegState {
    gone: CancellationToken,
    why: Mutex<Option<String>>,
    refused: Mutex<Option<HostKeyError>>,
    /// Messages with output of channels that have arrived.
    output: AtomicU64,
}

impl Legs {
    /// With these parts.
    pub fn new(parts: LegParts) -> Arc<Self> {
        Arc::new(Self {
            parts,
            keys: Mutex::default(),
            queue: SignInQueue::default(),
            threads: MachineThreads::default(),
            shared: Arc::default(),
            clients: AtomicU64::default(),
        })
    }

    /// The machines of clusters.
    pub fn machines(&self) -> &Arc<dyn Machines> {
        &self.parts.machines
    }

    /// Connects to a machine and signs in.
    ///
    /// # Errors
    /// [`LegError`]: also when the grant ends meanwhile.
    pub async fn connect(
        &self,
        live: &Arc<ActiveGrant>,
        target: &Arc<Target>,
        machine: &Machine,
    ) -> Result<Leg, LegError> {
        self.connect_with(live, target, machine, LegOptions::default()).await
    }

    /// The same, with an agent.
    ///
    /// # Errors
    /// As [`Legs::connect`].
    pub async fn connect_with(
        &self,
        live: &Arc<ActiveGrant>,
        target: &Arc<Target>,
        machine: &Machine,
        options: LegOptions,
    ) -> Result<Leg, LegError> {
        let token = live.token();
        let work = Box::pin(self.reach(target, machine, options));
        tokio::select! {
            biased;
            () = token.cancelled() => Err(LegError::Ended(live.end_reason(self.parts.clock.now()))),
            reached = tokio::time::timeout(self.parts.settings.connect_time, work) => reached.map_err(|_| LegError::Slow)?,
        }
    }

    async fn reach(
        &self,
        target: &Arc<Target>,
        machine: &Machine,
        options: LegOptions,
    ) -> Result<Leg, LegError> {
        let within = self.parts.settings.connect_time;
        match &machine.way {
            MachineRoute::Master(number) => {
                let _turn = self.queue.turn(target, machine).await;
                let stream = self.parts.dialer.dial(target, Port::Ssh(*number), within).await;
                self.sign_in(stream.map_err(LegError::Dial)?, target, machine, options, None).await
            }
            MachineRoute::Direct { host, port } => {
                let _turn = self.queue.turn(target, machine).await;
                let stream = self.parts.dialer.dial_address(host, *port, within).await;
                self.sign_in(stream.map_err(LegError::Dial)?, target, machine, options, None).await
            }
            MachineRoute::Through { address, port } => {
                let (master, channel, _turn) =
                    self.connect_through_master(target, machine, address, *port).await?;
                self.sign_in(channel.into_stream(), target, machine, options, Some(Box::new(master))).await
            }
        }
    }

    /// A channel to the worker's SSH port from the first control plane machine that gives one, and the worker's turn.
    async fn connect_through_master(
        &self,
        target: &Arc<Target>,
        machine: &Machine,
        address: &str,
        port: u16,
    ) -> Result<(Leg, Channel<Msg>, OwnedMutexGuard<()>), LegError> {
        let machines = self.parts.machines.list(target).await.map_err(LegError::Machines)?;
        let ready = machines.iter().filter(|each| each.ready);
        let masters = ready.filter_map(|each| match each.way {
            MachineRoute::Master(number) => Some((each, number)),
            MachineRoute::Through { .. } | MachineRoute::Direct { .. } => None,
        });
        let mut last = LegError::NoMaster;
        for (master, number) in masters.take(MOST_MASTERS) {
            let reached = async {
                let leg = self.connect_to_master(target, master, number).await?;
                // From here on the worker counts the connection as one that has not signed in.
                let turn = self.queue.turn(target, machine).await;
                let channel = leg.direct_tcpip(address, port).await?;
                Ok::<_, LegError>((leg, channel, turn))
            };
            match reached.await {
                Ok(passed) => return Ok(passed),
                Err(error) => {
                    tracing::info!(machine = %master.name, error = %chain(&error), "no way through this machine");
                    last = error;
                }
            }
        }
        Err(last)
    }

    async fn connect_to_master(
        &self,
        target: &Arc<Target>,
        master: &Machine,
        number: u8,
    ) -> Result<Leg, LegError> {
        let _turn = self.queue.turn(target, master).await;
        let stream =
            self.parts.dialer.dial(target, Port::Ssh(number), self.parts.settings.connect_time).await;
        let stream = stream.map_err(LegError::Dial)?;
        Box::pin(self.sign_in(stream, target, master, LegOptions::default(), None)).await
    }
}

impl Leg {
    /// A channel of type session.
    ///
    /// # Errors
    /// The machine refuses, or is gone.
    pub async fn session(&self) -> Result<Channel<Msg>, LegError> {
        self.handle.0.channel_open_session().await.map_err(LegError::from_russh)
    }

    /// A channel to an address that the machine reaches.
    ///
    /// # Errors
    /// The machine refuses, or is gone.
    pub async fn direct_tcpip(&self, host: &str, port: u16) -> Result<Channel<Msg>, LegError> {
        let opened = self.handle.0.channel_open_direct_tcpip(host, u32::from(port), "127.0.0.1", 0);
        opened.await.map_err(LegError::from_russh)
    }

    /// Whether the machine answers, within a few seconds.
    pub(super) async fn answers(&self) -> bool {
        let asked = tokio::time::timeout(ANSWER_WITHIN, self.handle.0.send_ping()).await;
        matches!(asked, Ok(Ok(()))) && !self.state.gone.is_cancelled()
    }

    /// Why it is gone, once it is.
    pub(super) async fn loss_reason(&self) -> String {
        let _ = tokio::time::timeout(WORD_WITHIN, self.state.gone.cancelled()).await;
        self.disconnect_reason().unwrap_or_else(|| "the connection to the machine broke off".to_owned())
    }

    /// Why the connection ended; `None` while it is open, or when no reason was given.
    pub fn disconnect_reason(&self) -> Option<String> {
        self.state.why.lock().clone()
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        let (handle, gone, cut) = (Arc::clone(&self.handle), self.state.gone.clone(), self.cut.clone());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return cut.cancel() };
        runtime.spawn(async move {
            let bye = async {
                let _ = handle.0.disconnect(Disconnect::ByApplication, "the session ended", "en").await;
                gone.cancelled().await;
            };
            // Do not wait for a machine that no longer reads.
            let _ = tokio::time::timeout(GOODBYE_WITHIN, bye).await;
            cut.cancel();
        });
    }
}
