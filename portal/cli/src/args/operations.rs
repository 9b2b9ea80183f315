//! `aro operations …`

use clap::{Args, Subcommand};

use super::Connection;

/// `aro operations …`
#[derive(Debug, Args)]
pub struct OperationsArgs {
    #[command(subcommand)]
    pub verb: OperationsVerb,
}

#[derive(Debug, Subcommand)]
pub enum OperationsVerb {
    /// What is done with a cluster, and what was: the newest first
    List {
        /// Name or resource id of the cluster
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Follow an operation to its end; exit code 0 when it succeeded, 1 when it failed
    Watch {
        /// Name or resource id of the cluster
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        /// Which operation; without it the newest. One that is not there yet is waited for.
        #[arg(long, value_name = "ID")]
        operation: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
}

impl OperationsVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. } | Self::Watch { connection, .. } => connection,
        }
    }
}
