//! `aro kubeconfig`, `aro kubectl`, `aro credential`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use url::Url;

use super::{Connection, seconds};

/// `aro kubeconfig CLUSTER`
#[derive(Debug, Args)]
pub struct KubeconfigArgs {
    /// A cluster's name or resource id
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Why you need it; stands in the audit
    #[arg(long)]
    pub reason: String,
    /// The ticket it belongs to
    #[arg(long)]
    pub ticket: Option<String>,
    /// How much it opens
    #[arg(long, default_value = "read", value_parser = ["read", "write", "admin"])]
    pub rights: String,
    /// How long it lives, e.g. 30m, 8h; without it the portal's default
    #[arg(long, value_parser = seconds)]
    pub life: Option<u64>,
    /// Write it to this file (mode 0600, replaced as a whole) instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Add it to a kubeconfig that is there: FILE of --file, else the first of $KUBECONFIG, else ~/.kube/config
    #[arg(long, conflicts_with = "static_token")]
    pub merge: bool,
    /// The context's name; without it the cluster's
    #[arg(long, value_name = "NAME", conflicts_with = "static_token")]
    pub context: Option<String>,
    /// What kubectl runs for a token; without it this program by its whole path
    #[arg(long, value_name = "COMMAND", conflicts_with = "static_token")]
    pub command: Option<String>,
    /// A file with a token in it, for where this program is not installed
    #[arg(long = "static")]
    pub static_token: bool,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro kubectl CLUSTER -- …`
#[derive(Debug, Args)]
pub struct KubectlArgs {
    /// A cluster's name or resource id
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Why you need it; only asked when no grant of yours for this cluster lives
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
    /// What follows is kubectl's
    #[arg(last = true, required = true, value_name = "KUBECTL ARGUMENTS")]
    pub arguments: Vec<OsString>,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro credential`: every argument comes from a kubeconfig, none from the environment.
#[derive(Debug, Args)]
pub struct CredentialArgs {
    /// The grant to give a token of
    #[arg(long)]
    pub grant: String,
    #[arg(long, default_value = crate::profile::DEFAULT)]
    pub profile: String,
    #[arg(long)]
    pub config_dir: Option<PathBuf>,
    #[arg(long, requires = "token_file")]
    pub portal: Option<Url>,
    #[arg(long, requires = "portal")]
    pub token_file: Option<PathBuf>,
    #[arg(long)]
    pub ca_file: Option<PathBuf>,
}
