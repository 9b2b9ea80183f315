//! What a machine starts by itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rp_base::chain;
use rp_net::Target;
use russh::client::{self, ChannelOpenHandle, DisconnectReason, Msg, Session};
use russh::keys::PublicKeyOrCertificate;
use russh::{Channel, ChannelId, ChannelOpenFailure};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::LegState;
use crate::ssh::agent::Agent;
use crate::ssh::host_keys::HostKeys;
use crate::ssh::machines::Machine;

/// Our end's callbacks: what the machine starts by itself is refused, but for the agent where it was asked for.
pub(super) struct MachineHandler {
    pub(super) target: Arc<Target>,
    pub(super) machine: Machine,
    pub(super) host_keys: Arc<HostKeys>,
    pub(super) agent: Option<Arc<Agent>>,
    pub(super) state: Arc<LegState>,
    /// Where the store and the cluster's API are asked: this end's task runs on threads of its own.
    pub(super) home: tokio::runtime::Handle,
    /// Cancelled: the connection is over, also where its task waits for the agent.
    pub(super) cut: CancellationToken,
    /// Dropped with the connection's task.
    pub(super) _gone: DropGuard,
}

impl client::Handler for MachineHandler {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let (host_keys, target) = (Arc::clone(&self.host_keys), Arc::clone(&self.target));
        let (machine, shown) = (self.machine.clone(), copy(shown));
        let check = self.home.spawn(async move { host_keys.check(&target, &machine, &shown).await });
        match check.await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(error)) => {
                *self.state.refused.lock() = Some(error);
                Ok(false)
            }
            Err(error) => {
                tracing::error!(machine = %self.machine.name, error = %chain(&error), "a host key could not be checked");
                Ok(false)
            }
        }
    }

    async fn data(&mut self, _: ChannelId, _: &[u8], _: &mut Session) -> Result<(), russh::Error> {
        self.state.output.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn extended_data(
        &mut self,
        _: ChannelId,
        _: u32,
        _: &[u8],
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        self.state.output.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        match self.agent.clone().and_then(|agent| agent.place().map(|place| (agent, place))) {
            None => reply.reject(ChannelOpenFailure::AdministrativelyProhibited).await,
            Some((agent, place)) => {
                reply.accept().await;
                let cut = self.cut.clone();
                tokio::spawn(async move {
                    let served = tokio::select! {
                        served = agent.serve(channel.into_stream()) => served,
                        () = cut.cancelled() => Ok(()),
                    };
                    if let Err(error) = served {
                        tracing::debug!(error = %chain(&error), "agent channel broke off");
                    }
                    drop(place);
                });
            }
        }
        Ok(())
    }

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        _channel: Channel<Msg>,
        _connected_address: &str,
        _connected_port: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        refuse(reply).await
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _channel: Channel<Msg>,
        _socket_path: &str,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        refuse(reply).await
    }

    async fn server_channel_open_session(
        &mut self,
        _channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        refuse(reply).await
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _channel: Channel<Msg>,
        _host_to_connect: &str,
        _port_to_connect: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        refuse(reply).await
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _channel: Channel<Msg>,
        _socket_path: &str,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        refuse(reply).await
    }

    async fn server_channel_open_x11(
        &mut self,
        _channel: Channel<Msg>,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        refuse(reply).await
    }

    async fn disconnected(&mut self, reason: DisconnectReason<russh::Error>) -> Result<(), russh::Error> {
        let why = match reason {
            DisconnectReason::ReceivedDisconnect(info) => rp_base::text::clean(&info.message, 200),
            DisconnectReason::Error(russh::Error::KeepaliveTimeout) => {
                "the machine no longer answers".to_owned()
            }
            DisconnectReason::Error(error) => {
                tracing::debug!(machine = %self.machine.name, error = %chain(&error), "leg broke off");
                "the connection to the machine broke off".to_owned()
            }
        };
        *self.state.why.lock() = Some(why).filter(|why| !why.is_empty());
        Ok(())
    }
}

fn copy(shown: &PublicKeyOrCertificate) -> PublicKeyOrCertificate {
    match shown {
        PublicKeyOrCertificate::PublicKey { key, hash_alg } => {
            PublicKeyOrCertificate::PublicKey { key: key.clone(), hash_alg: *hash_alg }
        }
        PublicKeyOrCertificate::Certificate(certificate) => {
            PublicKeyOrCertificate::Certificate(certificate.clone())
        }
    }
}

async fn refuse(reply: ChannelOpenHandle) -> Result<(), russh::Error> {
    reply.reject(ChannelOpenFailure::AdministrativelyProhibited).await;
    Ok(())
}
