//! `aro tunnel`, `aro console`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{Connection, seconds};

/// What every access of this kind is asked with.
#[derive(Debug, Clone, Args)]
pub struct AccessArgs {
    /// Why you need it; only asked when no access of yours lives
    #[arg(long)]
    pub reason: Option<String>,
    /// The ticket it belongs to
    #[arg(long)]
    pub ticket: Option<String>,
    /// How long a new access lives, e.g. 30m, 8h; without it the portal's default
    #[arg(long, value_parser = seconds)]
    pub life: Option<u64>,
}

/// `aro tunnel CLUSTER`
#[derive(Debug, Args)]
pub struct TunnelArgs {
    /// A cluster's name or resource id
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Where it may lead, e.g. grafana.apps.example:443; several times. Without it to the console and what it needs
    #[arg(long, value_name = "HOST:PORT")]
    pub to: Vec<String>,
    /// Address of this machine to listen on; port 0: any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub wish: AccessArgs,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro console CLUSTER`
#[derive(Debug, Args)]
pub struct ConsoleArgs {
    /// A cluster's name or resource id
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// The browser to start: Chromium, Chrome or Edge; without it the first that is found
    #[arg(long, env = "ARO_BROWSER", value_name = "PROGRAM")]
    pub browser: Option<PathBuf>,
    /// A host that the browser reaches directly, such as the cluster's identity provider; several times
    #[arg(long, value_name = "HOST")]
    pub direct: Vec<String>,
    /// Show the password of the cluster's own administrator and start nothing; needs an elevation to admin rights
    #[arg(long, conflicts_with_all = ["browser", "direct"])]
    pub credentials: bool,
    #[command(flatten)]
    pub wish: AccessArgs,
    #[command(flatten)]
    pub connection: Connection,
    /// What follows is the browser's
    #[arg(last = true, value_name = "BROWSER ARGUMENTS")]
    pub arguments: Vec<OsString>,
}
