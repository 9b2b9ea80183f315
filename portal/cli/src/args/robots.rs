//! `aro robots …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::grants::KINDS;
use super::{Connection, seconds};

/// `aro robots …`
#[derive(Debug, Args)]
pub struct RobotsArgs {
    #[command(subcommand)]
    pub verb: RobotsVerb,
}

#[derive(Debug, Subcommand)]
pub enum RobotsVerb {
    /// List robots
    List {
        #[command(flatten)]
        connection: Connection,
    },
    /// Make a robot and its first token, which is shown once; needs the role admin
    Create(RobotCreateArgs),
    /// Give a robot a new token, which is shown once; the old ones end after the overlap
    Rotate {
        /// The robot's name
        #[arg(add = crate::completer::robots())]
        name: String,
        /// How long the old tokens live on, e.g. 10m, 1d
        #[arg(long, value_parser = seconds, default_value = "1h")]
        overlap: u64,
        /// Write the token to this file (mode 0600) instead of standard output
        #[arg(short, long, value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        connection: Connection,
    },
    /// End a robot and all it holds
    Revoke {
        /// The robot's name
        #[arg(add = crate::completer::robots())]
        name: String,
        /// Why; stands in the audit
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
}

#[derive(Debug, Args)]
pub struct RobotCreateArgs {
    /// Its name: lower-case letters, digits and dashes
    pub name: String,
    /// Clusters it may ask for: names or resource ids
    #[arg(long, value_delimiter = ',', required_unless_present = "all_clusters", value_name = "CLUSTER,…", add = crate::completer::clusters())]
    pub clusters: Vec<String>,
    /// It may ask for every cluster
    #[arg(long, conflicts_with = "clusters")]
    pub all_clusters: bool,
    /// Kinds of grants it may ask for
    #[arg(long, value_delimiter = ',', default_value = "kubeconfig", value_parser = KINDS, value_name = "KIND,…")]
    pub kinds: Vec<String>,
    /// The most rights it may ask for
    #[arg(long, default_value = "read", value_parser = ["read", "write", "admin"])]
    pub rights: String,
    /// What it is for; stands in the audit
    #[arg(long)]
    pub reason: String,
    /// How long it lives, e.g. 90d
    #[arg(long, value_parser = seconds, default_value = "90d")]
    pub life: u64,
    /// Grants it may hold at once; without it the portal's default
    #[arg(long)]
    pub max_grants: Option<u32>,
    /// Write the token to this file (mode 0600) instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub connection: Connection,
}

impl RobotsVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection } | Self::Rotate { connection, .. } | Self::Revoke { connection, .. } => {
                connection
            }
            Self::Create(args) => &args.connection,
        }
    }
}
