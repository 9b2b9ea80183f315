//! SSH servers of simulated machines: masters behind the private endpoint, workers by direct-tcpip through a master.
//!
//! User `core` is accepted with any key, because the keys of installed clusters are not known here. A machine's
//! host keys are a function of its UID.

mod sftp;
mod shell;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{Secret, SharedClock, chain};
use rp_simulator::fleet::{Cluster, Dice};
use rp_simulator::objects::View;
use rp_simulator::objects::nodes::{Node, nodes};
use russh::keys::ssh_key::rand_core::{TryCryptoRng, TryRng};
use russh::keys::{Algorithm, EcdsaCurve, PrivateKey};
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, Pty};
use tokio::io::{AsyncRead, AsyncWrite};

use self::sftp::SftpSession;
use self::shell::Shell;
use super::files::{FileTrees, SharedFileTree};

/// Shells of one connection.
const MOST_CHANNELS: usize = 64;
/// Machines behind machines.
const MOST_HOPS: usize = 3;
const PORT: u32 = 22;

/// A machine of a cluster.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    cluster: Arc<Cluster>,
    node: Node,
    clock: SharedClock,
    trees: Arc<FileTrees>,
    hops: usize,
}

impl Machine {
    /// The master of that number.
    pub(super) fn master(
        cluster: &Arc<Cluster>,
        number: usize,
        clock: &SharedClock,
        trees: &Arc<FileTrees>,
    ) -> Option<Self> {
        let ends = format!("-master-{number}");
        Self::find(cluster, (clock, trees), 0, |node| node.master && node.name.ends_with(&ends))
    }

    fn find(
        cluster: &Arc<Cluster>,
        (clock, trees): (&SharedClock, &Arc<FileTrees>),
        hops: usize,
        fits: impl Fn(&Node) -> bool,
    ) -> Option<Self> {
        let all = nodes(&View { cluster, now: clock.now() });
        let node = all.into_iter().find(fits)?;
        let (clock, trees) = (Arc::clone(clock), Arc::clone(trees));
        Some(Self { cluster: Arc::clone(cluster), node, clock, trees, hops })
    }

    /// Another of the same cluster, as this one sees it.
    fn neighbour(&self, host: &str, port: u32) -> Option<Self> {
        if port != PORT || self.hops >= MOST_HOPS {
            return None;
        }
        let shared = (&self.clock, &self.trees);
        Self::find(&self.cluster, shared, self.hops + 1, |node| node.ip == host || node.name == host)
    }

    /// Its files, which all its sessions share.
    fn files(&self) -> SharedFileTree {
        let key = format!("{}/machines/{}", self.cluster.index, self.node.name);
        self.trees.open(&key, &self.node.name, self.clock.now())
    }
}

/// Serves one connection until it ends.
pub(super) async fn serve<S>(machine: Machine, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let keys = host_keys(&machine.cluster, &machine.node.name);
    let config = Config {
        keys,
        auth_rejection_time: Duration::from_millis(100),
        auth_rejection_time_initial: Some(Duration::ZERO),
        inactivity_timeout: Some(Duration::from_mins(30)),
        ..Config::default()
    };
    let server = Server {
        machine,
        shells: HashMap::new(),
        terminals: HashMap::new(),
        undecided: HashMap::new(),
        transfers: HashSet::new(),
    };
    match russh::server::run_stream(Arc::new(config), stream, server).await {
        Ok(running) => {
            if let Err(error) = running.await {
                tracing::debug!(error = %chain(&error), "simulated SSH ended");
            }
        }
        Err(error) => tracing::debug!(error = %chain(&error), "simulated SSH did not begin"),
    }
}

/// The public host keys of a machine, a line each.
pub(super) fn public_keys(cluster: &Cluster, name: &str) -> String {
    let line = |key: PrivateKey| {
        key.public_key().to_openssh().map(|text| format!("{} root@{name}\n", text.trim_end()))
    };
    host_keys(cluster, name).into_iter().filter_map(|key| line(key).ok()).collect()
}

fn host_keys(cluster: &Cluster, name: &str) -> Vec<PrivateKey> {
    let uid = cluster.dice(&format!("machines/openshift-machine-api/{name}")).uuid();
    let made = [Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 }, Algorithm::Ed25519].map(|algorithm| {
        let mut random = SeededRng(cluster.dice(&format!("host key {uid} {algorithm}")));
        PrivateKey::random(&mut random, algorithm)
    });
    made.into_iter().filter_map(Result::ok).collect()
}

/// A key for the user `core`: RSA, PKCS#1 DER.
pub(super) fn client_key() -> io::Result<Secret<Vec<u8>>> {
    let pair = rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048);
    let pair = pair.map_err(io::Error::other)?;
    let der = pair.serialize_der();
    let inner = pkcs1(&der).ok_or_else(|| io::Error::other("the key has an unknown form"))?;
    Ok(Secret::new(inner.to_vec()))
}

/// The private key inside of PKCS#8 (RFC 5208): version, algorithm, octets.
fn pkcs1(pkcs8: &[u8]) -> Option<&[u8]> {
    let (0x30, inside, _) = der(pkcs8)? else { return None };
    let (0x02, _, rest) = der(inside)? else { return None };
    let (0x30, _, rest) = der(rest)? else { return None };
    let (0x04, key, _) = der(rest)? else { return None };
    Some(key)
}

/// Tag, content and what follows of a DER value.
fn der(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f).min(8))?;
        (digits.iter().fold(0usize, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Deterministic source of host keys: the same machine has the same keys. For simulation only.
struct SeededRng(Dice);

impl TryRng for SeededRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::try_from(self.0.next() >> 32).unwrap_or(0))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(8) {
            let bytes = self.0.next().to_le_bytes();
            chunk.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}

impl TryCryptoRng for SeededRng {}

/// One connection.
struct Server {
    machine: Machine,
    shells: HashMap<ChannelId, Shell>,
    /// Channels that requested a terminal.
    terminals: HashMap<ChannelId, ()>,
    /// Channels on which nothing was started yet. The others' are dropped: their data comes to the handler.
    undecided: HashMap<ChannelId, Channel<Msg>>,
    /// Channels of SFTP.
    transfers: HashSet<ChannelId>,
}

impl Server {
    fn say(
        &mut self,
        channel: ChannelId,
        session: &mut Session,
        said: shell::ShellOutput,
    ) -> Result<(), russh::Error> {
        if !said.out.is_empty() {
            session.data(channel, said.out)?;
        }
        if !said.err.is_empty() {
            session.extended_data(channel, 1, said.err)?;
        }
        if let Some(code) = said.ended {
            self.shells.remove(&channel);
            session.exit_status_request(channel, code.into())?;
            session.eof(channel)?;
            session.close(channel)?;
        }
        Ok(())
    }
}

impl Handler for Server {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, user: &str, _: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        Ok(if user == "core" { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        if self.shells.len() + self.transfers.len() >= MOST_CHANNELS {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        let shell = Shell::new(&self.machine.cluster, &self.machine.node, self.machine.files());
        self.shells.insert(channel.id(), shell);
        self.undecided.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        match self.machine.neighbour(host, port) {
            Some(machine) => {
                reply.accept().await;
                // Boxed: a machine behind a machine is served by the same code.
                let serving: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> =
                    Box::pin(serve(machine, channel.into_stream()));
                tokio::spawn(serving);
            }
            None => reply.reject(ChannelOpenFailure::ConnectFailed).await,
        }
        Ok(())
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _: &str,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.terminals.insert(channel, ());
        session.channel_success(channel)
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        _: &str,
        _: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), russh::Error> {
        self.undecided.remove(&channel);
        let (now, tty) = (self.machine.clock.now(), self.terminals.contains_key(&channel));
        let Some(shell) = self.shells.get_mut(&channel) else { return session.channel_failure(channel) };
        session.channel_success(channel)?;
        let said = shell.begin(tty, now);
        self.say(channel, session, said)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.undecided.remove(&channel);
        let now = self.machine.clock.now();
        let Some(shell) = self.shells.get_mut(&channel) else { return session.channel_failure(channel) };
        session.channel_success(channel)?;
        let said = shell.exec(&String::from_utf8_lossy(command), now);
        self.say(channel, session, said)
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let opened = if name == "sftp" { self.undecided.remove(&channel) } else { None };
        let Some(opened) = opened else { return session.channel_failure(channel) };
        self.shells.remove(&channel);
        self.transfers.insert(channel);
        session.channel_success(channel)?;
        let sftp = SftpSession::new(self.machine.files(), Arc::clone(&self.machine.clock));
        russh_sftp::server::run(opened.into_stream(), sftp).await;
        Ok(())
    }

    async fn data(
        &mut self,
        channel: ChannelId,
        data: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let now = self.machine.clock.now();
        let Some(shell) = self.shells.get_mut(&channel) else { return Ok(()) };
        let said = shell.typed(data, now);
        self.say(channel, session, said)
    }

    async fn channel_eof(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), russh::Error> {
        if self.transfers.remove(&channel) {
            // scp takes an end without a status for a failure.
            session.exit_status_request(channel, 0)?;
            session.eof(channel)?;
            return session.close(channel);
        }
        let now = self.machine.clock.now();
        let Some(shell) = self.shells.get_mut(&channel) else { return Ok(()) };
        let said = shell.end(now);
        self.say(channel, session, said)
    }

    async fn channel_close(&mut self, channel: ChannelId, _: &mut Session) -> Result<(), russh::Error> {
        self.shells.remove(&channel);
        self.terminals.remove(&channel);
        self.undecided.remove(&channel);
        self.transfers.remove(&channel);
        Ok(())
    }
}
