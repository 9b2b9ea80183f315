//! `aro clusters …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Connection;

/// Rows that a list without `--limit` has at most.
const ROWS: u32 = 500;

/// `aro clusters …`; bare it lists them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ClustersArgs {
    #[command(subcommand)]
    pub verb: Option<ClustersVerb>,
    #[command(flatten)]
    pub connection: Connection,
}

impl ClustersArgs {
    pub(crate) fn connection(&self) -> &Connection {
        self.verb.as_ref().map_or(&self.connection, ClustersVerb::connection)
    }

    /// What to do.
    pub(crate) fn verb(self) -> ClustersVerb {
        let Self { verb, connection } = self;
        verb.unwrap_or(ClustersVerb::List { search: None, limit: ROWS, connection })
    }
}

#[derive(Debug, Subcommand)]
pub enum ClustersVerb {
    /// List clusters, all or those that a search finds
    List {
        /// Words in the name, resource group, subscription or version
        search: Option<String>,
        /// Rows at most
        #[arg(long, default_value_t = ROWS, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
    /// Put a cluster of your own under the portal; needs the role admin
    Import {
        /// Its kubeconfig, with all certificates and keys inside; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        kubeconfig: PathBuf,
        /// The name it gets here
        #[arg(long)]
        name: String,
        /// The kubeconfig's context; without it the current one
        #[arg(long)]
        context: Option<String>,
        /// Groups to impersonate for a person with more than read rights
        #[arg(long, value_delimiter = ',', value_name = "GROUP,…")]
        as_groups: Vec<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Take an imported cluster away from the portal
    Remove {
        name: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// List imported clusters
    Imported {
        #[command(flatten)]
        connection: Connection,
    },
}

impl ClustersVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. }
            | Self::Import { connection, .. }
            | Self::Remove { connection, .. }
            | Self::Imported { connection } => connection,
        }
    }
}
