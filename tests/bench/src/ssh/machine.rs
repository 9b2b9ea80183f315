//! A machine in a process of its own: shells that say nothing, and a command that never stops writing.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use bytes::Bytes;
use clap::Args;
use tests_kit::Process;
use tests_stand_ins::{CommandAnswer, serve_ssh};
use tokio::net::TcpListener;

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
    let host_key = russh::keys::load_secret_key(&args.host_key, None)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    report::line(serde_json::json!({ "listen": listener.local_addr()?.to_string() }));
    let text = Bytes::from(fake_api_server::text(PIECE));
    serve_ssh(listener, host_key, CommandAnswer::Endless(text)).await
}
