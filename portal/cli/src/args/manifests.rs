//! `aro manifests …`

use clap::{Args, Subcommand};

use super::{Connection, seconds};

/// `aro manifests …`
#[derive(Debug, Args)]
pub struct ManifestsArgs {
    #[command(subcommand)]
    pub verb: ManifestsVerb,
}

#[derive(Debug, Subcommand)]
pub enum ManifestsVerb {
    /// What runs and what is planned: on one cluster with what is over, or on all clusters
    List {
        /// Name or resource id of the cluster; without it all clusters
        #[arg(add = crate::completer::clusters())]
        cluster: Option<String>,
        /// Rows at most
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
    /// The tasks that can be ordered
    Tasks {
        #[command(flatten)]
        connection: Connection,
    },
    /// The schedules that make manifests for many clusters, with what failed of their latest window
    Schedules {
        #[command(flatten)]
        connection: Connection,
    },
    /// Order a task on a cluster; needs an elevation to write rights
    Order(OrderArgs),
    /// Cancel what has not begun
    Cancel {
        /// Name or resource id of the cluster
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        /// Which manifest
        id: String,
        /// Why, for the record
        #[arg(long)]
        why: String,
        #[command(flatten)]
        connection: Connection,
    },
}

#[derive(Debug, Args)]
pub struct OrderArgs {
    /// Name or resource id of the cluster
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Name or id of the task: aro manifests tasks
    pub task: String,
    /// Why, for the record
    #[arg(long)]
    pub reason: String,
    /// It starts after this, e.g. 2026-11-27T22:00:00Z; without it now
    #[arg(long, value_name = "TIME")]
    pub run_after: Option<String>,
    /// It does not start after this; without it a week after it may start
    #[arg(long, value_name = "TIME")]
    pub run_before: Option<String>,
    /// 0 (first) to 1000 (last), among those of the cluster that are due
    #[arg(long, default_value_t = 0)]
    pub priority: u32,
    /// The machine that the task is about, as in the list of machines of the cluster
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Skip the steps in the cluster: check of the control plane, cordon, drain, the wait for the node
    #[arg(long)]
    pub force: bool,
    /// Wait for its end; exit code 0 when it is done, 1 when it is not
    #[arg(long)]
    pub wait: bool,
    /// How long to wait for its end at most, e.g. 30m, 8h
    #[arg(long, value_parser = seconds, default_value = "2h", value_name = "LENGTH")]
    pub wait_limit: u64,
    #[command(flatten)]
    pub connection: Connection,
}

impl ManifestsVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::Order(args) => &args.connection,
            Self::List { connection, .. }
            | Self::Tasks { connection }
            | Self::Schedules { connection }
            | Self::Cancel { connection, .. } => connection,
        }
    }
}
