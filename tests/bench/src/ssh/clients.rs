//! Many clients of the bastion, in a process of their own so that only the bastion's memory counts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use russh::client::{Config, Handle, Handler, Msg, connect_stream};
use russh::keys::{Certificate, PrivateKey, PublicKeyOrCertificate};
use russh::{Channel, ChannelMsg};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::report;

/// Connections that are being made at once.
const AT_ONCE: usize = 8;
/// For one of them, while all others come too.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Args)]
pub(crate) struct ClientArgs {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    user: String,
    #[arg(long)]
    key: PathBuf,
    #[arg(long)]
    certificate: PathBuf,
    #[arg(long)]
    count: usize,
    /// Runs this and reads what it says; without it a shell on a terminal
    #[arg(long)]
    command: Option<String>,
}

/// Takes any host key: what is measured is the other end.
pub(crate) struct AcceptAnyHostKey;

impl Handler for AcceptAnyHostKey {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}

/// A session, with the connection that it is the only one of.
pub(crate) struct Shell {
    pub(crate) channel: Channel<Msg>,
    _connection: Handle<AcceptAnyHostKey>,
}

/// Opens all sessions, says `{"got": N}` when each runs, and holds them until it is killed or one of them ends.
pub(crate) async fn run(args: ClientArgs) -> Result<()> {
    let key = Arc::new(russh::keys::load_secret_key(&args.key, None)?);
    let certificate = russh::keys::load_openssh_certificate(&args.certificate)?;
    let (args, turns) = (Arc::new(args), Arc::new(Semaphore::new(AT_ONCE)));
    let mut opening = JoinSet::new();
    for _ in 0..args.count {
        let (args, turns) = (Arc::clone(&args), Arc::clone(&turns));
        let (key, certificate) = (Arc::clone(&key), certificate.clone());
        opening.spawn(async move {
            let _turn = turns.acquire_owned().await?;
            let opened = Box::pin(open(&args, key, certificate));
            tokio::time::timeout(PATIENCE, opened).await.context("no session")?
        });
    }
    let mut reading = JoinSet::new();
    while let Some(opened) = opening.join_next().await {
        let opened = opened?.with_context(|| format!("session {}", reading.len() + 1))?;
        // At once: on a connection whose output nobody takes the machine opens no more sessions.
        reading.spawn(read(opened));
    }
    report::line(serde_json::json!({ "got": reading.len() }));
    if let Some(ended) = reading.join_next().await {
        ended?;
        bail!("a session ended");
    }
    std::future::pending().await
}

async fn open(args: &ClientArgs, key: Arc<PrivateKey>, certificate: Certificate) -> Result<Shell> {
    let mut connection = connect(args.address).await?;
    let signed = connection.authenticate_openssh_cert(&args.user, key, certificate).await?;
    ensure!(signed.success(), "the certificate was refused");
    match &args.command {
        Some(command) => {
            let mut shell = Shell::open(connection).await?;
            shell.channel.exec(true, command.as_str()).await?;
            shell.agreed().await?;
            Ok(shell)
        }
        None => Shell::on_terminal(connection).await,
    }
}

/// A connection before anybody signed in.
pub(crate) async fn connect(address: SocketAddr) -> Result<Handle<AcceptAnyHostKey>> {
    let tcp = TcpStream::connect(address).await?;
    tcp.set_nodelay(true)?;
    Ok(connect_stream(Arc::new(Config::default()), tcp, AcceptAnyHostKey).await?)
}

impl Shell {
    async fn open(connection: Handle<AcceptAnyHostKey>) -> Result<Self> {
        let channel = connection.channel_open_session().await?;
        Ok(Self { channel, _connection: connection })
    }

    /// A shell on a terminal.
    pub(crate) async fn on_terminal(connection: Handle<AcceptAnyHostKey>) -> Result<Self> {
        let mut shell = Self::open(connection).await?;
        shell.channel.request_pty(true, "xterm", 80, 24, 0, 0, &[]).await?;
        shell.agreed().await?;
        shell.channel.request_shell(true).await?;
        shell.agreed().await?;
        Ok(shell)
    }

    async fn agreed(&mut self) -> Result<()> {
        loop {
            match self.channel.wait().await.context("the session ended")? {
                ChannelMsg::Success => return Ok(()),
                ChannelMsg::Failure => bail!("the machine refused"),
                _ => {}
            }
        }
    }
}

async fn read(mut shell: Shell) {
    while shell.channel.wait().await.is_some() {}
}
