//! `aro nodes`, `aro operators`, `aro events`, `aro logs`

use clap::Args;

use super::Connection;

/// Nodes or operators of a cluster.
#[derive(Debug, Args)]
pub struct ObjectsArgs {
    /// Name or resource id of the cluster
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Only those whose name begins so
    pub name: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}

/// Events of a cluster, the oldest first.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Name or resource id of the cluster
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Only of this namespace
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// Only warnings
    #[arg(long)]
    pub warnings: bool,
    /// Go on with what happens next, until interrupted
    #[arg(short, long)]
    pub watch: bool,
    #[command(flatten)]
    pub connection: Connection,
}

/// The log of a pod.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Name or resource id of the cluster
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// NAMESPACE/POD, or POD with --namespace
    pub pod: String,
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// Which container, where there are several
    #[arg(short, long)]
    pub container: Option<String>,
    /// Go on with what is written next
    #[arg(short, long)]
    pub follow: bool,
    /// Of the container before its last restart
    #[arg(long)]
    pub previous: bool,
    /// Lines from the end
    #[arg(long, value_name = "LINES")]
    pub tail: Option<u32>,
    /// Not older than so long, e.g. 5m
    #[arg(long, value_name = "LENGTH", value_parser = super::seconds)]
    pub since: Option<u64>,
    /// With the instant of each line
    #[arg(long)]
    pub timestamps: bool,
    /// Why you look, where you hold no access to the cluster yet
    #[arg(long)]
    pub reason: Option<String>,
    /// Ticket or incident
    #[arg(long)]
    pub ticket: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}
