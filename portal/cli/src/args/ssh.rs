//! `aro ssh`, `aro scp`, `aro serial`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Connection;
use super::tunnel::AccessArgs;

/// `aro ssh CLUSTER [MACHINE] [-- COMMAND]`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SshArgs {
    #[command(subcommand)]
    pub verb: Option<SshVerb>,
    /// A cluster's name or resource id
    #[arg(required = true, add = crate::completer::clusters())]
    pub cluster: Option<String>,
    /// A machine's name, short where it is clear: master-0; without it the first master that is ready
    pub machine: Option<String>,
    /// Offer your agent to the machine; stands in the access, and each use is on the record
    #[arg(short = 'A', long)]
    pub agent: bool,
    /// Forward a port of this machine, as ssh takes it: PORT:HOST:PORT; stands in the access; several times
    #[arg(short = 'L', value_name = "PORT:HOST:PORT")]
    pub forward: Vec<String>,
    /// A terminal, also for a command
    #[arg(short = 't')]
    pub terminal: bool,
    /// No command: only what is forwarded
    #[arg(short = 'N')]
    pub nothing: bool,
    #[command(flatten)]
    pub wish: AccessArgs,
    #[command(flatten)]
    pub connection: Connection,
    /// What the machine runs; without it a shell
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What goes with `aro ssh`.
#[derive(Debug, Subcommand)]
pub enum SshVerb {
    /// Write a part of an OpenSSH configuration, so that ssh, scp, rsync and Ansible reach MACHINE.CLUSTER
    Config(SshConfigArgs),
    /// Renew the certificate of an access that lives: what such a configuration runs
    #[command(hide = true)]
    Refresh(SshRefreshArgs),
}

/// `aro ssh config CLUSTER`
#[derive(Debug, Args)]
pub struct SshConfigArgs {
    /// A cluster's name or resource id
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Write it to this file, to be included by ~/.ssh/config; without it to standard output
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub wish: AccessArgs,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro ssh refresh CLUSTER`
#[derive(Debug, Args)]
pub struct SshRefreshArgs {
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    #[command(flatten)]
    pub connection: Connection,
}

impl SshArgs {
    pub(crate) fn connection(&self) -> &Connection {
        match &self.verb {
            None => &self.connection,
            Some(SshVerb::Config(args)) => &args.connection,
            Some(SshVerb::Refresh(args)) => &args.connection,
        }
    }
}

/// `aro scp CLUSTER FILE… MACHINE:PATH`
#[derive(Debug, Args)]
pub struct ScpArgs {
    /// A cluster's name or resource id
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// From and to: a path of this machine, or MACHINE:PATH
    #[arg(required = true, num_args = 2..)]
    pub places: Vec<String>,
    /// Folders with what is in them
    #[arg(short = 'r')]
    pub recursive: bool,
    /// Keep times and modes
    #[arg(short = 'p')]
    pub preserve: bool,
    #[command(flatten)]
    pub wish: AccessArgs,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro serial CLUSTER MACHINE`
#[derive(Debug, Args)]
pub struct SerialArgs {
    /// A cluster's name or resource id
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// The machine's name
    pub machine: String,
    /// Lines from the end
    #[arg(long, default_value_t = 500)]
    pub lines: u32,
    /// Only lines with this text
    #[arg(short = 'q', long)]
    pub search: Option<String>,
    /// Why you look; only asked where you hold no access to the cluster yet
    #[arg(long)]
    pub reason: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}
