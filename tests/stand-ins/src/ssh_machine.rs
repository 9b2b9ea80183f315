//! A machine by the SSH library: every key is accepted, shells say nothing, and commands are answered in one of two ways.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey};
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, Pty};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a command is answered with.
#[derive(Debug, Clone)]
pub enum CommandAnswer {
    /// The command itself, once; then exit status 0.
    Echo,
    /// These bytes again and again, for as long as they are taken.
    Endless(Bytes),
}

/// Serves connections until the listener fails.
///
/// # Errors
/// The listener gives no connection.
pub async fn serve_ssh(listener: TcpListener, host_key: PrivateKey, answer: CommandAnswer) -> Result<()> {
    let config = Arc::new(Config {
        keys: vec![host_key],
        auth_rejection_time: Duration::ZERO,
        auth_rejection_time_initial: Some(Duration::ZERO),
        inactivity_timeout: None,
        ..Config::default()
    });
    loop {
        let (tcp, _) = listener.accept().await?;
        let guest = Guest { channels: HashMap::new(), answer: answer.clone() };
        tokio::spawn(serve(Arc::clone(&config), tcp, guest));
    }
}

/// A machine on 127.0.0.1 that answers every command with [`CommandAnswer::Echo`]; it ends with this.
#[derive(Debug)]
pub struct SshMachine {
    port: u16,
    host_key: String,
    /// The private key of the cluster's import, in OpenSSH's form.
    key: String,
    accepting: JoinHandle<Result<()>>,
}

impl Drop for SshMachine {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl SshMachine {
    /// # Errors
    /// There is no port, or a key cannot be made.
    pub async fn start() -> Result<Self> {
        let key = || PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519);
        let (host, own) = (key()?, key()?);
        let host_key = host.public_key().to_openssh()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let accepting = tokio::spawn(serve_ssh(listener, host, CommandAnswer::Echo));
        Ok(Self { port, host_key, key: own.to_openssh(LineEnding::LF)?.to_string(), accepting })
    }

    /// `ssh` of an import whose only machine this is, by a name.
    pub fn import(&self, name: &str) -> Value {
        let machine = json!({ "name": name, "address": "127.0.0.1", "port": self.port,
            "host_keys": [self.host_key] });
        json!({ "user": "core", "private_key": self.key, "machines": [machine] })
    }
}

async fn serve(config: Arc<Config>, tcp: TcpStream, guest: Guest) -> Result<()> {
    tcp.set_nodelay(true)?;
    // A client that leaves in the middle is an error here and no failure of what is tested.
    Ok(russh::server::run_stream(config, tcp, guest).await?.await?)
}

/// One connection.
struct Guest {
    /// A channel that is dropped is closed.
    channels: HashMap<ChannelId, Channel<Msg>>,
    answer: CommandAnswer,
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
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
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
        session.channel_success(channel)
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)?;
        match &self.answer {
            CommandAnswer::Echo => {
                session.data(channel, Bytes::copy_from_slice(command))?;
                session.exit_status_request(channel, 0)?;
                session.eof(channel)?;
                session.close(channel)?;
            }
            CommandAnswer::Endless(text) => {
                let text = text.clone();
                if let Some(writing) = self.channels.remove(&channel) {
                    tokio::spawn(async move { while writing.data_bytes(text.clone()).await.is_ok() {} });
                }
            }
        }
        Ok(())
    }

    async fn channel_close(&mut self, channel: ChannelId, _: &mut Session) -> Result<(), russh::Error> {
        self.channels.remove(&channel);
        Ok(())
    }
}
