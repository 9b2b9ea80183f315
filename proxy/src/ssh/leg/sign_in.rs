//! Key exchange, host key and sign-in of one connection to a machine.

use std::sync::Arc;

use rp_net::{SshTarget, Target};
use russh::SshId;
use russh::client::{self, AuthResult, Handle};
use russh::keys::{HashAlg, PrivateKey, PrivateKeyWithHashAlg};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::handler::MachineHandler;
use super::{Connection, Leg, LegError, LegOptions, LegState, Legs};
use crate::ssh::agent::Agent;
use crate::ssh::algorithms::towards_machines;
use crate::ssh::gate::Gate;
use crate::ssh::keys::machine_key;
use crate::ssh::machines::Machine;

/// Identification string of each leg; it reveals no version.
const NAME: &str = "SSH-2.0-aro";
/// Pieces of up to 32 KiB of one channel that wait for a slow reader: as much as one window. Then the machine is told to wait.
const WAITING: usize = 64;
/// Parsed keys that are kept.
const MOST_KEYS: usize = 256;
/// Silent keep-alives after which a machine counts as gone.
const MOST_SILENT: usize = 3;

impl Legs {
    /// Signs in over an open stream. Dropped before its end: the stream is closed.
    pub(super) async fn sign_in<S>(
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
        let (state, cut) = (Arc::new(LegState::default()), CancellationToken::new());
        let unfinished = cut.clone().drop_guard();
        let far = MachineHandler {
            target: Arc::clone(target),
            machine: machine.clone(),
            host_keys: Arc::clone(&self.parts.host_keys),
            agent: options.agent.map(|witness| Arc::new(Agent::new(Arc::clone(&key), witness))),
            state: Arc::clone(&state),
            home: tokio::runtime::Handle::current(),
            cut: cut.clone(),
            _gone: state.gone.clone().drop_guard(),
        };
        let config = self.config(target, machine).await;
        let connecting = client::connect_stream(config, Gate::new(stream, cut), far);
        let connected = self.threads.spawn(connecting).await.unwrap_or(Err(russh::Error::Disconnect));
        let mut handle = connected.map_err(|error| {
            let refused = state.refused.lock().take();
            refused.map_or_else(|| LegError::from_russh(error), LegError::HostKey)
        })?;
        authenticate(&mut handle, &ssh.user, &key).await?;
        let cut = unfinished.disarm();
        Ok(Leg { handle: Arc::new(Connection(handle)), state, cut, _through: through })
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
