//! `aro proxy local`.

use std::ffi::OsString;

use clap::Args;

use super::{Connection, seconds};

/// `aro proxy local`: parsed by the binary, beside the verbs on the proxy that serve.
#[derive(Debug, Args)]
pub struct ProxyLocalArgs {
    /// A cluster's name or resource id; several times
    #[arg(long, value_name = "NAME", required_unless_present = "search", add = crate::completer::clusters())]
    pub cluster: Vec<String>,
    /// All clusters that this search finds, at most 50
    #[arg(long, value_name = "WORDS", conflicts_with = "cluster")]
    pub search: Option<String>,
    /// Port of the first cluster; the next ones follow. 0: any that are free
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Why you need it; only asked when no grant of yours for a cluster lives
    #[arg(long)]
    pub reason: Option<String>,
    /// The ticket it belongs to
    #[arg(long)]
    pub ticket: Option<String>,
    /// How much it opens
    #[arg(long, default_value = "read", value_parser = ["read", "write", "admin"])]
    pub rights: String,
    /// How long a new grant lives, e.g. 30m, 8h; without it the portal's default
    #[arg(long, value_parser = seconds)]
    pub life: Option<u64>,
    /// Run a command with KUBECONFIG set, and end with it; what follows is the command's
    #[arg(long, num_args = 1.., allow_hyphen_values = true, value_name = "COMMAND")]
    pub exec: Vec<OsString>,
    #[command(flatten)]
    pub connection: Connection,
}
