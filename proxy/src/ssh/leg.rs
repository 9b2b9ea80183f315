//! The connection towards a machine: dialled, its host key checked, signed in with the cluster's key
//! (`contract/portal.md` §16.3, "Do better" 21).
//!
//! A library's client is one loop for all channels of a connection, and a channel whose reader stalls stalls
//! that loop. So each shell has a leg of its own, and a slow reader does not stall other shells.

mod error;
mod handler;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_access::ActiveGrant;
use rp_base::{SharedClock, chain};
use rp_net::{Dialer, Port, SshTarget, Target};
use russh::client::{self, AuthResult, Handle, Msg};
use russh::keys::{HashAlg, PrivateKey, PrivateKeyWithHashAlg};
use russh::{Channel, Disconnect, SshId};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::agent::{Agent, Witness};
use super::algorithms::towards_machines;
use super::host_keys::{HostKeyError, HostKeys};
use super::keys::machine_key;
use super::machines::{Machine, MachineRoute, Machines};
pub use error::LegError;
use handler::MachineHandler;

/// Identification string of each leg; it reveals no version.
const NAME: &str = "SSH-2.0-aro";
/// Pieces of up to 32 KiB that wait for a slow reader; then the machine is told to wait.
const WAITING: usize = 8;
/// Masters that are tried as the way to a worker.
const MOST_MASTERS: usize = 3;
/// Parsed keys that are kept.
const MOST_KEYS: usize = 256;
/// How long a machine's last word may take after its channels are gone.
const WORD_WITHIN: Duration = Duration::from_secs(2);
/// Silent keep-alives after which a machine counts as gone.
const MOST_SILENT: usize = 3;

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
}

/// A connection to a machine, signed in. Dropped: closed.
#[derive(Debug)]
pub struct Leg {
    handle: Arc<Connection>,
    state: Arc<LegState>,
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
}

impl Legs {
    /// With these parts.
    pub fn new(parts: LegParts) -> Arc<Self> {
        Arc::new(Self { parts, keys: Mutex::default() })
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
                let stream = self.parts.dialer.dial(target, Port::Ssh(*number), within).await;
                self.sign_in(stream.map_err(LegError::Dial)?, target, machine, options, None).await
            }
            MachineRoute::Direct { host, port } => {
                let stream = self.parts.dialer.dial_address(host, *port, within).await;
                self.sign_in(stream.map_err(LegError::Dial)?, target, machine, options, None).await
            }
            MachineRoute::Through { address, port } => {
                let (master, channel) = self.connect_through_master(target, address, *port).await?;
                self.sign_in(channel.into_stream(), target, machine, options, Some(Box::new(master))).await
            }
        }
    }

    /// A channel to the worker's SSH port from the first control plane machine that gives one.
    async fn connect_through_master(
        &self,
        target: &Arc<Target>,
        address: &str,
        port: u16,
    ) -> Result<(Leg, Channel<Msg>), LegError> {
        let machines = self.parts.machines.list(target).await.map_err(LegError::Machines)?;
        let ready = machines.iter().filter(|each| each.ready);
        let masters = ready.filter_map(|each| match each.way {
            MachineRoute::Master(number) => Some((each, number)),
            MachineRoute::Through { .. } | MachineRoute::Direct { .. } => None,
        });
        let mut last = LegError::NoMaster;
        for (master, number) in masters.take(MOST_MASTERS) {
            match self.forwarded_channel(target, master, number, address, port).await {
                Ok(passed) => return Ok(passed),
                Err(error) => {
                    tracing::info!(machine = %master.name, error = %chain(&error), "no way through this machine");
                    last = error;
                }
            }
        }
        Err(last)
    }

    async fn forwarded_channel(
        &self,
        target: &Arc<Target>,
        master: &Machine,
        number: u8,
        address: &str,
        port: u16,
    ) -> Result<(Leg, Channel<Msg>), LegError> {
        let stream =
            self.parts.dialer.dial(target, Port::Ssh(number), self.parts.settings.connect_time).await;
        let stream = stream.map_err(LegError::Dial)?;
        let leg = Box::pin(self.sign_in(stream, target, master, LegOptions::default(), None)).await?;
        let channel = leg.direct_tcpip(address, port).await?;
        Ok((leg, channel))
    }

    async fn sign_in<S>(
        &self,
        stream: S,
        target: &Arc<Target>,
        machine: &Machine,
        options: LegOptions,
        through: Option<Box<Leg>>,
    ) -> Result<Leg, LegError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let ssh = target.ssh.as_ref().ok_or(LegError::NoKey)?;
        let key = self.key(target.fingerprint, ssh)?;
        let state = Arc::new(LegState::default());
        let far = MachineHandler {
            target: Arc::clone(target),
            machine: machine.clone(),
            host_keys: Arc::clone(&self.parts.host_keys),
            agent: options.agent.map(|witness| Arc::new(Agent::new(Arc::clone(&key), witness))),
            state: Arc::clone(&state),
            _gone: state.gone.clone().drop_guard(),
        };
        let config = self.config(target, machine).await;
        let mut handle = client::connect_stream(config, stream, far).await.map_err(|error| {
            let refused = state.refused.lock().take();
            refused.map_or_else(|| LegError::from_russh(error), LegError::HostKey)
        })?;
        authenticate(&mut handle, &ssh.user, &key).await?;
        Ok(Leg { handle: Arc::new(Connection(handle)), state, _through: through })
    }

    async fn config(&self, target: &Arc<Target>, machine: &Machine) -> Arc<client::Config> {
        let known = self.parts.host_keys.known(target, machine).await;
        let settings = &self.parts.settings;
        // Those of `contract/portal.md` §16.1; newer ones before them where the settings and the machine have them.
        let mut preferred = towards_machines(settings.fips, settings.modern_machines, &known.algorithms);
        if known.certificate {
            preferred.host_key_certificates = preferred.key.clone();
        }
        Arc::new(client::Config {
            client_id: SshId::Standard(NAME.into()),
            preferred,
            channel_buffer_size: WAITING,
            keepalive_interval: Some(settings.keepalive),
            keepalive_max: MOST_SILENT,
            ..client::Config::default()
        })
    }

    fn key(&self, fingerprint: u64, ssh: &SshTarget) -> Result<Arc<PrivateKey>, LegError> {
        if let Some(known) = self.keys.lock().get(&fingerprint) {
            return Ok(Arc::clone(known));
        }
        let parsed = Arc::new(machine_key(ssh).map_err(LegError::BadKey)?);
        let mut keys = self.keys.lock();
        if keys.len() >= MOST_KEYS {
            keys.clear();
        }
        keys.insert(fingerprint, Arc::clone(&parsed));
        Ok(parsed)
    }
}

/// SHA-512 first; SHA-1 never.
async fn authenticate(
    handle: &mut Handle<MachineHandler>,
    user: &str,
    key: &Arc<PrivateKey>,
) -> Result<(), LegError> {
    let hashes: &[Option<HashAlg>] =
        if key.algorithm().is_rsa() { &[Some(HashAlg::Sha512), Some(HashAlg::Sha256)] } else { &[None] };
    for hash in hashes {
        let key = PrivateKeyWithHashAlg::new(Arc::clone(key), *hash);
        match handle.authenticate_publickey(user, key).await.map_err(LegError::from_russh)? {
            AuthResult::Success => return Ok(()),
            AuthResult::Failure { .. } => {}
        }
    }
    Err(LegError::KeyRefused)
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

    /// Cancelled when the connection is gone.
    pub fn closed(&self) -> CancellationToken {
        self.state.gone.clone()
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
        let handle = Arc::clone(&self.handle);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let bye = handle.0.disconnect(Disconnect::ByApplication, "the session ended", "en");
                // Do not wait for a machine that no longer reads.
                let _ = tokio::time::timeout(Duration::from_secs(5), bye).await;
            });
        }
    }
}
