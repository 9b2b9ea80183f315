//! A machine of the cluster: an SSH server that answers every command with the command itself.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey};
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Its name.
pub(crate) const MACHINE: &str = "node-0";

/// A listener on 127.0.0.1; it ends with this.
pub(crate) struct Machine {
    port: u16,
    host_key: String,
    /// The key of the cluster's import, in OpenSSH's form.
    key: String,
    accepting: JoinHandle<()>,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Machine {
    /// # Errors
    /// There is no port, or a key cannot be made.
    pub(crate) async fn start() -> Result<Self> {
        let key = || PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519);
        let (host, own) = (key()?, key()?);
        let host_key = host.public_key().to_openssh()?;
        let config = Arc::new(Config {
            keys: vec![host],
            auth_rejection_time: Duration::ZERO,
            auth_rejection_time_initial: Some(Duration::ZERO),
            ..Config::default()
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let accepting = tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&config), tcp));
            }
        });
        Ok(Self { port, host_key, key: own.to_openssh(LineEnding::LF)?.to_string(), accepting })
    }

    /// `ssh` of an import whose only machine this is.
    pub(crate) fn import(&self) -> Value {
        let machine = json!({ "name": MACHINE, "address": "127.0.0.1", "port": self.port,
            "host_keys": [self.host_key] });
        json!({ "user": "core", "private_key": self.key, "machines": [machine] })
    }
}

async fn serve(config: Arc<Config>, tcp: TcpStream) -> Result<()> {
    tcp.set_nodelay(true)?;
    // Who leaves in the middle is an error here and none of ours.
    Ok(russh::server::run_stream(config, tcp, Guest { channels: Vec::new() }).await?.await?)
}

/// One connection.
struct Guest {
    /// A channel that is dropped is closed.
    channels: Vec<Channel<Msg>>,
}

impl Handler for Guest {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, _: &str, _: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        self.channels.push(channel);
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)?;
        session.data(channel, Bytes::copy_from_slice(command))?;
        session.exit_status_request(channel, 0)?;
        session.eof(channel)?;
        session.close(channel)
    }
}
