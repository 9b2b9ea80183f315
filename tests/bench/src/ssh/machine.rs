//! A machine of the SSH library's: shells that say nothing, and a command that never stops writing.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use clap::Args;
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, Pty};
use tests_kit::Process;
use tokio::net::{TcpListener, TcpStream};

use super::hosts::Hosts;
use super::keys::Key;
use crate::{fake_api_server, peers, report};

/// Bytes of one write.
const PIECE: usize = 16 * 1024;

#[derive(Debug, Clone, Args)]
pub(crate) struct MachineArgs {
    #[arg(long)]
    host_key: PathBuf,
}

/// The machine as a process.
#[derive(Debug)]
pub(crate) struct SimulatedMachines {
    pub(crate) port: u16,
    pub(crate) host_key: Key,
    _process: Process,
}

/// Starts it.
pub(crate) async fn start(hosts: &Hosts) -> Result<SimulatedMachines> {
    let host_key = Key::new(&hosts.folder, "many-host").await?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("ssh-machine").arg("--host-key").arg(&host_key.file);
    let process = Process::start(&hosts.folder, "ssh-machine", &mut command)?;
    let port = peers::listening(&process).await?.port();
    Ok(SimulatedMachines { port, host_key, _process: process })
}

/// Serves until it is killed; says where on its first line.
pub(crate) async fn run(args: MachineArgs) -> Result<()> {
    let config = Arc::new(Config {
        keys: vec![russh::keys::load_secret_key(&args.host_key, None)?],
        auth_rejection_time: Duration::ZERO,
        auth_rejection_time_initial: Some(Duration::ZERO),
        inactivity_timeout: None,
        ..Config::default()
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    report::line(serde_json::json!({ "listen": listener.local_addr()?.to_string() }));
    let text = Bytes::from(fake_api_server::text(PIECE));
    loop {
        let (tcp, _) = listener.accept().await?;
        let guest = Guest { channels: HashMap::new(), text: text.clone() };
        tokio::spawn(serve(Arc::clone(&config), tcp, guest));
    }
}

async fn serve(config: Arc<Config>, tcp: TcpStream, guest: Guest) {
    let served = async {
        tcp.set_nodelay(true)?;
        russh::server::run_stream(config, tcp, guest).await?.await
    };
    if let Err(error) = served.await {
        report::progress(format_args!("machine: {error}"));
    }
}

/// One connection.
struct Guest {
    channels: HashMap<ChannelId, Channel<Msg>>,
    text: Bytes,
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
        _: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)?;
        if let Some(writing) = self.channels.remove(&channel) {
            let text = self.text.clone();
            tokio::spawn(async move { while writing.data_bytes(text.clone()).await.is_ok() {} });
        }
        Ok(())
    }

    async fn channel_close(&mut self, channel: ChannelId, _: &mut Session) -> Result<(), russh::Error> {
        self.channels.remove(&channel);
        Ok(())
    }
}
